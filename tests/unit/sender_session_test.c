/* How the sender finds its receiver, and leaves it. */
#include "sender_rig.h"

#include "../support/suite.h"

static struct sender_rig rig;

static void setup(void)
{
    struct sender_config config = sender_rig_config();
    sender_rig_init(&rig, &config);
}

static void teardown(void)
{
    sender_rig_fini(&rig);
}

/* ---- pairing ---- */

START_TEST(pairing__nothing_is_sent_without)
{
    sender_rig_submit(&rig, 10);
    struct hello hello = sender_rig_hello(&rig);
    ck_assert_uint_eq(hello.pairing.session, 0);
    ck_assert_uint_ne(hello.pairing.tag, 0);
    sender_rig_expect_nothing(&rig);
}
END_TEST

START_TEST(pairing__by_the_fresh_tag)
{
    sender_rig_submit(&rig, 10);
    sender_rig_pair(&rig, 1, 10);
    sender_rig_expect(&rig, "0:0+10LA");
    ck_assert_uint_eq(sender_rig_trailer(&rig, 0).pairing.session, RIG_SESSION);
}
END_TEST

/* The answer to the only hello is a first round trip. */
START_TEST(pairing__measures_the_round_trip)
{
    sender_rig_submit(&rig, 10);
    struct hello hello = sender_rig_hello(&rig);
    rig.pairing = (struct pairing){.session = RIG_SESSION, .tag = hello.pairing.tag};
    rig.now += 3 * MILLISECOND;
    sender_rig_request(&rig, 0, 1, 10);
    ck_assert_int_eq(sender_gauges(rig.s).rtt_smoothed, 3 * MILLISECOND);
    ck_assert_int_eq(sender_gauges(rig.s).rtt_lowest, 3 * MILLISECOND);
}
END_TEST

/* Of two nobody knows which was answered: that is no measurement, but a long path is believed. */
START_TEST(pairing__assumes_a_round_trip)
{
    static const duration row[][2] = {{50, 100}, {600, 600}, {1000, 1000}, {1001, 100}};
    sender_rig_submit(&rig, 10);
    sender_rig_hello(&rig);
    rig.now += 20 * MILLISECOND;
    sender_expire(rig.s, rig.now);
    struct hello hello = sender_rig_hello(&rig);
    rig.pairing = (struct pairing){.session = RIG_SESSION, .tag = hello.pairing.tag};
    rig.now += (row[_i][0] - 20) * MILLISECOND;
    sender_rig_request(&rig, 0, 1, 10);
    ck_assert_int_eq(sender_gauges(rig.s).rtt_smoothed, row[_i][1] * MILLISECOND);
    ck_assert_int_eq(sender_gauges(rig.s).rtt_lowest, 0);
}
END_TEST

START_TEST(pairing__not_by_another_tag)
{
    sender_rig_submit(&rig, 10);
    uint16_t tag = sender_rig_hello(&rig).pairing.tag;
    rig.pairing = (struct pairing){.session = RIG_SESSION, .tag = (uint16_t)(tag ^ 1)};
    sender_rig_request(&rig, 0, 1, 10);
    ck_assert_uint_eq(sender_counters(rig.s)->drop_session, 1);
    struct hello hello = sender_rig_hello(&rig); /* it asks whether that session is there */
    ck_assert_uint_eq(hello.pairing.session, RIG_SESSION);
    sender_rig_expect_nothing(&rig);
}
END_TEST

/* It may be that of a receiver that is gone: whoever is there says which is its own. */
START_TEST(pairing__an_unanswered_session_is_not_asked_for_again)
{
    sender_rig_submit(&rig, 10);
    struct hello first = sender_rig_hello(&rig);
    rig.now += 2 * MILLISECOND;
    rig.pairing =
        (struct pairing){.session = RIG_SESSION, .tag = (uint16_t)(first.pairing.tag + 1)};
    sender_rig_request(&rig, 0, 1, 10);
    struct hello proposal = sender_rig_hello(&rig);
    ck_assert_uint_eq(proposal.pairing.session, RIG_SESSION);
    rig.now += 100 * MILLISECOND;
    sender_expire(rig.s, rig.now);
    struct hello again = sender_rig_hello(&rig);
    ck_assert_uint_eq(again.pairing.session, 0);
    ck_assert_uint_eq(again.pairing.tag, first.pairing.tag);
}
END_TEST

START_TEST(pairing__with_a_new_receiver_fails_what_was_begun)
{
    sender_rig_submit(&rig, 10);
    sender_rig_pair(&rig, 1, 10);
    sender_rig_expect(&rig, "0:0+10LA");
    rig.pairing.session++;
    sender_rig_request(&rig, 0, 1, 10);
    sender_rig_expect_no_event(&rig); /* it may be a dead one's */
    rig.pairing.tag = sender_rig_hello(&rig).pairing.tag;
    sender_rig_request(&rig, 0, 1, 10);
    sender_rig_expect_event(&rig, OUTCOME_RESTARTED, 0);
    ck_assert_uint_eq(sender_rig_hello(&rig).requested, 1);
    sender_rig_submit(&rig, 5);
    sender_rig_expect(&rig, "0:0+5LA");
    ck_assert_uint_eq(sender_rig_trailer(&rig, 0).seq, 0);
}
END_TEST

/* ---- close ---- */

START_TEST(close__unpaired_proposes_a_while)
{
    uint32_t hellos = 1;
    sender_rig_hello(&rig);
    sender_close(rig.s, rig.now);
    for (; !sender_is_closed(rig.s); sender_rig_wait(&rig)) {
        if (!sender_has_burst(rig.s))
            continue;
        sender_rig_hello(&rig);
        hellos++;
    }
    ck_assert_uint_eq(hellos, 1 + 3);
    ck_assert(sender_is_confirmed(rig.s));
}
END_TEST

START_TEST(close__confirmed)
{
    uint64_t number;
    sender_rig_submit(&rig, 10);
    sender_rig_pair(&rig, 1, 10);
    sender_rig_expect(&rig, "0:0+10LA");
    sender_close(rig.s, rig.now);
    ck_assert(!sender_submit(rig.s, rig.now, NULL, NULL, 0, &number));
    sender_rig_expect_nothing(&rig);
    sender_rig_ack(&rig, "0 1");
    sender_rig_expect_event(&rig, OUTCOME_OK, 10);
    sender_rig_wait(&rig);
    ck_assert(sender_rig_hello(&rig).is_closing);
    ck_assert(!sender_is_closed(rig.s));
    sender_rig_say_ack(&rig, "", true);
    ck_assert(sender_is_closed(rig.s));
    ck_assert(sender_is_confirmed(rig.s));
    ck_assert_int_eq(sender_deadline(rig.s), NEVER);
}
END_TEST

START_TEST(close__by_the_peer)
{
    sender_rig_submit(&rig, 10);
    sender_rig_pair(&rig, 1, 10);
    sender_rig_expect(&rig, "0:0+10LA");
    sender_rig_say_ack(&rig, "", true);
    sender_rig_expect_event(&rig, OUTCOME_PEER_CLOSED, 0);
    struct hello hello = sender_rig_hello(&rig);
    ck_assert(hello.is_closing);
    ck_assert_uint_eq(hello.pairing.session, RIG_SESSION);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, pairing__nothing_is_sent_without);
    tcase_add_test(tcase, pairing__by_the_fresh_tag);
    tcase_add_test(tcase, pairing__measures_the_round_trip);
    tcase_add_loop_test(tcase, pairing__assumes_a_round_trip, 0, 4);
    tcase_add_test(tcase, pairing__not_by_another_tag);
    tcase_add_test(tcase, pairing__an_unanswered_session_is_not_asked_for_again);
    tcase_add_test(tcase, pairing__with_a_new_receiver_fails_what_was_begun);
    tcase_add_test(tcase, close__unpaired_proposes_a_while);
    tcase_add_test(tcase, close__confirmed);
    tcase_add_test(tcase, close__by_the_peer);
    return suite_run("sender_session", tcase);
}
