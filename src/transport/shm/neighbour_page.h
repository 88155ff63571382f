/* Inside a neighbour (neighbour.h): what both ends map, and what each keeps to itself. */
#ifndef ZCRP_TRANSPORT_SHM_NEIGHBOUR_PAGE_H
#define ZCRP_TRANSPORT_SHM_NEIGHBOUR_PAGE_H

#include "answers.h"
#include "commons.h"
#include "neighbour.h"
#include "platform/pages.h"
#include "ring.h"
#include "targets.h"

#include <sys/types.h>
#include <sys/uio.h>

enum {
    NEIGHBOUR_VERSION = 5,
    NEIGHBOUR_NONCE = 16, /* bytes */
    NEIGHBOUR_PROOF = 16,
    PUSH_NOTES = 8,         /* that a sender pushes with one call, at most, */
    PUSH_BYTES = 96 * 1024, /* and as soon as they have so many bytes */
};

/* The receiver's word. */
enum neighbour_consent { CONSENT_NONE, CONSENT_YES, CONSENT_NO };

/* What the receiver can read of the sender's; and what it offers. Bits. */
enum neighbour_sight {
    SIGHT_MEMORY = 1,  /* all its memory */
    SIGHT_COMMONS = 2, /* its commons */
    SIGHT_TARGETS = 4, /* the sender may push, if the kernel lets it */
};

/* The shared memory. */
struct neighbour_page {
    _Atomic uint32_t consent; /* enum neighbour_consent */
    _Atomic uint32_t sight;   /* enum neighbour_sight, written before the consent */
    _Atomic uint32_t why;     /* enum neighbour_refusal */
    _Atomic uint64_t proof[NEIGHBOUR_PROOF / 8]; /* the receiver's, written before the consent, */
    _Atomic uint64_t nonce[NEIGHBOUR_NONCE / 8]; /* and so this, */
    _Atomic uint64_t nonce_at;                   /* which lies there in the receiver's memory */
    struct ring ring;
    struct answers answers;
    struct targets targets;
    uint8_t stage[NEIGHBOUR_STAGE];
};

/* How the sender uses the stage: small units are copied together there, a burst behind the other,
 * and the receiver copies them from there. A burst lies in one piece, so some of the end may be
 * left unused.
 *
 * I1  tail <= head <= tail + NEIGHBOUR_STAGE */
struct stage {
    uint64_t head;            /* bytes taken since the beginning, */
    _Atomic uint64_t tail;    /* and of those, given back */
    uint64_t end[RING_NOTES]; /* of each note: `head` behind it */
};

/* What a sender pushes at present. The notes are pinned; whoever made the claim has this alone. */
struct push {
    uint32_t notes;
    uint64_t number[PUSH_NOTES];
    struct iovec from[PUSH_NOTES], to[PUSH_NOTES]; /* `to`: in the receiver's memory */
};

struct neighbour_sender {
    uint8_t nonce[NEIGHBOUR_NONCE]; /* the receiver looks for it here */
    struct ring_writer ring;
    struct answers_place answers;
    struct stage stage;
    struct iovec data[RING_NOTES]; /* of each note that holds a message: its data */
    struct push push;
    pid_t receiver;
    uint8_t receiver_nonce[NEIGHBOUR_NONCE];
    uint64_t receiver_nonce_at;  /* an address in the receiver's memory */
    _Atomic bool may_push;       /* the kernel lets it */
    uint32_t sight;              /* the receiver's */
    _Atomic instant still_since; /* when it was first seen that the receiver read nothing more of
                                    what there is; NEVER: it has read since, or there is nothing */
    int bell;                    /* to the door, from where the receiver's word comes; -1: closed */
    bool lets_read;              /* it asks the kernel to let the receiver read (Yama) */
};

struct neighbour_receiver {
    int door;          /* -1: closed */
    int guest;         /* who is at the door; -1: nobody */
    bool is_asking;    /* the sender was asked to let this process read */
    bool was_stranger; /* who knew the pairing, and knocked */
    pid_t sender;
    uint32_t sight;
    uint64_t page, nonce_at; /* addresses in the sender's memory */
    const uint8_t *commons;  /* the sender's, mapped; NULL: it has none, or they cannot be mapped */
    size_t commons_bytes;
    uint8_t nonce[NEIGHBOUR_NONCE];
    struct ring_reader ring;
    struct answers_place answers;
    uint8_t own_nonce[NEIGHBOUR_NONCE]; /* the sender looks for it here */
    uint64_t late[LANDING_OPENINGS];    /* notes whose targets the sender has claimed and not */
    uint32_t lates;                     /* settled in time */
    int sender_file;                    /* of its process, while there are such; -1: none */
    struct pages_seen seen;             /* of this side's, where data land */
    bool has_pushed;                    /* the sender, of what was shared with it last */
};

struct neighbour {
    bool is_sender;                   /* (c) */
    uint16_t near, far;               /* (c) ports of the socket */
    struct pairing pairing;           /* (c) */
    uint8_t secret[NEIGHBOUR_SECRET]; /* (c) of the session, */
    bool has_secret;                  /* (c) if that has keys */
    struct channel *units;            /* (c) the socket that they would take */
    struct commons *own;              /* (c) this end's, held; NULL: none */
    instant opened;                   /* (c) the door was, or it knocked */
    instant looked;                   /* at the door, or for a word, last */
    struct neighbour_page *page;
    _Atomic int state; /* (a) enum neighbour_state */
    enum neighbour_refusal why;
    _Atomic uint64_t bytes;
    struct neighbour_sender out;  /* of a sender */
    struct neighbour_receiver in; /* of a receiver */
};

/* Is the receiver's process still the one that this sender met? A system call. */
bool neighbour_sees_receiver(const struct neighbour *n);

/* Without a lock, by whoever sends or receives. */
static inline bool neighbour_is_here(const struct neighbour *n)
{
    return atomic_load_explicit(&n->state, memory_order_relaxed) == NEIGHBOUR_HERE;
}

/* The sender's first and only word to the door. */
struct neighbour_knock {
    uint32_t version;
    uint32_t page_bytes;
    uint32_t lets_read; /* 1: if the receiver may not read, it is to ask */
    struct pairing pairing;
    uint64_t page, nonce_at;
    uint64_t commons_bytes; /* of the second file; 0: there is none */
    uint8_t nonce[NEIGHBOUR_NONCE];
    uint8_t proof[NEIGHBOUR_PROOF]; /* the sender's */
};

/* The receiver's, where it has no page to write into. FORBIDDEN, to a sender that lets it read: not
 * yet, the kernel says. */
struct neighbour_word {
    uint32_t version;
    uint32_t why; /* enum neighbour_refusal, not FINE */
};

#endif
