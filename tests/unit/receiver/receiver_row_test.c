/* Units in a row, and units that landed elsewhere: what a burst does to the user's memory. */
#include "core/adt/intervals.h"
#include "receiver_rig.h"

#include "../../support/suite.h"

/* A session in which a message of six units, in a buffer of `size`, awaits its first. */
static void start(uint64_t size)
{
    receiver_rig_start(1, size);
}

/* Puts units i of message 0, first <= i < last, numbered from seq on. */
static void put_units(uint32_t seq, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        struct unit_trailer t = receiver_rig_unit(seq + i - first, 0, i * RIG_DATA);
        receiver_rig_put_unit(&t);
    }
}

static void put_end(uint32_t seq)
{
    struct unit_trailer t = receiver_rig_last(seq, 0, 5 * RIG_DATA, 40);
    receiver_rig_put_unit(&t);
}

/* Unit 0 and the last arrive; the latter foretells that unit 1 is repeated. */
static void lose_the_middle(void)
{
    start(RIG_BUFFER);
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    struct unit_trailer t = receiver_rig_last(5, 0, 5 * RIG_DATA, 40);
    t.flags |= FLAG_HAS_NEXT;
    t.next_unit = RIG_DATA / GRAIN;
    t.next_length = RIG_DATA;
    receiver_rig_land_unit(t);
    receiver_rig_expect("+ 0 1 5 6");
    receiver_rig_expect_no_event();
}

FIXTURE(receiver_rig_init, receiver_rig_fini)

TEST(row__lands_in_place)
{
    start(RIG_BUFFER);
    put_units(0, 0, 5);
    put_end(5);
    receiver_rig_land();
    receiver_rig_expect_message(0, 5 * RIG_DATA + 40);
    ck_assert_uint_eq(receiver_counters(rig.r)->units, 6);
    ck_assert_uint_eq(receiver_counters(rig.r)->in_place, 6);
}

TEST(row__fills_a_gap_exactly)
{
    lose_the_middle();
    put_units(6, 1, 5);
    receiver_rig_land();
    receiver_rig_expect_message(0, 5 * RIG_DATA + 40);
    ck_assert_uint_eq(receiver_counters(rig.r)->in_place, 6 - 1); /* the end came too early */
    ck_assert_uint_eq(receiver_counters(rig.r)->moved, 1);
}

TEST(row__fills_a_gap_but_for_one)
{
    lose_the_middle();
    put_units(6, 1, 4);
    receiver_rig_land();
    receiver_rig_expect_no_event();
    receiver_rig_land_unit(receiver_rig_unit(9, 0, 4 * RIG_DATA));
    receiver_rig_expect_message(0, 5 * RIG_DATA + 40);
}

TEST(row__fills_the_buffer_before_the_end_is_known)
{
    start(4 * RIG_DATA); /* the end is an empty unit, which a peer may send */
    put_units(0, 0, 4);
    receiver_rig_land();
    receiver_rig_expect_no_event();
    receiver_rig_land_unit(receiver_rig_last(4, 0, 4 * RIG_DATA, 0));
    receiver_rig_expect_message(0, 4 * RIG_DATA);
}

TEST(row__goes_on_into_what_is_there_already)
{
    start(RIG_BUFFER);
    put_units(0, 0, 1);
    receiver_rig_land();
    put_units(3, 3, 4);
    receiver_rig_land();
    put_units(4, 1, 5);
    receiver_rig_land();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_duplicate, 1);
    put_end(8);
    receiver_rig_land();
    receiver_rig_expect_message(0, 5 * RIG_DATA + 40);
}

TEST(row__of_units_out_of_order)
{
    static const uint32_t order[] = {3, 1, 0, 4, 2};
    start(RIG_BUFFER);
    for (int i = 0; i < 5; i++)
        put_units(order[i], order[i], order[i] + 1);
    put_end(5);
    receiver_rig_land();
    receiver_rig_expect("+ 0 6");
    receiver_rig_expect_message(0, 5 * RIG_DATA + 40);
}

/* Units that were overtaken land in a row, too, but are acknowledged where they belong. */
TEST(row__of_units_that_were_overtaken)
{
    start(RIG_BUFFER);
    put_units(10, 0, 1);
    receiver_rig_land();
    receiver_rig_expect("- 0 10 11");
    put_units(0, 1, 4);
    receiver_rig_land();
    receiver_rig_expect("+ 0 3 10 11");
    put_units(11, 4, 5);
    put_end(12);
    receiver_rig_land();
    receiver_rig_expect_message(0, 5 * RIG_DATA + 40);
    ck_assert_uint_eq(receiver_counters(rig.r)->units, 6);
}

TEST(row__breaks_off_at_a_stranger)
{
    start(RIG_BUFFER);
    put_units(0, 0, 2);
    struct unit_trailer t = receiver_rig_unit(2, 0, 2 * RIG_DATA);
    t.pairing.tag++;
    receiver_rig_put_unit(&t);
    put_units(2, 2, 5);
    put_end(5);
    receiver_rig_land();
    receiver_rig_expect_message(0, 5 * RIG_DATA + 40);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, 1);
}

TEST(row__into_the_next_message)
{
    receiver_rig_start(2, 40);
    for (uint32_t i = 0; i < 2; i++) {
        struct unit_trailer t = receiver_rig_last(i, i, 0, 40);
        receiver_rig_put_unit(&t);
    }
    receiver_rig_land();
    receiver_rig_expect_message(0, 40);
    receiver_rig_expect_message(1, 40);
    ck_assert_uint_eq(receiver_counters(rig.r)->in_place, 2);
}

/* ---- runs of small messages ---- */

enum { SMALL = 40 };

/* Puts message n of `count`, as a stream does: each names the next, the last asks for an answer. */
static struct unit_trailer small(uint32_t n, uint32_t count)
{
    struct unit_trailer t = receiver_rig_last(n, n, 0, SMALL);
    t.flags |= n + 1 < count ? FLAG_HAS_NEXT : FLAG_ANSWER;
    t.next_step = n + 1 < count;
    t.next_length = n + 1 < count ? SMALL : 0;
    return t;
}

static void put_run(uint32_t first, uint32_t last, uint32_t count)
{
    for (uint32_t n = first; n < last; n++) {
        struct unit_trailer t = small(n, count);
        receiver_rig_put_unit(&t);
    }
}

/* Buffers as large as the messages, and larger: which only the second run lands in place of. */
TEST(run__lands_in_place, .rows = 2)
{
    receiver_rig_start(8, _i == 0 ? SMALL : 3 * SMALL);
    put_run(0, 1, 8);
    receiver_rig_land();
    receiver_rig_expect_message(0, SMALL);
    put_run(1, 8, 8);
    receiver_rig_land();
    receiver_rig_expect("+ 0 8");
    for (uint64_t n = 1; n < 8; n++)
        receiver_rig_expect_message(n, SMALL);
    ck_assert_uint_eq(receiver_counters(rig.r)->units, 8);
    ck_assert_uint_eq(receiver_counters(rig.r)->bytes, 8 * SMALL);
    ck_assert_uint_eq(receiver_counters(rig.r)->in_place, 8);
}

TEST(run__breaks_off_at_a_message_that_was_withdrawn)
{
    receiver_rig_start(5, SMALL);
    receiver_rig_plan();
    put_run(0, 5, 5);
    ck_assert(receiver_cancel(rig.r, rig.now, 3));
    receiver_rig_landed();
    receiver_rig_expect_end(OUTCOME_CANCELLED);
    for (uint64_t n = 0; n < 5; n++)
        if (n != 3)
            receiver_rig_expect_message(n, SMALL);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_unposted, 1);
    receiver_rig_expect("+ 0 3 4 5");
}

/* Number 2 was there before, in a landing of its own. */
TEST(run__goes_on_behind_what_is_there_already)
{
    receiver_rig_start(5, SMALL);
    put_run(2, 3, 5);
    receiver_rig_land();
    receiver_rig_expect("- 0 2 3");
    receiver_rig_expect_message(2, SMALL);
    put_run(0, 2, 5);
    put_run(3, 5, 5);
    receiver_rig_land();
    for (uint64_t n = 0; n < 5; n++)
        if (n != 2)
            receiver_rig_expect_message(n, SMALL);
    receiver_rig_expect("+ 0 5");
}

/* A unit of a stranger lies between. */
TEST(run__breaks_off_at_a_stranger)
{
    receiver_rig_start(5, SMALL);
    put_run(0, 3, 5);
    struct unit_trailer t = small(3, 5);
    t.pairing.tag++;
    receiver_rig_put_unit(&t);
    put_run(3, 5, 5);
    receiver_rig_land();
    for (uint64_t n = 0; n < 5; n++)
        receiver_rig_expect_message(n, SMALL);
    receiver_rig_expect("+ 0 5");
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, 1);
}

/* Units name messages that are long over, where those lie that have their places in the table. */
TEST(run__none_of_messages_that_are_over)
{
    receiver_rig_start(4, SMALL);
    put_run(0, 4, 12);
    receiver_rig_land();
    for (uint64_t n = 0; n < 4; n++)
        receiver_rig_expect_message(n, SMALL);
    for (int i = 4; i < 11; i++)
        receiver_rig_post(SMALL);
    put_run(4, 8, 12);
    for (uint32_t n = 0; n < 2; n++) {
        struct unit_trailer t = small(n, 12);
        t.seq = 8 + n;
        receiver_rig_put_unit(&t);
    }
    receiver_rig_land();
    for (uint64_t n = 4; n < 8; n++)
        receiver_rig_expect_message(n, SMALL);
    receiver_rig_expect_no_event();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_duplicate, 2);
    for (uint32_t n = 8; n < 11; n++) {
        struct unit_trailer t = small(n, 11);
        t.seq = 2 + n;
        receiver_rig_put_unit(&t);
    }
    receiver_rig_land();
    for (uint64_t n = 8; n < 11; n++)
        receiver_rig_expect_message(n, SMALL);
}

/* What was marked is counted for each unit. */
TEST(run__of_units_that_met_congestion)
{
    receiver_rig_start(5, SMALL);
    receiver_rig_plan();
    put_run(0, 5, 5);
    rig.landing.ecn[0] = LANDING_ECN_CONGESTED;
    receiver_rig_landed();
    receiver_rig_expect("+ 0 5, 5 marked, ecn");
    for (uint64_t n = 0; n < 5; n++)
        receiver_rig_expect_message(n, SMALL);
}

/* Only one that is above all before is followed by numbers that are added together. */
TEST(run__below_what_is_there_already)
{
    receiver_rig_start(6, SMALL);
    struct unit_trailer last = small(5, 6);
    last.flags |= FLAG_HAS_NEXT;
    last.next_step = -5;
    last.next_length = SMALL;
    receiver_rig_land_unit(last);
    receiver_rig_expect("- 0 5 6");
    put_run(0, 5, 6);
    receiver_rig_land();
    receiver_rig_expect_message(5, SMALL);
    for (uint64_t n = 0; n < 5; n++)
        receiver_rig_expect_message(n, SMALL);
    receiver_rig_expect("+ 0 6");
}

/* Of message 2 the end is there. Its first unit lands where the run goes on, and lies: it were the
 * whole of it. */
TEST(run__breaks_off_at_a_message_that_is_longer)
{
    receiver_rig_start(3, 2 * RIG_DATA);
    receiver_rig_land_unit(receiver_rig_last(0, 2, RIG_DATA, RIG_DATA));
    struct unit_trailer first = receiver_rig_last(1, 0, 0, RIG_DATA);
    first.flags |= FLAG_HAS_NEXT;
    first.next_step = 1;
    first.next_length = RIG_DATA;
    receiver_rig_land_unit(first);
    receiver_rig_expect_message(0, RIG_DATA);
    for (uint32_t n = 1; n < 3; n++) {
        struct unit_trailer t = receiver_rig_last(1 + n, n, 0, RIG_DATA);
        t.flags |= FLAG_HAS_NEXT;
        t.next_step = 1;
        t.next_length = RIG_DATA;
        receiver_rig_put_unit(&t);
    }
    receiver_rig_land();
    receiver_rig_expect_message(1, RIG_DATA);
    receiver_rig_expect_no_event();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_beyond, 1);
    receiver_rig_land_unit(receiver_rig_unit(3, 2, 0));
    receiver_rig_expect_message(2, 2 * RIG_DATA);
}

/* ---- plans ---- */

static uint32_t pairs_planned(void)
{
    receiver_rig_plan();
    uint32_t pairs = rig.landing.units;
    receiver_rig_landed();
    return pairs;
}

/* The same plan again, without a look at the messages: the next one is not offered. */
TEST(plan__stays_while_nothing_lands)
{
    receiver_rig_start(2, SMALL);
    uint64_t number = (receiver_rig_plan(), rig.landing.plan.number);
    receiver_rig_landed();
    ck_assert_uint_eq(pairs_planned(), 2);
    ck_assert_uint_eq(rig.landing.plan.number, number);
}

/* What is posted, withdrawn or landed meanwhile makes another one, and so does another landing. */
TEST(plan__made_anew, .rows = 5)
{
    static const uint32_t pairs[] = {3, 1, 1, 2, 0};
    receiver_rig_start(2, SMALL);
    ck_assert_uint_eq(pairs_planned(), 2);
    uint64_t number = rig.landing.plan.number;
    if (_i == 0)
        receiver_rig_post(SMALL);
    else if (_i == 1)
        ck_assert(receiver_cancel(rig.r, rig.now, 1));
    else if (_i == 2)
        receiver_rig_land_unit(receiver_rig_last(0, 0, 0, SMALL));
    else if (_i == 3)
        rig.landing.plan.of = NULL;
    else
        receiver_fail(rig.r, rig.now, OUTCOME_SILENT);
    ck_assert_uint_eq(pairs_planned(), pairs[_i]);
    ck_assert_uint_gt(rig.landing.plan.number, number);
}

/* A unit of the message landed by way of another landing: it is not offered again. */
TEST(plan__made_anew_after_another_landing)
{
    receiver_rig_start(1, 3 * RIG_DATA);
    ck_assert_uint_eq(pairs_planned(), 3);
    struct landing kept = rig.landing;
    landing_init(&rig.landing, rig.landing_memory, 1);
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    rig.landing = kept;
    ck_assert_uint_eq(pairs_planned(), 2);
}

/* Wholes that come meanwhile need the place of the numbers that a plan points at. */
TEST(plan__made_anew_after_a_whole)
{
    receiver_rig_start(2, SMALL);
    ck_assert_uint_eq(pairs_planned(), 2);
    receiver_whole_begin(rig.r);
    receiver_whole_end(rig.r);
    ck_assert_uint_eq(pairs_planned(), 2);
    ck_assert_uint_eq(receiver_planned(rig.r).last - receiver_planned(rig.r).first, 2);
}

/* What landed of it is not known, and an AAL5 channel has left no openings of it. */
TEST(plan__made_anew_where_one_was_spoilt)
{
    receiver_rig_start(2, SMALL);
    receiver_rig_plan();
    rig.landing.is_spoilt = true;
    rig.landing.openings = 0;
    receiver_landed(rig.r, rig.now, &rig.landing);
    ck_assert_uint_eq(pairs_planned(), 2);
    ck_assert_uint_eq(rig.landing.openings, 1);
    ck_assert(!rig.landing.is_spoilt);
}

TEST(plan__made_anew_for_other_pairs)
{
    receiver_rig_start(2, SMALL);
    receiver_plan(rig.r, &rig.landing, 1, 1);
    ck_assert_uint_eq(rig.landing.units, 1);
    receiver_rig_landed();
    ck_assert_uint_eq(pairs_planned(), 2);
}

TEST(plan__offers_only_what_is_missing)
{
    lose_the_middle();
    receiver_rig_plan();
    for (uint32_t i = 0; i < rig.landing.pieces; i++) {
        const uint8_t *base = rig.landing.iov[i].iov_base;
        if (base >= rig.buffer[0] && base < rig.buffer[1]) {
            ck_assert(base >= rig.buffer[0] + RIG_DATA);
            ck_assert(base + rig.landing.iov[i].iov_len <= rig.buffer[0] + 5 * RIG_DATA);
        }
    }
    ck_assert_uint_eq(rig.landing.units, 4);
    receiver_rig_landed();
}

TEST(plan__offers_nothing_of_what_is_withdrawn)
{
    start(RIG_BUFFER);
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    receiver_rig_plan();
    ck_assert_uint_eq(rig.landing.units, 0);
    receiver_rig_landed();
    receiver_rig_expect_end(OUTCOME_CANCELLED);
}
