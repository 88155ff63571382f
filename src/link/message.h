/* A message: what the user sees of it, and what the library knows; and lists of messages.
 *
 *     begin            latch closes
 *       IDLE --------------------> IN_MACHINE -----> ENDED     the latch opens
 *          \---> QUEUED ---------^                ^
 *                    \---cancelled, or failed-----/
 *
 * The latch is closed exactly while the message is in flight: from begin until entity_end or the
 * collection opens it. A thread that finds it open may read the rest without a lock, and only then
 * may the message be freed. It opens last: once it is open, the library does not touch the message
 * any more.
 *
 * Lock letters: (m) the mutex of the entity it is in flight in; (k) the collections' mutex;
 * (l) written before the latch opens or while no other call has the message, read while it is
 * open. */
#ifndef ZCRP_LINK_MESSAGE_H
#define ZCRP_LINK_MESSAGE_H

#include "core/adt/pieces.h"
#include "core/instant.h"
#include "platform/system.h"
#include "platform/waking.h"
#include "zcrp.h"

#include <stdatomic.h>
#include <stdbool.h>

struct collection;
struct shared_arena;
struct message;

/* An intrusive list of messages, first in, first out. A message is in one list at most: in its
 * entity's backlog while it waits, among those whose ends are to be told, in its entity's
 * collection once it has ended. All zero when empty. */
struct list {
    struct message *first;
    struct message *last;
};

/* What a message brings for it. */
struct list_links {
    struct message *previous;
    struct message *next;
};

/* Appends the message, which is in no list. O(1), cannot fail. */
void list_add(struct list *l, struct message *message);

/* Removes the message, which is in this list; its own links stay as they are. O(1), cannot fail. */
void list_remove(struct list *l, struct message *message);

/* Where a flight stands. It only moves on, by message_move. */
enum message_life {
    MESSAGE_IDLE,       /* not submitted, or about to be */
    MESSAGE_QUEUED,     /* in the backlog: the machine does not know it yet */
    MESSAGE_IN_MACHINE, /* and has a number */
    MESSAGE_ENDED,      /* its code is decided; the latch opens any moment, or is open */
};

struct message {
    struct zcrp_msg public;      /* first: the user's pointer is ours */
    struct latch latch;          /* (a) */
    int code;                    /* (l) how it ends; ZCRP_ERROR_IDLE before it ever was in flight */
    void *memory;                /* (c) the library's buffer, to be freed; NULL: it wraps */
    struct shared_arena *arena;  /* (c) that it is of; NULL: none */
    const struct pieces *pieces; /* (c) that it wraps; NULL: one, at public.buffer, or none. The
                                    table lies behind the message */
    bool is_wrapped : 1;         /* (c) as the next two: one look tells that it is none of these */
    bool is_lent : 1;            /* (c) the user may not free it; until its owner does */
    bool is_copy : 1;            /* (c) nobody has it but the library (copies.h) */
    nlong seen_bytes;            /* (l) of what it wraps: it ended well with them, */
    instant seen_at;             /* (l) having been given then; see message_is_unseen */

    /* While in flight. */
    struct zcrp_entity *entity; /* (l) that has it; valid only while in flight */
    uint32_t generation;        /* (l) of the process that did (platform/system.h) */
    nlong size;                 /* (l) bytes to send or receive, at most */
    enum message_life life;     /* (m) */
    bool is_unseen;             /* (m) its pages may not be there */
    uint64_t number;            /* (m) the machine's, once it is in the machine */
    uint64_t blanks;            /* (m) numbers to leave blank before its own; see backlog.h */
    struct list_links links;    /* (m) of the backlog, (k) of the collection */

    _Atomic(struct collection *) collection; /* (k) where it can be collected; NULL: nowhere.
                                                Also read without a lock, for a first look. */
};

/* The message behind what the user holds. NULL stays NULL. */
static inline struct message *message_of(struct zcrp_msg *public)
{
    return (struct message *)public;
}

static inline const struct message *message_of_const(const struct zcrp_msg *public)
{
    return (const struct message *)public;
}

/* A message with a buffer of its own, at a cache line's start; or over memory that the caller has,
 * also in several pieces, as pieces_init wants them. NULL: no memory. Freed by destroy, with its
 * own buffer, if that is of no arena; it is not in flight then. */
struct message *message_create(nlong size);
struct message *message_create_over(void *buffer, nlong size);
struct message *message_create_over_pieces(const struct iovec *piece, uint32_t count);
void message_destroy(struct message *m);

/* Cannot fail; any thread, any time. What a parent had in flight is not in flight in its child. */
static inline bool message_is_in_flight(const struct message *m)
{
    return !latch_is_open(&m->latch) && m->generation == forked_generation();
}

/* Why nobody may submit it, or change what it wraps: ZCRP_ERROR_BUSY in flight, and
 * ZCRP_ERROR_FORKED if a parent has it in flight; else ZCRP_OK. Any thread, any time. */
static inline int message_refusal(const struct message *m)
{
    if (latch_is_open(&m->latch))
        return ZCRP_OK;
    /* Not message_is_in_flight, which would look at the latch again: it may have opened by now. */
    return m->generation == forked_generation() ? ZCRP_ERROR_BUSY : ZCRP_ERROR_FORKED;
}

/* zcrp_explain tells the text of ZCRP_ERROR_REFUSED from now on, because its longer text may be of
 * another connection. Returns that code. */
int message_say_refused(void);

/* How a message ended whose latch is open: ZCRP_OK, the error, or _IDLE. */
static inline int message_end(const struct message *m)
{
    return m->code == ZCRP_ERROR_REFUSED ? message_say_refused() : m->code;
}

/* The same of any, ZCRP_ERROR_BUSY or _FORKED; any thread, any time. */
static inline int message_code(const struct message *m)
{
    int code = message_refusal(m);

    return code == ZCRP_OK ? message_end(m) : code;
}

/* May pages of its `size` first bytes have to come? Not if it wraps nothing, or if they were there
 * within the last second. */
bool message_is_unseen(const struct message *m, nlong size, instant now);

/* In flight from now on, and idle until it is queued or in the machine. No thread waits for it, and
 * the results of its last flight are cleared. For one that wraps memory message_note_seen comes
 * before: are its pages unseen, as of `now`? */
void message_begin(struct message *m, struct zcrp_entity *entity, nlong size);
void message_note_seen(struct message *m, nlong size, instant now);

/* The flight moves on (CHECKed). Under the mutex. */
void message_move(struct message *m, enum message_life life);

/* Sets the bytes [first, last) of its memory to 0; of what it wraps as much as is there. Under the
 * mutex. */
void message_clear(const struct message *m, uint64_t first, uint64_t last);

/* Its end is decided, but no thread outside sees it yet. Under the mutex. */
void message_decide(struct message *m, int code, nlong length);

#endif
