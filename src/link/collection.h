/* The collection: messages of one entity that have ended and were not told yet, and a descriptor
 * that poll finds readable then. zcrp_collect takes them, or the queue that the entity is in
 * (waiting/completions.h), of which the collection is a place: each message is taken once.
 *
 *     the link's mutex [ put, which opens the latch ] --> ring          collect: take
 *
 * A connection's first messages (accept/first_messages.h) are put also while nobody takes: their
 * program can only begin to take once it has accepted the connection.
 *
 * Messages are put in the section in which they have ended: so they are taken in that order,
 * whichever threads end them.
 *
 * Anybody who sees its latch open may free a message, or submit it again, even after its entity was
 * closed. Then it has to leave the collection. So all collections share one mutex, (k), which
 * outlives every entity (waiting/completions.h).
 *
 * I1  a message is in the list of the collection that it names, or names none.
 * I2  `good` is how many messages in the list have the code ZCRP_OK.
 * I3  is_rung is true only while the descriptor is readable, or about to be: a collector clears the
 *     descriptor first, and is_rung then. */
#ifndef ZCRP_LINK_COLLECTION_H
#define ZCRP_LINK_COLLECTION_H

#include "message.h"
#include "platform/waking.h"
#include "waiting/completions.h"

struct collection {
    _Atomic bool is_on;    /* (a) set once; before, there is no descriptor, and nothing is collected
                              unless the entity is in a queue */
    struct wake wake;      /* (k) readable while there is something to collect, or once in vain */
    _Atomic bool is_rung;  /* (a) a ring need not write: saves a system call for each batch */
    _Atomic bool has_more; /* (a) its user has more to collect, or took several at once */
    struct list ended;     /* (k) */
    uint32_t good;         /* (k) of those: ended with ZCRP_OK */
    struct place place;    /* in a queue */
};

/* Off. */
void collection_init(struct collection *c);

/* Lets go of all messages that are left, and closes the descriptor. */
void collection_fini(struct collection *c);

/* Turns the collection on, if it is not. Its descriptor, or the system's negative error number. */
int collection_descriptor(struct collection *c);

/* Is anybody going to take what has ended: a user that collects, or a queue? Sequentially
 * consistent. Any thread may ask. */
static inline bool collection_has_taker(const struct collection *c)
{
    return atomic_load(&c->is_on) || place_is_in_queue(&c->place);
}

/* Opens the latches of messages. If anybody takes them, or the library lends them, they wait to be
 * taken then, but for those that the taker of the queue who looks in this thread is told of at
 * once. Under the link's mutex: a thread that begins to take passes the mutex, so it finds each
 * message open, or it will be put. Returns the queue to be told, to be given to collection_tell;
 * NULL: none. `ended` is not empty. */
struct completions *collection_put(struct collection *c, struct list ended, struct wakes *wakes);

/* Messages were put: makes the descriptor readable, and wakes the queue's takers. Not locked. */
void collection_tell(struct collection *c, struct completions *queue);

/* Makes the descriptor readable, for something else; nothing if off. */
void collection_ring(struct collection *c);

/* The message that ended first, and its code, or NULL. Its owner may free it from then on. Locked,
 * (k). */
struct message *collection_take_locked(struct collection *c, int *code);

/* Locked, (k): is there more? */
static inline bool collection_has_any_locked(const struct collection *c)
{
    return c->ended.first != NULL;
}

/* Locked, (k): is there one that ended with ZCRP_OK? */
static inline bool collection_has_good_locked(const struct collection *c)
{
    return c->good > 0;
}

/* Leaves that queue (NULL: any). What was not taken is left to who collects, or let go of. True if
 * it was in it: `*sockets` are those that its takers look at. */
bool collection_leave_queue(struct collection *c, const struct completions *from,
                            struct sockets **sockets);

/* The message that ended first, or NULL. Never blocks. */
struct message *collection_take(struct collection *c);

/* Did the user, when it took last, leave more, or take several at once? Then it is likely to submit
 * several. And to say so: it did, or it does not come back. Any thread. */
static inline bool collection_has_more(const struct collection *c)
{
    return atomic_load_explicit(&c->has_more, memory_order_relaxed);
}

static inline void collection_set_more(struct collection *c, bool has_more)
{
    atomic_store_explicit(&c->has_more, has_more, memory_order_relaxed);
}

/* Takes the message out of the collection that it is in, if any. Its latch is open, or the parent
 * of this process had it in flight: then it is in no collection of this process. */
void collection_withdraw(struct message *message);

#endif
