/* What was given up and has arrived all the same: its acknowledgement settles whatever repeats it.
 */
#include "../../support/suite.h"
#include "sender_rig.h"

enum { UNITS = 100 };

static void setup(void)
{
    struct sender_config config = sender_rig_config();
    config.transit_units = 256;
    config.window_bytes = 256 * RIG_UNIT;
    sender_rig_init(&config);
}

/* A message of so many units is in transit, numbers from 0 on, sent ten milliseconds ago. */
static void send(uint32_t units)
{
    sender_rig_submit((uint64_t)units * RIG_DATA);
    sender_rig_pair(1, UNITS * RIG_DATA);
    while (sender_take(rig.s, rig.now, &rig.burst))
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, units * RIG_UNIT);
    rig.now += 10 * MILLISECOND;
}

/* All of four units is there but the first, which was given up twice: it is in transit as 5. */
static void send_thrice(void)
{
    send(4);
    sender_rig_ack("3 4");
    sender_rig_expect("0:0+64A"); /* as 4 */
    sender_rig_ack("1 4");
    sender_rig_wait();
    sender_rig_expect("0:0+64A"); /* as 5, to get an answer */
}

static void expect_settled(uint32_t units)
{
    sender_rig_expect_event(OUTCOME_OK, (uint64_t)units * RIG_DATA);
    sender_rig_expect_nothing();
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, 0);
}

FIXTURE(setup, sender_rig_fini)

TEST(late__however_many)
{
    send(UNITS);
    sender_rig_ack("99 100");
    ck_assert_uint_eq(sender_counters(rig.s)->lost, UNITS - 3);
    sender_rig_expect("0:0+64A 0:64+64A 0:128+64A 0:192+64A");
    sender_rig_ack("0 100");
    ck_assert_uint_eq(sender_counters(rig.s)->spurious, UNITS - 3);
    expect_settled(UNITS);
}

/* The last that is heard of a receiver: what it has was delivered. */
TEST(late__in_a_close)
{
    send(UNITS);
    sender_rig_ack("99 100");
    sender_rig_say_ack("0 100", true);
    sender_rig_expect_event(OUTCOME_OK, UNITS * RIG_DATA);
}

TEST(late__by_two_transmissions)
{
    send_thrice();
    sender_rig_ack("0 4");
    expect_settled(4);
}

TEST(late__the_first_repeat_of_two)
{
    send_thrice();
    sender_rig_ack("1 5");
    expect_settled(4);
    sender_rig_ack("0 6"); /* there is nothing left to be settled */
    sender_rig_expect_no_event();
}

/* A part is in transit, the other waits. */
TEST(late__settles_each_part)
{
    send(4);
    sender_rig_ack("1 4");
    sender_rig_refuse();
    rig.capacity = 1;
    sender_rig_ack("1 4");
    sender_rig_expect("0:0+32A");
    sender_rig_expect_nothing();
    sender_rig_ack("0 4");
    expect_settled(4);
}

/* The arrival of a part says nothing of the other. */
TEST(late__of_a_part)
{
    send(4);
    sender_rig_ack("1 4");
    sender_rig_refuse();
    sender_rig_expect("0:0+32A 0:32+32A"); /* as 4 and 5 */
    sender_rig_wait();
    sender_rig_expect("0:0+32A 0:32+32A"); /* as 6 and 7, to get an answer */
    sender_rig_ack("4 5");
    sender_rig_expect_no_event();
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, 32 + TRAILER_BYTES);
    sender_rig_ack("5 6");
    expect_settled(4);
}

TEST(late__settles_a_repeat_that_never_left)
{
    send(4);
    sender_rig_ack("3 4");
    sender_rig_expect_taken("0:0+64A");
    sender_sent(rig.s, rig.now, &rig.burst, 0);
    sender_rig_ack("0 4");
    expect_settled(4);
}

/* Data that arrived say nothing of the void that is to be told now. */
TEST(late__of_what_was_taken_back)
{
    send(4);
    sender_rig_ack("3 4");
    ck_assert(sender_cancel(rig.s, rig.now, 0));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_rig_ack("0 4");
    sender_rig_expect("0:2+0LVA");
    sender_rig_ack("0 5");
    sender_rig_expect_nothing();
}

/* A path whose round trip has grown beyond the probe timeout: the number that is acknowledged was
 * given up, and tells the round trip all the same. */
TEST(late__tells_the_round_trip)
{
    send(1);           /* and 10 ms pass */
    sender_rig_wait(); /* 305 ms behind it */
    sender_rig_expect("0:0+64LA");
    rig.now += 400 * MILLISECOND; /* before the second probe */
    sender_rig_ack("0 1");
    ck_assert_int_ge(sender_gauges(rig.s).rtt_smoothed, 600 * MILLISECOND);
}
