/* Waiting for messages: for one with the lease, or with its latch; for several with the bell. And
 * the interruption of waits, which may come from a signal handler. */
#include "link/codes.h"
#include "link/peer_move.h"
#include "link/process.h"
#include "link/rx.h"
#include "link/timers.h"
#include "link/tx.h"
#include "platform/reason.h"

#include <errno.h>
#include <sched.h>

enum {
    TURNS_A_LOOK = 64,    /* at the clock, for what is due */
    TURNS_A_HEARING = 32, /* of the socket too, beside memory */
    TURNS_A_YIELD = 8,    /* of the core */
    GLANCES = 50,         /* at memory, before a waiter takes the lease; each is some looks */
};

/* As long as glances may take. Who waits, or lets waiters poll, for less gets none. */
#define GLANCING (10 * MICROSECOND)

/* ---- with the lease ---- */

/* What a wait is for, and what it began with. */
struct message_wait {
    struct zcrp_entity *entity; /* the message's */
    struct latch *latch;
    instant deadline;
    uint32_t begun;              /* of the entity's interrupt */
    struct workspace *workspace; /* of a waiter with the lease */
    bool lacks_memory;           /* for a workspace: the lease is of no use to this waiter */
    bool must_hear;              /* the socket is to be looked at, */
    bool is_readable;            /* and surely has something, if nobody else takes it */
    bool is_for_next;            /* it begins with the next message, which takes the socket */
    instant idle_since;          /* nothing has come since then, which spinning learns from; NEVER:
                                    something has, or how long it takes tells nothing of the peer */
};

static bool has_ended(const struct message_wait *w)
{
    return latch_is_open(w->latch) || interrupt_is_due(&w->entity->interrupt, w->begun);
}

/* The sender whose answers the waiter receives, if there is one: of a connection, or itself. */
static struct zcrp_entity *sender_at(struct zcrp_entity *reader)
{
    struct zcrp_entity *sender = reader->link->half[MACHINE_SENDER];

    return sender != NULL ? sender : reader;
}

/* Goes to sleep. False if there is something already. `*nap`: how long not even arrivals shall wake
 * the waiter; 0: they shall. */
static bool fall_asleep(struct zcrp_entity *reader, instant deadline, duration *nap)
{
    struct zcrp_entity *other = entity_other(reader);

    entity_enter(reader);
    deadline = instant_earlier(deadline, entity_deadline(reader));
    if (other != NULL) {
        deadline = instant_earlier(deadline, entity_deadline(other));
        entity_touch(other); /* what it has to send is the engine's business from now on */
    }
    lease_set_asleep(&reader->link->lease, deadline);
    *nap = rx_rest(reader);
    bool may_sleep = (*nap > 0 || rx_say_asleep(reader)) && !peer_move_has_letters(reader->link);
    entity_leave(reader);
    return may_sleep;
}

static void after_sleep(struct zcrp_entity *reader, const struct message_wait *w, int ready)
{
    if (ready > 0 && (ready & CHANNEL_WOKEN))
        wake_clear(&w->workspace->wake);
    entity_enter(reader);
    lease_set_awake(&reader->link->lease);
    if (ready == CHANNEL_BROKEN)
        entity_break(reader);
    rx_say_awake(reader);
    timers_turn(reader, clock_now());
    entity_leave(reader);
}

static void look_at_time(struct zcrp_entity *reader, instant now)
{
    entity_enter(reader);
    timers_turn(reader, now);
    entity_leave(reader);
}

/* Sleeps until something arrives, is due, or ends, or for a nap: then the wait that has begun tells
 * nothing of the peer. The thread that opens the latch looks for a sleeper afterwards, and the
 * waiter looks at the latch once it is known as a sleeper: so one of them sees the other. False if
 * the channel is broken: then there is nothing to receive. */
static bool rest(struct zcrp_entity *reader, struct message_wait *w)
{
    int ready = 0;
    duration nap;

    if (fall_asleep(reader, w->deadline, &nap) && !has_ended(w))
        ready = rx_sleep(reader, &w->workspace->wake, nap, atomic_load(&reader->link->lease.until));
    if (ready == 0)
        sched_yield(); /* another thread may be at what is due, and be waiting for this very core */
    if (nap > 0)
        w->idle_since = NEVER;
    w->is_readable = ready > 0 && (ready & CHANNEL_READABLE);
    w->must_hear = nap > 0 || w->is_readable;
    after_sleep(reader, w, ready);
    return ready != CHANNEL_BROKEN;
}

/* Looks again at once as long as waiters may spin, else rests first. False as of rest. */
static bool spin_or_rest(struct zcrp_entity *reader, struct message_wait *w, instant now)
{
    struct rx *rx = &reader->link->rx;

    if (now - w->idle_since >= spinning_limit(&rx->spinning)) {
        atomic_store(&sender_at(reader)->transport->has_pushed, false);
        return rest(reader, w);
    }
    if (rx->turns % TURNS_A_YIELD == 0)
        sched_yield(); /* the peer may be waiting for this very core */
    return true;
}

/* What a wait that begins now is for. Locked. */
static enum waiting purpose_now(struct zcrp_entity *reader)
{
    if (atomic_load(&sender_at(reader)->transport->has_pushed))
        return WAITING_TO_PUSH;
    return machine_expected(&reader->machine) > 0 ? WAITING_FOR_REST : WAITING_FOR_NEXT;
}

/* There is no more, as of now. */
static void begin_idle(struct zcrp_entity *reader, struct message_wait *w, instant now)
{
    mutex_lock(&reader->link->mutex);
    spinning_begin(&reader->link->rx.spinning, purpose_now(reader));
    mutex_unlock(&reader->link->mutex);
    w->idle_since = now;
}

/* Turn after turn; a wait lasts from the first that finds no more to the next that finds something.
 * A waiter that spins looks once more before the first of its waits. */
static void receive(struct zcrp_entity *reader, struct message_wait *w)
{
    struct rx *rx = &reader->link->rx;

    while (!has_ended(w)) {
        uint32_t turns = ++rx->turns;
        bool hears = w->must_hear || turns % TURNS_A_HEARING == 0;
        w->must_hear = false;
        enum arrival found = rx_turn(reader, w->workspace, hears ? HEAR_ALL : HEAR_MEMORY);
        if (w->is_readable && found == ARRIVAL_NONE)
            sched_yield(); /* to the engine's thread, which is receiving it */
        w->is_readable = false;
        if (flush_is_for(&reader->flush, FLUSH_ANSWER) && !has_ended(w))
            rx_release(reader);
        if (w->idle_since == NEVER && turns % TURNS_A_LOOK != 0 && has_ended(w))
            return; /* what it waits for was there: nothing is to be learnt of time */
        instant now = clock_now();
        if (found != ARRIVAL_NONE && w->idle_since != NEVER)
            spinning_learn(&rx->spinning, now - w->idle_since);
        if (now >= w->deadline)
            return;
        if (turns % TURNS_A_LOOK == 0)
            look_at_time(reader, now);
        if (found != ARRIVAL_NONE)
            w->idle_since = NEVER;
        if (found == ARRIVAL_FULL || has_ended(w))
            continue;
        if (w->idle_since == NEVER)
            begin_idle(reader, w, now);
        if (found == ARRIVAL_SOME && spinning_limit(&rx->spinning) > 0)
            w->idle_since = NEVER;
        else if (!spin_or_rest(reader, w, now))
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

/* Locked. The user of a connection gets a message, which it may answer. */
static void note_message(struct zcrp_entity *reader, const struct message_wait *w)
{
    if (entity_other(reader) == NULL || w->entity != reader || !latch_is_open(w->latch))
        return;
    answering_on_message(&reader->answering);
}

/* Takes the lease and begins to look: false if somebody else has it. Nothing of this is to be told
 * at the end of the section, but what a receiver has posted and not announced. */
static bool take_lease(struct zcrp_entity *reader, struct message_wait *w, instant now)
{
    struct link *l = reader->link;

    mutex_lock(&l->mutex);
    bool is_ours = !l->is_broken && lease_take(&l->lease, &w->workspace->wake, now);
    if (w->entity == reader)
        answering_on_wait(&reader->answering);
    if (is_ours) {
        enum waiting purpose = purpose_now(reader);
        rx_say_awake(reader);
        spinning_begin(&l->rx.spinning, purpose);
        w->is_for_next = purpose == WAITING_FOR_NEXT && !transport_is_memory(reader->transport);
    }
    if (is_ours && w->entity == reader && reader->machine.role == MACHINE_RECEIVER &&
        receiver_on_wait(reader->machine.receiver)) {
        entity_touch(reader);
        tx_drain(reader, SENDING_BURSTS);
        entity_leave(reader);
    } else {
        mutex_unlock(&l->mutex);
    }
    return is_ours;
}

static void give_lease(struct zcrp_entity *reader, const struct message_wait *w)
{
    entity_enter(reader);
    note_message(reader, w);
    rx_hand_over(reader, lease_give(&reader->link->lease, clock_now()));
}

/* Where waits for the next message are long, hardly anything is there at the beginning of one: the
 * waiter sleeps without a look, and saves a system call. Amid a message it looks, because it may
 * nap then, and a look at memory is no system call. */
static void wait_with_lease(struct zcrp_entity *reader, struct message_wait *w, instant now)
{
    bool begins_asleep = w->is_for_next && spinning_limit(&reader->link->rx.spinning) == 0 &&
                         now < w->deadline && !has_ended(w);

    w->idle_since = begins_asleep ? now : NEVER;
    if (!begins_asleep || rest(reader, w))
        receive(reader, w);
    give_lease(reader, w);
}

/* Waits with the lease, if it can be had: false if it cannot. */
static bool wait_receiving(struct zcrp_entity *reader, struct message_wait *w)
{
    if (lease_is_taken(&reader->link->lease))
        return false;
    w->workspace = workspace_take();
    w->lacks_memory = w->workspace == NULL;
    if (w->lacks_memory)
        return false;
    instant now = clock_now();
    bool is_ours = take_lease(reader, w, now);
    if (is_ours)
        wait_with_lease(reader, w, now);
    workspace_give(w->workspace);
    return is_ours;
}

/* Waits for the latch, while another waiter has the lease or the library's threads do the work:
 * until the message has ended, or this waiter is to take the lease. */
static void wait_asleep(struct zcrp_entity *reader, const struct message_wait *w, duration spin)
{
    const _Atomic uint32_t *interrupts = &w->entity->interrupt.raised;
    struct lease *lease = &reader->link->lease;
    struct sleeper sleeper = {.latch = w->latch};

    if (w->lacks_memory) {
        entity_say_awaited(w->entity);
        instant later = instant_earlier(w->deadline, clock_now() + MILLISECOND);
        (void)latch_wait(w->latch, later, 0, interrupts, w->begun);
        return;
    }
    entity_enter(reader);
    lease_add_sleeper(lease, &sleeper);
    rx_hand_over(reader, lease_hand_over(lease));
    if (!has_ended(w))
        (void)latch_wait(w->latch, w->deadline, spin, interrupts, w->begun);
    entity_enter(reader);
    lease_remove_sleeper(lease, &sleeper);
    rx_hand_over(reader, lease_hand_over(lease));
}

/* A peer on this host usually answers at once, and a lease that is kept is for this waiter: so it
 * looks at memory a few times before it takes the lease, which costs more than the answer does. */
static void look_first(struct zcrp_entity *reader, const struct message_wait *w)
{
    if (!reader->transport->is_possible || w->entity->options.spin_ns < GLANCING ||
        (w->deadline != NEVER && w->deadline - clock_now() < GLANCING))
        return;
    for (int i = 0; i < GLANCES && !has_ended(w) && rx_glance(reader); i++)
        continue;
}

/* Waits for a message in flight. The entity may be closed meanwhile: then the message has ended
 * before. */
static int wait_for_end(struct message *m, instant deadline)
{
    struct zcrp_entity *e = entity_visit(m);

    if (e == NULL)
        return message_code(m);
    struct message_wait w = {.entity = e,
                             .latch = &m->latch,
                             .deadline = deadline,
                             .begun = interrupt_begin(&e->interrupt)};
    tx_end_gathering(e);
    look_first(entity_reader(e), &w);
    bool has_received = false;
    bool in_time = true; /* once at least: a wait without time looks whether anything is there */
    while (!has_ended(&w) && in_time) {
        if (wait_receiving(entity_reader(e), &w))
            has_received = true;
        else
            wait_asleep(entity_reader(e), &w, has_received ? 0 : e->options.spin_ns);
        in_time = deadline == NEVER || clock_now() < deadline;
    }
    int code = end_of(&w);
    if (code == ZCRP_OK)
        code = message_code(m); /* a connection's own message is freed once nobody visits */
    entity_depart(e);
    return code;
}

/* ---- calls ---- */

/* Whatever it is. */
__attribute__((noinline)) static int wait_checked(struct message *m, int64_t timeout_ns)
{
    if (m == NULL)
        return code_of_null("message");
    int code = process_refusal(forked_generation());
    if (code == ZCRP_OK)
        code = message_code(m);
    return code == ZCRP_ERROR_BUSY ? wait_for_end(m, clock_deadline(timeout_ns)) : code;
}

/* Most messages of a stream have ended when their user waits for them. So this asks for no more,
 * and calls only in its last step: then it needs no frame. */
int zcrp_wait_for(struct zcrp_msg *message, int64_t timeout_ns)
{
    struct message *m = message_of(message);
    bool has_ended = m != NULL && !process_runs_traces() && latch_is_open(&m->latch);

    return has_ended ? message_end(m) : wait_checked(m, timeout_ns);
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

/* True if the entity of any of them was interrupted, and that was not told of or came behind that
 * number of the process's interrupts. The interrupt of the first one that was counts as told. */
static bool tell_interrupted(struct zcrp_msg *const messages[], int count, uint64_t interrupts)
{
    bool is_so = false;

    for (int i = 0; interrupts_so_far() > 0 && i < count && !is_so; i++) {
        struct zcrp_entity *e = messages[i] != NULL ? entity_visit(message_of(messages[i])) : NULL;
        if (e == NULL)
            continue;
        is_so = interrupt_is_due_since(&e->interrupt, interrupts);
        if (is_so)
            interrupt_tell(&e->interrupt);
        entity_depart(e);
    }
    return is_so;
}

int zcrp_wait_any(struct zcrp_msg *const messages[], int count, int64_t timeout_ns)
{
    if (messages == NULL)
        return code_of_null("messages");
    if (count < 0)
        return reason_say(ZCRP_ERROR_ARGUMENT, "count is %d; it has to be 0 or more", count);
    int code = process_refusal(forked_generation());
    if (code != ZCRP_OK)
        return code;
    instant deadline = clock_deadline(timeout_ns);
    uint64_t interrupts = interrupts_so_far();
    uint32_t heard = bell_listen();
    for (int i = 0; i < count; i++)
        if (messages[i] != NULL)
            entity_say_message_awaited(message_of(messages[i]));
    bool in_time = true, has_stopped = false;
    int found;
    while ((found = find_ended(messages, count)) == ZCRP_ERROR_BUSY && in_time && !has_stopped) {
        has_stopped = tell_interrupted(messages, count, interrupts);
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
    lease_wake(&entity->link->lease);
    bell_ring();
    errno = error;
    return ZCRP_OK;
}
