/* The receiver's messages: a ring by message number, from the oldest that is not over to the newest
 * posted, each with its buffer and the bytes it still misses.
 *
 *     FREE --add--> POSTED --all there------------> ENDED --event taken--> FREE
 *                      \--end--------------------->   ^
 *                       \--withdraw--> WITHDRAWN --end/
 *
 * A WITHDRAWN message has given its event and its buffer back, and keeps its number until the
 * sender has said that it will not come.
 *
 * I1  next - base <= capacity.
 * I2  base is not FREE, or base == next.
 * I3  each message that was added gives exactly one event.
 * I4  only a POSTED message misses bytes. */
#ifndef ZCRP_CORE_MESSAGES_IN_H
#define ZCRP_CORE_MESSAGES_IN_H

#include "core/adt/missing.h"
#include "core/adt/pieces.h"
#include "core/outcome.h"

enum message_in_state {
    MESSAGE_IN_FREE,
    MESSAGE_IN_POSTED,    /* its buffer takes units */
    MESSAGE_IN_WITHDRAWN, /* cancelled here; the sender has to agree */
    MESSAGE_IN_ENDED,     /* over; only its event holds it */
};

struct message_in {
    uint64_t number;
    void *user;
    uint8_t *buffer;             /* meaningless if there are */
    const struct pieces *pieces; /* NULL: it lies in one place; none overlap */
    uint64_t size;               /* of the buffer, as posted */
    uint64_t length;    /* of the message; meaningful once is_length_known, or it is TOO_LARGE */
    uint64_t plan;      /* the newest that points the channel there; 0: none yet, */
    uint64_t offered;   /* at bytes below; */
    uint64_t landed;    /* all bytes that were accepted are below; */
    uint64_t scribbled; /* and below this something landed that was not accepted there */
    struct missing missing;
    enum message_in_state state;
    enum outcome outcome;
    bool is_length_known; /* the last unit arrived */
    bool is_ready;        /* its event is in the queue, or was taken */
    bool is_told;         /* its event was taken */
    uint32_t next_ready;  /* in the queue of events: the lower half of the next one's number;
                             meaningless while there is none behind it */
};

struct messages_in {
    struct message_in *ring; /* in its table */
    struct missing_pool missing;
    uint64_t capacity; /* a power of two: most messages */
    uint64_t base, next;
    uint32_t ready;       /* events to take, in a queue */
    uint32_t first_ready; /* the lower half of the first one's number, */
    uint32_t last_ready;  /* and of the last one's; both meaningless while there is none */
    uint32_t withdrawn;   /* messages in that state */
    uint32_t gaps;        /* numbers behind `base` that are FREE */
    uint64_t changes;     /* messages that were added, or are not POSTED any more, so far */
    struct table ring_table;
};

/* Empty, in a table for a ring (CHECKed) of struct message_in, and one of struct missing_node. */
void messages_in_init(struct messages_in *m, struct table ring, struct table nodes, uint64_t first);

/* The place of one of these numbers: base <= number < next. It may be FREE. */
static inline struct message_in *messages_in_at(const struct messages_in *m, uint64_t number)
{
    return &m->ring[number & (m->ring_table.size - 1)];
}

/* The message with this number, or NULL if it is over or not yet there. O(1). */
static inline struct message_in *messages_in_find(struct messages_in *m, uint64_t number)
{
    if (number - m->base >= m->next - m->base)
        return NULL;
    struct message_in *message = messages_in_at(m, number);
    return message->state == MESSAGE_IN_FREE ? NULL : message;
}

/* Where byte `offset` of a message belongs whose event was not taken, and how many bytes of its
 * memory follow on it there. */
static inline uint8_t *message_in_at(const struct message_in *message, uint64_t offset,
                                     uint64_t *run)
{
    if (message->pieces != NULL)
        return pieces_at(message->pieces, offset, run);
    *run = message->size - offset;
    return message->buffer + offset;
}

/* Which byte of a message whose event was not taken belongs there? False: none of it. */
static inline bool message_in_find(const struct message_in *message, const uint8_t *at,
                                   uint64_t *offset)
{
    if (message->pieces != NULL)
        return pieces_find(message->pieces, at, offset) && *offset < message->size;
    *offset = (uintptr_t)at - (uintptr_t)message->buffer;
    return *offset < message->size;
}

/* Adds a POSTED message under number `next`; NULL when the table or the pool is full. */
struct message_in *messages_in_add(struct messages_in *m, void *user, uint8_t *buffer,
                                   uint64_t size);

/* The message is over, with this outcome unless it has one already. */
void messages_in_end(struct messages_in *m, struct message_in *message, enum outcome outcome);

/* The same of `count` POSTED messages (CHECKed), from `first` on, that end well with `length` bytes
 * each. O(count). */
void messages_in_end_row(struct messages_in *m, uint64_t first, uint32_t count, uint64_t length);

/* The POSTED message, of which nothing else has come, has landed with `length` bytes: it is over,
 * and the user is told of it at once, as with messages_in_end and messages_in_take_event. False,
 * with nothing changed, if another event is to be told before it, or something has come before. */
bool messages_in_finish(struct messages_in *m, struct message_in *message, uint64_t length,
                        struct event *event);

/* The POSTED message turns WITHDRAWN, with this outcome. */
void messages_in_withdraw(struct messages_in *m, struct message_in *message, enum outcome outcome);

/* Ends every message that is left. */
void messages_in_end_all(struct messages_in *m, enum outcome outcome);

/* All messages below this number are over, and it is the first that is not. O(messages). */
uint64_t messages_in_over(const struct messages_in *m);

/* Has a message that is POSTED begun to come? O(messages). */
bool messages_in_have_begun(struct messages_in *m);

/* The next event, in the order in which they became ready; false if there is none. */
bool messages_in_take_event(struct messages_in *m, struct event *event);

bool messages_in_is_idle(const struct messages_in *m);

/* Moves tables that hold little back to where they began: no pointer to a message stays good. */
void messages_in_shrink(struct messages_in *m);

/* CHECKs I1 to I4. */
void messages_in_check(const struct messages_in *m);

#endif
