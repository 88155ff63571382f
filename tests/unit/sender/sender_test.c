/* The life of a message on the sender: requests, bursts, events. Losses and timers of units are in
 * sender_loss_test.c, pairing and close in sender_session_test.c. */
#include "sender_rig.h"

#include "../../support/suite.h"

/* ---- requests ---- */

FIXTURE(sender_rig_start, sender_rig_fini)

TEST(request__too_large_is_refused_and_the_others_sent)
{
    sender_rig_submit(10);
    sender_rig_submit(30);
    sender_rig_submit(20);
    sender_rig_pair(3, 20);
    sender_rig_expect_event(OUTCOME_TOO_LARGE, 0);
    sender_rig_expect("0:0+10L 1:1+0LV");
    sender_rig_expect("2:0+20LA");
    sender_rig_ack("0 3");
    sender_rig_expect_event(OUTCOME_OK, 10);
    sender_rig_expect_event(OUTCOME_OK, 20);
    sender_rig_expect_no_event();
}

/* A unit that is larger than a burst may be leaves alone. */
TEST(burst__has_one_unit_in_any_case)
{
    struct sender_config config = sender_rig_config();

    sender_rig_fini();
    config.burst_bytes = RIG_UNIT / 2;
    sender_rig_init(&config);
    sender_rig_submit(2 * RIG_DATA);
    sender_rig_pair(1, 2 * RIG_DATA);
    sender_rig_expect("0:0+64");
    sender_rig_expect("0:64+64LA");
}

TEST(request__withdrawn)
{
    sender_rig_submit(3 * RIG_DATA);
    sender_rig_pair(1, 1000);
    sender_rig_request(0, 1, REQUEST_WITHDRAWN);
    sender_rig_expect_event(OUTCOME_PEER_CANCELLED, 0);
    sender_rig_expect("0:2+0LVA");
}

TEST(request__without_a_message_is_answered_by_a_hello)
{
    sender_rig_pair(3, 10);
    struct hello hello = sender_rig_hello();
    ck_assert_uint_eq(hello.requested, 3);
    ck_assert_uint_eq(hello.pairing.session, RIG_SESSION);
    sender_rig_request(0, 3, 10);
    sender_rig_expect_nothing();                     /* once a millisecond */
    ck_assert_int_eq(sender_deadline(rig.s), NEVER); /* nothing has to come back */
}

/* ---- bursts that the channel reads later ---- */

static void take_three(void)
{
    sender_rig_submit(2 * RIG_DATA);
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(3, 2 * RIG_DATA);
    sender_rig_expect_taken("0:0+64 0:64+64L 1:0+64LA");
}

static void let_go(uint64_t message)
{
    sender_let_go(rig.s, message);
    sender_check(rig.s);
}

TEST(held__until_each_unit_is_let_go)
{
    take_three();
    sender_held(rig.s, &rig.burst, 3);
    sender_rig_ack("0 3");
    sender_rig_expect_no_event();
    let_go(1);
    sender_rig_expect_event(OUTCOME_OK, RIG_DATA);
    let_go(0);
    sender_rig_expect_no_event(); /* the other unit of the first message is still to be read */
    let_go(0);
    sender_rig_expect_event(OUTCOME_OK, 2 * RIG_DATA);
}

/* What did not leave is not read, and goes again. */
TEST(held__only_what_left)
{
    take_three();
    sender_held(rig.s, &rig.burst, 1);
    sender_rig_expect("0:64+64LA 1:0+64LA");
    sender_rig_submit(RIG_DATA);
    sender_rig_expect_taken("2:0+64LA");
    sender_held(rig.s, &rig.burst, 1);
    sender_rig_ack("0 1 3 6");
    sender_rig_expect_event(OUTCOME_OK, RIG_DATA);
    sender_rig_expect_no_event();
    let_go(0);
    sender_rig_expect_event(OUTCOME_OK, 2 * RIG_DATA);
    sender_rig_expect_no_event();
    let_go(2);
    sender_rig_expect_event(OUTCOME_OK, RIG_DATA);
}

/* ---- cancel ---- */

/* A sender that has a buffer left does not answer news, but answers what it knew. */
TEST(request__with_news_is_not_answered_while_there_are_buffers)
{
    sender_rig_submit(128);
    sender_rig_pair(2, 128);
    sender_rig_expect("0:0+64 0:64+64LA");
    rig.now += 10 * MILLISECOND;
    sender_rig_request(2, 1, 128);
    sender_rig_expect_nothing();
    sender_rig_request(2, 1, 128);
    ck_assert_uint_eq(sender_rig_hello().requested, 3);
}

/* One that has sent may be about to send more, and a hello would reach the receiver before those
 * units. The repetition is answered. */
TEST(request__with_news_is_not_answered_by_who_has_sent)
{
    sender_rig_submit(128);
    sender_rig_pair(1, 128);
    sender_rig_expect("0:0+64 0:64+64LA");
    rig.now += 10 * MILLISECOND;
    sender_rig_ack("0 2");
    sender_rig_request(1, 1, 128);
    sender_rig_expect_nothing();
    sender_rig_expect_event(OUTCOME_OK, 128);
    sender_rig_request(1, 1, 128);
    ck_assert_uint_eq(sender_rig_hello().requested, 2);
}

/* The user at the other end posts a buffer now and then, and this one is idle: each request brings
 * news, also a repetition. The receiver hears something all the same. */
TEST(request__with_news_again_and_again)
{
    int hellos = 0;

    sender_rig_submit(128);
    sender_rig_pair(1, 128);
    sender_rig_expect("0:0+64 0:64+64LA");
    sender_rig_ack("0 2");
    sender_rig_expect_event(OUTCOME_OK, 128);
    for (uint32_t i = 1; i <= 40; i++) {
        rig.now += 100 * MILLISECOND;
        sender_rig_request(i, 1, 128);
        if (sender_has_burst(rig.s)) {
            ck_assert_uint_eq(sender_rig_hello().requested, i + 1);
            hellos++;
        }
    }
    ck_assert_int_ge(hellos, 10);
    ck_assert_int_le(hellos, 16);
}

/* The channel takes none, so the receiver that asks hears of this end otherwise. */
TEST(request__while_the_channel_takes_no_unit)
{
    sender_rig_submit(128);
    sender_rig_pair(1, 128);
    for (int i = 0; i < 3; i++) {
        ck_assert(sender_take(rig.s, rig.now, &rig.burst));
        ck_assert_uint_eq(rig.burst.datagrams, 2);
        sender_sent(rig.s, rig.now, &rig.burst, 0);
        rig.now += 10 * MILLISECOND;
        sender_rig_request(0, 1, 128);
        ck_assert_uint_eq(sender_rig_hello().requested, 1);
    }
    sender_rig_expect("0:0+64A 0:64+64LA");
    sender_rig_ack("6 8");
    sender_rig_expect_event(OUTCOME_OK, 128);
    sender_rig_submit(128);
    sender_rig_request(1, 1, 128);
    sender_rig_expect("1:0+64 1:64+64LA");
    sender_rig_expect_nothing();
}

TEST(cancel__before_it_is_cut)
{
    uint64_t number = sender_rig_submit(100);
    ck_assert(sender_cancel(rig.s, rig.now, number));
    ck_assert(!sender_cancel(rig.s, rig.now, number));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_rig_pair(1, 100);
    sender_rig_expect("0:2+0LVA");
}

TEST(cancel__after_it_was_cut)
{
    uint64_t number = sender_rig_submit(6 * RIG_DATA);
    sender_rig_pair(1, 1000);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64");
    ck_assert(sender_cancel(rig.s, rig.now, number));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_rig_expect("0:2+0LVA");
    sender_rig_ack("0 5");
    sender_rig_expect_no_event();
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, 0);
}

TEST(cancel__gives_no_event_while_a_burst_reads_it)
{
    uint64_t number = sender_rig_submit(10);
    sender_rig_pair(1, 10);
    sender_rig_expect_taken("0:0+10LA");
    ck_assert(sender_cancel(rig.s, rig.now, number));
    sender_rig_expect_no_event();
    sender_sent(rig.s, rig.now, &rig.burst, 1);
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
}

/* ---- events ---- */

TEST(event__only_when_acknowledged_and_sent)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    sender_rig_expect_taken("0:0+10LA");
    sender_rig_ack("0 1");
    sender_rig_expect_no_event();
    sender_sent(rig.s, rig.now, &rig.burst, 1);
    sender_rig_expect_event(OUTCOME_OK, 10);
}

TEST(event__of_an_empty_message)
{
    sender_rig_submit(0);
    sender_rig_pair(1, 0);
    sender_rig_expect("0:0+0LA");
    sender_rig_ack("0 1");
    sender_rig_expect_event(OUTCOME_OK, 0);
}

/* ---- bursts ---- */

TEST(take__one_size_and_the_last_shorter)
{
    sender_rig_submit(RIG_DATA + 10);
    sender_rig_submit(RIG_DATA + 10);
    sender_rig_pair(2, 1000);
    sender_rig_expect("0:0+64 0:64+10L");
    ck_assert_uint_eq(rig.burst.segment, RIG_UNIT);
    ck_assert_uint_eq(rig.burst.bytes, RIG_UNIT + 10 + TRAILER_BYTES);
    struct unit_trailer t = sender_rig_trailer(1);
    ck_assert_int_ne(t.flags & FLAG_HAS_NEXT, 0);
    ck_assert_int_eq(t.next_step, 1);
    ck_assert_uint_eq(t.next_length, RIG_DATA);
    sender_rig_expect("1:0+64 1:64+10LA");
}

TEST(take__asks_for_an_answer_a_quarter_of_the_window_on)
{
    sender_rig_submit(9 * RIG_DATA);
    rig.capacity = 32 * RIG_UNIT; /* a quarter: 8 units */
    sender_rig_pair(1, 1000);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64");
    sender_rig_expect("0:256+64 0:320+64 0:384+64 0:448+64A");
    sender_rig_expect("0:512+64LA");
}

/* On a short path the last unit asks if all fits the window; else as above. An empty message fits.
 */
TEST(take__asks_at_the_end_for_what_fits_the_window)
{
    rig.capacity = 32 * RIG_UNIT;
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(4, 4000);
    sender_rig_expect("0:0+64LA");
    rig.now += 100 * MICROSECOND;
    sender_rig_ack("0 1");
    sender_rig_submit(9 * RIG_DATA);
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+64");
    sender_rig_expect("1:256+64 1:320+64 1:384+64 1:448+64");
    sender_rig_submit(0);
    sender_rig_expect("1:512+64L 2:0+0LA");
    sender_rig_ack("0 11");
    sender_rig_submit(33 * RIG_DATA);
    sender_rig_expect("3:0+64 3:64+64 3:128+64 3:192+64");
    sender_rig_expect("3:256+64 3:320+64 3:384+64 3:448+64A");
}

TEST(take__asks_for_an_answer_a_quarter_of_the_table_on)
{
    for (int i = 0; i < 10; i++)
        sender_rig_submit(5);
    sender_rig_pair(10, 1000); /* a quarter: 8 messages */
    sender_rig_expect("0:0+5L 1:0+5L 2:0+5L 3:0+5L");
    sender_rig_expect("4:0+5L 5:0+5L 6:0+5L 7:0+5LA");
    sender_rig_expect("8:0+5L 9:0+5LA");
}

TEST(take__keeps_to_the_window)
{
    sender_rig_submit(5 * RIG_DATA);
    rig.capacity = 2 * RIG_UNIT + 1;
    sender_rig_pair(1, 1000);
    sender_rig_expect("0:0+64 0:64+64A");
    sender_rig_expect_nothing();
    rig.capacity = 1; /* one unit may go in any case */
    sender_rig_ack("0 1");
    sender_rig_expect_nothing();
    sender_rig_ack("0 2");
    sender_rig_expect("0:128+64A");
}

/* No small bursts into a window that is nearly full; so the last before it asks for an answer. */
TEST(take__waits_for_a_quarter_of_the_window)
{
    sender_rig_submit(1);
    rig.capacity = 13 * RIG_UNIT;
    sender_rig_pair(2, 5000);
    sender_rig_expect("0:0+1LA");
    rig.now += MICROSECOND;
    sender_rig_ack("0 1"); /* so the path is known */
    sender_rig_submit(40 * RIG_DATA);
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+64A");
    sender_rig_expect("1:256+64 1:320+64 1:384+64 1:448+64A");
    sender_rig_expect("1:512+64 1:576+64 1:640+64 1:704+64A");
    sender_rig_expect_nothing();
    sender_rig_ack("0 3");
    sender_rig_expect_nothing();
    sender_rig_ack("0 4");
    sender_rig_expect("1:768+64 1:832+64 1:896+64 1:960+64A");
    sender_rig_expect_nothing();
}

/* A sender that has sent a message of a byte, and has a peer with so much room. */
static void begin_with(const struct sender_config *config, uint32_t capacity)
{
    sender_rig_fini();
    sender_rig_init(config);
    sender_rig_submit(1);
    rig.capacity = capacity;
    sender_rig_pair(2, 5000);
    sender_rig_expect("0:0+1LA");
    rig.now += MICROSECOND;
    sender_rig_ack("0 1");
}

/* Several calls' worth make a burst, but no more than a quarter of the window, which asks for an
 * answer behind it. One call's worth is enough to go on. */
TEST(take__bursts_of_several_calls)
{
    struct sender_config config = sender_rig_config();
    config.burst_units = 16;
    config.call_bytes = 2 * RIG_UNIT;
    begin_with(&config, 16 * RIG_UNIT);
    sender_rig_submit(40 * RIG_DATA);
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+64A");
    sender_rig_expect("1:256+64 1:320+64 1:384+64 1:448+64A");
    sender_rig_expect("1:512+64 1:576+64 1:640+64 1:704+64A");
    sender_rig_expect("1:768+64 1:832+64 1:896+64 1:960+64A");
    sender_rig_expect_nothing();
    sender_rig_ack("0 2");
    sender_rig_expect_nothing();
    sender_rig_ack("0 3");
    sender_rig_expect("1:1024+64 1:1088+64A");
}

/* The kernel cuts three at once. A quarter of the window is seven, of which six leave. */
TEST(take__bursts_end_behind_a_cut)
{
    struct sender_config config = sender_rig_config();
    config.burst_units = 16;
    config.call_bytes = 3 * RIG_UNIT;
    begin_with(&config, 28 * RIG_UNIT);
    sender_rig_submit(60 * RIG_DATA);
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+64 1:256+64 1:320+64");
    sender_rig_expect("1:384+64 1:448+64 1:512+64 1:576+64 1:640+64 1:704+64A");
}

/* One answer at its end will do. */
TEST(take__all_that_fits_the_window_in_one_burst)
{
    struct sender_config config = sender_rig_config();
    config.burst_units = 16;
    config.call_bytes = 2 * RIG_UNIT;
    begin_with(&config, 16 * RIG_UNIT);
    sender_rig_submit(7 * RIG_DATA);
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+64 1:256+64 1:320+64 1:384+64LA");
    sender_rig_expect_nothing();
}

/* It is the receiver that has no more room, so nothing is learned of the path. */
TEST(take__waits_for_the_receiver_and_the_window_stays)
{
    struct sender_config config = sender_rig_config();
    config.congestion = CONGESTION_RENO;
    begin_with(&config, 5 * RIG_UNIT);
    sender_rig_submit(40 * RIG_DATA);
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+64A");
    ck_assert(!sender_take(rig.s, rig.now, &rig.burst));
    rig.capacity = 1 << 20;
    sender_rig_ack("0 5");
    ck_assert_uint_eq(sender_gauges(rig.s).window, 10 * RIG_UNIT); /* as at first */
}

/* As long as the path is not known, a round trip may be long. */
TEST(take__fills_the_first_window)
{
    for (int i = 0; i < 3; i++)
        sender_rig_submit(4 * RIG_DATA);
    sender_rig_submit(10);
    rig.capacity = 13 * RIG_UNIT;
    sender_rig_pair(4, 5000);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64LA");
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+64LA");
    sender_rig_expect("2:0+64 2:64+64 2:128+64 2:192+64LA");
    sender_rig_expect("3:0+10LA");
}

TEST(sent__what_was_not_goes_first)
{
    sender_rig_submit(5 * RIG_DATA);
    sender_rig_pair(1, 1000);
    sender_rig_expect_taken("0:0+64 0:64+64 0:128+64 0:192+64");
    sender_sent(rig.s, rig.now, &rig.burst, 2);
    sender_rig_expect("0:128+64A 0:192+64A 0:256+64LA");
    ck_assert_uint_eq(rig.burst.first_seq, 4);
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 0);
    sender_rig_ack("0 2 4 7");
    sender_rig_expect_event(OUTCOME_OK, 5 * RIG_DATA);
}
