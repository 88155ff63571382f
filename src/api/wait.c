/* Waiting for messages: for one at the helm, or with its latch; for several with the bell. And the
 * interruption of waits, which may come from a signal handler. */
#include "link/process.h"
#include "link/rx.h"
#include "link/timers.h"
#include "link/tx.h"

#include <errno.h>
#include <sched.h>

enum {
    TURNS_A_LOOK = 64,    /* at the clock, for what is due */
    TURNS_A_HEARING = 32, /* of the socket too, beside memory */
    TURNS_A_YIELD = 8,    /* of the core */
};

/* ---- at the helm ---- */

/* What a wait is for, and what it began with. */
struct message_wait {
    struct zcrp_entity *entity; /* the message's */
    struct latch *latch;
    instant deadline;
    uint32_t begun;              /* of the entity's interrupt */
    struct workspace *workspace; /* of a waiter at the helm */
    bool lacks_memory;           /* for a workspace: the helm is of no use to this waiter */
    bool must_hear;              /* the socket is to be looked at, */
    bool is_readable;            /* and surely has something, if nobody else takes it */
};

static bool has_ended(const struct message_wait *w)
{
    return latch_is_open(w->latch) || interrupt_is_due(&w->entity->interrupt, w->begun);
}

/* How long not even arrivals shall wake the waiter; 0: they shall. */
static duration fall_asleep(struct zcrp_entity *reader, instant deadline)
{
    struct zcrp_entity *other = entity_other(reader);

    entity_enter(reader);
    deadline = instant_earlier(deadline, entity_deadline(reader));
    if (other != NULL) {
        deadline = instant_earlier(deadline, entity_deadline(other));
        entity_touch(other); /* what it has to send is the engine's business from now on */
    }
    helm_sleep(&reader->link->helm, deadline);
    duration nap = rx_rest(reader);
    entity_leave(reader);
    return nap;
}

static void wake_up(struct zcrp_entity *reader, const struct message_wait *w, int ready)
{
    if (ready > 0 && (ready & CHANNEL_WOKEN))
        wake_clear(&w->workspace->wake);
    entity_enter(reader);
    helm_wake_up(&reader->link->helm);
    if (ready == CHANNEL_BROKEN)
        entity_break(reader);
    entity_leave(reader);
    rx_wake(reader);
    timers_turn(reader, clock_now());
}

/* Sleeps until something arrives, is due, or ends, or for a nap: then the wait that has begun tells
 * nothing of the peer. The thread that opens the latch looks for a sleeper afterwards, and the
 * waiter looks at the latch once it is known as a sleeper: so one of them sees the other. False if
 * the channel is broken: then there is nothing to steer. */
static bool rest_at_helm(struct zcrp_entity *reader, struct message_wait *w, instant *idle)
{
    int ready = 0;
    duration nap = fall_asleep(reader, w->deadline);
    bool may_sleep = nap > 0 || rx_may_sleep(reader);
    if (may_sleep && !has_ended(w))
        ready = rx_sleep(reader, &w->workspace->wake, nap, atomic_load(&reader->link->helm.due));
    if (ready == 0)
        sched_yield(); /* another thread may be at what is due, and be waiting for this very core */
    if (nap > 0)
        *idle = NEVER;
    w->is_readable = ready > 0 && (ready & CHANNEL_READABLE);
    w->must_hear = nap > 0 || w->is_readable;
    wake_up(reader, w, ready);
    return ready != CHANNEL_BROKEN;
}

/* The sender whose answers the waiter receives, if there is one: of a connection, or itself. */
static struct zcrp_entity *sender_at(struct zcrp_entity *reader)
{
    struct zcrp_entity *sender = reader->link->half[MACHINE_SENDER];

    return sender != NULL ? sender : reader;
}

/* Nothing came since `idle`: looks again at once as long as waiters may spin, else rests first.
 * False as of rest_at_helm. */
static bool idle_since(struct zcrp_entity *reader, struct message_wait *w, instant *idle,
                       instant now)
{
    if (now - *idle >= spinning_limit(&reader->link->helm.spinning)) {
        atomic_store(&sender_at(reader)->transport->has_pushed, false);
        return rest_at_helm(reader, w, idle);
    }
    if (reader->link->helm.turns % TURNS_A_YIELD == 0)
        sched_yield(); /* the peer may be waiting for this very core */
    return true;
}

/* True if it is for a message to begin, from a peer without shared memory. */
static bool begin_wait(struct zcrp_entity *reader)
{
    bool has_pushed = atomic_load(&sender_at(reader)->transport->has_pushed);

    entity_enter(reader);
    bool is_amid = machine_expected(&reader->machine) > 0;
    spinning_begin(&reader->link->helm.spinning, has_pushed ? WAITING_TO_PUSH
                                                 : is_amid  ? WAITING_FOR_REST
                                                            : WAITING_FOR_NEXT);
    bool is_far = !transport_is_memory(reader->transport);
    entity_leave(reader);
    return is_far && !has_pushed && !is_amid;
}

/* Where waits for the next message are long, hardly anything is there at the beginning of one: the
 * waiter sleeps without a look, and saves a system call. Amid a message it looks, because it may
 * nap then, and a look at memory is no system call. When the wait began; NEVER: it has not
 * begun. False as of rest_at_helm. */
static bool begin_asleep(struct zcrp_entity *reader, struct message_wait *w, instant *idle)
{
    instant now = clock_now();

    if (!begin_wait(reader) || spinning_limit(&reader->link->helm.spinning) > 0 ||
        now >= w->deadline || has_ended(w))
        return true;
    *idle = now;
    return rest_at_helm(reader, w, idle);
}

/* Turn after turn; a wait lasts from the first that finds no more to the next that finds something.
 * A waiter that spins looks once more before the first of its waits. */
static void steer(struct zcrp_entity *reader, struct message_wait *w)
{
    struct spinning *spinning = &reader->link->helm.spinning;
    instant idle = NEVER;
    if (!begin_asleep(reader, w, &idle))
        return;
    while (!has_ended(w)) {
        uint32_t turns = ++reader->link->helm.turns;
        bool hears = w->must_hear || turns % TURNS_A_HEARING == 0;
        w->must_hear = false;
        enum arrival found = rx_turn(reader, w->workspace, hears ? HEAR_ALL : HEAR_MEMORY);
        if (w->is_readable && found == ARRIVAL_NONE)
            sched_yield(); /* to the engine's thread, which is receiving it */
        w->is_readable = false;
        if (atomic_load(&reader->is_held) && !has_ended(w))
            rx_release(reader);
        instant now = clock_now();
        if (found != ARRIVAL_NONE && idle != NEVER)
            spinning_learn(spinning, now - idle);
        if (now >= w->deadline)
            return;
        if (turns % TURNS_A_LOOK == 0)
            timers_turn(reader, now);
        if (found != ARRIVAL_NONE)
            idle = NEVER;
        if (found == ARRIVAL_FULL || has_ended(w))
            continue;
        if (idle == NEVER) {
            (void)begin_wait(reader);
            idle = now;
        }
        if (found == ARRIVAL_SOME && spinning_limit(spinning) > 0)
            idle = NEVER;
        else if (!idle_since(reader, w, &idle, now))
            return;
    }
}

/* How a wait that has done what it can ends: OK if the message has ended. */
static int end_of(const struct message_wait *w)
{
    struct interrupt *interrupt = &w->entity->interrupt;

    if (latch_is_open(w->latch))
        return ZCRP_OK;
    if (!interrupt_is_due(interrupt, w->begun))
        return ZCRP_ERROR_TIMEOUT;
    interrupt_tell(interrupt);
    return ZCRP_ERROR_INTERRUPTED;
}

/* ---- waiting ---- */

/* Ends a locked section in which the helm may have become free. What the waiter there saw to is the
 * engine's business then. */
static void hand_over(struct zcrp_entity *reader)
{
    struct handover over = helm_hand_over(&reader->link->helm);

    if (entity_other(reader) != NULL)
        entity_touch(entity_other(reader));
    entity_leave(reader);
    if (over.called != NULL)
        latch_wake(over.called);
    if (over.must_arm)
        rx_arm(reader);
}

/* Locked. The user of a connection gets a message, which it may answer. */
static void note_message(struct zcrp_entity *reader, const struct message_wait *w)
{
    if (entity_other(reader) == NULL || w->entity != reader || !latch_is_open(w->latch))
        return;
    answering_on_message(&reader->answering);
}

/* Waits at the helm, if it is free: false if it is not. */
static bool wait_at_helm(struct zcrp_entity *reader, struct message_wait *w)
{
    if (helm_state(&reader->link->helm) != HELM_FREE)
        return false;
    w->workspace = workspace_take();
    w->lacks_memory = w->workspace == NULL;
    if (w->lacks_memory)
        return false;
    entity_enter(reader);
    bool is_ours = !reader->link->is_broken && helm_take(&reader->link->helm, &w->workspace->wake);
    if (w->entity == reader)
        answering_on_wait(&reader->answering);
    entity_leave(reader);
    if (is_ours) {
        rx_wake(reader);
        steer(reader, w);
        entity_enter(reader);
        helm_leave(&reader->link->helm);
        note_message(reader, w);
        hand_over(reader);
    }
    workspace_give(w->workspace);
    return is_ours;
}

/* Waits for the latch, while another waiter is at the helm or the library's threads do the work:
 * until the message has ended, or this waiter is called to the helm. */
static void wait_asleep(struct zcrp_entity *reader, const struct message_wait *w, duration spin)
{
    const _Atomic uint32_t *interrupts = &w->entity->interrupt.raised;
    struct sleeper sleeper = {.latch = w->latch};

    if (w->lacks_memory) {
        instant later = instant_earlier(w->deadline, clock_now() + MILLISECOND);
        (void)latch_wait(w->latch, later, 0, interrupts, w->begun);
        return;
    }
    entity_enter(reader);
    helm_add_sleeper(&reader->link->helm, &sleeper);
    hand_over(reader);
    if (!has_ended(w))
        (void)latch_wait(w->latch, w->deadline, spin, interrupts, w->begun);
    entity_enter(reader);
    helm_remove_sleeper(&reader->link->helm, &sleeper);
    hand_over(reader);
}

/* Waits for a message in flight. The entity may be closed meanwhile: then the message has ended
 * before. */
static int wait_for_end(struct message *m, instant deadline)
{
    struct zcrp_entity *e = entity_visit(m);

    if (e == NULL)
        return ZCRP_OK;
    struct message_wait w = {.entity = e,
                             .latch = &m->latch,
                             .deadline = deadline,
                             .begun = interrupt_begin(&e->interrupt)};
    tx_end_gathering(e);
    bool was_at_helm = false;
    bool in_time = true; /* once at least: a wait without time looks whether anything is there */
    while (!has_ended(&w) && in_time) {
        if (wait_at_helm(entity_reader(e), &w))
            was_at_helm = true;
        else
            wait_asleep(entity_reader(e), &w, was_at_helm ? 0 : e->options.spin_ns);
        in_time = clock_now() < deadline;
    }
    int code = end_of(&w);
    entity_depart(e);
    return code;
}

/* ---- calls ---- */

int zcrp_wait_for(struct zcrp_msg *message, int64_t timeout_ns)
{
    struct message *m = message_of(message);

    if (m == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int code = process_refusal(forked_generation());
    if (code != ZCRP_OK)
        return code;
    if (!message_is_in_flight(m))
        return message_code(m);
    code = wait_for_end(m, clock_deadline(timeout_ns));
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
    int code = process_refusal(forked_generation());
    if (code != ZCRP_OK)
        return code;
    instant deadline = clock_deadline(timeout_ns);
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
    if (entity->generation != forked_generation())
        return ZCRP_ERROR_FORKED;
    interrupt_raise(&entity->interrupt);
    helm_call(&entity->link->helm);
    bell_ring();
    errno = error;
    return ZCRP_OK;
}
