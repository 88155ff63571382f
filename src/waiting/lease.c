#include "lease.h"

#include <stddef.h>

void lease_init(struct lease *l, duration brief)
{
    *l = (struct lease){.is_armed = true, .given = -LEASE_TERM, .brief = brief};
}

/* The one place that moves the state. The workers' socket is armed, a kept one is not. */
static void lease_move(struct lease *l, enum lease_state state)
{
    if (state <= LEASE_KEPT)
        l->is_armed = state == LEASE_WORKERS;
    atomic_store(&l->state, (int)state);
}

/* The mean of the last few; a long one counts as LEASE_LONG. */
static void note_absence(struct lease *l, duration absence)
{
    if (absence > LEASE_LONG(l->brief))
        absence = LEASE_LONG(l->brief);
    l->absence += (absence - l->absence) / 4;
}

bool lease_take(struct lease *l, struct wake *waiter, instant now)
{
    if (lease_is_taken(l) || l->is_closed)
        return false;
    atomic_store(&l->owner, waiter);
    lease_move(l, LEASE_AWAKE);
    note_absence(l, now - l->given);
    for (struct sleeper *s = l->sleepers; s != NULL; s = s->next)
        s->is_chosen = false; /* whoever was chosen comes too late: somebody is chosen again */
    return true;
}

void lease_set_asleep(struct lease *l, instant until)
{
    atomic_store(&l->until, until);
    lease_move(l, LEASE_ASLEEP);
}

void lease_set_awake(struct lease *l)
{
    lease_move(l, LEASE_AWAKE);
}

void lease_wake(struct lease *l)
{
    if (lease_state(l) == LEASE_ASLEEP)
        wake_signal(atomic_load(&l->owner));
}

void lease_wake_before(struct lease *l, instant due)
{
    if (lease_state(l) == LEASE_ASLEEP && due < atomic_load(&l->until))
        wake_signal(atomic_load(&l->owner));
}

void lease_add_sleeper(struct lease *l, struct sleeper *sleeper)
{
    sleeper->is_chosen = false;
    sleeper->next = l->sleepers;
    l->sleepers = sleeper;
}

void lease_remove_sleeper(struct lease *l, struct sleeper *sleeper)
{
    struct sleeper **at = &l->sleepers;

    while (*at != sleeper)
        at = &(*at)->next;
    *at = sleeper->next;
}

/* The one that has slept longest and was not chosen; NULL if one was, or nobody sleeps. */
static struct sleeper *next_to_choose(const struct lease *l)
{
    struct sleeper *next = NULL;

    for (struct sleeper *s = l->sleepers; s != NULL; s = s->next) {
        if (s->is_chosen)
            return NULL;
        next = s;
    }
    return next;
}

struct handover lease_give(struct lease *l, instant now)
{
    l->given = now;
    atomic_store(&l->until, now + LEASE_TERM);
    lease_move(l, l->is_armed ? LEASE_WORKERS : LEASE_KEPT);
    return lease_hand_over(l);
}

struct handover lease_hand_over(struct lease *l)
{
    struct handover over = {.chosen = NULL};

    if (lease_is_taken(l))
        return over;
    if (l->sleepers != NULL && !l->is_closed) {
        struct sleeper *s = next_to_choose(l);
        if (s == NULL)
            return over; /* one was chosen already */
        s->is_chosen = true;
        over.chosen = latch_rouse(s->latch) ? s->latch : NULL;
        return over;
    }
    over.must_arm = lease_state(l) == LEASE_KEPT && l->absence >= l->brief;
    if (over.must_arm)
        lease_move(l, LEASE_WORKERS);
    return over;
}

bool lease_on_disarmed(struct lease *l)
{
    bool is_taken = lease_is_taken(l);

    if (is_taken)
        l->is_armed = false;
    else
        lease_move(l, LEASE_WORKERS);
    return is_taken;
}

bool lease_return(struct lease *l)
{
    bool is_kept = lease_state(l) == LEASE_KEPT;

    if (is_kept)
        lease_move(l, LEASE_WORKERS);
    return is_kept;
}

bool lease_return_if_due(struct lease *l, instant now)
{
    return now >= lease_returns_at(l) && lease_return(l);
}

void lease_close(struct lease *l)
{
    l->is_closed = true;
}
