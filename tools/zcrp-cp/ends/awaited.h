/* The answers that the target waits for, in their order. Each has its buffer posted when it is
 * asked for: a block's is the slice of the part file where it belongs, the others have memory of
 * their own. A SEND or CLOSE stays in the ring until its REPORT has come. */
#ifndef ZCRP_CP_AWAITED_H
#define ZCRP_CP_AWAITED_H

#include "incoming.h"
#include "zcrp-cp/files/crew.h"
#include "zcrp-cp/wire/line.h"

enum {
    AWAITED_MOST = 512, /* answers at once */
    AWAITED_SPARE = 16, /* messages of their own that are kept for the next answers */
};

struct awaited {
    uint8_t kind;              /* of the request: enum record_kind */
    bool has_come;             /* the message has ended, if there is one */
    int code;                  /* how */
    struct zcrp_msg *message;  /* NULL: CLOSE, which only its REPORT answers */
    struct incoming *incoming; /* whose; NULL: LIST, PACK, REPORT, BYE */
    struct range part;         /* of its file */
    struct task touch, hash;   /* SEND: its pages, and what has landed; HASHES: what is here */
    uint8_t own[HASH_BYTES];   /* SEND: the hash of what has landed */
    uint8_t *digests;          /* HASHES: those of the leaves here; freed with the answer */
    struct wanted **pack;      /* PACK: the files; freed with the answer */
    unsigned pack_count;
};

struct awaiting {
    struct line *line;
    struct crew *crew;
    struct awaited ring[AWAITED_MOST];
    unsigned first, count; /* all that are in it */
    unsigned come;         /* of these, so many from the first on have come */
    struct zcrp_msg *spare[AWAITED_SPARE];
    int spare_count;
};

void awaiting_init(struct awaiting *awaiting, struct line *line, struct crew *crew);

/* Takes back all that is posted, and waits for the crew. The files of packs are freed. */
void awaiting_fini(struct awaiting *awaiting);

bool awaiting_has_room(const struct awaiting *awaiting, unsigned answers);

/* Adds the last one, to be filled in, and posts its buffer: memory of `room` bytes of its own, or
 * the part of the file where it lands, or none (room 0). NULL, and *code. */
struct awaited *awaiting_add(struct awaiting *awaiting, uint8_t kind, size_t room, int *code);
struct awaited *awaiting_add_slice(struct awaiting *awaiting, struct incoming *incoming,
                                   struct range part, int *code);

/* Waits for the next one to come, at most `most_ns`. NULL, and *code: ZCRP_ERROR_TIMEOUT (also if
 * there is none), or a code that ends the copy. */
struct awaited *awaiting_next(struct awaiting *awaiting, int64_t most_ns, int *code);

/* Drops those at the front that are dealt with: all before the i-th. */
struct awaited *awaiting_at(struct awaiting *awaiting, unsigned i);
void awaiting_drop(struct awaiting *awaiting, unsigned count);

#endif
