/* What was lent to the kernel is not given back to its user while a receiver may read it. */
#include "sender_rig.h"

#include "core/lending.h"

#include "../support/suite.h"

static struct sender_rig rig;
static uint64_t number;

/* A message of which a part is under way, lent. */
static void setup(void)
{
    struct sender_config config = sender_rig_config();
    sender_rig_init(&rig, &config);
    number = sender_rig_submit(&rig, 6 * RIG_DATA);
    sender_rig_submit(&rig, 10);
    sender_rig_pair(&rig, 1, 1000);
    sender_rig_expect_taken(&rig, "0:0+64 0:64+64 0:128+64 0:192+64");
    ck_assert(rig.burst.may_lend);
    sender_lent(rig.s, rig.now, &rig.burst);
    sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
}

static void teardown(void)
{
    sender_rig_fini(&rig);
}

START_TEST(lent__ends_well_at_once)
{
    sender_rig_expect(&rig, "0:256+64 0:320+64LA");
    sender_rig_ack(&rig, "0 6");
    sender_rig_expect_event(&rig, OUTCOME_OK, 6 * RIG_DATA);
}
END_TEST

START_TEST(lent__acknowledged_before_the_loan_is_known)
{
    sender_rig_expect_taken(&rig, "0:256+64 0:320+64LA");
    sender_rig_ack(&rig, "0 6");
    sender_lent(rig.s, rig.now, &rig.burst);
    sender_rig_expect_no_event(&rig);
    sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    sender_rig_expect_event(&rig, OUTCOME_OK, 6 * RIG_DATA);
}
END_TEST

START_TEST(lent__cancelled_when_the_peer_knows)
{
    ck_assert(sender_cancel(rig.s, rig.now, number));
    sender_rig_expect_no_event(&rig);
    sender_rig_expect(&rig, "0:2+0LVA");
    sender_rig_expect_no_event(&rig);
    sender_rig_ack(&rig, "0 4");
    sender_rig_expect_no_event(&rig);
    sender_rig_ack(&rig, "0 5");
    sender_rig_expect_event(&rig, OUTCOME_CANCELLED, 0);
    ck_assert_int_eq(sender_withheld_until(rig.s), NEVER);
}
END_TEST

START_TEST(lent__failed_when_it_would_not_be_taken_any_more)
{
    if (_i == 1) /* taken back before */
        ck_assert(sender_cancel(rig.s, rig.now, number));
    sender_fail(rig.s, rig.now, OUTCOME_CLOSED);
    sender_rig_expect_event(&rig, OUTCOME_CLOSED, 0); /* the other one */
    sender_rig_expect_no_event(&rig);
    sender_check(rig.s);
    ck_assert_int_eq(sender_withheld_until(rig.s), rig.now + LENDING_KEPT);
    ck_assert_int_le(sender_deadline(rig.s), rig.now + LENDING_KEPT);
    rig.now += LENDING_KEPT - 1;
    sender_expire(rig.s, rig.now);
    sender_rig_expect_no_event(&rig);
    sender_expire(rig.s, ++rig.now);
    sender_rig_expect_event(&rig, _i == 1 ? OUTCOME_CANCELLED : OUTCOME_CLOSED, 0);
    sender_rig_expect_no_event(&rig);
    ck_assert_int_eq(sender_withheld_until(rig.s), NEVER);
}
END_TEST

/* Before or behind what is said of its loan. */
START_TEST(lent__failed_while_a_burst_reads_it)
{
    sender_rig_expect_taken(&rig, "0:256+64 0:320+64LA");
    if (_i == 0)
        sender_lent(rig.s, rig.now, &rig.burst);
    sender_fail(rig.s, rig.now, OUTCOME_CLOSED);
    if (_i == 1)
        sender_lent(rig.s, rig.now, &rig.burst);
    sender_rig_expect_event(&rig, OUTCOME_CLOSED, 0);
    rig.now += LENDING_KEPT;
    sender_expire(rig.s, rig.now);
    sender_rig_expect_no_event(&rig);
    sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    sender_rig_expect_event(&rig, OUTCOME_CLOSED, 0);
}
END_TEST

START_TEST(lent__silence_is_longer)
{
    rig.now += 10 * SECOND;
    sender_expire(rig.s, rig.now);
    sender_rig_expect_event(&rig, OUTCOME_SILENT, 0);
    sender_rig_expect_event(&rig, OUTCOME_SILENT, 0);
}
END_TEST

/* A peer that has begun anew, or has closed, takes no unit of the session. */
START_TEST(lent__failed_at_once_when_the_session_is_over)
{
    if (_i == 0) {
        rig.pairing.session++;
        sender_rig_request(&rig, 0, 1, 10);
        rig.pairing.tag = sender_rig_hello(&rig).pairing.tag;
        sender_rig_request(&rig, 0, 1, 10);
    } else {
        sender_rig_say_ack(&rig, "0 1", true);
    }
    sender_rig_expect_event(&rig, _i == 0 ? OUTCOME_RESTARTED : OUTCOME_PEER_CLOSED, 0);
}
END_TEST

/* So that what was lent is old by the time it fails. */
START_TEST(lent__nothing_to_a_silent_peer)
{
    rig.now += LENDING_STALE;
    sender_rig_expect(&rig, "0:256+64 0:320+64LA");
    ck_assert(!rig.burst.may_lend);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, lent__ends_well_at_once);
    tcase_add_test(tcase, lent__acknowledged_before_the_loan_is_known);
    tcase_add_test(tcase, lent__cancelled_when_the_peer_knows);
    tcase_add_loop_test(tcase, lent__failed_when_it_would_not_be_taken_any_more, 0, 2);
    tcase_add_loop_test(tcase, lent__failed_while_a_burst_reads_it, 0, 2);
    tcase_add_test(tcase, lent__silence_is_longer);
    tcase_add_loop_test(tcase, lent__failed_at_once_when_the_session_is_over, 0, 2);
    tcase_add_test(tcase, lent__nothing_to_a_silent_peer);
    return suite_run("sender_lent", tcase);
}
