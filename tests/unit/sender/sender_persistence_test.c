/* Persistent congestion as the sender sees it: silence, and what is heard after it. */
#include "sender_rig.h"

#include "../../support/suite.h"
#include "core/sender/sender_state.h"

static void send_all(void)
{
    while (sender_take(rig.s, rig.now, &rig.burst))
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
}

/* Six units leave, numbers 0 to 5, then two with each of four timeouts: 6 to 13, of which 8 to 13
 * are still in transit. Before the first a round trip is known, unless it took no time. */
static void fall_silent(enum congestion_kind kind, duration round_trip)
{
    struct sender_config config = sender_rig_config();
    config.congestion = kind;
    sender_rig_init(&config);
    sender_rig_submit(6 * RIG_DATA);
    struct hello hello = sender_rig_hello();
    rig.now += round_trip;
    sender_rig_cookie(&hello, 0);
    sender_rig_hello();
    rig.pairing = (struct pairing){.session = RIG_SESSION, .tag = hello.pairing.tag};
    rig.nonce = hello.nonce;
    sender_rig_request(0, 1, 1000);
    send_all();
    for (int i = 0; i < 4; i++) {
        sender_rig_wait();
        send_all();
    }
    rig.now += 10 * MILLISECOND;
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, 6 * RIG_UNIT);
    ck_assert_uint_eq(sender_gauges(rig.s).window, 10 * RIG_UNIT);
}

static void expect(uint64_t persistent, uint64_t window_units)
{
    ck_assert_uint_eq(sender_counters(rig.s)->persistent, persistent);
    ck_assert_uint_eq(sender_gauges(rig.s).window, window_units * RIG_UNIT);
}

FIXTURE(NULL, sender_rig_fini)

TEST(persistent__all_of_a_long_time_is_lost)
{
    fall_silent(CONGESTION_RENO, 10 * MILLISECOND);
    sender_rig_ack("0 12 14");
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 4);
    expect(1, 2);
}

TEST(persistent__not_without_a_round_trip)
{
    fall_silent(CONGESTION_RENO, 0);
    sender_rig_ack("0 12 14");
    expect(0, 5);
}

/* Only the way back was silent. */
TEST(persistent__not_when_all_arrived)
{
    fall_silent(CONGESTION_RENO, 10 * MILLISECOND);
    sender_rig_ack("0 14");
    expect(0, 10);
    sender_rig_expect_event(OUTCOME_OK, 6 * RIG_DATA);
}

/* Each bound cuts the time into two that are not long enough. */
TEST(persistent__not_when_one_between_arrived)
{
    fall_silent(CONGESTION_RENO, 10 * MILLISECOND);
    sender_rig_ack("0 8 9 10 11 12 14");
    expect(0, 5);
}

/* Two units leave one by one, numbers 0 and 1, and arrive: a round trip is known. */
static void send_singly(void)
{
    struct sender_config config = sender_rig_config();
    config.congestion = CONGESTION_RENO;
    sender_rig_init(&config);
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(4, 1000);
    send_all();
    rig.now += 10 * MILLISECOND;
    sender_rig_ack("0 1");
    sender_rig_submit(RIG_DATA);
    send_all();
    rig.now += 10 * MILLISECOND;
    sender_rig_ack("0 2");
}

/* Behind a pause a number is left out, and four units leave. */
static void go_on(void)
{
    rig.now += 5 * SECOND;
    left_out_on_sent(&rig.s->recovery.left_out, UINT32_MAX);
    sender_rig_submit(4 * RIG_DATA);
    send_all();
    ck_assert_uint_eq(sender_counters(rig.s)->left_out, 1);
    rig.now += 10 * MILLISECOND;
}

/* Number 2 is left out, and only 3 is lost. */
TEST(persistent__not_for_a_number_left_out_before_a_loss)
{
    send_singly();
    go_on();
    sender_rig_ack("0 2 4 7");
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 1);
    expect(0, 5);
}

/* Number 2 is lost while this side is stopped, and 3 left out. */
TEST(persistent__not_for_a_number_left_out_behind_a_loss)
{
    send_singly();
    sender_rig_submit(RIG_DATA);
    send_all();
    go_on();
    sender_rig_ack("0 2 4 8");
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 1);
    expect(0, 5);
}

/* The channel takes nothing for four seconds, however often it is tried; then two units leave.
 * Returns the first one's number. */
static uint32_t block(duration pause)
{
    sender_rig_submit(2 * RIG_DATA);
    for (instant end = rig.now + 4 * SECOND; rig.now < end; rig.now += pause)
        if (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, 0);
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    ck_assert_uint_eq(rig.burst.datagrams, 2);
    ck_assert_uint_gt(rig.burst.first_seq, 20);
    rig.now += 10 * MILLISECOND;
    sender_check(rig.s);
    return (uint32_t)rig.burst.first_seq;
}

static void acknowledge(uint32_t first, uint32_t end)
{
    char bounds[64];
    snprintf(bounds, sizeof bounds, "0 2 %u %u", first, end);
    sender_rig_ack(bounds);
}

/* Nothing arrived of what never left, some numbers of which were left out. In the second row the
 * first unit behind it has not arrived, either. */
TEST(persistent__not_while_the_channel_is_blocked, .rows = 2)
{
    send_singly();
    uint32_t first = block(10 * MILLISECOND);
    ck_assert_uint_gt(sender_counters(rig.s)->left_out, 0);
    acknowledge(first + (uint32_t)_i, first + 2);
    expect(0, 10);
}

/* A unit that left before is lost: and if what left first behind it is, too, nothing has arrived
 * for four seconds. */
TEST(persistent__of_both_sides_of_a_blocked_channel, .rows = 2)
{
    send_singly();
    sender_rig_submit(RIG_DATA);
    send_all();
    uint32_t first = block(200 * MILLISECOND);
    acknowledge(first + (uint32_t)_i, first + 2);
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 1);
    expect((uint64_t)_i, _i == 0 ? 5 : 2);
}

TEST(persistent__undone_with_the_loss_when_all_was_late)
{
    fall_silent(CONGESTION_RENO, 10 * MILLISECOND);
    sender_rig_ack("0 12 14");
    sender_rig_ack("0 14");
    expect(1, 10);
}

TEST(persistent__undone_but_not_the_loss)
{
    fall_silent(CONGESTION_RENO, 10 * MILLISECOND);
    sender_rig_ack("0 12 14");
    sender_rig_ack("0 4 6 12 14");
    expect(1, 2);
    sender_rig_ack("0 8 10 12 14");
    expect(1, 5);
}

TEST(persistent__of_bbr_is_undone)
{
    fall_silent(CONGESTION_BBR, 10 * MILLISECOND);
    sender_rig_ack("0 12 14");
    expect(1, 4);
    sender_rig_ack("0 14");
    ck_assert_uint_ge(sender_gauges(rig.s).window, 10 * RIG_UNIT);
}

TEST(persistent__forgotten_with_the_session)
{
    fall_silent(CONGESTION_RENO, 10 * MILLISECOND);
    sender_fail(rig.s, rig.now, OUTCOME_SILENT);
    sender_rig_expect_event(OUTCOME_SILENT, 0);
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(1, 1000);
    send_all();
    rig.now += 10 * MILLISECOND;
    sender_rig_ack("0 1");
    expect(0, 10);
}
