#include "turns.h"

static bool is_at_work(struct zcrp_entity *e, bool is_broken_now)
{
    entity_enter(e);
    if (is_broken_now)
        entity_break(e);
    bool is_at_work = !e->is_stopping && !e->is_broken;
    entity_leave(e);
    return is_at_work;
}

bool arriving_turn(struct zcrp_entity *e)
{
    return e->machine.role == MACHINE_SENDER ? update_once(e) : receiving_once(e);
}

/* Sleeps without a plan out: a message that is cancelled meanwhile comes back at once. */
bool arriving_rest(struct zcrp_entity *e)
{
    entity_enter(e);
    helm_park(e);
    entity_leave(e);
    int result = channel_wait(e->in, wake_fd(&e->stop), NEVER);

    return is_at_work(e, result == CHANNEL_BROKEN);
}
