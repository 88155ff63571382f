/* Marks of congestion, from the channel to the sender. */
#include "receiver_rig.h"

#include "../../support/suite.h"

static void setup(void)
{
    receiver_rig_init();
    receiver_rig_start(1, 4 * RIG_DATA);
}

/* What was put together lands in a burst of which the channel says this. */
static void land_as(uint8_t ecn)
{
    receiver_rig_plan();
    rig.landing.ecn[0] = ecn;
    receiver_rig_landed();
    rig.landing.ecn[0] = 0;
}

/* So do units [first, last) of message 0. */
static void land(uint32_t first, uint32_t last, uint8_t ecn)
{
    for (uint32_t seq = first; seq < last; seq++) {
        struct unit_trailer t = receiver_rig_unit(seq, 0, seq * RIG_DATA);
        t.flags |= seq + 1 == last ? FLAG_ANSWER : 0;
        receiver_rig_put_unit(&t);
    }
    land_as(ecn);
}

enum { NONE = 0, CAPABLE = 2, CONGESTED = LANDING_ECN_CONGESTED };

FIXTURE(setup, receiver_rig_fini)

/* Each datagram of the burst counts, also those that follow on each other in place. */
TEST(marks__add_up)
{
    land(0, 1, NONE);
    receiver_rig_expect("+ 0 1");
    land(1, 3, CONGESTED);
    receiver_rig_expect("+ 0 3, 2 marked, ecn");
    land(3, 4, CONGESTED);
    receiver_rig_expect("+ 0 4, 3 marked, ecn");
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, 3);
}

/* What does not belong to the pairing says nothing of the path. */
TEST(marks__of_strangers)
{
    struct unit_trailer t = receiver_rig_unit(0, 0, 0);
    struct hello hello = {.pairing = {.tag = 9}, .nonce = 9};
    t.pairing.tag ^= 1;
    receiver_rig_put_unit(&t);
    land_as(CONGESTED);
    rig.landing.ecn[0] = CONGESTED;
    receiver_rig_hello(hello);
    receiver_rig_expect("cookie");
    land(0, 1, NONE);
    receiver_rig_expect("+ 0 1");
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, 0);
}

TEST(marks__modulo)
{
    uint32_t marks = 0;
    for (; marks < UINT16_MAX; marks++) { /* the same unit again and again */
        struct unit_trailer t = receiver_rig_unit(marks, 0, 0);
        receiver_rig_put_unit(&t);
        land_as(CONGESTED);
    }
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, UINT16_MAX);
    land(0, 1, CONGESTED);
    receiver_rig_expect("+ 0 65535, ecn");
    land(1, 2, CONGESTED);
    receiver_rig_expect("+ 0 65535, 1 marked, ecn");
}

/* What lands nowhere is no longer what the channel said of an earlier plan. */
TEST(marks__are_counted_once)
{
    land(0, 1, CONGESTED);
    receiver_rig_expect("+ 0 1, 1 marked, ecn");
    receiver_rig_land();
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, 1);
}

/* Once ECN's field has arrived, that is said to the end of the session. */
TEST(ecn__is_said_once_seen)
{
    land(0, 1, NONE);
    receiver_rig_expect("+ 0 1");
    land(1, 2, CAPABLE);
    receiver_rig_expect("+ 0 2, ecn");
    land(2, 3, NONE);
    receiver_rig_expect("+ 0 3, ecn");
}

TEST(marks__of_a_session)
{
    land(0, 1, CONGESTED);
    receiver_fail(rig.r, rig.now, OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_start(1, 4 * RIG_DATA);
    struct unit_trailer t = receiver_rig_last(0, 0, 0, RIG_DATA);
    t.flags |= FLAG_ANSWER;
    receiver_rig_land_unit(t);
    receiver_rig_expect("+ 0 1");
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, 1);
}
