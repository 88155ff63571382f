/* Waiting for messages: for one at the helm, or with its latch; for several with the bell. And the
 * interruption of waits, which may come from a signal handler. */
#include "turns.h"

#include <errno.h>
#include <sched.h>

enum { TURNS_A_LOOK = 64 }; /* at the clock, for what is due */

/* ---- at the helm ---- */

/* What a wait is for, and what it began with. */
struct message_wait {
    struct latch *latch;
    instant deadline;
    uint32_t begun;              /* of the entity's interrupt */
    struct workspace *workspace; /* of a waiter at the helm */
    bool lacks_memory;           /* for a workspace: the helm is of no use to this waiter */
};

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

static void wake_up(struct zcrp_entity *e, const struct message_wait *w, int ready)
{
    if (ready > 0 && (ready & CHANNEL_WOKEN))
        wake_clear(&w->workspace->wake);
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
        ready = arriving_sleep(e, &w->workspace->wake, nap, atomic_load(&e->helm.due));
    if (nap > 0)
        *idle = NEVER;
    wake_up(e, w, ready);
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
        bool has_come = arriving_turn(e, w->workspace);
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

/* ---- waiting ---- */

/* Ends a locked section in which the helm may have become free. */
static void hand_over(struct zcrp_entity *e)
{
    struct latch *called = helm_hand_over(&e->helm);

    entity_leave(e);
    if (called != NULL)
        latch_wake(called);
}

/* Waits at the helm, if it is free: false if it is not. */
static bool wait_at_helm(struct zcrp_entity *e, struct message_wait *w)
{
    if (helm_state(&e->helm) != HELM_FREE)
        return false;
    w->workspace = workspace_take();
    w->lacks_memory = w->workspace == NULL;
    if (w->lacks_memory)
        return false;
    entity_enter(e);
    bool is_ours = !e->is_broken && helm_take(&e->helm, &w->workspace->wake);
    entity_leave(e);
    if (is_ours) {
        steer(e, w);
        entity_enter(e);
        helm_leave(&e->helm);
        hand_over(e);
    }
    workspace_give(w->workspace);
    return is_ours;
}

/* Waits for the latch, while another waiter is at the helm or the library's threads do the work:
 * until the message has ended, or this waiter is called to the helm. */
static void wait_asleep(struct zcrp_entity *e, const struct message_wait *w, duration spin)
{
    struct sleeper sleeper = {.latch = w->latch};

    if (w->lacks_memory) {
        instant later = instant_earlier(w->deadline, clock_now() + MILLISECOND);
        (void)latch_wait(w->latch, later, 0, &e->interrupt.raised, w->begun);
        return;
    }
    entity_enter(e);
    helm_add_sleeper(&e->helm, &sleeper);
    hand_over(e);
    if (!has_ended(e, w))
        (void)latch_wait(w->latch, w->deadline, spin, &e->interrupt.raised, w->begun);
    entity_enter(e);
    helm_remove_sleeper(&e->helm, &sleeper);
    hand_over(e);
}

/* Waits for a message in flight. The entity may be closed meanwhile: then the message has ended
 * before. */
static int wait_for_end(struct message *m, instant deadline)
{
    struct zcrp_entity *e = entity_visit(m);

    if (e == NULL)
        return ZCRP_OK;
    struct message_wait w = {
        .latch = &m->latch, .deadline = deadline, .begun = interrupt_begin(&e->interrupt)};
    bool was_at_helm = false;
    while (!has_ended(e, &w) && clock_now() < deadline) {
        if (wait_at_helm(e, &w))
            was_at_helm = true;
        else
            wait_asleep(e, &w, was_at_helm ? 0 : e->options.spin_ns);
    }
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
