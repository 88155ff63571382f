/* The source's answers that are under way, in their order: slices of mapped files, and messages of
 * records. The memory of a slice is held until its message has ended. */
#ifndef ZCRP_CP_ANSWERS_H
#define ZCRP_CP_ANSWERS_H

#include "stock.h"
#include "zcrp-cp/wire/line.h"

enum {
    ANSWERS_MOST = 512, /* under way at once; one more waits for the oldest */
    ANSWERS_SPARE = 8,  /* messages that are kept for the next records */
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
};

void answers_init(struct answers *answers, struct line *line);

/* Takes back what is under way. */
void answers_fini(struct answers *answers);

/* A message with PACK_ROOM bytes to be filled with records, the caller's; or NULL. */
struct zcrp_msg *answers_take(struct answers *answers);

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
