/* Waiting for messages: for one at the helm, or with its latch; for several with the bell. And the
 * interruption of waits, which may come from a signal handler. */
#include "turns.h"

#include <errno.h>
#include <sched.h>

enum { TURNS_A_LOOK = 64 }; /* at the clock, for what is due */

/* ---- at the helm ---- */

/* What a wait at the helm is for, and what it began with. */
struct message_wait {
    const struct latch *latch;
    instant deadline;
    uint32_t begun; /* of the entity's interrupt */
};

static bool take_helm(struct zcrp_entity *e)
{
    entity_enter(e);
    bool is_taken = !e->is_broken && helm_take(&e->helm);
    entity_leave(e);
    return is_taken;
}

static void leave_helm(struct zcrp_entity *e)
{
    entity_enter(e);
    helm_leave(&e->helm);
    entity_leave(e);
}

static bool has_ended(const struct zcrp_entity *e, const struct message_wait *w)
{
    return latch_is_open(w->latch) || interrupt_is_due(&e->interrupt, w->begun);
}

/* How long not even arrivals shall wake the waiter; 0: they shall. */
static duration fall_asleep(struct zcrp_entity *e, instant deadline)
{
    entity_enter(e);
    helm_sleep(&e->helm, instant_earlier(deadline, entity_deadline(e)));
    duration nap = moderation_rest(&e->moderation, machine_expected(&e->machine));
    entity_leave(e);
    return nap;
}

static void wake_up(struct zcrp_entity *e, int ready)
{
    if (ready > 0 && (ready & CHANNEL_WOKEN))
        wake_clear(&e->helm.wake);
    entity_enter(e);
    helm_wake_up(&e->helm);
    if (ready == CHANNEL_BROKEN)
        entity_break(e);
    bool is_due = entity_deadline(e) <= clock_now();
    entity_leave(e);
    if (is_due)
        timeout_turn(e);
}

/* Sleeps until something arrives, is due, or ends, or for a nap: then the wait that has begun tells
 * nothing of the peer. The thread that opens the latch looks for a sleeper afterwards, and the
 * waiter looks at the latch once it is known as a sleeper: so one of them sees the other. False if
 * the channel is broken: then there is nothing to steer. */
static bool rest_at_helm(struct zcrp_entity *e, const struct message_wait *w, instant *idle)
{
    int ready = 0;
    duration nap = fall_asleep(e, w->deadline);
    if (!has_ended(e, w))
        ready = arriving_sleep(e, &e->helm.wake, nap, e->helm.due);
    if (nap > 0)
        *idle = NEVER;
    wake_up(e, ready);
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
 * False as of rest_at_helm. */
static bool idle_since(struct zcrp_entity *e, const struct message_wait *w, instant *idle,
                       instant now)
{
    if (now - *idle >= spin_limit(&e->helm.spin))
        return rest_at_helm(e, w, idle);
    sched_yield(); /* the peer may be waiting for this very core */
    return true;
}

/* Turn after turn; a wait lasts from the first that finds nothing to the next that finds something.
 */
static void steer(struct zcrp_entity *e, const struct message_wait *w)
{
    instant idle = NEVER;
    for (uint32_t turns = 1; !has_ended(e, w); turns++) {
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

/* How a wait that has done what it can ends: OK if the message has ended. */
static int end_of(struct zcrp_entity *e, const struct message_wait *w)
{
    if (latch_is_open(w->latch))
        return ZCRP_OK;
    if (!interrupt_is_due(&e->interrupt, w->begun))
        return ZCRP_ERROR_TIMEOUT;
    interrupt_tell(&e->interrupt);
    return ZCRP_ERROR_INTERRUPTED;
}

/* Waits for a message in flight, at the helm if that is free. The entity may be closed meanwhile:
 * then the message has ended before. */
static int wait_for_end(struct message *m, instant deadline)
{
    struct zcrp_entity *e = entity_visit(m);

    if (e == NULL)
        return ZCRP_OK;
    struct message_wait w = {&m->latch, deadline, interrupt_begin(&e->interrupt)};
    bool is_ours = take_helm(e);
    if (is_ours) {
        steer(e, &w);
        leave_helm(e);
    }
    if (!has_ended(e, &w))
        (void)latch_wait(&m->latch, deadline, is_ours ? 0 : e->options.spin_ns,
                         &e->interrupt.raised, w.begun);
    int code = end_of(e, &w);
    entity_depart(e);
    return code;
}

/* ---- calls ---- */

static instant deadline_in(int64_t timeout_ns)
{
    instant now = clock_now();

    return timeout_ns < 0 || timeout_ns >= NEVER - now ? NEVER : now + timeout_ns;
}

int zcrp_wait_for(struct zcrp_msg *message, int64_t timeout_ns)
{
    struct message *m = message_of(message);

    if (m == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (!message_is_in_flight(m))
        return message_code(m);
    int code = wait_for_end(m, deadline_in(timeout_ns));
    return code == ZCRP_OK ? m->code : code;
}

/* The index of a message that has ended, ZCRP_ERROR_BUSY if there is none but one is in flight,
 * else ZCRP_ERROR_IDLE. */
static int find_ended(struct zcrp_msg *const messages[], int count)
{
    int result = ZCRP_ERROR_IDLE;

    for (int i = 0; i < count; i++) {
        int code = messages[i] == NULL ? ZCRP_ERROR_IDLE : message_code(message_of(messages[i]));
        if (code == ZCRP_ERROR_BUSY)
            result = code;
        else if (code != ZCRP_ERROR_IDLE)
            return i;
    }
    return result;
}

/* Was the entity of any of them interrupted? Says so to one of those that were. */
static bool is_interrupted(struct zcrp_msg *const messages[], int count)
{
    bool is_so = false;

    for (int i = 0; interrupt_is_known() && i < count && !is_so; i++) {
        struct zcrp_entity *e = messages[i] != NULL ? entity_visit(message_of(messages[i])) : NULL;
        if (e == NULL)
            continue;
        is_so = interrupt_is_due(&e->interrupt, interrupt_begin(&e->interrupt));
        if (is_so)
            interrupt_tell(&e->interrupt);
        entity_depart(e);
    }
    return is_so;
}

int zcrp_wait_any(struct zcrp_msg *const messages[], int count, int64_t timeout_ns)
{
    if (messages == NULL || count < 0)
        return ZCRP_ERROR_ARGUMENT;
    instant deadline = deadline_in(timeout_ns);
    uint32_t heard = bell_listen();
    bool in_time = true, has_stopped = false;
    int found;
    while ((found = find_ended(messages, count)) == ZCRP_ERROR_BUSY && in_time && !has_stopped) {
        has_stopped = is_interrupted(messages, count);
        in_time = has_stopped || bell_wait(&heard, deadline);
    }
    bell_leave();
    if (found != ZCRP_ERROR_BUSY)
        return found;
    return has_stopped ? ZCRP_ERROR_INTERRUPTED : ZCRP_ERROR_TIMEOUT;
}

/* Only what a signal handler may do: atomics, futexes, an eventfd. */
int zcrp_interrupt(struct zcrp_entity *entity)
{
    int error = errno;

    if (entity == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (entity_is_forked(entity))
        return ZCRP_ERROR_FORKED;
    interrupt_raise(&entity->interrupt);
    helm_call(&entity->helm);
    bell_ring();
    errno = error;
    return ZCRP_OK;
}
