/* Losses, late acknowledgements, hostile ones, and the timers of units. */
#include "core/sender/sender_state.h"
#include "sender_rig.h"

#include "../../support/suite.h"

/* A message of eight units is in transit, numbers 0 to 7, sent ten milliseconds ago. */
static void setup(void)
{
    struct sender_config config = sender_rig_config();
    sender_rig_init(&config);
    sender_rig_submit(8 * RIG_DATA);
    sender_rig_pair(1, 1000);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64");
    sender_rig_expect("0:256+64 0:320+64 0:384+64 0:448+64LA");
    rig.now += 10 * MILLISECOND;
}

FIXTURE(setup, sender_rig_fini)

TEST(loss__by_three_that_came_later)
{
    sender_rig_ack("4 5");
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 2);
    sender_rig_expect("0:0+64A 0:64+64A");
    sender_rig_ack("2 10");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
}

TEST(loss__by_time)
{
    instant sent = rig.now - 10 * MILLISECOND;
    sender_rig_ack("0 6 7 8");
    sender_rig_expect_nothing();
    sender_rig_wait();
    ck_assert_int_eq(rig.now - sent, 10 * MILLISECOND * 9 / 8);
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 1);
    sender_rig_expect("0:384+64A");
}

/* The receiver takes a buffer back: what is in transit for it is dropped there, and does not tell
 * of congestion. What is lost of another message does. */
TEST(loss__of_what_was_withdrawn, .rows = 2)
{
    struct sender_config config = sender_rig_config();
    config.congestion = CONGESTION_RENO;
    sender_rig_fini();
    sender_rig_init(&config);
    sender_rig_submit(4 * RIG_DATA);
    sender_rig_submit(4 * RIG_DATA);
    sender_rig_pair(2, 1000);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64LA");
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+64LA");
    uint64_t window = sender_gauges(rig.s).window;
    sender_rig_request((uint32_t)_i, 1, REQUEST_WITHDRAWN);
    sender_rig_expect_event(OUTCOME_PEER_CANCELLED, 0);
    ck_assert(sender_take(rig.s, rig.now, &rig.burst)); /* the void unit */
    sender_sent(rig.s, rig.now, &rig.burst, 1);
    sender_rig_ack("4 8");
    ck_assert_uint_ge(sender_counters(rig.s)->lost, 4);
    if (_i == 0)
        ck_assert_uint_ge(sender_gauges(rig.s).window, window);
    else
        ck_assert_uint_lt(sender_gauges(rig.s).window, window);
}

TEST(loss__before_the_newest_of_an_older_acknowledgement)
{
    sender_rig_ack("0 1 6 7");
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 3); /* 1, 2 and 3 */
    sender_rig_ack("0 1");
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 3);
    sender_rig_expect("0:64+64A 0:128+64A 0:192+64A");
}

TEST(late__settles_the_repeat_that_waits)
{
    sender_rig_ack("3 4");
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 1);
    sender_rig_ack("0 1 3 4");
    ck_assert_uint_eq(sender_counters(rig.s)->spurious, 1);
    sender_rig_expect_nothing();
    sender_rig_ack("0 8");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
}

TEST(late__settles_the_repeat_in_transit)
{
    sender_rig_ack("3 4");
    sender_rig_expect("0:0+64A");
    sender_rig_ack("0 8");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, 0);
}

TEST(late__widens_the_tolerance)
{
    sender_rig_ack("3 4");
    sender_rig_ack("0 1 4 5"); /* overtaken by four */
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 1);
    sender_rig_ack("5 6"); /* 1 by four */
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 1);
    sender_rig_ack("6 7"); /* 1 by five */
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 2);
    sender_rig_expect("0:64+64A");
}

/* Sends a message of so many units; returns the first one's number. */
static uint32_t send(uint32_t units)
{
    static uint32_t message = 1;
    struct event event;
    while (sender_event(rig.s, &event))
        ck_assert_int_eq(event.outcome, OUTCOME_OK);
    sender_rig_submit((uint64_t)units * RIG_DATA);
    sender_rig_request(message++, 1, 1000);
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    uint32_t first = sender_rig_trailer(0).seq;
    do
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    while (sender_take(rig.s, rig.now, &rig.burst));
    rig.now += 10 * MILLISECOND;
    return first;
}

static void acknowledge(uint32_t first, uint32_t last)
{
    char bounds[32];
    snprintf(bounds, sizeof bounds, "%u %u", first, last);
    sender_rig_ack(bounds);
}

/* The first of two units is lost, and given up when it is time. */
static void lose_by_time(void)
{
    uint64_t lost = sender_counters(rig.s)->lost;
    uint32_t first = send(2);
    acknowledge(first + 1, first + 2);
    while (sender_counters(rig.s)->lost == lost)
        sender_rig_wait();
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    rig.now += 10 * MILLISECOND;
    acknowledge(first + 2, first + 3);
}

/* Is the first of six given up as soon as the last one has arrived? */
static bool is_quick(void)
{
    uint64_t lost = sender_counters(rig.s)->lost;
    uint32_t first = send(6);
    acknowledge(first + 5, first + 6);
    acknowledge(first, first + 6);
    return sender_counters(rig.s)->lost > lost;
}

TEST(late__is_forgotten_after_sixteen_recoveries)
{
    sender_rig_ack("3 4");
    sender_rig_ack("0 8"); /* overtaken by eight */
    for (int signs = 0; signs < 2; signs++) {
        for (int i = 0; i < 15; i++)
            lose_by_time();
        ck_assert(!is_quick()); /* another order again */
    }
    for (int i = 0; i < 16; i++)
        lose_by_time();
    ck_assert(is_quick());
}

TEST(refused__cuts_what_is_repeated)
{
    sender_rig_ack("1 8");
    sender_rig_refuse();
    sender_rig_expect("0:0+32A 0:32+32A");
    sender_rig_ack("8 9");
    sender_rig_expect_no_event();
    sender_rig_ack("8 10");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
}

/* ---- parts of what was sent when units were larger ---- */

/* `count` messages of this size are in transit, and fill it. */
static void fill_transit(uint32_t units, uint32_t count, uint64_t size)
{
    struct sender_config config = sender_rig_config();
    config.transit_units = units;
    config.burst_units = units;
    sender_rig_fini();
    sender_rig_init(&config);
    for (uint32_t i = 0; i < count; i++)
        sender_rig_submit(size);
    sender_rig_pair(count, size);
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    ck_assert_uint_eq(rig.burst.datagrams, units);
    sender_sent(rig.s, rig.now, &rig.burst, units);
}

/* Nothing comes back, and what waits to be repeated is larger than a unit by now. */
TEST(parts__of_what_is_joined_have_places)
{
    fill_transit(4, 1, 4 * RIG_DATA);
    sender_rig_refuse();
    sender_rig_wait();
    sender_rig_expect("0:0+32A");
    sender_rig_expect_nothing();
    sender_rig_ack("4 5");
    sender_rig_expect("0:32+32A");
}

/* Where nothing can be joined, all in transit is given up, and soon. */
TEST(parts__of_many_messages_do_not_wait_long)
{
    uint32_t timeouts = 0;
    fill_transit(16, 16, RIG_DATA);
    sender_rig_refuse();
    do {
        sender_rig_wait();
        while (sender_take(rig.s, rig.now, &rig.burst) && rig.burst.is_control)
            sender_sent(rig.s, rig.now, &rig.burst, 1);
        timeouts++;
    } while (rig.burst.datagrams == 0);
    ck_assert_uint_eq(timeouts, 4); /* which give up 2, 4, 8 and the rest */
    ck_assert_uint_eq(rig.burst.datagrams, 1);
    ck_assert_uint_eq(sender_rig_trailer(0).message, 0);
    ck_assert_uint_eq(sender_rig_trailer(0).length, RIG_DATA / 2);
    sender_sent(rig.s, rig.now, &rig.burst, 1);
}

/* The peer may have room for no other gap. */
TEST(timeout__repeats_the_first_bytes_again)
{
    sender_rig_wait();
    sender_rig_expect("0:0+64A 0:64+64A");
    sender_rig_wait();
    ck_assert_uint_ne(sender_rig_hello().nonce, 0); /* is it another receiver? */
    sender_rig_expect("0:0+64A 0:128+64A");
    sender_rig_wait();
    ck_assert_uint_ne(sender_rig_hello().nonce, 0);
    sender_rig_expect("0:0+64A 0:192+64A");
}

/* ---- hostile acknowledgements ---- */

TEST(ack__of_what_was_never_sent_is_rejected_whole)
{
    static const char *const bounds[] = {"0 9",          "0 2 8 9",
                                         "7 9",          "2147483648 4294967295",
                                         "4294967295 1", "2147483658 2147483659 7 8"};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        sender_rig_ack(bounds[i]);
        ck_assert_uint_eq(sender_counters(rig.s)->drop_number, i + 1);
    }
    ck_assert_uint_eq(sender_counters(rig.s)->acks, 0);
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 0);
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, 8 * RIG_UNIT);
}

TEST(ack__of_what_was_sent_before_the_first_is_rejected)
{
    struct sender_config config = sender_rig_config();
    config.first_seq = 100;
    sender_rig_fini();
    sender_rig_init(&config);
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    sender_rig_expect("0:0+10LA");
    sender_rig_ack("98 99");
    sender_rig_ack("99 101");
    ck_assert_uint_eq(sender_counters(rig.s)->drop_number, 2);
    sender_rig_ack("100 101");
    sender_rig_expect_event(OUTCOME_OK, 10);
}

TEST(ack__of_every_other_number)
{
    sender_rig_ack("0 1 2 3 4 5 6 7 8"); /* 1, 3, 5 and 7 arrived */
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 3);
    sender_rig_expect("0:0+64A 0:128+64A 0:256+64A");
    sender_rig_ack("6 11");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
}

TEST(ack__said_again_changes_nothing)
{
    for (int i = 0; i < 3; i++)
        sender_rig_ack("0 8");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
    sender_rig_expect_no_event();
    ck_assert_uint_eq(sender_counters(rig.s)->acks, 3);
}

TEST(receive__counts_what_it_drops_by_name)
{
    uint8_t datagram[TRAILER_BYTES] = {0};
    const struct sender_counters *c = sender_counters(rig.s);
    uint8_t *last = &datagram[TRAILER_BYTES - 1];
    sender_rig_receive(datagram, 0);
    ck_assert_uint_eq(c->drop_short, 1);
    *last = 0x12;
    sender_rig_receive(datagram, sizeof datagram);
    ck_assert_uint_eq(c->drop_version, 1);
    *last = 0x21;
    sender_rig_receive(datagram, sizeof datagram);
    ck_assert_uint_eq(c->drop_type, 1);
    *last = 0x22;
    sender_rig_receive(datagram, sizeof datagram);
    ck_assert_uint_eq(c->drop_malformed, 1);
    rig.pairing.tag ^= 1;
    sender_rig_ack("0 1");
    ck_assert_uint_eq(c->drop_session, 1);
}

/* ---- timers ---- */

TEST(probe__repeats_the_two_oldest_whatever_the_window)
{
    rig.capacity = 1;
    sender_rig_ack("");
    sender_rig_expect_nothing();
    sender_rig_wait();
    ck_assert_uint_eq(sender_counters(rig.s)->probes, 1);
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 0);
    sender_rig_expect("0:0+64A 0:64+64A");
    sender_rig_expect_nothing();
    sender_rig_ack("0 8");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
    ck_assert_uint_eq(sender_counters(rig.s)->spurious, 0); /* they were never thought lost */
}

/* Units of a message that is over need not go again, so the probe passes them: the peer waits for
 * what lies behind them. */
TEST(probe__passes_what_is_over)
{
    sender_rig_request(0, 1, REQUEST_WITHDRAWN);
    sender_rig_expect_event(OUTCOME_PEER_CANCELLED, 0);
    sender_rig_expect("0:2+0LVA");
    sender_rig_wait();
    ck_assert_uint_eq(sender_counters(rig.s)->probes, 1);
    sender_rig_expect("0:2+0LVA");
    sender_rig_expect_nothing();
}

/* This side is stopped, and the acknowledgement waits for it: that is no round trip. Otherwise what
 * is lost next would be missed only after the same time again. */
TEST(probe__comes_soon_after_a_stop)
{
    sender_rig_ack("0 4"); /* after 10 ms */
    rig.now += 20 * SECOND;
    sender_rig_ack("0 8");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
    sender_rig_submit(RIG_DATA);
    sender_rig_request(1, 1, 1000);
    sender_rig_expect("1:0+64LA");
    instant sent = rig.now;
    sender_rig_wait();
    ck_assert_uint_eq(sender_counters(rig.s)->probes, 1);
    ck_assert_int_lt(rig.now - sent, 100 * MILLISECOND);
}

/* Sends another message of one unit. */
static void send_one(void)
{
    sender_rig_submit(RIG_DATA);
    sender_rig_request(1, 1, 1000);
    sender_rig_expect("1:0+64LA");
}

/* The same, though a timer of this side's is first after the stop, or a message of its user's. */
TEST(probe__comes_soon_after_a_stop_whatever_is_first, .rows = 3)
{
    enum { PROBES, SUBMITS, LOSES };
    sender_rig_ack(_i == LOSES ? "0 6 7 8" : "0 4"); /* after 10 ms */
    rig.now += 5 * SECOND;
    instant resumed = rig.now;
    if (_i == SUBMITS)
        send_one();
    else
        sender_expire(rig.s, rig.now);
    if (_i == LOSES) {
        (void)sender_rig_hello();
        sender_rig_expect("0:384+64A");
    }
    sender_rig_ack(_i == LOSES ? "0 7" : "0 8");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
    if (_i != SUBMITS)
        send_one();
    uint64_t probes = sender_counters(rig.s)->probes;
    while (sender_counters(rig.s)->probes == probes)
        sender_rig_wait();
    ck_assert_int_lt(rig.now - resumed, 100 * MILLISECOND);
}

TEST(silence__fails_all)
{
    instant heard = rig.now - 10 * MILLISECOND;
    while (sender_counters(rig.s)->probes < 100) {
        struct event event;
        if (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        sender_rig_wait();
        if (!sender_event(rig.s, &event))
            continue;
        ck_assert_int_eq(event.outcome, OUTCOME_SILENT);
        ck_assert_int_eq(rig.now - heard, 10 * SECOND);
        ck_assert_uint_ge(sender_counters(rig.s)->probes, 5);
        ck_assert_uint_eq(sender_rig_hello().pairing.session, 0);
        return;
    }
    ck_abort_msg("no silence");
}

/* This side is stopped for longer than the limit. What the receiver has said meanwhile is heard
 * first; if there is nothing, the receiver is silent. */
TEST(silence__after_a_stop, .rows = 2)
{
    rig.now += 60 * SECOND;
    sender_expire(rig.s, rig.now);
    sender_rig_expect_no_event();
    if (_i == 0) {
        sender_rig_ack("0 8");
        sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
        return;
    }
    rig.now += 100 * MILLISECOND;
    sender_expire(rig.s, rig.now);
    sender_rig_expect_event(OUTCOME_SILENT, 0);
}

/* A receiver that is heard of after a stop has not had the time to acknowledge anything. */
TEST(progress__after_a_stop)
{
    rig.now += 60 * SECOND;
    sender_rig_request(0, 0, 0);
    sender_expire(rig.s, rig.now);
    sender_rig_expect_no_event();
    sender_rig_ack("0 8");
    sender_rig_expect_event(OUTCOME_OK, 8 * RIG_DATA);
}

/* Its round trip was measured before, and is longer by now. */
TEST(ack__of_a_known_newest_measures_nothing)
{
    struct sender_config config = sender_rig_config();

    sender_rig_fini();
    config.congestion = CONGESTION_BBR;
    sender_rig_init(&config);
    sender_rig_submit(4 * RIG_DATA);
    sender_rig_pair(1, 4 * RIG_DATA);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64LA");
    rig.now += 10 * MILLISECOND;
    sender_rig_ack("1 3");
    ck_assert_int_eq(rig.s->flow.congestion.bbr.lowest, 10 * MILLISECOND);
    sender_rig_ack("0 3");
    ck_assert_int_eq(rig.s->flow.congestion.bbr.lowest, 10 * MILLISECOND);
    ck_assert_int_eq(rig.s->flow.congestion.bbr.latest, 10 * MILLISECOND);
}
