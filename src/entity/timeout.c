#include "platform/clock.h"
#include "turns.h"

void timeout_turn(struct zcrp_entity *e)
{
    entity_enter(e);
    if (!e->is_broken)
        machine_expire(&e->machine, clock_now());
    if (e->machine.role == MACHINE_RECEIVER)
        sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

bool timeout_rest(struct zcrp_entity *e)
{
    instant deadline;

    entity_enter(e);
    while (!e->is_stopping && (deadline = entity_deadline(e)) > clock_now()) {
        e->timeout_at = deadline;
        (void)condition_wait(&e->timeout_due, &e->mutex, deadline);
        e->timeout_at = INT64_MIN;
    }
    bool is_stopping = e->is_stopping;
    entity_leave(e);
    return !is_stopping;
}
