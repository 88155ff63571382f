/* The receiver when its tables are full: what finds no room is as if it had never come. */
#include "../../support/suite.h"
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
