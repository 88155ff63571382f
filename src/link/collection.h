/* The collection: messages of one entity that have ended and were not collected yet, and a
 * descriptor that poll finds readable then.
 *
 *     ended: put --> latch opens --> ring          collect: take (only if the latch is open)
 *
 * Anybody who sees its latch open may free a message, or submit it again, even after its entity was
 * closed. Then it has to leave the collection. So all collections share one mutex, which outlives
 * every entity. It is the last in the lock order, and held for a few instructions.
 *
 * I1  a message is in the list of the collection that it names, or names none.
 * I2  is_rung is true only while the descriptor is readable, or about to be: a collector clears the
 *     descriptor first, and is_rung then. */
#ifndef ZCRP_LINK_COLLECTION_H
#define ZCRP_LINK_COLLECTION_H

#include "message.h"
#include "platform/waking.h"

struct collection {
    _Atomic bool is_on; /* (a) set once; before, nothing is collected and there is no descriptor */
    struct wake
        wake; /* (k) readable while messages can be collected; may be readable once without any */
    _Atomic bool is_rung;  /* (a) a ring need not write: saves a system call for each batch */
    _Atomic bool has_more; /* (a) when a message was taken last, there were more */
    struct list ended;     /* (k) */
};

/* Off. */
void collection_init(struct collection *c);

/* Lets go of all messages that are left, and closes the descriptor. */
void collection_fini(struct collection *c);

/* Turns the collection on, if it is not. Its descriptor, or the system's negative error number. */
int collection_descriptor(struct collection *c);

/* Is it on? Sequentially consistent. Any thread may ask. */
static inline bool collection_is_on(const struct collection *c)
{
    return atomic_load(&c->is_on);
}

/* The messages, whose latches are about to open, wait to be collected; nothing if off. */
void collection_put(struct collection *c, struct list ended);

/* Makes the descriptor readable, once the latches of messages put are open; nothing if off. */
void collection_ring(struct collection *c);

/* The message that ended first, or NULL. Never blocks. */
struct message *collection_take(struct collection *c);

/* Does the user collect, and was there more to collect? Then more calls are likely. Any thread. */
static inline bool collection_has_more(const struct collection *c)
{
    return atomic_load_explicit(&c->has_more, memory_order_relaxed);
}

/* Takes the message out of the collection that it is in, if any. Its latch is open, or the parent
 * of this process had it in flight: then it is in no collection of this process. */
void collection_withdraw(struct message *message);

/* In a child: nobody has the mutex. */
void collection_after_fork(void);

#endif
