#include "helm.h"

#include "entity.h"
#include "platform/system.h"
#include "turns.h"

#include <sched.h>

static const duration TICK = 250 * MICROSECOND;
static const duration LOOK_MOST = 4 * MILLISECOND;

enum { TURNS_A_LOOK = 64 }; /* at the clock, for what is due */

/* Waiters that are about to enter an entity, in the whole process. An entity goes away only after
 * its messages have ended, so who still finds the latch closed may enter; and whoever closes waits
 * until those who looked before have either entered or turned back. */
static _Atomic int entering;

int helm_init(struct helm *helm, duration spin)
{
    *helm = (struct helm){.left = -TICK};
    spin_init(&helm->spin, spin);
    int error = wake_init(&helm->wake);
    if (!error)
        condition_init(&helm->parked);
    return error;
}

void helm_fini(struct helm *helm)
{
    condition_fini(&helm->parked);
    wake_fini(&helm->wake);
}

struct zcrp_entity *helm_visit(struct message *m)
{
    struct zcrp_entity *e = NULL;
    atomic_fetch_add(&entering, 1);
    if (message_is_in_flight(m)) {
        e = m->entity;
        atomic_fetch_add(&e->helm.guests, 1);
    }
    atomic_fetch_sub(&entering, 1);
    return e;
}

void helm_after_fork(void)
{
    atomic_store(&entering, 0);
}

void helm_depart(struct zcrp_entity *e)
{
    atomic_fetch_sub(&e->helm.guests, 1);
}

static void await_none(const _Atomic int *count)
{
    while (atomic_load(count) > 0)
        sched_yield();
}

void helm_await_guests(struct helm *helm)
{
    await_none(&helm->guests); /* who may hold an end that is not told yet */
    await_none(&entering);     /* now all are told: who comes later turns back */
    await_none(&helm->guests);
}

bool helm_is_minded(const struct zcrp_entity *e)
{
    if (e->helm.is_taken)
        return !atomic_load(&e->helm.sleeps);
    return e->helm.is_parked && clock_now() < e->helm.left + TICK;
}

/* Until the next look, or without limit if the helm has slept since the last one, and looks are as
 * rare as they get. A shorter sleep ends before anybody parks for long, and so without a call. */
static void park(struct zcrp_entity *e, duration look, uint64_t nap_seen)
{
    bool sleeps = e->helm.is_taken && atomic_load(&e->helm.sleeps);
    e->helm.parks_long = sleeps && e->helm.naps == nap_seen && look == LOOK_MOST;
    instant until = e->helm.parks_long ? NEVER : clock_now() + look;
    (void)condition_wait(&e->helm.parked, &e->mutex, until);
    e->helm.parks_long = false;
}

void helm_park(struct zcrp_entity *e)
{
    duration look = TICK;
    uint64_t nap_seen = 0;
    e->helm.is_parked = true;
    while (!e->is_stopping && (e->helm.is_taken || helm_is_minded(e))) {
        uint64_t nap = e->helm.naps;
        park(e, look, nap_seen);
        look = 2 * look < LOOK_MOST ? 2 * look : LOOK_MOST;
        nap_seen = nap;
    }
    e->helm.is_parked = false;
}

static bool take(struct zcrp_entity *e)
{
    entity_enter(e);
    bool is_taken = !e->helm.is_taken && !e->is_stopping && !e->is_broken;
    e->helm.is_taken = e->helm.is_taken || is_taken;
    entity_leave(e);
    return is_taken;
}

static void leave(struct zcrp_entity *e)
{
    entity_enter(e);
    e->helm.is_taken = false;
    e->helm.left = clock_now();
    entity_leave(e);
}

/* How long not even arrivals shall wake it; 0: they shall. */
static duration fall_asleep(struct zcrp_entity *e, instant deadline)
{
    entity_enter(e);
    e->helm.due = instant_earlier(deadline, entity_deadline(e));
    atomic_store(&e->helm.sleeps, true);
    e->helm.naps++;
    duration nap = gather_rest(&e->gather, machine_expected(&e->machine));
    entity_leave(e);
    return nap;
}

static void awake(struct zcrp_entity *e, int ready)
{
    if (ready > 0 && (ready & CHANNEL_WOKEN))
        wake_clear(&e->helm.wake);
    entity_enter(e);
    atomic_store(&e->helm.sleeps, false);
    if (e->helm.parks_long)
        condition_signal(&e->helm.parked);
    if (ready == CHANNEL_BROKEN)
        entity_break(e);
    bool is_due = entity_deadline(e) <= clock_now();
    entity_leave(e);
    if (is_due)
        timeout_turn(e);
}

/* What a wait at the helm is for, and what it began with. */
struct wait {
    const struct latch *latch;
    instant deadline;
    uint32_t begun; /* of the entity's interrupt */
};

static bool is_over(const struct zcrp_entity *e, const struct wait *w)
{
    return latch_is_open(w->latch) || interrupt_is_due(&e->interrupt, w->begun);
}

/* Sleeps until something arrives, is due, or ends, or for a nap: then the wait that has begun tells
 * nothing of the peer. Who opens the latch looks for sleepers behind that, and we look at the latch
 * once we are known as one: so one of us sees the other. False if the channel is broken: then there
 * is nothing to steer. */
static bool rest(struct zcrp_entity *e, const struct wait *w, instant *idle)
{
    int ready = 0;
    duration nap = fall_asleep(e, w->deadline);
    if (!is_over(e, w))
        ready = arriving_sleep(e, &e->helm.wake, nap, e->helm.due);
    if (nap > 0)
        *idle = NEVER;
    awake(e, ready);
    return ready != CHANNEL_BROKEN;
}

/* What is due by the time is done now and then also while there is always something else to do. */
static void keep_time(struct zcrp_entity *e, instant now)
{
    entity_enter(e);
    bool is_due = entity_deadline(e) <= now;
    entity_leave(e);
    if (is_due)
        timeout_turn(e);
}

/* Nothing came since `idle`: looks again at once as long as waiters may spin, else rests first.
 * False as of rest. */
static bool idle_since(struct zcrp_entity *e, const struct wait *w, instant *idle, instant now)
{
    if (now - *idle >= spin_limit(&e->helm.spin))
        return rest(e, w, idle);
    sched_yield(); /* the peer may be waiting for this very core */
    return true;
}

/* Turn after turn; a wait lasts from the first that finds nothing to the next that finds something.
 */
static void steer(struct zcrp_entity *e, const struct wait *w)
{
    instant idle = NEVER;
    for (uint32_t turns = 1; !is_over(e, w); turns++) {
        bool has_come = arriving_turn(e);
        instant now = clock_now();
        if (has_come && idle != NEVER)
            spin_learn(&e->helm.spin, now - idle);
        if (now >= w->deadline)
            return;
        if (turns % TURNS_A_LOOK == 0)
            keep_time(e, now);
        idle = has_come ? NEVER : instant_earlier(idle, now);
        if (!has_come && !idle_since(e, w, &idle, now))
            return;
    }
}

/* How a wait that has done what it can ends. */
static enum helm_end end_of(struct zcrp_entity *e, const struct wait *w)
{
    if (latch_is_open(w->latch))
        return HELM_ENDED;
    if (!interrupt_is_due(&e->interrupt, w->begun))
        return HELM_TIMEOUT;
    interrupt_tell(&e->interrupt);
    return HELM_INTERRUPTED;
}

enum helm_end helm_wait(struct message *message, instant deadline)
{
    struct latch *latch = &message->latch;
    if (latch_is_open(latch))
        return HELM_ENDED;
    struct zcrp_entity *e = helm_visit(message);
    if (e == NULL)
        return HELM_ENDED;
    struct wait w = {latch, deadline, interrupt_begin(&e->interrupt)};
    bool is_ours = take(e);
    if (is_ours) {
        steer(e, &w);
        leave(e);
    }
    if (!is_over(e, &w))
        (void)latch_wait(latch, deadline, is_ours ? 0 : e->options.spin_ns, &e->interrupt.raised,
                         w.begun);
    enum helm_end end = end_of(e, &w);
    helm_depart(e);
    return end;
}
