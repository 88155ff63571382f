/* The sender's messages: a ring by message number, from the oldest unfinished to the newest
 * submitted, and for each the buffer size that the receiver has announced.
 *
 *      base                     next            base + capacity
 *       v                         v                  v
 *     [being sent] [waiting] ...  [announced only] ...
 *
 *     FREE --add--> LIVE --end-----> ENDED --event taken, no pin--> FREE
 *                     \--refuse--> VOID --end--> ENDED
 *
 * A message's event becomes ready when its outcome is decided *and* nothing of it is pinned. The
 * outcome of a VOID message is decided, but it keeps its number until the receiver knows.
 *
 * I1  next - base <= capacity.
 * I2  base is not FREE, or base == next.
 * I3  each message that was added gives exactly one event.
 * I4  base <= requested <= base + AHEAD * capacity, and from `requested` on the first buffer is not
 * known.
 * I5  live and open are counts.
 */
#ifndef ZCRP_CORE_MESSAGES_OUT_H
#define ZCRP_CORE_MESSAGES_OUT_H

#include "core/adt/pieces.h"
#include "core/adt/table.h"
#include "core/outcome.h"

#include <stdbool.h>
#include <stdint.h>

enum message_out_state {
    MESSAGE_OUT_FREE,
    MESSAGE_OUT_LIVE,  /* to be sent, or being sent */
    MESSAGE_OUT_VOID,  /* will not be sent, and the receiver has to be told */
    MESSAGE_OUT_ENDED, /* over for both ends; its event or a pin holds it */
};

struct message_out {
    uint64_t number;
    void *user;
    const uint8_t *buffer;       /* meaningless if there are */
    const struct pieces *pieces; /* NULL: it lies in one place */
    uint64_t size;
    uint64_t cut;       /* bytes cut into units so far */
    uint32_t units_out; /* how many units are in transit or to be repeated: of data while LIVE, of
                           the notice while VOID */
    uint32_t pins;      /* units of bursts under way, which read the buffer */
    enum message_out_state state;
    enum outcome outcome; /* decided unless LIVE */
    bool is_cut;          /* every unit was taken once (0 bytes and VOID are one unit each) */
    bool is_whole;        /* its only unit is out, and is no datagram (sender_take_whole) */
    bool is_joined;       /* units were joined: nothing tells of one how it was sent before */
    bool may_be_there;    /* the peer closes, and may have it (recovery_end_missing) */
    bool is_ready;        /* its event is in the queue, or was taken */
    bool is_told;         /* its event was taken */
    uint8_t reason;       /* enum void_reason, in state VOID */
    uint32_t next_ready;  /* in the queue of events: the lower half of the next one's number;
                             meaningless while there is none behind it */
};

struct messages_out {
    struct message_out *ring; /* in its table */
    uint64_t *posted;         /* announced buffer sizes, a ring in its table */
    uint64_t capacity;        /* a power of two: most messages */
    uint64_t base, next;
    uint64_t announced;   /* numbers from here on have no place in `posted` yet: not known */
    uint64_t requested;   /* messages of the session below have a known buffer */
    uint64_t live;        /* messages in that state, */
    uint64_t open;        /* and in that or VOID */
    uint32_t ready;       /* events to take, in a queue */
    uint32_t first_ready; /* the lower half of the first one's number, */
    uint32_t last_ready;  /* and of the last one's; both meaningless while there is none */
    uint32_t gaps;        /* numbers behind `base` that are FREE */
    struct table ring_table, posted_table;
};

/* A posted size that is not known yet. */
#define POSTED_UNKNOWN (UINT64_MAX - 1)

/* How many tables' worth of announcements are kept. */
enum { MESSAGES_OUT_AHEAD = 4 };

/* Empty, in tables for rings (CHECKed) of struct message_out, and of uint64_t; `posted` may become
 * MESSAGES_OUT_AHEAD times as large as `ring` (CHECKed). */
void messages_out_init(struct messages_out *m, struct table ring, struct table posted,
                       uint64_t first);

/* The message with this number, or NULL if it is over or not yet there. O(1). */
struct message_out *messages_out_find(struct messages_out *m, uint64_t number);

/* The place of one of these numbers: base <= number < next. It may be FREE. */
static inline struct message_out *messages_out_at(const struct messages_out *m, uint64_t number)
{
    return &m->ring[number & (m->ring_table.size - 1)];
}

/* Where byte `offset` of a message lies that is not over, and how many bytes of its memory follow
 * on it there. */
static inline const uint8_t *message_out_at(const struct message_out *message, uint64_t offset,
                                            uint64_t *run)
{
    if (message->pieces != NULL)
        return pieces_at(message->pieces, offset, run);
    *run = message->size - offset;
    return message->buffer + offset;
}

/* The message that a unit of it counts in: VOID if the unit says so, else LIVE. NULL if that is
 * over, or was cancelled meanwhile. O(1). */
struct message_out *messages_out_find_for(struct messages_out *m, uint64_t number, bool is_void);

/* Adds a LIVE message under number `next`; NULL when the table is full. */
struct message_out *messages_out_add(struct messages_out *m, void *user, const uint8_t *buffer,
                                     uint64_t size);

/* As messages_out_add, of a message whose only unit is out, as a whole, to a buffer of `posted`
 * bytes. messages_out_is_next says that there is room, and all messages before it have a known
 * buffer (`requested` is not below `next`). */
struct message_out *messages_out_add_whole(struct messages_out *m, void *user,
                                           const uint8_t *buffer, uint64_t size, uint64_t posted);

/* Is there room for message `next`, and what is known of its buffer? `*posted` may be
 * POSTED_UNKNOWN. The table grows for it. */
bool messages_out_is_next(struct messages_out *m, uint64_t *posted);

/* `count` messages from `number` on, each out as a whole, have arrived and are over, and their
 * users are told at once: as messages_out_on_arrived and messages_out_take_event. How many, and
 * their bytes together: fewer, if another event is to be told before one, it is over, or something
 * still reads it. */
uint32_t messages_out_finish(struct messages_out *m, uint64_t number, uint32_t count, void *user[],
                             uint64_t *bytes);

/* The receiver's buffer for `number` has `size` bytes, or REQUEST_WITHDRAWN. True if that is news;
 * numbers that are over, or too far ahead, are none. */
bool messages_out_announce(struct messages_out *m, uint64_t number, uint64_t size);

/* As messages_out_announce of each number in [first, last), of which `first` is not below
 * `announced`, and all are less than AHEAD * capacity ahead (CHECKed): all are news. `size` is a
 * buffer's. */
void messages_out_announce_run(struct messages_out *m, uint64_t first, uint64_t last,
                               uint64_t size);

/* The first message whose buffer is not known, or NULL. O(1). */
struct message_out *messages_out_unannounced(struct messages_out *m);

/* The announced size for `number`, or POSTED_UNKNOWN. */
uint64_t messages_out_posted(const struct messages_out *m, uint64_t number);

/* `units` of the message have arrived at the receiver. With the last one it is over. */
void messages_out_on_arrived(struct messages_out *m, uint64_t number, bool is_void, uint32_t units);

/* As messages_out_on_arrived of one unit of each of `count` messages, from `first` on, that is not
 * VOID. O(count). */
void messages_out_on_arrived_row(struct messages_out *m, uint64_t first, uint32_t count);

/* The message, LIVE or VOID, is over; a VOID one keeps the outcome it has. */
void messages_out_end(struct messages_out *m, struct message_out *message, enum outcome outcome);

/* The LIVE message turns VOID. */
void messages_out_refuse(struct messages_out *m, struct message_out *message, uint8_t reason,
                         enum outcome outcome);

/* Ends every message that is left. */
void messages_out_end_all(struct messages_out *m, enum outcome outcome);

/* Ends the VOID messages whose buffer is not known: the receiver has nothing to be told of.
 * O(those).
 */
void messages_out_end_unannounced(struct messages_out *m);

/* Forgets all announcements; the next are for numbers from `first` on, base <= first <= next. */
void messages_out_forget(struct messages_out *m, uint64_t first);

/* `units` pins more, or fewer. */
void messages_out_pin(struct message_out *message, uint32_t units);
void messages_out_unpin(struct messages_out *m, struct message_out *message, uint32_t units);

/* The next event, in the order in which they became ready; false if there is none. */
bool messages_out_take_event(struct messages_out *m, struct event *event);

/* No message is left whose event has not been taken. */
bool messages_out_is_idle(const struct messages_out *m);

/* Moves tables that hold little back to where they began: no pointer to a message stays good. */
void messages_out_shrink(struct messages_out *m);

/* CHECKs I1 to I5. */
void messages_out_check(const struct messages_out *m);

#endif
