/* What sending and receiving entities have in common: a turn, and a rest, of what comes in. */
#include "platform/system.h"
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

int arriving_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline)
{
    if (nap == 0)
        return channel_wait(e->in, wake_fd(wake), deadline);
    return channel_nap(e->in, wake_fd(wake), instant_earlier(deadline, clock_now() + nap));
}

/* Sleeps without a plan out: a message that is cancelled meanwhile comes back at once. */
bool arriving_rest(struct zcrp_entity *e)
{
    entity_enter(e);
    helm_park(e);
    duration nap = gather_rest(&e->gather, machine_expected(&e->machine));
    entity_leave(e);
    int result = arriving_sleep(e, &e->stop, nap, NEVER);

    return is_at_work(e, result == CHANNEL_BROKEN);
}
