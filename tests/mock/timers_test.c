/* What a link does by the time: what is due, what is due no more, and a peer whose process has
 * ended. The machines and the transport are the test's. */
/* wrap: entity_enter entity_leave entity_deadline machine_is_quiet machine_rest machine_expire */
/* wrap: machine_fail keyed_expire peer_move_expire own_move_expire notice_expire */
/* wrap: answering_on_late ways_look_late ways_reap_wholes transport_on_peer_ended */
/* wrap: transport_take_peer_end transport_has_unread tx_drain rx_arm rx_come wake_signal */
/* wrap: clock_now */
#include "link/timers.h"

#include "link/entity.h"
#include "link/rx.h"
#include "link/tx.h"

#include "../support/mock.h"

#include <string.h>

static struct link pair;
static struct zcrp_entity half[LINK_HALVES];
static struct transport transport[LINK_HALVES];

#define SENDER (&half[MACHINE_SENDER])
#define RECEIVER (&half[MACHINE_RECEIVER])

static struct {
    instant now, deadline[LINK_HALVES];
    bool is_quiet, is_late, has_died;
    bool has_unread[LINK_HALVES];
} at;

static struct {
    int rests[LINK_HALVES], expires[LINK_HALVES], fails[LINK_HALVES], drains[LINK_HALVES];
    int ends[LINK_HALVES]; /* of the peer's process, as the transports were told */
    int keyed, moves, notices, answers_late, looks, reaps, arms, comes, wakes;
    uint32_t touched; /* at the end of the last section */
    enum channel_verdict blocked;
} seen;

static enum machine_role role_of(const struct machine *m)
{
    return m == &SENDER->machine ? MACHINE_SENDER : MACHINE_RECEIVER;
}

/* ---- what timers.c calls ---- */

instant __wrap_clock_now(void)
{
    return at.now;
}

void __wrap_entity_enter(struct zcrp_entity *e)
{
    mutex_lock(&e->link->mutex);
    entity_touch(e);
}

void __wrap_entity_leave(struct zcrp_entity *e)
{
    seen.touched = e->link->touched;
    e->link->touched = 0;
    mutex_unlock(&e->link->mutex);
}

instant __wrap_entity_deadline(const struct zcrp_entity *e)
{
    return at.deadline[e->machine.role];
}

bool __wrap_machine_is_quiet(const struct machine *m, instant now)
{
    (void)now;
    return at.is_quiet && role_of(m) == MACHINE_SENDER;
}

void __wrap_machine_rest(struct machine *m)
{
    seen.rests[role_of(m)]++;
}

void __wrap_machine_expire(struct machine *m, instant now)
{
    assert_int_equal(now, at.now);
    seen.expires[role_of(m)]++;
}

void __wrap_machine_fail(struct machine *m, instant now, enum outcome outcome)
{
    (void)now;
    assert_int_equal(outcome, OUTCOME_DIED);
    seen.fails[role_of(m)]++;
}

void __wrap_keyed_expire(struct zcrp_entity *e, instant now)
{
    (void)e;
    (void)now;
    seen.keyed++;
}

void __wrap_peer_move_expire(struct zcrp_entity *e, instant now)
{
    (void)e;
    (void)now;
    seen.moves++;
}

void __wrap_own_move_expire(struct zcrp_entity *e, instant now)
{
    (void)e;
    (void)now;
    seen.moves++;
}

void __wrap_notice_expire(struct zcrp_entity *e, instant now)
{
    (void)e;
    (void)now;
    seen.notices++;
}

void __wrap_answering_on_late(struct answering *a)
{
    (void)a;
    seen.answers_late++;
}

void __wrap_ways_look_late(struct zcrp_entity *e)
{
    seen.looks++;
    e->transport->is_late = at.is_late;
}

void __wrap_ways_reap_wholes(struct zcrp_entity *e)
{
    assert_ptr_equal(e, SENDER);
    assert_int_equal(seen.fails[MACHINE_SENDER], 0); /* what the peer had read has arrived */
    seen.reaps++;
}

void __wrap_transport_on_peer_ended(struct transport *t)
{
    seen.ends[t - transport]++;
}

bool __wrap_transport_take_peer_end(struct transport *t, instant now)
{
    return at.has_died && now >= t->ended_at;
}

bool __wrap_transport_has_unread(const struct transport *t)
{
    return at.has_unread[t - transport];
}

bool __wrap_tx_drain(struct zcrp_entity *e, int bursts)
{
    assert_int_equal(bursts, SENDING_BURSTS);
    seen.drains[e->machine.role]++;
    seen.blocked = e->blocked;
    return true;
}

void __wrap_rx_arm(struct zcrp_entity *reader)
{
    assert_false(mutex_is_held(&pair.mutex));
    assert_ptr_equal(reader, RECEIVER);
    seen.arms++;
}

void __wrap_rx_come(struct zcrp_entity *reader)
{
    assert_false(mutex_is_held(&pair.mutex));
    assert_ptr_equal(reader, RECEIVER);
    assert_true(seen.ends[MACHINE_RECEIVER] > 0);
    seen.comes++;
}

void __wrap_wake_signal(struct wake *wake)
{
    (void)wake;
    seen.wakes++;
}

/* ---- the link ---- */

static void begin(void)
{
    memset(&at, 0, sizeof(at));
    memset(&seen, 0, sizeof(seen));
    at.now = SECOND;
    at.deadline[MACHINE_SENDER] = at.deadline[MACHINE_RECEIVER] = NEVER;
    pair = (struct link){.half = {SENDER, RECEIVER}};
    mutex_init(&pair.mutex);
    lease_init(&pair.lease, LEASE_AT_ONCE);
    for (int role = 0; role < LINK_HALVES; role++) {
        transport[role] = (struct transport){.is_sender = role == MACHINE_SENDER};
        half[role] = (struct zcrp_entity){.link = &pair,
                                          .transport = &transport[role],
                                          .unblock_at = NEVER,
                                          .due = 5,
                                          .machine.role = (enum machine_role)role};
    }
}

FIXTURE(begin, NULL)

/* ---- what is due ---- */

TEST(timers_on_due__what_is_due)
{
    at.deadline[MACHINE_RECEIVER] = at.now + 1;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.expires[MACHINE_RECEIVER], 0);
    assert_int_equal(seen.drains[MACHINE_RECEIVER], 1);
    assert_int_equal(seen.notices, 1);
    assert_true(RECEIVER->due == NEVER); /* it is asked for anew */
    assert_int_equal(pair.read_at, at.now);
    at.deadline[MACHINE_RECEIVER] = at.now;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.expires[MACHINE_RECEIVER], 1);
    assert_int_equal(seen.expires[MACHINE_SENDER], 0);
    assert_int_equal(seen.keyed, 1);
    assert_int_equal(seen.moves, 2);
    assert_int_equal(seen.arms, 0);
}

/* A waiter keeps the time of both halves. */
TEST(timers_turn__of_both_halves)
{
    for (int due = 0; due < 4; due++) {
        begin();
        at.deadline[MACHINE_SENDER] = due & 1 ? at.now : at.now + 1;
        at.deadline[MACHINE_RECEIVER] = due & 2 ? at.now : at.now + 1;
        mutex_lock(&pair.mutex);
        timers_turn(RECEIVER, at.now);
        mutex_unlock(&pair.mutex);
        assert_int_equal(seen.expires[MACHINE_SENDER], due & 1);
        assert_int_equal(seen.drains[MACHINE_SENDER], due & 1);
        assert_int_equal(seen.expires[MACHINE_RECEIVER], due >> 1);
        assert_int_equal(seen.drains[MACHINE_RECEIVER], due >> 1);
        assert_int_equal(pair.touched, due);
        assert_int_equal(pair.read_at, at.now);
    }
    pair.half[MACHINE_RECEIVER] = NULL;
    mutex_lock(&pair.mutex);
    timers_turn(SENDER, at.now);
    mutex_unlock(&pair.mutex);
}

/* A connection that is quiet gives back the memory of both halves. */
TEST(timers_on_due__quiet)
{
    at.deadline[MACHINE_SENDER] = at.now;
    timers_on_due(SENDER);
    assert_int_equal(seen.rests[MACHINE_SENDER] + seen.rests[MACHINE_RECEIVER], 0);
    at.is_quiet = true;
    timers_on_due(SENDER);
    assert_int_equal(seen.rests[MACHINE_SENDER], 1);
    assert_int_equal(seen.rests[MACHINE_RECEIVER], 1);
    pair.half[MACHINE_RECEIVER] = NULL;
    timers_on_due(SENDER);
    assert_int_equal(seen.rests[MACHINE_SENDER], 1);
}

TEST(timers_on_due__unblocks)
{
    SENDER->blocked = CHANNEL_CROWDED;
    SENDER->unblock_at = at.now + 1;
    timers_on_due(SENDER);
    assert_int_equal(seen.blocked, CHANNEL_CROWDED);
    at.now++;
    timers_on_due(SENDER);
    assert_int_equal(seen.blocked, CHANNEL_OK);
    assert_true(SENDER->unblock_at == NEVER);
}

/* The answer that an acknowledgement was held for takes too long. */
TEST(timers_on_due__answer_is_late)
{
    flush_begin(&RECEIVER->flush, at.now, FLUSH_ANSWER);
    at.now += FLUSH_MOST - 1;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.answers_late, 0);
    at.now++;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.answers_late, 1);
    flush_begin(&RECEIVER->flush, 0, FLUSH_MORE);
    timers_on_due(RECEIVER);
    assert_int_equal(seen.answers_late, 1);
}

/* A user whose messages gather, and who does not come back in time, is not waited for again. */
TEST(timers_on_due__gathering_is_late)
{
    collection_set_more(&SENDER->collection, true);
    flush_begin(&SENDER->flush, at.now, FLUSH_MORE);
    at.now += FLUSH_MOST - 1;
    timers_on_due(SENDER);
    assert_true(collection_has_more(&SENDER->collection));
    at.now++;
    timers_on_due(SENDER);
    assert_false(collection_has_more(&SENDER->collection));
}

/* ---- who receives ---- */

/* A lease that nobody took by its time returns to the workers, who arm the socket. */
TEST(timers_on_due__kept_lease_returns)
{
    atomic_store(&pair.lease.state, LEASE_KEPT);
    atomic_store(&pair.lease.until, at.now + 1);
    timers_on_due(RECEIVER);
    assert_int_equal(seen.arms, 0);
    at.now++;
    timers_on_due(SENDER); /* it reads nothing */
    assert_int_equal(seen.arms, 0);
    assert_int_equal(seen.touched, 1 << MACHINE_SENDER);
    timers_on_due(RECEIVER);
    assert_int_equal(seen.arms, 1);
    assert_int_equal(seen.touched, 1 << MACHINE_SENDER | 1 << MACHINE_RECEIVER);
    atomic_store(&pair.lease.state, LEASE_KEPT);
    pair.is_broken = true;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.arms, 1);
}

/* The thread that had the lease knew the sender's deadline, too, and may not have told the engine.
 */
TEST(timers_on_due__given_lease_has_kept_the_senders_time)
{
    timers_on_due(RECEIVER);
    assert_int_equal(seen.arms, 0);
    assert_int_equal(seen.touched, 1 << MACHINE_SENDER | 1 << MACHINE_RECEIVER);
}

/* Nobody has looked at the socket while the peer was late: once it is not, somebody does. */
TEST(timers_on_due__peer_is_not_late_any_more)
{
    timers_on_due(RECEIVER);
    assert_int_equal(seen.looks + seen.arms, 0);
    transport[MACHINE_RECEIVER].is_late = at.is_late = true;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.looks, 1);
    assert_int_equal(seen.arms, 0);
    at.is_late = false;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.looks, 2);
    assert_int_equal(seen.arms, 1);
    assert_int_equal(seen.touched, 1 << MACHINE_SENDER | 1 << MACHINE_RECEIVER);
    timers_on_due(RECEIVER);
    assert_int_equal(seen.arms, 1);
}

/* ---- the peer's process ---- */

TEST(timers_on_peer_ended__both_halves_are_told)
{
    timers_on_peer_ended(RECEIVER);
    assert_int_equal(seen.ends[MACHINE_SENDER], 1);
    assert_int_equal(seen.ends[MACHINE_RECEIVER], 1);
    assert_int_equal(seen.touched, 1 << MACHINE_SENDER | 1 << MACHINE_RECEIVER);
    pair.half[MACHINE_SENDER] = NULL;
    timers_on_peer_ended(RECEIVER);
    assert_int_equal(seen.ends[MACHINE_SENDER], 1);
    assert_int_equal(seen.ends[MACHINE_RECEIVER], 2);
}

/* It may have written to memory, and not lived to wake anybody. So a worker looks, or the waiter
 * that sleeps. */
TEST(timers_on_peer_ended__somebody_looks)
{
    timers_on_peer_ended(RECEIVER);
    assert_int_equal(seen.comes, 1);
    assert_int_equal(seen.wakes, 0);
    atomic_store(&pair.lease.state, LEASE_ASLEEP);
    timers_on_peer_ended(RECEIVER);
    assert_int_equal(seen.comes, 2);
    assert_int_equal(seen.wakes, 1);
}

/* A connection ends with its sender, and a half by itself with its machine. */
TEST(timers_on_due__peer_has_died)
{
    at.has_died = true;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.fails[MACHINE_SENDER], 1);
    assert_int_equal(seen.fails[MACHINE_RECEIVER], 0);
    assert_int_equal(seen.reaps, 1);
    assert_int_equal(seen.touched, 1 << MACHINE_SENDER | 1 << MACHINE_RECEIVER);
    begin();
    at.has_died = true;
    pair.half[MACHINE_SENDER] = NULL;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.fails[MACHINE_RECEIVER], 1);
    assert_int_equal(seen.reaps, 0);
}

/* What the peer has left is received first, by whoever receives, and either half waits for it. */
TEST(timers_on_due__what_the_dead_peer_left_is_unread)
{
    for (int role = 0; role < LINK_HALVES; role++) {
        begin();
        at.has_died = at.has_unread[role] = true;
        timers_on_peer_ended(RECEIVER);
        for (int i = 1; i < 10; i++) {
            timers_on_due(RECEIVER);
            timers_on_due(SENDER);
            assert_int_equal(seen.comes, 1 + 2 * i);
            at.now += 100 * MILLISECOND;
        }
        assert_int_equal(seen.fails[MACHINE_SENDER], 0);
        at.has_unread[role] = false;
        timers_on_due(RECEIVER);
        assert_int_equal(seen.fails[MACHINE_SENDER], 1);
    }
}

/* A thread has taken it, and copies. */
TEST(timers_on_due__what_the_dead_peer_left_is_being_read)
{
    at.has_died = pair.rx.is_claimed = true;
    timers_on_peer_ended(RECEIVER);
    timers_on_due(RECEIVER);
    assert_int_equal(seen.fails[MACHINE_SENDER], 0);
    assert_true(transport[MACHINE_RECEIVER].ended_at > at.now);
    timers_on_due(RECEIVER); /* for something else */
    assert_int_equal(seen.comes, 2);
    at.now = transport[MACHINE_RECEIVER].ended_at;
    pair.rx.is_claimed = false;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.fails[MACHINE_SENDER], 1);
}

/* Whoever receives does not come to it: that is not waited for without end. Nor is a socket that is
 * broken, because nobody receives then. */
TEST(timers_on_due__nobody_reads_what_the_dead_peer_left)
{
    instant began = at.now;

    at.has_died = at.has_unread[MACHINE_RECEIVER] = true;
    timers_on_peer_ended(RECEIVER);
    for (; seen.fails[MACHINE_SENDER] == 0; at.now += MILLISECOND)
        timers_on_due(RECEIVER);
    assert_in_range(at.now - began, 10 * SECOND, 11 * SECOND);
    begin();
    at.has_died = at.has_unread[MACHINE_RECEIVER] = pair.is_broken = true;
    timers_on_due(RECEIVER);
    assert_int_equal(seen.fails[MACHINE_SENDER], 1);
}
