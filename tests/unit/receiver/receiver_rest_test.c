/* A receiver with nothing to do, and the memory that it grew into. */
#include "receiver_rig.h"

#include "../../support/suite.h"

enum { MANY = 20 };

static void setup(void)
{
    receiver_rig_init();
}

static void teardown(void)
{
    receiver_rig_fini();
}

FIXTURE(setup, teardown)

static void carry(uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        receiver_rig_land_unit(receiver_rig_last(i, i, 0, 10));
        receiver_rig_expect_message(i, 10);
    }
}

TEST(rest__not_while_a_plan_is_out)
{
    receiver_rig_start(1, 10);
    receiver_rig_plan();
    ck_assert_uint_eq(receiver_rest(rig.r), SIZE_MAX);
    receiver_rig_landed();
    ck_assert_uint_eq(receiver_rest(rig.r), 0);
}

TEST(rest__keeps_what_is_posted)
{
    receiver_rig_start(MANY, 10);
    carry(0, 2);
    ck_assert_uint_gt(receiver_rest(rig.r), 0);
    receiver_check(rig.r);
    carry(2, MANY);
    ck_assert_uint_eq(receiver_rest(rig.r), 0);
    receiver_check(rig.r);
    for (uint32_t i = 0; i < MANY; i++)
        receiver_rig_post(10);
    carry(MANY, 2 * MANY);
}
