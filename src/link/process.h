/* What a process has of the library, beside its entities: the one sender and the one receiver of
 * the paper's API, and the repair of global state in a forked child. */
#ifndef ZCRP_LINK_PROCESS_H
#define ZCRP_LINK_PROCESS_H

#include "platform/thread.h"

#include <stdbool.h>
#include <stdint.h>

struct zcrp_entity;

enum side_state { SIDE_NONE, SIDE_OPENING, SIDE_OPEN, SIDE_CLOSING };

/* The process's sender, or receiver. One mutex guards both sides; it is held to look and to count,
 * never while the entity is opened, used or closed. */
struct side {
    enum side_state state;
    struct zcrp_entity *entity; /* good while OPEN, or in use */
    unsigned users;             /* calls that use the entity just now; closing waits for them */
    struct condition unused;    /* while CLOSING: users has come to 0 */
};

/* The two sides. Never NULL. */
struct side *process_sender(void);
struct side *process_receiver(void);

/* From one state to another; false if it is not in the first. */
bool side_change(struct side *side, enum side_state from, enum side_state to);

/* Counts the caller in, until side_leave. ZCRP_OK, ZCRP_ERROR_CLOSED or _NOT_STARTED. */
int side_use(struct side *side);
void side_leave(struct side *side);

/* While CLOSING: waits until nobody uses the entity. */
void side_await_unused(struct side *side);

/* Why a call may not go on with what a process of this generation has made (forked_generation,
 * where there is nothing): ZCRP_ERROR_FORKED, or _TRACE from within a user's trace, which would
 * wait for what its own thread holds. ZCRP_OK if it may. Any thread, any time. */
int process_refusal(uint32_t generation);

/* This thread runs a user's trace, or no longer. */
void process_set_tracing(bool is_tracing);

/* From now on every child puts the library's global state in order, so that it can close what its
 * parent had open, and open entities of its own. Any thread, any number of times. */
void process_watch_forks(void);

#endif
