/* Marks of congestion, from the channel to the sender. */
#include "receiver_rig.h"

#include "../support/suite.h"

static struct receiver_rig rig;

static void setup(void)
{
    receiver_rig_init(&rig);
    receiver_rig_start(&rig, 1, 4 * RIG_DATA);
}

static void teardown(void)
{
    receiver_rig_fini(&rig);
}

/* Units [first, last) of message 0 land, and the channel says of so many that they are marked. */
static bool has_ecn; /* does ECN's field arrive? */

static void land(uint32_t first, uint32_t last, uint32_t marked)
{
    for (uint32_t seq = first; seq < last; seq++) {
        struct unit_trailer t = receiver_rig_unit(&rig, seq, 0, seq * RIG_DATA);
        t.flags |= seq + 1 == last ? FLAG_ANSWER : 0;
        receiver_rig_put_unit(&rig, &t);
    }
    receiver_rig_plan(&rig);
    rig.landing.marked = marked;
    rig.landing.has_ecn = has_ecn;
    receiver_rig_landed(&rig);
}

START_TEST(marks__add_up)
{
    land(0, 1, 0);
    receiver_rig_expect(&rig, "+ 0 1");
    land(1, 3, 2);
    receiver_rig_expect(&rig, "+ 0 3, 2 marked");
    land(3, 4, 1);
    receiver_rig_expect(&rig, "+ 0 4, 3 marked");
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, 3);
}
END_TEST

START_TEST(marks__modulo)
{
    land(0, 1, UINT16_MAX);
    receiver_rig_expect(&rig, "+ 0 1, 65535 marked");
    land(1, 2, 3);
    receiver_rig_expect(&rig, "+ 0 2, 2 marked");
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, UINT16_MAX + 3);
}
END_TEST

/* What lands nowhere is no longer what the channel said of an earlier plan. */
START_TEST(marks__are_counted_once)
{
    land(0, 1, 1);
    receiver_rig_expect(&rig, "+ 0 1, 1 marked");
    receiver_rig_land(&rig);
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, 1);
}
END_TEST

/* Once ECN's field has arrived, that is said to the end of the session. */
START_TEST(ecn__is_said_once_seen)
{
    land(0, 1, 0);
    receiver_rig_expect(&rig, "+ 0 1");
    has_ecn = true;
    land(1, 2, 0);
    receiver_rig_expect(&rig, "+ 0 2, ecn");
    has_ecn = false;
    land(2, 3, 1);
    receiver_rig_expect(&rig, "+ 0 3, 1 marked, ecn");
}
END_TEST

START_TEST(marks__of_a_session)
{
    has_ecn = true;
    land(0, 1, 5);
    receiver_fail(rig.r, rig.now, OUTCOME_SILENT);
    receiver_rig_expect_end(&rig, OUTCOME_SILENT);
    receiver_rig_start(&rig, 1, 4 * RIG_DATA);
    struct unit_trailer t = receiver_rig_last(&rig, 0, 0, 0, RIG_DATA);
    t.flags |= FLAG_ANSWER;
    receiver_rig_land_unit(&rig, t);
    receiver_rig_expect(&rig, "+ 0 1");
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, 5);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, marks__add_up);
    tcase_add_test(tcase, marks__modulo);
    tcase_add_test(tcase, marks__are_counted_once);
    tcase_add_test(tcase, marks__of_a_session);
    tcase_add_test(tcase, ecn__is_said_once_seen);
    return suite_run("receiver_marks", tcase);
}
