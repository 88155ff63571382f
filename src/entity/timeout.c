/* What is due by the time. */
#include "platform/system.h"
#include "turns.h"

void timeout_turn(struct zcrp_entity *e)
{
    entity_enter(e);
    if (!e->is_broken)
        machine_expire(&e->machine, clock_now());
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* What a receiver has due is something to be said. While another thread is sending, that one goes
 * on until all is said: so there is nothing to do here but to look again later. */
static instant next_turn(struct zcrp_entity *e, instant now)
{
    instant deadline = entity_deadline(e);
    bool is_seen_to = e->is_sending && e->machine.role == MACHINE_RECEIVER;

    return is_seen_to && deadline < now + MILLISECOND ? now + MILLISECOND : deadline;
}

bool timeout_rest(struct zcrp_entity *e)
{
    instant deadline;

    entity_enter(e);
    while (!e->is_stopping && (deadline = next_turn(e, clock_now())) > clock_now()) {
        e->timeout_at = deadline;
        (void)condition_wait(&e->timeout_due, &e->mutex, deadline);
        e->timeout_at = INT64_MIN;
    }
    bool is_stopping = e->is_stopping;
    entity_leave(e);
    return !is_stopping;
}
