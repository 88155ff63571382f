#include "entity.h"

#include "codes.h"
#include "core/check.h"
#include "own_move.h"
#include "peer_move.h"
#include "platform/sleep.h"
#include "process.h"
#include "waiting/changes.h"
#include "wholes.h"

#include <sched.h>
#include <string.h>

/* A deadline that is later by so much is not that of a stream that goes on. The engine is told of
 * such a one so often at most: to let its alarm ring now and then costs less. */
#define LATER_BY_FAR (20 * MILLISECOND)
#define PUT_OFF_EVERY (4 * MILLISECOND)

/* What a locked section has to wake. */
enum {
    WAKE_SENDING = 1,  /* zcrp-sending */
    WAKE_ROOM = 2,     /* whoever waits for room in the socket */
    WAKE_PROGRESS = 4, /* close */
    WAKE_LINK = 8,     /* who asks how the link to the peer stands */
    WAKE_OFFER = 16,   /* who waits for a size */
    WAKE_DUE = 32,     /* the engine, which learns of a new deadline */
};

struct wakings {
    uint32_t wanted;  /* bits */
    uint32_t wish;    /* for the engine: the number of */
    instant due;      /* this deadline */
    instant awake_by; /* for the waiter that has the lease: to be awake by then */
};

void entity_enter(struct zcrp_entity *e)
{
    mutex_lock(&e->link->mutex);
    entity_touch(e);
}

void entity_move(struct zcrp_entity *e, enum entity_life life)
{
    CHECK(life >= e->life);
    e->life = life;
    if (entity_is_sender(e))
        ways_say_awaited(e); /* close waits for its messages */
}

/* ---- endings ---- */

static void open_latch(struct zcrp_entity *e, struct message *m)
{
    e->has_opened = true;
    latch_open_under_mutex(&m->latch, &e->opened);
}

/* It lies in memory of the program's, or is not only the user's. */
__attribute__((noinline)) static void end_unusual(struct zcrp_entity *e, struct message *m,
                                                  bool has_taker)
{
    if (m->is_wrapped) { /* no other is unseen */
        e->wrapped--;
        e->unseen -= m->is_unseen;
    }
    if (m->is_copy)
        copies_end(&e->copies, m);
    else if (m->is_lent || has_taker)
        list_add(&e->ended, m);
    else
        open_latch(e, m);
}

void entity_end(struct zcrp_entity *e, struct message *m, int code, nlong length, bool has_taker)
{
    message_decide(m, code, length);
    if (code == ZCRP_OK) {
        e->messages++;
        e->bytes += length;
    } else {
        e->failures++;
    }
    if (m->is_wrapped || m->is_lent || m->is_copy)
        end_unusual(e, m, has_taker);
    else if (has_taker)
        list_add(&e->ended, m);
    else
        open_latch(e, m);
}

static void end_backlog(struct zcrp_entity *e, int code)
{
    struct message *m;

    while ((m = backlog_drop(&e->backlog)) != NULL)
        entity_end(e, m, code, 0, entity_has_taker(e));
}

/* Ends the messages that the machine is done with; blanks have no user. Compiled as one function
 * (flatten), with fewer instructions for each. */
__attribute__((flatten)) static void take_endings(struct zcrp_entity *e)
{
    bool has_taker = entity_has_taker(e);
    struct event event;

    while (machine_event(&e->machine, &event)) {
        if (event.user == NULL)
            continue;
        if (event.outcome == OUTCOME_OK) {
            if (event.scribbled > event.length)
                message_clear(event.user, event.length, event.scribbled);
            entity_end(e, event.user, ZCRP_OK, event.length, has_taker);
            continue;
        }
        int code = code_of_outcome(event.outcome, e->link->is_broken);
        entity_end(e, event.user, code, event.length, has_taker);
        if (code_ends_session(event.outcome))
            end_backlog(e, code);
    }
    if (entity_is_failing(e))
        end_backlog(e, code_of_outcome(OUTCOME_CLOSED, e->link->is_broken));
    else if (e->lost != OUTCOME_OK) /* also where no event has said so: a table of withdrawn ones */
        end_backlog(e, code_of_outcome(e->lost, false));
}

/* Room in the machine's table comes with events, but also without: a message that was taken back
 * keeps its place behind its event. So this is tried always. True if any went up; then there may be
 * new events. */
static bool move_backlog_up(struct zcrp_entity *e)
{
    bool any = false;

    while (!backlog_is_empty(&e->backlog)) {
        if (!machine_submit(&e->machine, clock_now(), backlog_head(&e->backlog)))
            break;
        backlog_take(&e->backlog);
        any = true;
    }
    return any;
}

/* ---- wake-ups ---- */

instant entity_deadline(const struct zcrp_entity *e)
{
    if (e->link->is_broken)
        return NEVER;
    instant moves = instant_earlier(peer_move_deadline(e), own_move_deadline(e->link));
    return instant_earlier(moves,
                           instant_earlier(machine_deadline(&e->machine), keyed_deadline(e)));
}

/* Has the sending thread something to do? */
static bool is_sending_due(struct zcrp_entity *e)
{
    if (!entity_is_sender(e))
        return false;
    if (e->link->is_broken || e->is_sending || e->blocked != CHANNEL_OK)
        return false;
    if (flush_is_for(&e->flush, FLUSH_MORE) && e->life == ENTITY_OPEN)
        return false;
    return !transport_holds_back(e->transport) &&
           (sender_has_burst(e->machine.sender) || keyed_has_datagram(e));
}

/* Notes how the link to the peer stands. True if that has changed since. */
static bool note_link(struct zcrp_entity *e)
{
    enum peer_link now = e->link->is_broken ? LINK_ENDED : machine_link(&e->machine);
    bool has_changed = now != e->peer_link;

    e->peer_link = now;
    return has_changed;
}

/* Notes that a connection's peer has closed, as its sender has told the receiver. True if it has
 * done so since: the connection has another status. */
static bool note_close(struct zcrp_entity *e)
{
    bool has_closed = machine_told(&e->machine) != OUTCOME_OK;
    bool is_news = has_closed && !e->has_told_close;

    e->has_told_close = has_closed;
    return is_news;
}

/* Notes what the peer has offered. True if it has said since how large the next message is. */
static bool note_offers(struct zcrp_entity *e)
{
    uint64_t now = machine_offers(&e->machine);
    bool has_come = now != e->offers;

    e->offers = now;
    return has_come;
}

/* When what is put off is sent at the latest. While a thread has a burst out, which may be held up,
 * nobody else can send it: then it is looked at again later. */
static instant flush_due(const struct zcrp_entity *e)
{
    instant at = flush_at(&e->flush);

    return e->is_sending && at < e->due ? instant_later(at, clock_now() + MILLISECOND) : at;
}

/* When the timeout thread has something to do. A receiver's deadlines are for control datagrams.
 * They go with what is gathered, but for acknowledgements, or with what is held. A thread that is
 * sending sends them, too: then there is nothing to do but to look again later. */
static instant next_due(const struct zcrp_entity *e, instant deadline)
{
    instant returns_at = entity_reader(e) == e ? lease_returns_at(&e->link->lease) : NEVER;
    instant due = instant_earlier(e->unblock_at, instant_earlier(returns_at, e->notice.due));
    instant flushed = flush_due(e);

    due = instant_earlier(due, transport_deadline(e->transport));
    if (e->transport->is_late)
        due = instant_earlier(due, clock_now() + MILLISECOND);
    due = instant_earlier(due, flushed);
    if (flush_is_for(&e->flush, FLUSH_MORE) && e->machine.role == MACHINE_RECEIVER)
        deadline = instant_later(deadline, instant_earlier(flushed, machine_acks_at(&e->machine)));
    if (flush_is_for(&e->flush, FLUSH_ANSWER))
        deadline = instant_later(deadline, flushed);
    bool is_out = e->is_sending || transport_holds_back(e->transport);
    if (is_out && e->machine.role == MACHINE_RECEIVER && deadline < e->due)
        deadline = instant_later(deadline, clock_now() + MILLISECOND);
    return instant_earlier(due, deadline);
}

/* Does a waiter see to what this half has to send? One that the lease is kept for is expected back:
 * but only the reader's own words wait for that. */
static bool is_attended(const struct zcrp_entity *e)
{
    enum lease_state state = lease_state(&e->link->lease);

    return state == LEASE_AWAKE || (state == LEASE_KEPT && entity_reader(e) == e);
}

/* Is the engine told of a deadline that is later than what it knows? Only of one that is later by
 * far, and rarely: the time that the link last read is good enough for that. */
static bool is_put_off(const struct zcrp_entity *e, instant due)
{
    if (e->due == NEVER || (due != NEVER && due - e->due < LATER_BY_FAR))
        return false;
    return e->link->read_at - e->put_off_at >= PUT_OFF_EVERY;
}

/* What the engine is told of the next deadline. */
static void tell_due(struct zcrp_entity *e, struct wakings *wakings, instant due)
{
    if (due >= e->due) {
        if (!is_put_off(e, due))
            return;
        e->put_off_at = e->link->read_at;
    }
    wakings->wanted |= WAKE_DUE;
    wakings->due = e->due = due;
    wakings->wish = ++e->wish;
}

static void tell_change(struct zcrp_entity *e, enum fact fact)
{
    changes_tell(&e->changes);
    collection_ring(&e->collection);
    place_note(&e->collection.place, fact);
}

/* A receiver has lost its session: what was posted behind that, before this was noticed, fails,
 * too. */
static void fail_what_was_posted_since(struct zcrp_entity *e)
{
    if (e->lost == OUTCOME_OK)
        return;
    machine_fail(&e->machine, clock_now(), e->lost);
    entity_touch(e);
}

/* The peer was found or lost. The other half of the connection ends with it: whatever its receiver
 * is asked for from now on. A close of this side's own is none of its business. */
static void pass_link_on(struct zcrp_entity *e)
{
    struct zcrp_entity *other = entity_other(e);
    enum outcome why = e->peer_link == LINK_ENDED ? machine_end(&e->machine) : OUTCOME_OK;

    if (e->machine.role == MACHINE_RECEIVER && !e->machine.stays) {
        e->lost = machine_end(&e->machine);
        fail_what_was_posted_since(e);
    }
    if (other == NULL || e->link->is_broken)
        return;
    if (why != OUTCOME_OK && why != OUTCOME_CLOSED && other->lost == OUTCOME_OK) {
        other->lost = machine_end_beside(&other->machine, why);
        if (entity_is_sender(other))
            ways_reap_before_word(other); /* what the peer had read by then */
        machine_fail(&other->machine, clock_now(), other->lost);
    }
    entity_touch(other);
}

/* Notes that the sending thread is asked, which it is once. True if it is to be asked now. A waiter
 * who is awake sends instead. */
static bool ask_for_sending(struct zcrp_entity *e)
{
    bool asks = !e->is_ready && !(e->life == ENTITY_OPEN && is_attended(e)) && is_sending_due(e);

    e->is_ready |= asks;
    return asks;
}

/* The waiter that has the lease sees to what is due, and to what has to be sent unless it sleeps:
 * one that is awake looks at the time by itself, so nobody need know the deadline. What the engine
 * was asked for once it is not asked for again. */
static void find_wakings(struct zcrp_entity *e, struct wakings *wakings)
{
    enum lease_state state = lease_state(&e->link->lease);
    bool is_open = e->life == ENTITY_OPEN;
    bool keeps_time = is_open && (state == LEASE_AWAKE || state == LEASE_ASLEEP);
    instant deadline = is_open && state == LEASE_AWAKE ? NEVER : entity_deadline(e);
    bool has_no_room = e->blocked == CHANNEL_BLOCKED && !e->awaits_room;
    bool has_link_news = note_link(e), is_close_news = note_close(e);
    uint32_t wanted = ask_for_sending(e) ? WAKE_SENDING : 0;

    wanted |= has_no_room ? WAKE_ROOM : 0;
    wanted |= is_open ? 0 : WAKE_PROGRESS;
    wanted |= has_link_news || is_close_news ? WAKE_LINK : 0;
    wanted |= note_offers(e) ? WAKE_OFFER : 0;
    wakings->wanted = wanted;
    wakings->awake_by = deadline;
    e->awaits_room |= has_no_room;
    tell_due(e, wakings, next_due(e, keeps_time ? NEVER : deadline));
    if (has_link_news)
        pass_link_on(e);
}

static void wake_all(struct zcrp_entity *e, const struct wakings *wakings)
{
    uint32_t wanted = wakings->wanted;

    lease_wake_before(&e->link->lease, wakings->awake_by);
    if (wanted & WAKE_DUE)
        engine_due(&e->member, wakings->due, wakings->wish);
    if (wanted & WAKE_SENDING)
        engine_ready(&e->member);
    if (wanted & WAKE_ROOM)
        engine_arm_writable(&e->member);
    if (wanted & WAKE_PROGRESS)
        condition_broadcast(&e->progress);
    if (wanted & WAKE_OFFER)
        tell_change(e, FACT_OFFER);
    if (wanted & WAKE_LINK)
        tell_change(e, FACT_LINK);
    if ((wanted & WAKE_LINK) && entity_other(e) != NULL)
        tell_change(entity_other(e), FACT_LINK);
}

/* ---- statistics ---- */

/* Shows the user's trace what has changed since the last time. */
static void show_trace(struct zcrp_entity *e)
{
    struct zcrp_stats stats = notice_stats(e);

    if (memcmp(&stats, &e->traced, sizeof stats) == 0)
        return;
    e->traced = stats;
    channels_add_stats(&e->channels, &stats);
    process_set_tracing(true);
    e->options.trace(e->options.trace_context, clock_now(), &stats);
    process_set_tracing(false);
}

/* ---- the end of a locked section ---- */

/* Messages have ended in a locked section, and their latches are open: what is left to do when the
 * mutex is free. */
struct ending {
    bool any;
    struct wakes wakes;
    struct completions *queue; /* whose takers are to be woken; NULL: none */
};

/* Are there messages that are to be told of? There need not be such a half. */
static bool has_ended(const struct zcrp_entity *e)
{
    return e != NULL && entity_has_ended(e);
}

/* Locked. */
static void end_messages(struct zcrp_entity *e, struct ending *ending)
{
    ending->any = has_ended(e);
    if (!ending->any)
        return;
    ending->queue = NULL;
    if (e->ended.first != NULL)
        ending->queue = collection_put(&e->collection, e->ended, &e->opened);
    ending->wakes = e->opened;
    e->ended = (struct list){.first = NULL};
    e->opened.count = 0;
    e->has_opened = false;
}

/* Not locked. */
static void tell_ended(struct zcrp_entity *e, const struct ending *ending)
{
    if (!ending->any)
        return;
    wakes_run(&ending->wakes);
    collection_tell(&e->collection, ending->queue);
    bell_ring();
    lease_wake(&e->link->lease);
}

/* What a locked section leaves to do for one half, when the mutex is free. */
struct effects {
    struct zcrp_entity *entity;
    bool has_ways; /* besides the socket, which has left this errand: */
    struct ways_errand errand;
    struct wakings wakings;
    struct ending ending;
};

/* Locked. */
static void find_effects(struct zcrp_entity *e, struct effects *x, bool may_meet)
{
    x->entity = e;
    x->has_ways = e->transport->is_possible;
    if (x->has_ways)
        ways_tend(e, may_meet, &x->errand);
    do
        take_endings(e);
    while (move_backlog_up(e));
    if (x->has_ways && ways_tend_credit(e))
        receiver_call_soon(e->machine.receiver, clock_now());
    end_messages(e, &x->ending);
    if (e->notice.place >= 0)
        notice_tend(e);
    find_wakings(e, &x->wakings);
    if (e->options.trace != NULL)
        show_trace(e);
    if (x->has_ways)
        wholes_tend(e);
}

static void bring_about(struct effects *x)
{
    wake_all(x->entity, &x->wakings);
    tell_ended(x->entity, &x->ending);
}

/* Locked. Of all halves that are touched: how many. The sender comes first, because its receiver
 * learns from it how the connection stands. What is touched after that has another round. */
static uint32_t find_all(struct link *l, struct effects effects[LINK_HALVES], bool may_meet)
{
    uint32_t count = 0;

    for (uint32_t role = 0; role < LINK_HALVES; role++) {
        uint32_t bit = UINT32_C(1) << role;
        if (!(l->touched & bit))
            continue;
        l->touched &= ~bit;
        l->straight &= ~bit; /* whatever follows may change it */
        find_effects(l->half[role], &effects[count++], may_meet);
    }
    return count;
}

void entity_leave(struct zcrp_entity *e)
{
    struct link *l = e->link;
    struct effects effects[LINK_HALVES];
    bool has_met = false, is_over = false;

    CHECK(mutex_is_held(&l->mutex));
    if (has_ended(entity_other(e)))
        entity_touch(entity_other(e));
    entity_touch(e); /* also if the section has waited, and another one has ended meanwhile */
    while (!is_over) {
        uint32_t count = find_all(l, effects, !has_met);
        is_over = l->touched == 0;
        mutex_unlock(&l->mutex);
        for (uint32_t i = 0; i < count; i++)
            bring_about(&effects[i]);
        for (uint32_t i = 0; i < count; i++)
            if (effects[i].has_ways && ways_run(effects[i].entity, &effects[i].errand)) {
                has_met = true;
                is_over = false;
            }
        if (!is_over)
            mutex_lock(&l->mutex);
    }
}

/* What stays touched is found by whatever section ends next. */
void entity_leave_to_send(struct zcrp_entity *e)
{
    bool any = false;

    e->sends++;
    for (uint32_t role = 0; role < LINK_HALVES; role++) {
        struct zcrp_entity *half = e->link->half[role];
        if (!(e->link->touched & UINT32_C(1) << role))
            continue;
        take_endings(half);
        any |= has_ended(half) || ways_must_meet(half);
    }
    if (any)
        entity_leave(e);
    else
        mutex_unlock(&e->link->mutex);
}

void entity_leave_joined(struct zcrp_entity *e)
{
    bool must_send = ask_for_sending(e);

    mutex_unlock(&e->link->mutex);
    if (must_send)
        engine_ready(&e->member);
}

/* Is the end of messages all that is to be told of this half? Without a backlog nothing moves up,
 * which would be something else. */
static bool has_only_ended(struct zcrp_entity *e)
{
    take_endings(e);
    return backlog_is_empty(&e->backlog) && e->life == ENTITY_OPEN && !e->link->is_broken &&
           e->notice.place < 0 && e->options.trace == NULL && !machine_has_burst(&e->machine);
}

/* The other half's messages that have ended are told, too. */
void entity_leave_ended(struct zcrp_entity *e)
{
    struct zcrp_entity *other = has_ended(entity_other(e)) ? entity_other(e) : NULL;
    uint32_t others_bit = e->link->touched & ~(UINT32_C(1) << e->machine.role);

    if (!has_only_ended(e) || others_bit != 0 || (other != NULL && !has_only_ended(other))) {
        entity_leave(e);
        return;
    }
    struct ending ending, others = {.any = false};
    end_messages(e, &ending);
    if (other != NULL)
        end_messages(other, &others);
    e->link->touched = 0;
    if (e->transport->is_possible)
        wholes_tend(e);
    mutex_unlock(&e->link->mutex);
    tell_ended(e, &ending);
    if (others.any)
        tell_ended(other, &others);
}

void entity_break(struct zcrp_entity *e)
{
    struct link *l = e->link;

    if (l->is_broken)
        return;
    l->is_broken = true;
    for (uint32_t role = 0; role < LINK_HALVES; role++) {
        if (l->half[role] == NULL)
            continue;
        machine_fail(&l->half[role]->machine, clock_now(), OUTCOME_CLOSED);
        entity_touch(l->half[role]);
    }
}

/* ---- visits ---- */

/* Calls that are about to visit an entity, in the whole process. An entity goes away only after its
 * messages have ended, so a caller who still finds the latch closed may enter. Close waits until
 * those who looked before have either entered or turned back. */
static _Atomic int entering;

struct zcrp_entity *entity_visit(struct message *message)
{
    struct zcrp_entity *e = NULL;

    atomic_fetch_add(&entering, 1);
    if (message_is_in_flight(message)) {
        e = message->entity;
        atomic_fetch_add(&e->visitors, 1);
    }
    atomic_fetch_sub(&entering, 1);
    return e;
}

void entity_depart(struct zcrp_entity *e)
{
    atomic_fetch_sub(&e->visitors, 1);
}

void entity_say_awaited(struct zcrp_entity *e)
{
    mutex_lock(&e->link->mutex);
    if (e->transport->is_idle) {
        ways_say_awaited(e);
        entity_leave(e);
    } else {
        mutex_unlock(&e->link->mutex);
    }
}

void entity_say_message_awaited(struct message *message)
{
    struct zcrp_entity *e = entity_visit(message);

    if (e == NULL)
        return;
    entity_say_awaited(e);
    entity_depart(e);
}

static void await_none(const _Atomic int *count)
{
    while (atomic_load(count) > 0)
        sched_yield();
}

void entity_await_visitors(struct zcrp_entity *e)
{
    await_none(&e->visitors); /* they may hold an end that is not told yet */
    await_none(&entering);    /* now all are told: later callers turn back */
    await_none(&e->visitors);
}

void entity_after_fork(void)
{
    atomic_store(&entering, 0);
}
