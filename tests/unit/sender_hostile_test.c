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
    tcase_add_test(tcase, request__for_all_numbers_reaches_as_far_as_the_table);
    tcase_add_test(tcase, take__of_an_empty_queue_is_nothing);
    return suite_run("sender_hostile", tcase);
}
