/* Inside one end of the way over shared memory (shm.h): what it keeps to itself. */
#ifndef ZCRP_TRANSPORT_SHM_ENDS_H
#define ZCRP_TRANSPORT_SHM_ENDS_H

#include "page.h"
#include "peer_process.h"
#include "platform/pages.h"
#include "shared_arena.h"
#include "shm.h"

#include <sys/uio.h>

enum {
    PUSH_NOTES = 8,         /* that a sender pushes with one call, at most, */
    PUSH_BYTES = 96 * 1024, /* and as soon as they have this many bytes */
};

/* While two ends meet; of the thread that looks. */
struct shm_meeting {
    int socket;     /* a receiver listens there, until the sender was asked to let this process
                       read; a sender is connected to it, while a refusal can come. -1: closed */
    int caller;     /* of a receiver: the connected end; -1: none */
    bool lets_read; /* of a sender: it asks the kernel to let the receiver read (Yama) */
    enum shm_refusal if_nobody; /* of a receiver: why, if nobody else connects */
    instant began;
    instant looked;             /* last */
    bool has_secret;            /* the session has keys, */
    uint8_t secret[SHM_SECRET]; /* and this */
    bool has_spoken;            /* since the other end was woken last */
    bool is_put_off;            /* of a receiver: see shm_put_off */
};

/* How a sender uses the staging buffer: small units are copied together there, a burst behind the
 * other, and the receiver copies them from there. A burst lies in one piece, so some of the end may
 * be left unused.
 *
 * I1  tail <= head <= tail + SHM_STAGING */
struct staging {
    uint64_t head;         /* bytes taken since the beginning, */
    _Atomic uint64_t tail; /* and of those, given back; released by the thread that reaps, acquired
                              by the one that sends before it writes there again */
};

/* What a sender pushes at present. The notes are pinned; whoever made the claim has this alone. */
struct push {
    uint32_t notes;
    uint64_t number[PUSH_NOTES];
    struct iovec from[PUSH_NOTES], to[PUSH_NOTES]; /* `to`: in the receiver's memory */
};

/* A sender. */
struct shm_writer {
    struct control_ring_place control;
    struct staging staging;
    struct push push;
    bool has_credit;             /* the receiver has shown a buffer: so it reads whole messages */
    _Atomic bool may_push;       /* the kernel lets it */
    _Atomic instant still_since; /* when it was first seen that the receiver read nothing more of
                                    what there is; NEVER: it has read since, or there is nothing */
    struct ring_record *records; /* (c) for the ring; touched as they are used */
    struct ring_writer ring;
};

/* A receiver. */
struct shm_reader {
    struct ring_reader ring;
    struct control_ring_place control;
    const uint8_t *arena; /* the sender's, mapped; NULL: it has none, or they cannot be mapped */
    size_t arena_bytes;
    uint64_t late[LANDING_OPENINGS]; /* notes whose slots the sender has claimed and not settled */
    uint32_t lates;                  /* in time */
    struct pages_seen seen;          /* of this side's, where data land */
    bool has_pushed;                 /* the sender, of what was shared with it last */
    _Atomic bool is_blind;           /* the sender's memory cannot be read any more: of what is left
                                        in the ring only what both map arrives. Away behind it */
};

struct shm {
    struct pairing pairing;      /* (c) */
    struct channel *units;       /* (c) the socket that they would take */
    struct shared_arena *own;    /* (c) this end's, held; NULL: none */
    struct shm_writer *out;      /* (c) NULL: this is a receiver */
    struct shm_reader *in;       /* (c) NULL: this is a sender */
    struct shm_meeting *meeting; /* (c) */
    struct shm_page *page;       /* NULL: none yet */
    uint8_t nonce[PEER_NONCE];   /* (c) the peer looks for it here */
    struct peer_process peer;    /* once they have met; the page says what of that to push to */
    uint32_t sight;              /* the receiver's (enum shm_sight), once they have met */
    _Atomic int state;           /* (a) enum shm_state. shm_is_here is relaxed: the link's mutex, or
                                    a claim, hands over what was set up before HERE */
    enum shm_refusal why;
    _Atomic uint64_t bytes; /* (a) */
};

/* Makes one end; NULL if there is no memory. */
struct shm *shm_create(bool is_sender, struct channel *units, const struct shm_terms *terms);

/* Nothing is left of it but when it began. Any number of times. */
void meeting_end(struct shm_meeting *m);

/* Without a lock, by whoever sends or receives. */
static inline bool shm_is_here(const struct shm *n)
{
    return atomic_load_explicit(&n->state, memory_order_relaxed) == SHM_HERE;
}

#endif
