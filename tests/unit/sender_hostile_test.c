/* The sender before a peer that says what cannot be, or what costs most. */
#include "../support/suite.h"
#include "sender_rig.h"

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

/* A negative interval over almost half of all numbers would be walked for seconds. */
START_TEST(ack__over_billions_of_numbers_is_rejected)
{
    sender_rig_submit(&rig, RIG_DATA);
    sender_rig_pair(&rig, 1, RIG_DATA);
    sender_rig_expect(&rig, "0:0+64LA");
    sender_rig_ack(&rig, "2147483651 0 1");
    ck_assert_uint_eq(sender_counters(rig.s)->drop_number, 1);
    sender_rig_expect_no_event(&rig);
    sender_rig_ack(&rig, "0 1");
    sender_rig_expect_event(&rig, OUTCOME_OK, RIG_DATA);
}
END_TEST

/* The message fails when the limit has passed since an acknowledgement could be taken, whatever
 * else is said in between. */
static void expect_silence(instant since)
{
    struct event event;
    while (!sender_event(rig.s, &event)) {
        if (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        sender_rig_ack(&rig, "0 1 1000000 1000001");
        sender_rig_request(&rig, 0, 1, 2 * RIG_DATA);
        sender_rig_wait(&rig);
        ck_assert_int_le(rig.now - since, 10 * SECOND);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_SILENT);
    ck_assert_int_eq(rig.now - since, 10 * SECOND);
}

/* A receiver that took a flipped number for one that came says so for ever: it can be talked to no
 * more, and would look alive by all the rest that it says. */
START_TEST(ack__of_what_was_never_sent_is_no_sign_of_life)
{
    sender_rig_submit(&rig, 2 * RIG_DATA);
    sender_rig_pair(&rig, 1, 2 * RIG_DATA);
    sender_rig_expect(&rig, "0:0+64 0:64+64LA");
    expect_silence(rig.now);
}
END_TEST

/* Once may have been an accident of that datagram's. */
START_TEST(ack__that_can_be_taken_is_a_sign_of_life_again)
{
    sender_rig_submit(&rig, 2 * RIG_DATA);
    sender_rig_pair(&rig, 1, 2 * RIG_DATA);
    sender_rig_expect(&rig, "0:0+64 0:64+64LA");
    sender_rig_ack(&rig, "0 1 1000000 1000001");
    rig.now += 9 * SECOND;
    sender_rig_ack(&rig, "0 1");
    rig.now += 9 * SECOND;
    sender_rig_request(&rig, 0, 1, 2 * RIG_DATA);
    expect_silence(rig.now);
}
END_TEST

/* What it says beyond the table is passed over; what is within it can be sent. */
START_TEST(request__for_all_numbers_reaches_as_far_as_the_table)
{
    sender_rig_pair(&rig, UINT32_MAX, RIG_DATA);
    (void)sender_rig_hello(&rig);
    for (int i = 0; i < 32; i++)
        sender_rig_submit(&rig, RIG_DATA);
    sender_rig_expect(&rig, "0:0+64L 1:0+64L 2:0+64L 3:0+64L");
}
END_TEST

/* Without a message nothing is to be sent, however often it is asked, and no time is waited for. */
START_TEST(take__of_an_empty_queue_is_nothing)
{
    sender_rig_pair(&rig, 0, 0);
    for (int i = 0; i < 3; i++)
        sender_rig_expect_nothing(&rig);
    ck_assert_int_eq(sender_deadline(rig.s), NEVER);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, ack__over_billions_of_numbers_is_rejected);
    tcase_add_test(tcase, ack__of_what_was_never_sent_is_no_sign_of_life);
    tcase_add_test(tcase, ack__that_can_be_taken_is_a_sign_of_life_again);
    tcase_add_test(tcase, request__for_all_numbers_reaches_as_far_as_the_table);
    tcase_add_test(tcase, take__of_an_empty_queue_is_nothing);
    return suite_run("sender_hostile", tcase);
}
