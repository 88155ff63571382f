/* Marks of congestion that the receiver counts: the sender's congestion control is told once of
 * each that is news. */
#include "sender_rig.h"

#include "../../support/suite.h"

enum { HALF = 5 * RIG_UNIT }; /* of the first window */

/* Two bursts are under way, a millisecond apart: all of a message, and not all of the window. */
static void setup(void)
{
    struct sender_config config = sender_rig_config();
    config.congestion = CONGESTION_RENO;
    sender_rig_init(&config);
    sender_rig_submit(8 * RIG_DATA);
    sender_rig_pair(2, 1000);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64A");
    rig.now += MILLISECOND;
    sender_rig_expect("0:256+64 0:320+64 0:384+64 0:448+64LA");
    rig.now += MILLISECOND;
}

static void say(uint16_t marks, const char *bounds)
{
    rig.marks = marks;
    sender_rig_ack(bounds);
}

static void submit_more(void)
{
    sender_rig_submit(4 * RIG_DATA);
}

static void expect(uint64_t marks, uint64_t window)
{
    ck_assert_uint_eq(sender_counters(rig.s)->marks, marks);
    ck_assert_uint_eq(sender_gauges(rig.s).window, window);
}

FIXTURE(setup, sender_rig_fini)

TEST(marks__none)
{
    say(0, "0 4");
    expect(0, 2 * HALF);
}

TEST(marks__are_no_loss_but_slow_it_down)
{
    say(3, "0 4");
    expect(3, HALF);
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 0);
    ck_assert_uint_eq(sender_counters(rig.s)->repeated, 0);
}

/* What was sent before the first reduction tells nothing new; it is counted all the same. */
TEST(marks__once_a_round_trip)
{
    say(1, "0 4");
    say(5, "0 8");
    expect(5, HALF);
    submit_more();
    sender_rig_expect("1:0+64 1:64+64 1:128+64A");
    rig.now += MILLISECOND;
    say(6, "0 11");
    expect(6, HALF / 2);
}

TEST(marks__the_same_count_is_no_news)
{
    say(1, "0 4");
    rig.now += MILLISECOND;
    say(1, "0 8");
    ck_assert_uint_eq(sender_counters(rig.s)->marks, 1);
    ck_assert_uint_ge(sender_gauges(rig.s).window, HALF);
}

/* An acknowledgement without a new newest unit says nothing of the time; the next one will. */
TEST(marks__wait_for_a_newer_unit)
{
    say(0, "2 4");
    say(2, "0 4");
    expect(0, 2 * HALF);
    say(2, "0 8");
    expect(2, HALF);
}

/* An acknowledgement that was overtaken has a lower count, and this one a newest unit that the one
 * before had forgotten. */
TEST(marks__a_lower_count_is_late)
{
    say(2, "2 3");
    expect(2, HALF);
    say(1, "0 2");
    expect(2, HALF);
}

TEST(marks__across_zero)
{
    say(32767, "0 2");
    say(65534, "0 4");
    say(4, "0 8");
    ck_assert_uint_eq(sender_counters(rig.s)->marks, 65540);
}

/* A new session counts from zero. */
TEST(marks__of_a_session)
{
    say(9, "0 4");
    sender_fail(rig.s, rig.now, OUTCOME_SILENT);
    sender_rig_expect_event(OUTCOME_SILENT, 0);
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(1, 1000);
    sender_rig_expect("0:0+64LA");
    say(9, "0 1");
    ck_assert_uint_eq(sender_counters(rig.s)->marks, 18);
}

/* The path erases the field, if ten units have arrived without it. */
TEST(ecn__left_if_it_does_not_arrive, .rows = 2)
{
    rig.has_ecn = _i != 0;
    say(0, "0 8");
    ck_assert(sender_wants_ecn(rig.s));
    submit_more();
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+64LA");
    rig.now += MILLISECOND;
    say(0, "0 12");
    ck_assert_int_eq(sender_wants_ecn(rig.s), rig.has_ecn);
}

TEST(ecn__left_if_nothing_comes_back)
{
    for (int i = 0; i < 3; i++) {
        ck_assert(sender_wants_ecn(rig.s));
        sender_rig_wait();
        while (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    }
    ck_assert(!sender_wants_ecn(rig.s));
}

/* A round that the application limited tells nothing of what the path carries: by its rate the next
 * large message would wait for seconds. */
TEST(marks__of_a_small_message_tell_no_rate)
{
    struct sender_config config = sender_rig_config();
    sender_rig_fini();
    config.congestion = CONGESTION_BBR;
    sender_rig_init(&config);
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(2, 8192);
    sender_rig_expect("0:0+64LA");
    rig.now += 200 * MILLISECOND;
    say(1, "0 1");
    ck_assert_uint_eq(sender_counters(rig.s)->marks, 1);
    uint64_t rate = sender_gauges(rig.s).rate;
    ck_assert(rate == 0 || rate >= 50 * RIG_UNIT);
}
