/* A kernel whose cut bursts do not arrive: of the datagrams of this channel only those do that
 * leave alone, or in a burst that is not to be cut. */
#include "core/path/offload_path.h"
#include "sender_rig.h"

#include "../../support/suite.h"

enum { UNITS = 40 };

static uint64_t seq; /* of the next datagram that leaves */

static void setup_with(enum congestion_kind congestion)
{
    struct sender_config config = sender_rig_config();
    config.is_offloaded = true;
    config.congestion = congestion;
    sender_rig_init(&config);
    seq = 0;
    sender_rig_submit(UNITS * RIG_DATA);
    sender_rig_pair(1, UNITS * RIG_DATA);
}

static void setup(void)
{
    setup_with(CONGESTION_NONE);
}

FIXTURE(setup, sender_rig_fini)

/* The next burst has so many datagrams; `is_single`: none of them is to be cut. */
static void expect_burst(uint32_t datagrams, bool is_single)
{
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    ck_assert(!rig.burst.is_control);
    ck_assert_uint_eq(rig.burst.datagrams, datagrams);
    ck_assert_int_eq(rig.burst.is_single, is_single);
    sender_sent(rig.s, rig.now, &rig.burst, datagrams);
    seq = rig.burst.first_seq + datagrams;
}

/* All that the window lets leave does; what is not cut arrives, and is acknowledged. True if
 * something has left. */
static bool fly(void)
{
    char bounds[512];
    size_t at = 0;
    bool has_left = false;
    for (; sender_take(rig.s, rig.now, &rig.burst); has_left = true) {
        uint64_t first = rig.burst.first_seq;
        uint32_t count = rig.burst.datagrams;
        sender_sent(rig.s, rig.now, &rig.burst, count);
        if (rig.burst.is_control || (count > 1 && !rig.burst.is_single))
            continue;
        at += (size_t)snprintf(bounds + at, sizeof bounds - at, "%s%llu %llu", at > 0 ? " " : "",
                               (unsigned long long)first, (unsigned long long)first + count);
    }
    rig.now += MILLISECOND;
    if (at > 0)
        sender_rig_ack(bounds);
    return has_left;
}

static void fly_until_it_is_found(void)
{
    for (int i = 0; i < 20 && sender_counters(rig.s)->offload_failures == 0; i++)
        if (!fly())
            sender_rig_wait();
    ck_assert_uint_eq(sender_counters(rig.s)->offload_failures, 1);
}

/* Until so many messages have ended, the last of them now. */
static void fly_to_the_end(uint64_t messages)
{
    for (int i = 0; i < 100 && sender_counters(rig.s)->bytes < messages * UNITS * RIG_DATA; i++)
        if (!fly())
            sender_rig_wait();
    sender_rig_expect_event(OUTCOME_OK, UNITS * RIG_DATA);
}

TEST(sender_offload__what_a_timeout_repeats_is_not_cut)
{
    for (int i = 0; i < UNITS / 4; i++)
        expect_burst(4, false);
    sender_rig_wait();
    expect_burst(2, true);
}

TEST(sender_offload__in_doubt_bursts_take_turns)
{
    for (int i = 0; i < UNITS / 4; i++)
        expect_burst(4, false);
    sender_rig_wait();
    ck_assert(fly()); /* two single ones arrive, and nothing before them did */
    expect_burst(4, true);
    expect_burst(4, false);
    expect_burst(4, true);
    expect_burst(4, false);
}

/* Then no burst is cut, and what is lost says nothing of that. */
TEST(sender_on_uncut__nothing_is_in_doubt)
{
    sender_on_uncut(rig.s);
    for (int i = 0; i < UNITS / 4; i++)
        expect_burst(4, false);
    sender_rig_wait();
    ck_assert(fly());
    for (int i = 0; i < 4; i++)
        expect_burst(4, false);
}

TEST(sender_offload__all_leave_singly_and_arrive)
{
    fly_until_it_is_found();
    fly_to_the_end(1);
}

/* It begins anew, as if nothing had been lost. */
TEST(sender_offload__congestion_control_begins_anew)
{
    sender_rig_fini();
    setup_with(CONGESTION_CUBIC);
    fly_until_it_is_found();
    ck_assert_uint_eq(sender_gauges(rig.s).window, 10 * RIG_UNIT);
    ck_assert_uint_gt(sender_counters(rig.s)->lost, 0);
}

/* After a while a short burst is cut again. */
TEST(sender_offload__is_tried_again)
{
    fly_until_it_is_found();
    fly_to_the_end(1);
    rig.now += OFFLOAD_PATH_RETRY;
    uint64_t lost = sender_counters(rig.s)->lost;
    sender_rig_submit(UNITS * RIG_DATA);
    sender_rig_request(1, 1, UNITS * RIG_DATA);
    ck_assert(
        sender_take(rig.s, rig.now, &rig.burst)); /* the test, of as many as the window lets */
    ck_assert(!rig.burst.is_single && rig.burst.datagrams >= 2);
    sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    fly_to_the_end(2);
    ck_assert_uint_ge(sender_counters(rig.s)->lost, lost + 2);
    ck_assert_uint_eq(sender_counters(rig.s)->offload_failures, 1);
}

/* Requests of two units: the timeout repeats both, so that none of them ever counts as lost. */
TEST(sender_offload__messages_of_two_units)
{
    enum { MESSAGES = 20 };
    struct sender_config config = sender_rig_config();
    sender_rig_fini();
    config.is_offloaded = true;
    sender_rig_init(&config);
    sender_rig_submit(2 * RIG_DATA);
    sender_rig_pair(MESSAGES, 2 * RIG_DATA);
    for (uint64_t i = 1; i <= MESSAGES; i++) {
        for (int k = 0; k < 20 && sender_counters(rig.s)->bytes < i * 2 * RIG_DATA; k++)
            if (!fly())
                sender_rig_wait();
        sender_rig_expect_event(OUTCOME_OK, 2 * RIG_DATA);
        if (i < MESSAGES)
            sender_rig_submit(2 * RIG_DATA);
    }
    ck_assert_uint_eq(sender_counters(rig.s)->offload_failures, 1);
}
