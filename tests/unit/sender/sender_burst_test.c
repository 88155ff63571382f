/* Which units share a burst, which of them ask for an answer, and when a burst may leave. */
#include "sender_rig.h"

#include "../../support/suite.h"

FIXTURE(sender_rig_start, sender_rig_fini)

static void start_with(const struct sender_config *config)
{
    sender_rig_fini();
    sender_rig_init(config);
}

/* ---- what shares a burst ---- */

/* All have one size but the last, behind which nothing follows. */
TEST(burst__one_smaller_ends_it)
{
    sender_rig_submit(RIG_DATA);
    for (int i = 0; i < 3; i++)
        sender_rig_submit(10);
    sender_rig_submit(20);
    sender_rig_pair(5, 1000);
    sender_rig_expect("0:0+64L 1:0+10L");
    sender_rig_expect("2:0+10L 3:0+10L");
    sender_rig_expect("4:0+20LA");
}

/* As many bytes as a burst may have, and not one more. */
TEST(burst__of_so_many_bytes, .rows = 3)
{
    static const char *const bursts[][2] = {
        {"0:0+64 0:64+64L", "1:0+64L 2:0+64LA"},
        {"0:0+64 0:64+64L 1:0+64L", "2:0+64LA"},
        {"0:0+64 0:64+64L 1:0+64L", "2:0+64LA"},
    };
    struct sender_config config = sender_rig_config();
    config.burst_units = 16;
    config.burst_bytes = 3 * RIG_UNIT - 1 + (uint32_t)_i;
    start_with(&config);
    sender_rig_submit(2 * RIG_DATA);
    sender_rig_submit(RIG_DATA);
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(3, 1000);
    for (int i = 0; i < 2; i++)
        sender_rig_expect(bursts[_i][i]);
}

/* Messages of one size, and one behind them that is smaller: each names the next (sender_rig.h). */
TEST(burst__of_messages)
{
    struct sender_config config = sender_rig_config();
    config.burst_units = 16;
    start_with(&config);
    for (int i = 0; i < 4; i++)
        sender_rig_submit(20);
    sender_rig_submit(10);
    sender_rig_submit(3 * RIG_DATA);
    sender_rig_pair(6, 1000);
    sender_rig_expect("0:0+20L 1:0+20L 2:0+20L 3:0+20L 4:0+10L");
    sender_rig_expect("5:0+64 5:64+64 5:128+64LA");
}

/* The last of a burst names what the next one begins with. */
TEST(burst__names_the_next_one)
{
    struct unit_trailer last;
    sender_rig_submit(4 * RIG_DATA);
    for (int i = 0; i < 6; i++)
        sender_rig_submit(20);
    sender_rig_pair(7, 1000);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64L");
    for (int i = 0; i < 2; i++) {
        last = sender_rig_trailer(rig.burst.datagrams - 1);
        sender_rig_expect(i == 0 ? "1:0+20L 2:0+20L 3:0+20L 4:0+20LA" : "5:0+20L 6:0+20LA");
        struct unit_trailer first = sender_rig_trailer(0);
        sender_rig_check_named(&last, &first);
    }
    last = sender_rig_trailer(1);
    ck_assert_int_eq(last.flags & FLAG_HAS_NEXT, 0);
}

/* ---- what is counted ---- */

TEST(burst__is_counted)
{
    sender_rig_submit(6 * RIG_DATA);
    sender_rig_pair(1, 1000);
    const struct sender_counters *c = sender_counters(rig.s);
    ck_assert_uint_eq(c->hellos, 2);
    ck_assert_uint_eq(c->requests, 1);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64");
    sender_rig_expect("0:256+64 0:320+64LA");
    ck_assert_uint_eq(c->bursts, 2);
    ck_assert_uint_eq(c->units, 6);
    ck_assert_uint_eq(c->repeated, 0);
    sender_rig_wait(); /* the oldest go again */
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    ck_assert_uint_eq(c->bursts, 3);
    ck_assert_uint_eq(c->repeated, rig.burst.datagrams);
    ck_assert_uint_eq(c->units, 6 + rig.burst.datagrams);
}

/* A number that no unit has lies between two bursts, now and then, and is counted. */
TEST(burst__numbers_left_out)
{
    char bounds[64];
    uint64_t end = 0, gaps = 0, first = 0;
    sender_rig_pair(0, 0);
    for (uint32_t n = 0; n < 3000; n++) {
        sender_rig_request(n, 1, 10);
        sender_rig_submit(10);
        ck_assert(sender_take(rig.s, rig.now, &rig.burst));
        if (rig.burst.is_control) {
            sender_sent(rig.s, rig.now, &rig.burst, 1);
            ck_assert(sender_take(rig.s, rig.now, &rig.burst));
        }
        sender_sent(rig.s, rig.now, &rig.burst, 1);
        if (rig.burst.first_seq != end)
            first = rig.burst.first_seq;
        gaps += rig.burst.first_seq - end;
        end = rig.burst.first_seq + 1;
        rig.now += MICROSECOND;
        snprintf(bounds, sizeof bounds, "%u %u", (unsigned)first, (unsigned)end);
        sender_rig_ack(bounds);
        sender_rig_expect_event(OUTCOME_OK, 10);
    }
    ck_assert_uint_eq(sender_counters(rig.s)->left_out, gaps);
    ck_assert_uint_ge(gaps, 2);
    ck_assert_uint_le(gaps, 3000 / 64);
}

/* ---- answers ---- */

/* Units until the next that asks, at most, of a sender with a large table and window. */
static uint32_t units_unasked(bool is_near, uint64_t size)
{
    struct sender_config config = sender_rig_config();
    uint32_t most = 0, unasked = 0;
    config.messages = 4096;
    config.transit_units = 4096;
    config.window_bytes = 1 << 22;
    start_with(&config);
    sender_set_near(rig.s, is_near);
    rig.capacity = 1 << 22;
    for (uint32_t i = 0; i < 2000; i++)
        sender_rig_submit(size);
    sender_rig_pair(2000, size);
    for (uint32_t taken = 0; taken < 2000; taken += rig.burst.datagrams) {
        ck_assert(sender_take(rig.s, rig.now, &rig.burst));
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        for (uint32_t i = 0; i < rig.burst.datagrams; i++) {
            unasked++;
            if ((sender_rig_trailer(i).flags & FLAG_ANSWER) == 0)
                continue;
            most = unasked > most ? unasked : most;
            unasked = 0;
        }
    }
    return most;
}

/* What a peer in memory has not read takes its room: it is asked more often. */
TEST(answers__near_and_far)
{
    uint32_t far = units_unasked(false, 10);
    uint32_t near = units_unasked(true, 10);
    ck_assert_uint_ge(far, 512); /* a quarter of the table, or of the window */
    ck_assert_uint_le(near, far / 4);
    ck_assert_uint_ge(near, far / 16);
}

/* ---- the pace ---- */

/* Where the rate is known bursts wait for their time, though the window has room. */
TEST(pace__holds_a_burst_back)
{
    struct sender_config config = sender_rig_config();
    uint32_t held = 0;
    config.congestion = CONGESTION_BBR;
    config.transit_units = 1024;
    config.window_bytes = 1 << 20;
    start_with(&config);
    sender_rig_submit(8000);
    sender_rig_pair(1, 8000);
    for (uint32_t end = 0; end < 125;) {
        char bounds[32];
        while (sender_take(rig.s, rig.now, &rig.burst)) {
            ck_assert(!rig.burst.is_control);
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
            end = (uint32_t)(rig.burst.first_seq + rig.burst.datagrams);
        }
        struct sender_gauges g = sender_gauges(rig.s);
        if (end < 125 && g.in_transit + 4 * RIG_UNIT <= g.window) {
            held++;
            ck_assert(!sender_has_burst(rig.s));
            ck_assert_int_gt(sender_deadline(rig.s), rig.now);
            rig.now = sender_deadline(rig.s);
            sender_expire(rig.s, rig.now);
            ck_assert(sender_has_burst(rig.s));
            continue;
        }
        rig.now += 20 * MILLISECOND;
        snprintf(bounds, sizeof bounds, "0 %u", end);
        sender_rig_ack(bounds);
    }
    ck_assert_uint_gt(held, 0);
}

/* ---- requests for more than the table holds ---- */

/* What was announced too early is asked for again, once, when there is nothing else to send. */
TEST(request__beyond_the_table_is_asked_for_again, .rows = 3)
{
    enum { REACH = 32 * 4 };
    sender_rig_submit(10);
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    rig.now += SECOND / 10;
    if (_i > 0)
        sender_rig_request(1, 2 * REACH, 10);
    if (_i == 2)
        sender_rig_request(1, 1, 10); /* nothing new */
    if (_i == 0)
        sender_rig_request(1, 1, 10);
    rig.now += SECOND / 10;
    sender_rig_expect("0:0+10L 1:0+10LA");
    for (int i = 0; i < 3; i++) {
        sender_rig_ack("0 2");
        if (_i > 0 && i == 0)
            (void)sender_rig_hello();
        ck_assert(!sender_has_burst(rig.s));
        rig.now += 10 * MILLISECOND;
    }
}

/* Something else was answered just before: then with the next acknowledgement. */
TEST(request__beyond_the_table_is_asked_for_later)
{
    enum { REACH = 32 * 4 };
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    rig.now += SECOND / 10;
    sender_rig_request(1, 2 * REACH, 10);
    rig.now += SECOND / 10;
    sender_rig_expect("0:0+10LA");
    sender_rig_request(0, 1, 10);
    (void)sender_rig_hello();
    sender_rig_ack("0 1");
    sender_rig_expect_event(OUTCOME_OK, 10);
    ck_assert(!sender_has_burst(rig.s));
    rig.now += 2 * MILLISECOND;
    sender_rig_ack("0 1");
    (void)sender_rig_hello();
}
