/* The peer closes, and its last acknowledgements do not say of every unit whether it has that. */
#include "../../support/suite.h"
#include "link/options.h"
#include "sender_rig.h"

enum { LIMIT = 3 }; /* seconds without news */

FIXTURE(sender_rig_start, sender_rig_fini)

/* A message of four units is in transit as 0 to 3; all that was heard of them is that 3 came, so 0
 * is in transit again, as 4. */
static void send_four(uint32_t more)
{
    sender_rig_submit(4 * (uint64_t)RIG_DATA);
    for (uint32_t i = 0; i < more; i++)
        sender_rig_submit(10);
    sender_rig_pair(1, 4 * (uint64_t)RIG_DATA);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64LA");
    sender_rig_ack("3 4");
    sender_rig_expect("0:0+64A");
    sender_rig_expect_no_event();
}

static void expect_confirmation(void)
{
    struct hello hello = sender_rig_hello();
    ck_assert(hello.is_closing);
    ck_assert_uint_eq(hello.pairing.session, RIG_SESSION);
}

/* Takes whatever units are to leave. */
static uint32_t take_units(void)
{
    uint32_t units = 0;
    while (sender_take(rig.s, rig.now, &rig.burst)) {
        ck_assert(!rig.burst.is_control);
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        units += rig.burst.datagrams;
    }
    return units;
}

/* The close has forgotten what came before 3. What it does not tell of is repeated, and then told
 * of. */
TEST(parting__asks_for_what_may_be_there)
{
    send_four(0);
    sender_rig_say_ack("3 4", true);
    sender_rig_expect_no_event();
    sender_rig_wait();
    ck_assert_uint_ge(take_units(), 2); /* from 5 on */
    sender_rig_say_ack("3 4 5 7", true);
    sender_rig_expect_no_event();
    for (int i = 0; take_units() < 1 && i < 10; i++)
        sender_rig_wait();
    sender_rig_say_ack("3 4 5 8", true);
    sender_rig_expect_event(OUTCOME_OK, 4 * (uint64_t)RIG_DATA);
    expect_confirmation();
}

/* It says that 0 to 2 did not come: then nothing is to be asked. */
TEST(parting__at_once_if_all_is_told)
{
    send_four(0);
    sender_rig_say_ack("0 3 4", true);
    sender_rig_expect_event(OUTCOME_CUT_OFF, 0);
    expect_confirmation();
}

/* Units that were sent first behind all that it tells of are not there. */
TEST(parting__at_once_if_one_is_surely_missing)
{
    send_four(0);
    sender_rig_say_ack("3 4", false);
    sender_rig_wait();
    ck_assert_uint_ge(take_units(), 2);
    sender_rig_say_ack("1 4", true); /* 0 was sent as 0, and is not told of */
    sender_rig_expect_no_event();
    sender_rig_submit(10);
    sender_rig_expect_event(OUTCOME_PEER_CLOSED, 0); /* what comes now is too late */
}

/* One message may be there, and those that have no buffer are not. */
TEST(parting__ends_what_was_not_sent)
{
    send_four(2);
    sender_rig_say_ack("3 4", true);
    sender_rig_expect_event(OUTCOME_CUT_OFF, 0);
    sender_rig_expect_event(OUTCOME_CUT_OFF, 0);
    sender_rig_expect_no_event();
    ck_assert(sender_times_submit(rig.s)); /* so its caller looks for the event */
    sender_rig_request(1, 4, 100);         /* which it said before */
    ck_assert(!sender_lets_pass(rig.s));
    sender_rig_submit(10);
    sender_rig_expect_event(OUTCOME_PEER_CLOSED, 0);
}

/* One that was cancelled before it had a buffer is not told of. */
TEST(parting__sends_nothing_new)
{
    send_four(1);
    ck_assert(sender_cancel(rig.s, rig.now, 1));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_rig_say_ack("3 4", true);
    for (int i = 0; i < 10; i++) {
        while (sender_take(rig.s, rig.now, &rig.burst)) {
            for (uint32_t n = 0; n < rig.burst.datagrams && !rig.burst.is_control; n++)
                ck_assert_int_eq(sender_rig_trailer(n).flags & FLAG_VOID, 0);
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        }
        if (sender_deadline(rig.s) != NEVER)
            sender_rig_wait();
    }
}

/* The peer goes on to close, and acknowledges nothing: it does not have it. */
TEST(parting__for_a_while_only)
{
    send_four(0);
    rig.now += 100 * MILLISECOND;
    sender_rig_say_ack("3 4", true);
    instant began = rig.now;
    uint32_t units = 0;
    struct event event;
    while (!sender_event(rig.s, &event)) {
        sender_rig_wait();
        ck_assert_int_le(rig.now - began, LIMIT * SECOND);
        while (sender_take(rig.s, rig.now, &rig.burst)) {
            units += rig.burst.is_control ? 0 : rig.burst.datagrams;
            sender_sent(rig.s, rig.now, &rig.burst, 1);
        }
        if (rig.now - began < LIMIT * SECOND)
            sender_rig_say_ack("3 4", true);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_CUT_OFF);
    ck_assert_int_eq(rig.now - began, LIMIT * SECOND);
    ck_assert_uint_ge(units, 10);
    ck_assert_uint_le(units, 100);
}

/* A receiver that closes still waits for the confirmation when that comes, also over a round trip
 * of a second, unless its user has said otherwise. */
TEST(parting__ends_while_the_peer_waits)
{
    struct zcrp_options defaults;
    struct event event;
    ck_assert_int_eq(options_complete(&defaults, NULL, 0), ZCRP_OK);
    send_four(0);
    sender_rig_say_ack("3 4", true);
    instant began = rig.now;
    while (!sender_event(rig.s, &event)) {
        sender_rig_wait();
        while (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, 1);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_CUT_OFF);
    ck_assert_int_lt(rig.now - began, defaults.linger_ns - SECOND);
}

/* This side was stopped beyond the limit: so it hears what came meanwhile. But a peer that says the
 * close all the time does not hold it. */
TEST(parting__for_a_while_only_after_a_stop)
{
    send_four(0);
    sender_rig_say_ack("3 4", true);
    rig.now += LIMIT * SECOND + 300 * MILLISECOND;
    instant resumed = rig.now;
    struct event event;
    sender_expire(rig.s, rig.now);
    sender_rig_expect_no_event();
    while (!sender_event(rig.s, &event)) {
        ck_assert_int_le(rig.now - resumed, LIMIT * SECOND);
        while (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, 1);
        sender_rig_say_ack("3 4", true);
        rig.now += 50 * MILLISECOND;
        sender_expire(rig.s, rig.now);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_CUT_OFF);
}

/* Its process ends before this side has its answer: it has closed nevertheless. */
TEST(parting__of_a_peer_that_dies, .rows = 2)
{
    struct sender_config config = sender_rig_config();
    config.stays = _i == 1;
    sender_rig_fini();
    sender_rig_init(&config);
    send_four(0);
    sender_rig_say_ack("3 4", true);
    sender_fail(rig.s, rig.now, OUTCOME_DIED);
    sender_rig_expect_event(OUTCOME_CUT_OFF, 0);
    ck_assert(!config.stays || sender_ended(rig.s) == OUTCOME_PEER_CLOSED);
}

/* Another receiver is at its place by then. */
TEST(parting__of_a_peer_that_another_one_follows, .rows = 2)
{
    struct sender_config config = sender_rig_config();
    config.stays = _i == 1;
    sender_rig_fini();
    sender_rig_init(&config);
    send_four(0);
    sender_rig_say_ack("3 4", true);
    struct hello hello = {.nonce = 0};
    while (hello.nonce == 0) {
        sender_rig_wait();
        while (hello.nonce == 0 && sender_take(rig.s, rig.now, &rig.burst)) {
            if (rig.burst.is_control)
                ck_assert_int_eq(hello_decode(rig.burst.control, rig.burst.bytes, &hello),
                                 VERDICT_OK);
            sender_sent(rig.s, rig.now, &rig.burst, 1);
        }
    }
    sender_rig_cookie(&hello, RIG_SESSION + 1);
    if (!config.stays) {
        rig.pairing = (struct pairing){.session = RIG_SESSION + 1, .tag = hello.pairing.tag};
        rig.nonce = hello.nonce;
        sender_rig_request(0, 1, 10);
    }
    sender_rig_expect_event(OUTCOME_CUT_OFF, 0);
    ck_assert(!config.stays || sender_ended(rig.s) == OUTCOME_PEER_CLOSED);
}

/* A limit of the user's that is shorter holds. */
TEST(parting__not_beyond_a_limit)
{
    struct sender_config config = sender_rig_config();
    config.progress = 2 * SECOND;
    sender_rig_fini();
    sender_rig_init(&config);
    send_four(0);
    sender_rig_say_ack("3 4", true);
    instant began = rig.now;
    struct event event;
    while (!sender_event(rig.s, &event)) {
        sender_rig_wait();
        while (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, 1);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_CUT_OFF);
    ck_assert_int_eq(rig.now - began, 2 * SECOND);
}

/* The user cancels it meanwhile: there is nothing left to be asked for. */
TEST(parting__until_it_is_cancelled)
{
    send_four(0);
    sender_rig_say_ack("3 4", true);
    ck_assert(sender_cancel(rig.s, rig.now, 0));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_expire(rig.s, rig.now);
    expect_confirmation();
}

/* A connection's sender has its outcome when that is known. */
TEST(parting__of_a_connection)
{
    struct sender_config config = sender_rig_config();
    config.stays = true;
    sender_rig_fini();
    sender_rig_init(&config);
    send_four(0);
    sender_rig_say_ack("3 4", true);
    ck_assert_int_eq(sender_link(rig.s), LINK_UP);
    sender_rig_say_ack("0 5", true);
    sender_rig_expect_event(OUTCOME_OK, 4 * (uint64_t)RIG_DATA);
    ck_assert_int_eq(sender_link(rig.s), LINK_ENDED);
    ck_assert_int_eq(sender_ended(rig.s), OUTCOME_PEER_CLOSED);
    expect_confirmation();
}

/* This side closes, too. */
TEST(parting__of_both)
{
    send_four(0);
    sender_close(rig.s, rig.now);
    sender_rig_say_ack("3 4", true);
    ck_assert(!sender_is_closed(rig.s));
    sender_rig_say_ack("0 5", true);
    sender_rig_expect_event(OUTCOME_OK, 4 * (uint64_t)RIG_DATA);
    expect_confirmation();
    ck_assert(sender_is_confirmed(rig.s));
}
