/* What a turn of a link's reader does, and a glance at memory: with transports whose memory the
 * test writes, and where it sees what is received, landed, sent and woken. */
/* wrap: clock_now receive_once receive_answers receive_tell_news wholes_land tx_drain */
/* wrap: entity_enter entity_leave entity_leave_ended */
/* wrap: transport_is_still transport_find_news transport_has_control transport_has_arrived */
/* wrap: transport_say_awake transport_claim_push transport_must_tell transport_find_credit */
/* wrap: ways_say_asleep ways_find_credit ways_reap_wholes ways_tend_credit ways_push */
/* wrap: sockets_arm sockets_arrive engine_arm engine_arrive workspace_take workspace_give */
/* wrap: receiver_on_wholes sender_has_burst keyed_is_news wake_signal latch_wake */
/* wrap: moderation_rest machine_expected machine_round_trip spinning_learn peer_move_has_letters */
#include "link/receive.h"
#include "link/rx.h"
#include "link/tx.h"
#include "link/wholes.h"

#include "../support/mock.h"

#include <string.h>

enum { NAP = 7, RECEIVES_MOST = 200, TURN = 64, HEARD_EACH = 16 };

#define CROWD (20 * MICROSECOND)

/* The link's halves, by role, and what the test says of each. */
static struct link pair;
static struct zcrp_entity half[LINK_HALVES];
static struct transport transport[LINK_HALVES];
static struct workspace workspace;

static struct {
    instant now;
    bool has_something[LINK_HALVES]; /* in memory */
    bool has_control, has_arrived, has_credit, has_push, has_answers, has_burst;
    bool says_awake[LINK_HALVES], is_refused_sleep, has_letters;
    int wholes;        /* landings that find some; less than 0: all do */
    enum arrival full; /* what a receive finds, */
    int fulls;         /* so often; then nothing */
    bool has_no_workspace, is_queues;
    enum lease_state lease_then; /* what the lease is once something has landed */
} at;

/* How often. */
static struct {
    int receives, landings, drains, reaps, tends, pushes, leaves, endings, workspaces;
    int arms, comes, wakes, rouses, rests, learns;
    bool was_for_taker;
} seen;

#define SENDER (&half[MACHINE_SENDER])
#define RECEIVER (&half[MACHINE_RECEIVER])

/* ---- what rx.c calls ---- */

instant __wrap_clock_now(void)
{
    return at.now;
}

enum arrival __wrap_receive_once(struct zcrp_entity *reader, struct workspace *w,
                                 enum hearing hearing)
{
    (void)w;
    (void)hearing;
    assert_false(mutex_is_held(&reader->link->mutex));
    assert_true(++seen.receives <= RECEIVES_MOST);
    seen.was_for_taker = pair.rx.is_for_taker;
    return seen.receives <= at.fulls ? at.full : ARRIVAL_NONE;
}

bool __wrap_receive_answers(struct zcrp_entity *sender, uint8_t *memory)
{
    (void)memory;
    assert_ptr_equal(sender, SENDER);
    return at.has_answers;
}

bool __wrap_receive_tell_news(struct zcrp_entity *sender, struct peer_news news)
{
    assert_ptr_equal(sender, SENDER);
    return news.has_shown;
}

bool __wrap_wholes_land(struct zcrp_entity *e)
{
    assert_ptr_equal(e, RECEIVER);
    seen.landings++;
    if (at.wholes == 0)
        return false;
    at.wholes--;
    atomic_store(&pair.lease.state, (int)at.lease_then);
    return true;
}

bool __wrap_tx_drain(struct zcrp_entity *e, int bursts)
{
    assert_true(mutex_is_held(&e->link->mutex));
    assert_int_equal(bursts, SENDING_BURSTS);
    seen.drains++;
    return true;
}

void __wrap_entity_enter(struct zcrp_entity *e)
{
    mutex_lock(&e->link->mutex);
}

void __wrap_entity_leave(struct zcrp_entity *e)
{
    seen.leaves++;
    mutex_unlock(&e->link->mutex);
}

void __wrap_entity_leave_ended(struct zcrp_entity *e)
{
    seen.endings++;
    mutex_unlock(&e->link->mutex);
}

static bool has_something(const struct transport *t)
{
    return at.has_something[t - transport];
}

bool __wrap_transport_is_still(const struct transport *t)
{
    return !has_something(t);
}

bool __wrap_transport_find_news(const struct transport *t)
{
    return has_something(t);
}

bool __wrap_transport_has_control(const struct transport *t)
{
    assert_ptr_equal(t, &transport[MACHINE_SENDER]);
    return at.has_control;
}

bool __wrap_transport_has_arrived(const struct transport *t)
{
    assert_ptr_equal(t, &transport[MACHINE_SENDER]);
    return at.has_arrived;
}

bool __wrap_transport_say_awake(struct transport *t)
{
    return at.says_awake[t - transport];
}

bool __wrap_transport_claim_push(struct transport *t)
{
    assert_ptr_equal(t, &transport[MACHINE_SENDER]);
    return at.has_push;
}

bool __wrap_transport_must_tell(struct transport *t)
{
    (void)t;
    return false;
}

bool __wrap_transport_find_credit(const struct transport *t, uint64_t in_session, uint64_t *size)
{
    (void)t;
    (void)in_session;
    (void)size;
    return false;
}

bool __wrap_ways_say_asleep(struct zcrp_entity *e)
{
    (void)e;
    return !at.is_refused_sleep;
}

bool __wrap_ways_find_credit(const struct zcrp_entity *e)
{
    assert_ptr_equal(e, SENDER);
    return at.has_credit;
}

void __wrap_ways_reap_wholes(struct zcrp_entity *e)
{
    assert_ptr_equal(e, SENDER);
    seen.reaps++;
}

bool __wrap_ways_tend_credit(struct zcrp_entity *e)
{
    assert_ptr_equal(e, SENDER);
    seen.tends++;
    return false;
}

void __wrap_ways_push(struct zcrp_entity *e)
{
    assert_ptr_equal(e, SENDER);
    seen.pushes++;
}

bool __wrap_sockets_arm(struct sockets_member *m)
{
    (void)m;
    return false;
}

bool __wrap_sockets_arrive(struct sockets_member *m)
{
    (void)m;
    return at.is_queues;
}

void __wrap_engine_arm(struct engine_member *m)
{
    (void)m;
    seen.arms++;
}

void __wrap_engine_arrive(struct engine_member *m)
{
    (void)m;
    seen.comes++;
}

struct workspace *__wrap_workspace_take(void)
{
    seen.workspaces++;
    return at.has_no_workspace ? NULL : &workspace;
}

void __wrap_workspace_give(struct workspace *w)
{
    assert_ptr_equal(w, &workspace);
}

void __wrap_receiver_on_wholes(struct receiver *r, instant now)
{
    (void)r;
    (void)now;
}

bool __wrap_sender_has_burst(const struct sender *s)
{
    (void)s;
    return at.has_burst;
}

bool __wrap_keyed_is_news(const struct zcrp_entity *receiver)
{
    (void)receiver;
    return false;
}

void __wrap_wake_signal(struct wake *w)
{
    (void)w;
    seen.wakes++;
}

void __wrap_latch_wake(const struct latch *latch)
{
    assert_non_null(latch);
    seen.rouses++;
}

duration __wrap_moderation_rest(struct moderation *m, uint64_t expected, duration round_trip)
{
    (void)m;
    (void)expected;
    (void)round_trip;
    seen.rests++;
    return NAP;
}

uint64_t __wrap_machine_expected(const struct machine *m)
{
    (void)m;
    return 0;
}

duration __wrap_machine_round_trip(const struct machine *m)
{
    (void)m;
    return 0;
}

bool __wrap_peer_move_has_letters(const struct link *l)
{
    assert_ptr_equal(l, &pair);
    return at.has_letters;
}

void __wrap_spinning_learn(struct spinning *s, duration waited)
{
    (void)s;
    (void)waited;
    seen.learns++;
}

/* ---- the link ---- */

/* A connection whose peer is on this host. */
static void begin(void)
{
    memset(&at, 0, sizeof(at));
    memset(&seen, 0, sizeof(seen));
    at.now = SECOND;
    pair = (struct link){.half = {SENDER, RECEIVER}};
    mutex_init(&pair.mutex);
    lease_init(&pair.lease, LEASE_AT_ONCE);
    for (int role = 0; role < LINK_HALVES; role++) {
        transport[role] = (struct transport){
            .is_sender = role == MACHINE_SENDER, .is_possible = true, .way = WAY_MEMORY};
        half[role] = (struct zcrp_entity){
            .link = &pair, .transport = &transport[role], .machine.role = (enum machine_role)role};
    }
}

FIXTURE(begin, NULL)

/* Without memory. */
static void leave_memory(void)
{
    for (int role = 0; role < LINK_HALVES; role++) {
        transport[role].is_possible = false;
        transport[role].way = WAY_SOCKET;
    }
}

/* A sender over descriptors, which reads for itself. */
static void be_alone(void)
{
    pair.half[MACHINE_RECEIVER] = NULL;
}

static void set_lease(enum lease_state state)
{
    atomic_store(&pair.lease.state, (int)state);
    at.lease_then = state;
}

/* ---- how often a turn receives ---- */

TEST(rx_receives_of_turn__doubles_in_a_crowd)
{
    static const int expected[] = {2, 4, 8, 16, 32, 64, 64, 64};

    for (int round = 0; round < 2; round++) {
        atomic_store(&pair.rx.heard, at.now);
        at.now += CROWD;
        assert_int_equal(rx_receives_of_turn(RECEIVER, false), 1);
        for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
            atomic_store(&pair.rx.heard, at.now);
            at.now += CROWD - 1;
            assert_int_equal(rx_receives_of_turn(RECEIVER, false), expected[i]);
        }
    }
}

/* A taker comes back soon whether there is anything or not. So it receives more than once only
 * where there was more the last time. */
TEST(rx_receives_of_turn__doubles_for_a_taker_while_there_is_more)
{
    static const int expected[] = {1, 2, 4, 8, 16};

    leave_memory();
    at.full = ARRIVAL_FULL;
    for (int round = 0; round < 2; round++) {
        at.fulls = RECEIVES_MOST;
        for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
            int most = rx_receives_of_turn(RECEIVER, true);
            assert_int_equal(most, expected[i]);
            assert_int_equal(rx_receive_all(RECEIVER, &workspace, most), ARRIVAL_FULL);
        }
        at.fulls = seen.receives + 3;
        assert_int_equal(rx_receive_all(RECEIVER, &workspace, TURN), ARRIVAL_SOME);
        assert_int_equal(rx_receives_of_turn(RECEIVER, true), 1);
        assert_int_equal(rx_receive_all(RECEIVER, &workspace, 1), ARRIVAL_NONE);
    }
}

/* The engine has left some to its next turn, and then the link joins a queue. */
TEST(rx_receives_of_turn__first_of_a_taker_behind_the_engine)
{
    leave_memory();
    at.full = ARRIVAL_FULL;
    at.fulls = RECEIVES_MOST;
    assert_int_equal(rx_on_arrival(RECEIVER), ENGINE_ARM); /* there is more */
    assert_int_equal(rx_receives_of_turn(RECEIVER, true), 1);
    assert_int_equal(rx_receive_all(RECEIVER, &workspace, 1), ARRIVAL_FULL);
    assert_int_equal(rx_receives_of_turn(RECEIVER, true), 2);
}

TEST(rx_receive_all__until_nothing_is_there)
{
    leave_memory();
    at.full = ARRIVAL_FULL;
    at.fulls = 2;
    assert_int_equal(rx_receive_all(RECEIVER, &workspace, TURN), ARRIVAL_SOME);
    assert_int_equal(seen.receives, 3);
    assert_int_equal(atomic_load(&pair.rx.heard), at.now);
    at.now++;
    assert_int_equal(rx_receive_all(RECEIVER, &workspace, TURN), ARRIVAL_NONE);
    assert_int_equal(atomic_load(&pair.rx.heard), at.now - 1);
}

TEST(rx_receive_all__no_more_than_it_may)
{
    leave_memory();
    at.full = ARRIVAL_FULL;
    at.fulls = RECEIVES_MOST;
    assert_int_equal(rx_receive_all(RECEIVER, &workspace, 3), ARRIVAL_FULL);
    assert_int_equal(seen.receives, 3);
    set_lease(LEASE_AWAKE); /* a waiter goes on */
    (void)rx_receive_all(RECEIVER, &workspace, 3);
    assert_int_equal(seen.receives, 3);
}

/* ---- the engine's turn ---- */

TEST(rx_on_arrival__arms_once_all_is_received)
{
    leave_memory();
    at.full = ARRIVAL_FULL;
    at.fulls = 5;
    pair.rx.is_for_taker = true;
    assert_int_equal(rx_on_arrival(RECEIVER), at.now + NAP);
    assert_int_equal(seen.receives, 6);
    assert_false(seen.was_for_taker); /* it is the engine's */
}

TEST(rx_on_arrival__goes_on_where_there_is_more)
{
    leave_memory();
    at.full = ARRIVAL_FULL;
    at.fulls = RECEIVES_MOST;
    assert_int_equal(rx_on_arrival(RECEIVER), ENGINE_ARM);
    assert_int_equal(seen.receives, TURN);
    assert_int_equal(seen.rests, 0);
}

TEST(rx_on_arrival__a_sender_receives_once)
{
    leave_memory();
    be_alone();
    at.full = ARRIVAL_FULL;
    at.fulls = RECEIVES_MOST;
    assert_int_equal(rx_on_arrival(SENDER), ENGINE_ARM);
    assert_int_equal(seen.receives, 1);
}

TEST(rx_on_arrival__memory_is_short)
{
    at.has_no_workspace = true;
    assert_int_equal(rx_on_arrival(RECEIVER), at.now + MILLISECOND);
    assert_int_equal(seen.receives, 0);
}

TEST(rx_on_arrival__a_waiter_receives)
{
    set_lease(LEASE_AWAKE);
    assert_int_equal(rx_on_arrival(RECEIVER), ENGINE_LEAVE_BE);
    assert_int_equal(seen.workspaces, 0);
}

/* What comes for a link in a queue is the queue's. One that is leaving it, while a taker's turn
 * takes long, is the engine's again. */
TEST(rx_on_arrival__in_a_queue)
{
    struct sockets set;

    leave_memory();
    atomic_store(&pair.sockets.set, &set);
    at.is_queues = true;
    assert_int_equal(rx_on_arrival(RECEIVER), ENGINE_LEAVE_BE);
    assert_int_equal(seen.receives, 0);
    at.is_queues = false;
    assert_int_equal(rx_on_arrival(RECEIVER), at.now + NAP);
    assert_int_equal(seen.receives, 1);
}

TEST(rx_on_arrival__memory_has_something_by_then)
{
    at.is_refused_sleep = true;
    assert_int_equal(rx_on_arrival(RECEIVER), at.now);
}

/* ---- how a turn ends ---- */

static const struct {
    enum arrival found;
    bool is_for_taker, is_claimed, is_late, has_napped, is_memory;
    duration nap;
} ends[] = {
    {ARRIVAL_NONE, .is_for_taker = true, .nap = 0}, /* a look, which learns nothing */
    {ARRIVAL_NONE, .nap = NAP},
    {ARRIVAL_SOME, .is_for_taker = true, .nap = NAP},
    {ARRIVAL_NONE, .is_for_taker = true, .has_napped = true, .nap = NAP},
    {ARRIVAL_NONE, .is_for_taker = true, .is_claimed = true, .nap = 100 * MICROSECOND},
    {ARRIVAL_NONE, .is_for_taker = true, .is_late = true, .nap = MILLISECOND},
    {ARRIVAL_SOME, .is_memory = true, .nap = 0}, /* what is sent there is there at once */
    {ARRIVAL_FULL, .nap = 0},
    {ARRIVAL_FULL, .is_late = true, .nap = 0},
};

TEST(rx_end_turn__naps)
{
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        duration nap = -1;
        begin();
        if (!ends[i].is_memory)
            leave_memory();
        pair.rx.is_for_taker = ends[i].is_for_taker;
        pair.rx.is_claimed = ends[i].is_claimed;
        pair.rx.moderation.has_napped = ends[i].has_napped;
        transport[MACHINE_RECEIVER].is_late = ends[i].is_late;
        enum turn_end end = rx_end_turn(RECEIVER, ends[i].found, &nap);
        assert_int_equal(nap, ends[i].nap);
        assert_int_equal(end, nap > 0 ? TURN_NAPS : TURN_WAITS);
        assert_int_equal(seen.rests, ends[i].nap == NAP); /* else it learns nothing of the path */
        assert_false(pair.rx.is_for_taker);
    }
    pair.is_broken = true;
    assert_int_equal(rx_end_turn(RECEIVER, ARRIVAL_FULL, &(duration){0}), TURN_LEFT);
}

/* ---- looking at memory ---- */

/* While messages land as a whole the socket is heard now and then; or not at all, if only memory is
 * looked at. */
TEST(rx_turn__hears_the_socket_beside_wholes)
{
    at.wholes = -1;
    at.has_something[MACHINE_RECEIVER] = true;
    for (int i = 0; i < 4 * HEARD_EACH; i++) {
        (void)rx_turn(RECEIVER, &workspace, HEAR_ALL);
        assert_int_equal(seen.receives, (i + 1) / HEARD_EACH);
    }
    for (int i = 0; i < 4 * HEARD_EACH; i++)
        assert_int_equal(rx_turn(RECEIVER, &workspace, HEAR_MEMORY), ARRIVAL_FULL);
    assert_int_equal(seen.receives, 4);
    assert_true(pair.rx.are_whole);
    assert_int_equal(seen.endings, 8 * HEARD_EACH); /* of sections in which messages only end */
}

TEST(rx_turn__nothing_in_memory)
{
    assert_int_equal(rx_turn(RECEIVER, &workspace, HEAR_MEMORY), ARRIVAL_NONE);
    assert_int_equal(rx_turn_in_memory(RECEIVER), ARRIVAL_NONE);
    assert_int_equal(seen.landings, 0); /* a look is enough */
    assert_int_equal(seen.receives, 0);
    assert_int_equal(seen.workspaces, 0);
}

/* With units there, not messages as a whole. */
TEST(rx_turn__units_in_memory)
{
    at.has_something[MACHINE_RECEIVER] = true;
    at.full = ARRIVAL_SOME;
    at.fulls = RECEIVES_MOST;
    assert_int_equal(rx_turn(RECEIVER, &workspace, HEAR_MEMORY), ARRIVAL_SOME);
    assert_int_equal(rx_turn_in_memory(RECEIVER), ARRIVAL_SOME);
    assert_int_equal(seen.receives, 2);
    assert_int_equal(seen.workspaces, 1);
    at.has_no_workspace = true;
    assert_int_equal(rx_turn_in_memory(RECEIVER), ARRIVAL_NONE);
    assert_int_equal(seen.receives, 2);
}

/* What another thread leaves nobody knows. */
TEST(rx_turn__another_thread_receives)
{
    pair.rx.is_claimed = true;
    (void)rx_turn(RECEIVER, &workspace, HEAR_MEMORY);
    assert_int_equal(seen.receives, 1);
}

TEST(rx_turn__answers_in_memory)
{
    at.has_something[MACHINE_SENDER] = true;
    for (int i = 0; i < 4; i++) {
        memset(&seen, 0, sizeof(seen));
        at.has_answers = i & 1;
        at.has_burst = i & 2;
        assert_int_equal(rx_turn(RECEIVER, &workspace, HEAR_MEMORY), ARRIVAL_SOME);
        assert_int_equal(seen.drains, at.has_answers || at.has_burst);
        assert_int_equal(seen.receives, 0);
        assert_int_equal(seen.reaps, 1);
        assert_int_equal(seen.tends, 1);
        assert_int_equal(seen.leaves, 1);
    }
}

/* The peer has read them, and said nothing: they end at once. */
TEST(rx_turn__own_messages_have_arrived)
{
    at.has_something[MACHINE_SENDER] = at.has_arrived = true;
    assert_int_equal(rx_turn_in_memory(RECEIVER), ARRIVAL_FULL);
    assert_int_equal(seen.reaps, 1);
    assert_int_equal(seen.endings, 1);
    assert_true(pair.rx.are_whole);
    assert_int_equal(seen.workspaces, 0);
    assert_int_equal(rx_turn(RECEIVER, &workspace, HEAR_ALL), ARRIVAL_NONE);
    assert_int_equal(seen.reaps, 1); /* the receive does it */
    assert_int_equal(seen.receives, 1);
}

/* A buffer of the peer's, which shows by looking at one's own messages. */
TEST(rx_turn__credit)
{
    at.has_credit = true;
    assert_int_equal(rx_turn(RECEIVER, &workspace, HEAR_MEMORY), ARRIVAL_SOME);
    assert_int_equal(seen.tends, 1); /* of the other half */
    be_alone();
    (void)rx_turn(SENDER, &workspace, HEAR_MEMORY);
    assert_int_equal(seen.tends, 1);
    assert_int_equal(seen.receives, 1); /* which does the same */
}

TEST(rx_turn__pushes)
{
    at.has_push = true;
    assert_int_equal(rx_turn_in_memory(RECEIVER), ARRIVAL_FULL);
    assert_int_equal(seen.pushes, 1);
    assert_int_equal(seen.receives, 0);
    assert_int_equal(rx_turn(RECEIVER, &workspace, HEAR_ALL), ARRIVAL_FULL);
    assert_int_equal(seen.pushes, 2);
    assert_int_equal(seen.receives, 1);
}

/* ---- glancing ---- */

/* A kept lease, whose last messages crossed as a whole. */
static void keep(void)
{
    set_lease(LEASE_KEPT);
    pair.rx.are_whole = true;
}

TEST(rx_glance__nothing_is_there)
{
    keep();
    assert_true(rx_glance(RECEIVER));
    assert_int_equal(seen.landings, 0);
    assert_int_equal(seen.learns, 0);
    assert_true(mutex_is_free(&pair.mutex));
}

TEST(rx_glance__messages_land)
{
    keep();
    at.wholes = 1;
    at.has_something[MACHINE_RECEIVER] = true;
    assert_true(rx_glance(RECEIVER));
    assert_int_equal(seen.endings, 1);
    assert_int_equal(seen.learns, 1);
    assert_int_equal(seen.comes, 0);
}

/* Control may come beside messages that have landed: they are told first. */
TEST(rx_glance__messages_land_beside_control)
{
    keep();
    at.wholes = 1;
    at.has_control = at.has_something[MACHINE_RECEIVER] = true;
    assert_true(rx_glance(RECEIVER));
    assert_int_equal(seen.endings, 1);
}

TEST(rx_glance__own_messages_have_arrived)
{
    keep();
    at.has_arrived = at.has_something[MACHINE_SENDER] = true;
    assert_true(rx_glance(RECEIVER));
    assert_int_equal(seen.endings, 1);
    assert_int_equal(seen.learns, 0);
}

TEST(rx_glance__control_is_for_a_turn)
{
    keep();
    at.has_control = at.has_arrived = at.has_something[MACHINE_SENDER] = true;
    assert_false(rx_glance(RECEIVER));
    assert_int_equal(seen.reaps, 0);
    assert_true(mutex_is_free(&pair.mutex));
}

/* A sender that reads for itself is glanced at, too. */
TEST(rx_glance__sender_alone)
{
    keep();
    be_alone();
    at.has_control = at.has_something[MACHINE_SENDER] = true;
    assert_true(rx_glance(SENDER));
}

TEST(rx_glance__only_a_kept_lease)
{
    keep();
    set_lease(LEASE_WORKERS);
    assert_false(rx_glance(RECEIVER));
    keep();
    pair.rx.is_claimed = true;
    assert_false(rx_glance(RECEIVER));
    keep();
    pair.rx = (struct rx){.are_whole = false};
    assert_false(rx_glance(RECEIVER));
}

/* A waiter has taken the lease while this thread copied, and sleeps: it looks again. */
TEST(rx_glance__lease_is_taken_meanwhile)
{
    keep();
    at.wholes = 1;
    at.has_something[MACHINE_RECEIVER] = true;
    at.lease_then = LEASE_ASLEEP;
    assert_true(rx_glance(RECEIVER));
    assert_int_equal(seen.wakes, 1);
    assert_int_equal(seen.comes, 1);
}

/* ---- who looks ---- */

/* A waiter that has the lease disarms the socket, if either half has memory. */
TEST(rx_say_awake__either_half)
{
    for (int halves = 0; halves < 4; halves++) {
        begin();
        set_lease(LEASE_AWAKE);
        at.says_awake[MACHINE_SENDER] = halves & 1;
        at.says_awake[MACHINE_RECEIVER] = halves & 2;
        mutex_lock(&pair.mutex);
        rx_say_awake(RECEIVER);
        mutex_unlock(&pair.mutex);
        assert_true(pair.lease.is_armed == (halves == 0));
    }
}

TEST(rx_arm__what_is_there_by_then_has_a_turn)
{
    rx_arm(RECEIVER);
    assert_int_equal(seen.arms, 1);
    assert_int_equal(seen.comes, 0);
    at.is_refused_sleep = true;
    rx_arm(RECEIVER);
    assert_int_equal(seen.arms, 2);
    assert_int_equal(seen.comes, 1);
}

/* Letters of a peer that has moved, which came while the lease was still a waiter's. */
TEST(rx_arm__letters_have_a_turn)
{
    at.has_letters = true;
    rx_arm(RECEIVER);
    assert_int_equal(seen.arms, 1);
    assert_int_equal(seen.comes, 1);
}

/* A waiter that sleeps by then, whom no peer wakes any more. */
TEST(rx_say_worker_asleep__wakes_a_waiter)
{
    set_lease(LEASE_ASLEEP);
    assert_true(rx_say_worker_asleep(RECEIVER));
    assert_int_equal(seen.wakes, 0);
    at.is_refused_sleep = true;
    assert_false(rx_say_worker_asleep(RECEIVER));
    assert_int_equal(seen.wakes, 1);
}

TEST(rx_hand_over__wakes_whom_it_says)
{
    struct latch latch;

    for (int i = 0; i < 4; i++) {
        memset(&seen, 0, sizeof(seen));
        mutex_lock(&pair.mutex);
        rx_hand_over(RECEIVER,
                     (struct handover){.chosen = i & 1 ? &latch : NULL, .must_arm = i & 2});
        assert_int_equal(seen.rouses, i & 1);
        assert_int_equal(seen.arms, (i & 2) != 0);
    }
}

/* What is held for the user's answer, and nothing else. */
TEST(rx_release__what_is_held)
{
    rx_release(RECEIVER);
    assert_int_equal(seen.drains, 0);
    flush_begin(&RECEIVER->flush, at.now, FLUSH_ANSWER);
    rx_release(RECEIVER);
    assert_int_equal(seen.drains, 1);
    mutex_lock(&pair.mutex);
    rx_on_answer(RECEIVER);
    assert_int_equal(seen.drains, 2);
    flush_begin(&RECEIVER->flush, at.now, FLUSH_MORE);
    rx_on_answer(RECEIVER);
    assert_int_equal(seen.drains, 2);
    mutex_unlock(&pair.mutex);
}
