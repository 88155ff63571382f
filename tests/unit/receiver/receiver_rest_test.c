/* A receiver with nothing to do, and the memory that it grew into. */
#include "receiver_rig.h"

#include "../../support/suite.h"

enum { MANY = 20 };

static struct receiver_rig rig;

static void setup(void)
{
    receiver_rig_init(&rig);
}

static void teardown(void)
{
    receiver_rig_fini(&rig);
}

FIXTURE(setup, teardown)

static void carry(uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        receiver_rig_land_unit(&rig, receiver_rig_last(&rig, i, i, 0, 10));
        receiver_rig_expect_message(&rig, i, 10);
    }
}

TEST(rest__not_while_a_plan_is_out)
{
    receiver_rig_start(&rig, 1, 10);
    receiver_rig_plan(&rig);
    ck_assert_uint_eq(receiver_rest(rig.r), SIZE_MAX);
    receiver_rig_landed(&rig);
    ck_assert_uint_eq(receiver_rest(rig.r), 0);
}

TEST(rest__keeps_what_is_posted)
{
    receiver_rig_start(&rig, MANY, 10);
    carry(0, 2);
    ck_assert_uint_gt(receiver_rest(rig.r), 0);
    receiver_check(rig.r);
    carry(2, MANY);
    ck_assert_uint_eq(receiver_rest(rig.r), 0);
    receiver_check(rig.r);
    for (uint32_t i = 0; i < MANY; i++)
        receiver_rig_post(&rig, 10);
    carry(MANY, 2 * MANY);
}
