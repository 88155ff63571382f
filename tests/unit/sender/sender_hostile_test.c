/* The sender before a peer that says what cannot be, or what costs most. */
#include "../../support/suite.h"
#include "sender_rig.h"

FIXTURE(sender_rig_start, sender_rig_fini)

/* A negative interval over almost half of all numbers would be walked for seconds. */
TEST(ack__over_billions_of_numbers_is_rejected)
{
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(1, RIG_DATA);
    sender_rig_expect("0:0+64LA");
    sender_rig_ack("2147483651 0 1");
    ck_assert_uint_eq(sender_counters(rig.s)->drop_number, 1);
    sender_rig_expect_no_event();
    sender_rig_ack("0 1");
    sender_rig_expect_event(OUTCOME_OK, RIG_DATA);
}

/* Time passes, and the peer says this again and again; the message ends when the limit has passed.
 */
static void expect_end(enum outcome outcome, instant since, void (*say)(void))
{
    struct event event;
    while (!sender_event(rig.s, &event)) {
        if (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        say();
        sender_rig_wait();
        ck_assert_int_le(rig.now - since, 10 * SECOND);
    }
    ck_assert_int_eq(event.outcome, outcome);
    ck_assert_int_eq(rig.now - since, 10 * SECOND);
}

static void start_two(void)
{
    sender_rig_submit(2 * RIG_DATA);
    sender_rig_pair(1, 2 * RIG_DATA);
    sender_rig_expect("0:0+64 0:64+64LA");
}

/* ---- the peer talks, and nothing is acknowledged ---- */

static void say_nonsense(void)
{
    sender_rig_ack("0 1 1000000 1000001");
    sender_rig_request(0, 1, 2 * RIG_DATA);
}

/* A receiver that took a flipped number for one that came says so for ever. */
TEST(stalled__by_what_was_never_sent)
{
    start_two();
    expect_end(OUTCOME_STALLED, rig.now, say_nonsense);
}

static void say_little(void)
{
    sender_rig_ack("");
}

TEST(stalled__by_who_acknowledges_nothing)
{
    start_two();
    expect_end(OUTCOME_STALLED, rig.now, say_little);
}

/* Each time it speaks after the limit, which it has let pass by saying little before: so it looks
 * as if this side had been stopped. */
TEST(stalled__by_who_speaks_late)
{
    struct event event;
    start_two();
    instant began = rig.now;
    while (!sender_event(rig.s, &event)) {
        rig.now += 4900 * MILLISECOND;
        say_little();
        rig.now += 5400 * MILLISECOND;
        say_little();
        sender_expire(rig.s, rig.now);
        while (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        ck_assert_int_le(rig.now - began, 30 * SECOND);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_STALLED);
}

/* Once may have been an accident of that datagram's. The limit counts from the last progress. */
TEST(stalled__since_the_last_progress)
{
    start_two();
    sender_rig_ack("0 1 1000000 1000001");
    rig.now += 100 * MILLISECOND;
    sender_rig_ack("0 1");
    expect_end(OUTCOME_STALLED, rig.now, say_little);
}

static void say_nothing(void)
{
}

/* What it says again is no progress. */
static void say_again(void)
{
    sender_rig_ack("0 1");
}

TEST(stalled__by_who_repeats_itself)
{
    start_two();
    say_again();
    expect_end(OUTCOME_STALLED, rig.now, say_again);
}

/* A peer that is not heard of is silent, however little it has acknowledged. */
TEST(stalled__is_not_silent)
{
    start_two();
    rig.now += 2 * SECOND;
    sender_rig_ack("");
    expect_end(OUTCOME_SILENT, rig.now, say_nothing);
}

/* Who has posted nothing owes nothing. */
TEST(stalled__not_without_a_buffer)
{
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(0, 0);
    for (int i = 0; i < 100; i++) {
        rig.now += SECOND;
        sender_expire(rig.s, rig.now);
        sender_rig_request(0, 0, 0);
        sender_rig_expect_no_event();
    }
}

/* The channel takes nothing, because the pages of a message do not come: then the peer, which is
 * there, has nothing to acknowledge. */
TEST(stalled__not_by_what_never_left)
{
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(1, RIG_DATA);
    for (int i = 0; i < 100; i++) {
        sender_rig_expect_taken("0:0+64LA");
        sender_sent(rig.s, rig.now, &rig.burst, 0);
        rig.now += 200 * MILLISECOND;
        sender_rig_request(0, 0, 0);
        sender_expire(rig.s, rig.now);
        sender_rig_expect_no_event();
    }
    sender_rig_expect("0:0+64LA");
}

/* ---- the peer acknowledges what it cannot know of ---- */

/* Sends units of one size until a number was left out; returns it, by the last burst's first. */
static uint32_t send_until_left_out(void)
{
    uint32_t next = 0;
    while (sender_counters(rig.s)->left_out == 0) {
        sender_rig_submit(RIG_DATA);
        sender_rig_request(next, 1, RIG_DATA);
        ck_assert(sender_take(rig.s, rig.now, &rig.burst));
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        if (sender_counters(rig.s)->left_out > 0)
            break;
        char bounds[32];
        snprintf(bounds, sizeof bounds, "%u %u", next, next + 1);
        sender_rig_ack(bounds);
        sender_rig_expect_event(OUTCOME_OK, RIG_DATA);
        next++;
    }
    ck_assert_uint_eq(sender_rig_trailer(0).seq, next + 1);
    return next;
}

TEST(left_out__number_acknowledged_ends_the_session)
{
    char bounds[32];
    sender_rig_pair(0, 0);
    uint32_t left_out = send_until_left_out();
    ck_assert_uint_ge(left_out, 64);
    ck_assert_uint_le(left_out, 1024);
    snprintf(bounds, sizeof bounds, "%u %u", left_out - 1, left_out + 2);
    sender_rig_ack(bounds);
    sender_rig_expect_event(OUTCOME_PROTOCOL, 0);
    ck_assert_uint_eq(sender_counters(rig.s)->drop_number, 1);
    ck_assert_uint_ne(sender_rig_hello().nonce, 0);
}

TEST(left_out__number_is_no_loss)
{
    char bounds[32];
    sender_rig_pair(0, 0);
    uint32_t left_out = send_until_left_out();
    snprintf(bounds, sizeof bounds, "%u %u %u %u", left_out - 1, left_out, left_out + 1,
             left_out + 2);
    sender_rig_ack(bounds);
    sender_rig_expect_event(OUTCOME_OK, RIG_DATA);
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 0);
}

/* What it says beyond the table is passed over; what is within it can be sent. */
TEST(request__for_all_numbers_reaches_as_far_as_the_table)
{
    sender_rig_pair(UINT32_MAX, RIG_DATA);
    (void)sender_rig_hello();
    for (int i = 0; i < 32; i++)
        sender_rig_submit(RIG_DATA);
    sender_rig_expect("0:0+64L 1:0+64L 2:0+64L 3:0+64L");
}

/* Without a message nothing is to be sent, however often it is asked, and no time is waited for. */
TEST(take__of_an_empty_queue_is_nothing)
{
    sender_rig_pair(0, 0);
    for (int i = 0; i < 3; i++)
        sender_rig_expect_nothing();
    ck_assert_int_eq(sender_deadline(rig.s), NEVER);
}
