/* The receiver when its tables are full: what finds no room is as if it had never come. */
#include "../../support/suite.h"
#include "core/receiver/prediction.h"
#include "receiver_rig.h"

enum {
    HOLES = 4, /* the rig's, beside one for each message */
    UNITS = RIG_BUFFER / RIG_DATA,
    MANY = LANDING_MOVES + 2 * UNITS, /* units: whole messages, and too many to be moved at once */
};

static void setup(void)
{
    receiver_rig_init();
    receiver_rig_bind("request");
    for (int i = 0; i < RIG_MESSAGES; i++)
        receiver_rig_post(RIG_BUFFER);
}

/* The third unit of messages 0, 1, ...: each leaves a hole, and the last finds no room for one. */
static void fill_holes(void)
{
    for (uint32_t i = 0; i <= HOLES; i++)
        receiver_rig_land_unit(receiver_rig_unit(i, i, 2 * RIG_DATA));
}

FIXTURE(setup, receiver_rig_fini)

TEST(unit__without_room_for_a_hole_is_not_taken)
{
    fill_holes();
    ck_assert_uint_eq(receiver_counters(rig.r)->units, HOLES);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_no_room, 1);
}

/* Its bytes were asked to be moved before it was refused; that is taken back. */
TEST(unit__without_room_for_a_hole_moves_nothing)
{
    fill_holes();
    for (int i = 0; i < RIG_DATA; i++)
        ck_assert_uint_eq(rig.buffer[HOLES][2 * RIG_DATA + i], 0);
    ck_assert_uint_eq(receiver_counters(rig.r)->bytes_moved, HOLES * RIG_DATA);
}

/* The other units of its message, in order, need no hole. */
TEST(unit__without_room_for_a_hole_comes_again)
{
    fill_holes();
    for (uint32_t i = 0; i < 3; i++)
        receiver_rig_land_unit(receiver_rig_unit(HOLES + 1 + i, HOLES, i * RIG_DATA));
    receiver_rig_land_unit(receiver_rig_last(HOLES + 4, HOLES, 3 * RIG_DATA, RIG_DATA));
    receiver_rig_expect_message(HOLES, 4 * RIG_DATA);
}

/* Units [first, last), counted over all messages but the first, arrive in one burst. What is
 * planned for is the first message, so that each of them has to be moved to its place. */
static void land_many(uint32_t seq, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++, seq++) {
        uint32_t message = 1 + i / UNITS, offset = i % UNITS * RIG_DATA;
        struct unit_trailer t = i % UNITS == UNITS - 1
                                    ? receiver_rig_last(seq, message, offset, RIG_DATA)
                                    : receiver_rig_unit(seq, message, offset);
        receiver_rig_put_unit(&t);
    }
    receiver_rig_land();
}

static void expect_messages(uint32_t first, uint32_t last)
{
    for (uint32_t n = first; n < last; n++)
        receiver_rig_expect_message(n, RIG_BUFFER);
    receiver_rig_expect_no_event();
}

TEST(unit__without_room_for_a_move_is_not_taken)
{
    land_many(0, 0, MANY);
    ck_assert_uint_eq(receiver_counters(rig.r)->units, LANDING_MOVES);
    ck_assert_uint_eq(receiver_counters(rig.r)->moved, LANDING_MOVES);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_no_room, MANY - LANDING_MOVES);
    expect_messages(1, 1 + LANDING_MOVES / UNITS);
}

TEST(unit__without_room_for_a_move_comes_again)
{
    land_many(0, 0, MANY);
    expect_messages(1, 1 + LANDING_MOVES / UNITS);
    land_many(MANY, LANDING_MOVES, MANY);
    ck_assert_uint_eq(receiver_counters(rig.r)->units, MANY);
    expect_messages(1 + LANDING_MOVES / UNITS, 1 + MANY / UNITS);
}

/* As receiver_rig_land, where pieces of the plan overlap. */
static void land_unchecked(void)
{
    receiver_rig_plan();
    scatter(&rig.landing, rig.wire, rig.bytes, rig.segment);
    rig.bytes = 0;
    receiver_landed(rig.r, rig.now, &rig.landing);
    receiver_check(rig.r);
}

/* The user has posted one buffer twice, and units of both messages change places. Both end, with
 * any of their bytes, and nothing else is written. */
TEST(post__of_the_same_memory)
{
    enum { SIZE = 3 * RIG_DATA };
    static const uint8_t zeros[RIG_BUFFER];
    uint64_t number;

    receiver_rig_fini();
    receiver_rig_init();
    receiver_rig_bind("request");
    for (int i = 0; i < 2; i++)
        ck_assert(receiver_post(rig.r, rig.now, NULL, rig.buffer[1], SIZE, &number));
    for (uint32_t i = 0; i < 2; i++) {
        struct unit_trailer first = receiver_rig_unit(3 * i, i, 0);
        struct unit_trailer middle = receiver_rig_unit(3 * i + 1, i, RIG_DATA);
        struct unit_trailer last = receiver_rig_last(3 * i + 2, i, 2 * RIG_DATA, RIG_DATA);
        receiver_rig_put_unit(&first);
        if (i == 0)
            land_unchecked();
        receiver_rig_put_unit(&last);
        receiver_rig_put_unit(&middle);
    }
    land_unchecked();
    ck_assert_ptr_eq(rig.landing.iov[0].iov_base, rig.landing.iov[6].iov_base);
    for (int i = 0; i < 2; i++) {
        struct event event;
        ck_assert(receiver_event(rig.r, &event));
        ck_assert_int_eq(event.outcome, OUTCOME_OK);
        ck_assert_uint_eq(event.length, SIZE);
    }
    ck_assert_mem_eq(rig.buffer[0], zeros, RIG_BUFFER);
    ck_assert_mem_eq(rig.buffer[1] + SIZE, zeros, RIG_BUFFER - SIZE);
    ck_assert_mem_eq(rig.buffer[2], zeros, RIG_BUFFER);
}

/* The peer has completed all messages but the first and the last. What is looked at for each unit
 * has a limit, which is not the table's. */
TEST(unit__of_messages_far_apart)
{
    uint32_t last = RIG_MESSAGES - 1;

    for (uint32_t n = 1; n < last; n++) {
        receiver_rig_land_unit(receiver_rig_last(n - 1, n, 0, RIG_DATA));
        receiver_rig_expect_message(n, RIG_DATA);
    }
    receiver_rig_land_unit(receiver_rig_unit(last, 0, 0));
    receiver_rig_plan();
    struct interval planned = receiver_planned(rig.r);
    ck_assert_uint_eq(planned.first, 0);
    ck_assert_uint_le(planned.last, PREDICTION_PASSES);
    receiver_rig_landed();
    receiver_rig_land_unit(receiver_rig_last(last + 1, last, 0, RIG_DATA));
    receiver_rig_expect_message(last, RIG_DATA);
}

/* More holes between numbers than there is room for: the lowest go, and are counted. */
TEST(ack__forgets_intervals)
{
    enum { INTERVALS = 8, MORE = 3 };
    for (uint32_t i = 0; i < INTERVALS + MORE; i++)
        receiver_rig_land_unit(receiver_rig_unit(3 * i, i, 0));
    ck_assert_uint_eq(receiver_counters(rig.r)->units, INTERVALS + MORE);
    ck_assert_uint_eq(receiver_counters(rig.r)->forgotten, MORE);
}
