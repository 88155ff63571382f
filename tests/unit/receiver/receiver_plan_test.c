/* How much is planned, and known to come: as many openings as what landed lately is worth. */
#include "core/adt/intervals.h"
#include "receiver_rig.h"

#include "../../support/suite.h"

enum { PLENTY = 4, STEADY = 16 };

static uint32_t seq;
static uint8_t *memory;

static void setup(void)
{
    receiver_rig_init();
    memory = malloc(landing_memory(PLENTY));
    landing_init(&rig.landing, memory, PLENTY);
    seq = 0;
    receiver_rig_start(RIG_MESSAGES / 2, RIG_BUFFER);
}

static void teardown(void)
{
    receiver_rig_fini();
    free(memory);
}

/* The openings that the receiver thinks worth planning. */
static uint32_t planned(void)
{
    receiver_plan(rig.r, &rig.landing, PLENTY, 1);
    uint32_t openings = rig.landing.openings;
    receiver_rig_landed();
    return openings;
}

/* The next `count` units arrive, each just where it is expected. */
static void arrive(uint32_t count)
{
    enum { UNITS = RIG_BUFFER / RIG_DATA - 1 }; /* the last unit of each message never comes */
    for (uint32_t i = 0; i < count; i++, seq++) {
        struct unit_trailer t =
            receiver_rig_unit(seq, seq / UNITS, seq % UNITS * (uint32_t)RIG_DATA);
        t.next_step = (int16_t)((seq + 1) / UNITS - seq / UNITS);
        t.next_unit = (seq + 1) % UNITS * RIG_DATA / GRAIN;
        receiver_rig_land_unit(t);
    }
}

/* One unit is lost: the next lands in its place. */
static void lose(void)
{
    uint64_t moved = receiver_counters(rig.r)->moved;
    seq++;
    arrive(1);
    ck_assert_uint_eq(receiver_counters(rig.r)->moved, moved + 1);
}

FIXTURE(setup, teardown)

TEST(expected__is_what_the_message_misses)
{
    ck_assert_uint_eq(receiver_expected(rig.r), 0);
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    ck_assert_uint_eq(receiver_expected(rig.r), RIG_BUFFER - RIG_DATA);
    receiver_rig_land_unit(receiver_rig_unit(1, 0, RIG_DATA));
    ck_assert_uint_eq(receiver_expected(rig.r), RIG_BUFFER - 2 * RIG_DATA);
}

TEST(expected__is_nothing_if_an_answer_is_asked_for_or_nothing_foretold)
{
    struct unit_trailer asks = receiver_rig_unit(0, 0, 0);
    asks.flags |= FLAG_ANSWER;
    receiver_rig_land_unit(asks);
    ck_assert_uint_eq(receiver_expected(rig.r), 0);
    receiver_rig_land_unit(receiver_rig_unit(1, 0, RIG_DATA));
    ck_assert_uint_ne(receiver_expected(rig.r), 0);
    receiver_rig_land_unit(receiver_rig_last(2, 0, 2 * RIG_DATA, RIG_DATA));
    ck_assert_uint_eq(receiver_expected(rig.r), 0);
}

TEST(plan__all_openings_at_first)
{
    ck_assert_uint_eq(planned(), PLENTY);
}

TEST(plan__all_openings_while_all_lands_in_place)
{
    arrive(3);
    ck_assert_uint_eq(planned(), PLENTY);
}

TEST(plan__one_opening_behind_a_loss)
{
    arrive(3);
    lose();
    ck_assert_uint_eq(planned(), 1);
}

TEST(plan__openings_come_back_one_by_one)
{
    arrive(1);
    lose();
    arrive(STEADY - 1);
    ck_assert_uint_eq(planned(), 1);
    arrive(1);
    ck_assert_uint_eq(planned(), 2);
    arrive(2 * STEADY);
    ck_assert_uint_eq(planned(), 4);
    arrive(2 * STEADY);
    ck_assert_uint_eq(planned(), PLENTY);
}

/* ---- what waits for this side ---- */

TEST(awaits_more__also_if_an_answer_is_asked_for)
{
    ck_assert(!receiver_awaits_more(rig.r));
    struct unit_trailer asks = receiver_rig_unit(0, 0, 0);
    asks.flags |= FLAG_ANSWER;
    receiver_rig_land_unit(asks);
    ck_assert(receiver_awaits_more(rig.r));
    receiver_rig_land_unit(receiver_rig_last(1, 0, RIG_DATA, RIG_DATA));
    ck_assert(!receiver_awaits_more(rig.r));
}

/* What is foretold has no buffer. */
TEST(awaits_more__not_without_a_buffer)
{
    struct unit_trailer t = receiver_rig_last(0, 0, 0, RIG_DATA);
    t.flags |= FLAG_HAS_NEXT;
    t.next_step = RIG_MESSAGES / 2;
    t.next_length = RIG_DATA;
    receiver_rig_land_unit(t);
    ck_assert(!receiver_awaits_more(rig.r));
    ck_assert_uint_eq(receiver_expected(rig.r), 0);
}

/* A single byte is something. */
TEST(awaits_more__of_a_byte)
{
    struct unit_trailer t = receiver_rig_last(0, 0, 0, RIG_BUFFER - 1);
    t.flags = FLAG_HAS_NEXT;
    t.next_unit = 1;
    t.next_length = 1;
    t.length = RIG_BUFFER - RIG_BUFFER % GRAIN - GRAIN;
    receiver_rig_land_unit(t);
    ck_assert_uint_eq(receiver_expected(rig.r), GRAIN);
    ck_assert(receiver_awaits_more(rig.r));
}

/* ---- what a plan points at ---- */

TEST(planned__is_of_the_newest_plan)
{
    receiver_plan(rig.r, &rig.landing, 1, 4);
    ck_assert_uint_eq(receiver_planned(rig.r).first, 0);
    ck_assert_uint_eq(receiver_planned(rig.r).last, 1);
    receiver_rig_landed();
    struct unit_trailer t = receiver_rig_last(0, 5, 0, RIG_DATA);
    receiver_rig_land_unit(t);
    receiver_plan(rig.r, &rig.landing, 1, 4);
    ck_assert_uint_eq(receiver_planned(rig.r).first, 6);
    ck_assert_uint_ge(receiver_planned(rig.r).last, 7);
    receiver_rig_landed();
    receiver_fail(rig.r, rig.now, OUTCOME_SILENT);
    receiver_plan(rig.r, &rig.landing, 1, 4);
    ck_assert_uint_eq(receiver_planned(rig.r).first, receiver_planned(rig.r).last);
    receiver_rig_landed();
}
