/* How the receiver is left by its sender, and leaves it. */
#include "receiver_rig.h"

#include "../support/suite.h"

static struct receiver_rig rig;

static void setup(void)
{
    receiver_rig_init(&rig);
}

static void teardown(void)
{
    receiver_rig_fini(&rig);
}

static void start(void)
{
    receiver_rig_start(&rig, 2, 128);
}

START_TEST(restart__of_the_sender_fails_what_is_posted)
{
    start();
    receiver_rig_land_unit(&rig, receiver_rig_unit(&rig, 0, 0, 0));
    uint32_t session = rig.pairing.session;
    receiver_rig_hello(&rig, (struct hello){.pairing = {.session = session, .tag = RIG_TAG + 1}});
    receiver_rig_expect_end(&rig, OUTCOME_RESTARTED);
    receiver_rig_expect_end(&rig, OUTCOME_RESTARTED);
    receiver_rig_expect(&rig, "request");
    ck_assert_uint_ne(rig.pairing.session, session);
    ck_assert_uint_eq(rig.pairing.tag, RIG_TAG + 1);
}
END_TEST

START_TEST(close__tells_until_it_is_confirmed)
{
    start();
    receiver_rig_land_unit(&rig, receiver_rig_unit(&rig, 0, 0, 0));
    receiver_close(rig.r, rig.now);
    receiver_rig_expect_end(&rig, OUTCOME_CLOSED);
    receiver_rig_expect_end(&rig, OUTCOME_CLOSED);
    receiver_rig_expect(&rig, "close + 0 1");
    receiver_rig_wait(&rig, 20 * MILLISECOND);
    receiver_rig_expect(&rig, "close + 0 1");
    ck_assert(!receiver_is_closed(rig.r));
    receiver_rig_hello(&rig, (struct hello){.pairing = rig.pairing, .is_closing = true});
    ck_assert(receiver_is_closed(rig.r));
    ck_assert(receiver_is_confirmed(rig.r));
}
END_TEST

START_TEST(close__of_the_sender_is_confirmed)
{
    start();
    struct pairing pairing = rig.pairing;
    receiver_rig_hello(&rig, (struct hello){.pairing = pairing, .is_closing = true});
    receiver_rig_expect_end(&rig, OUTCOME_PEER_CLOSED);
    receiver_rig_expect_end(&rig, OUTCOME_PEER_CLOSED);
    receiver_rig_expect(&rig, "close +");
    ck_assert_uint_eq(rig.acked.session, pairing.session);
    receiver_rig_hello(&rig, (struct hello){.pairing = pairing, .is_closing = true});
    receiver_rig_expect(&rig, "close +");
}
END_TEST

START_TEST(close__unbound_is_over_at_once)
{
    receiver_rig_post(&rig, 128);
    receiver_close(rig.r, rig.now);
    receiver_rig_expect_end(&rig, OUTCOME_CLOSED);
    ck_assert(receiver_is_closed(rig.r));
    receiver_rig_expect_silence(&rig);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, restart__of_the_sender_fails_what_is_posted);
    tcase_add_test(tcase, close__tells_until_it_is_confirmed);
    tcase_add_test(tcase, close__of_the_sender_is_confirmed);
    tcase_add_test(tcase, close__unbound_is_over_at_once);
    return suite_run("receiver_session", tcase);
}
