/* The source's answers that are under way, in their order: slices of mapped files, and messages of
 * records. The memory of a slice is held until its message has ended.
 *
 * A target may ask and never take the answers, so the memory of messages is bounded: for one copy,
 * and for all copies of a server together. Each copy has the least that it needs to go on. */
#ifndef ZCRP_CP_ANSWERS_H
#define ZCRP_CP_ANSWERS_H

#include "stock.h"
#include "zcrp-cp/wire/line.h"

enum {
    ANSWERS_MOST = 512,                  /* under way at once; one more waits for the oldest */
    ANSWERS_SPARE = 8,                   /* messages that are kept for the next records */
    ANSWERS_BYTES_LEAST = 2 * PACK_ROOM, /* of messages with memory of their own: always */
    ANSWERS_BYTES_MOST = 32 << 20,       /* while all copies have not more than: */
    ANSWERS_BYTES_ALL = 256 << 20,
};

struct sent_answer {
    struct zcrp_msg *message;
    struct opened *opened; /* whose slice it is; NULL: it has memory of its own */
};

struct answers {
    struct line *line;
    struct sent_answer ring[ANSWERS_MOST];
    unsigned first, count;
    struct zcrp_msg *spare[ANSWERS_SPARE];
    int spare_count;
    size_t bytes; /* of messages with memory of their own, spare ones too */
};

void answers_init(struct answers *answers, struct line *line);

/* Takes back what is under way. */
void answers_fini(struct answers *answers);

/* A message with PACK_ROOM bytes to be filled with records, to be sent. It waits until there is
 * room for one more. NULL: *code. */
struct zcrp_msg *answers_take(struct answers *answers, int *code);

/* Sends it. It is theirs from now on. 0, or a code, as for all of these. */
int answers_send(struct answers *answers, struct zcrp_msg *message, size_t length);

/* Sends a part of an open file, or nothing: an empty message in its place. */
int answers_send_slice(struct answers *answers, struct opened *opened, uint64_t offset,
                       uint32_t length);
int answers_send_nothing(struct answers *answers);

/* Lets go of those that have ended. */
int answers_reap(struct answers *answers);

/* Waits until all have ended. */
int answers_wait(struct answers *answers);

#endif
