/* Behind the end of a message nothing stays that was not accepted there. */
#include "core/adt/missing.h"
#include "receiver_rig.h"

#include "../../support/suite.h"

enum { OWN = 0x5A, SIZE = 8 * RIG_DATA };

/* A buffer of the user's, who has something in it. */
static void setup(void)
{
    receiver_rig_init();
    memset(rig.buffer[0], OWN, RIG_BUFFER);
    memset(rig.buffer[1], OWN, RIG_BUFFER);
    receiver_rig_start(2, SIZE);
}

/* Of message n, which has so many bytes: behind them each is the user's own, or 0. Returns how many
 * are 0. */
static uint32_t expect_clean(uint64_t n, uint64_t length)
{
    uint32_t zeros = 0;
    receiver_rig_expect_message(n, length);
    for (uint64_t i = length; i < RIG_BUFFER; i++) {
        ck_assert_msg(rig.buffer[n][i] == OWN || rig.buffer[n][i] == 0, "byte %" PRIu64, i);
        ck_assert(i < SIZE || rig.buffer[n][i] == OWN);
        zeros += rig.buffer[n][i] == 0;
    }
    return zeros;
}

FIXTURE(setup, receiver_rig_fini)

/* As it is foreseen, a short message touches nothing behind its end. */
TEST(wipe__nothing_where_all_came_as_planned)
{
    struct unit_trailer t = receiver_rig_unit(0, 0, 0);
    t.next_length = 10;
    receiver_rig_land_unit(t);
    receiver_rig_land_unit(receiver_rig_last(1, 0, RIG_DATA, 10));
    ck_assert_uint_eq(expect_clean(0, RIG_DATA + 10), 0);
}

/* A full unit was expected: the short one's trailer came down behind its data. */
TEST(wipe__a_trailer)
{
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_rig_land_unit(receiver_rig_last(1, 0, RIG_DATA, 10));
    ck_assert_uint_eq(expect_clean(0, RIG_DATA + 10), TRAILER_BYTES);
}

/* A peer that contradicts itself: a unit came, and then the message is said to end before it. */
TEST(wipe__what_came_behind_the_end)
{
    struct unit_trailer t = receiver_rig_unit(0, 0, 0);
    t.next_unit = 4 * RIG_DATA / GRAIN;
    receiver_rig_land_unit(t);
    t = receiver_rig_unit(1, 0, 4 * RIG_DATA);
    t.next_unit = RIG_DATA / GRAIN;
    t.next_length = 10;
    receiver_rig_land_unit(t);
    receiver_rig_land_unit(receiver_rig_last(2, 0, RIG_DATA, 10));
    ck_assert_uint_ge(expect_clean(0, RIG_DATA + 10), RIG_DATA);
}

/* Junk of any size, before the first unit. */
TEST(wipe__what_a_stranger_sent)
{
    uint8_t junk[6 * RIG_DATA];
    memset(junk, 0xEE, sizeof junk);
    receiver_rig_put(junk, sizeof junk);
    receiver_rig_land();
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    ck_assert_uint_ge(expect_clean(0, 10), RIG_DATA);
}

/* A unit of message 1 landed where the one of message 0 was expected, and is moved away. */
TEST(wipe__what_was_moved_away)
{
    receiver_rig_land_unit(receiver_rig_unit(1, 1, 0));
    receiver_rig_land_unit(receiver_rig_last(2, 0, 0, 10));
    ck_assert_uint_ge(expect_clean(0, 10), RIG_DATA - 10);
    receiver_rig_land_unit(receiver_rig_last(3, 1, RIG_DATA, 0));
    (void)expect_clean(1, RIG_DATA);
}

/* Of what the channel dropped nothing is known but where it was pointed. */
TEST(wipe__what_was_dropped_by_the_channel)
{
    receiver_rig_plan();
    memset(rig.buffer[0], 0xEE, 3 * RIG_DATA);
    rig.landing.is_spoilt = true;
    receiver_rig_landed();
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    ck_assert_uint_ge(expect_clean(0, 10), 3 * RIG_DATA - 10);
}

/* And nothing else changes. */
TEST(wipe__nothing_where_the_channel_was_not_pointed)
{
    receiver_plan(rig.r, &rig.landing, 1, 3);
    memset(rig.buffer[0], 0xEE, 3 * RIG_DATA);
    rig.landing.is_spoilt = true;
    receiver_rig_landed();
    rig.landing.is_spoilt = false;
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    ck_assert_uint_eq(expect_clean(0, 10), 3 * RIG_DATA - 10);
}

/* A message that is over is wiped of what lands in the same burst behind its last unit. */
TEST(wipe__behind_the_last_unit_of_a_burst)
{
    uint8_t junk[RIG_DATA + TRAILER_BYTES];
    struct unit_trailer t = receiver_rig_last(0, 0, 0, RIG_DATA);
    memset(junk, 0xEE, sizeof junk);
    receiver_rig_put_unit(&t);
    for (int i = 0; i < 4; i++)
        receiver_rig_put(junk, sizeof junk);
    receiver_rig_land();
    ck_assert_uint_ge(expect_clean(0, RIG_DATA), RIG_DATA);
}

/* Each message that the channel was pointed at, but for one among them that is over. */
TEST(wipe__several_where_one_was_spoilt)
{
    memset(rig.buffer[2], OWN, RIG_BUFFER);
    receiver_rig_post(SIZE);
    struct unit_trailer t = receiver_rig_last(0, 1, 0, RIG_DATA);
    t.flags |= FLAG_HAS_NEXT;
    t.next_step = -1;
    t.next_length = RIG_DATA;
    receiver_rig_land_unit(t);
    receiver_rig_expect_message(1, RIG_DATA);
    receiver_plan(rig.r, &rig.landing, 1, 16);
    ck_assert_uint_eq(receiver_planned(rig.r).first, 0);
    ck_assert_uint_eq(receiver_planned(rig.r).last, 3);
    memset(rig.buffer[0], 0xEE, RIG_DATA);
    memset(rig.buffer[2], 0xEE, RIG_DATA);
    rig.landing.is_spoilt = true;
    receiver_rig_landed();
    rig.landing.is_spoilt = false;
    receiver_rig_land_unit(receiver_rig_last(1, 0, 0, 10));
    ck_assert_uint_ge(expect_clean(0, 10), RIG_DATA - 10);
    receiver_rig_land_unit(receiver_rig_last(2, 2, 0, 20));
    ck_assert_uint_ge(expect_clean(2, 20), RIG_DATA - 20);
}

/* A peer that contradicts itself while something below the end is missing, too. */
TEST(wipe__what_came_behind_the_end_above_a_gap)
{
    struct unit_trailer t = receiver_rig_unit(0, 0, 0);
    t.next_unit = 4 * RIG_DATA / GRAIN;
    receiver_rig_land_unit(t);
    t = receiver_rig_unit(1, 0, 4 * RIG_DATA);
    t.next_unit = 2 * RIG_DATA / GRAIN;
    t.next_length = 10;
    receiver_rig_land_unit(t);
    receiver_rig_land_unit(receiver_rig_last(2, 0, 2 * RIG_DATA, 10));
    receiver_rig_land_unit(receiver_rig_unit(3, 0, RIG_DATA));
    ck_assert_uint_ge(expect_clean(0, 2 * RIG_DATA + 10), RIG_DATA);
}

/* A unit comes again, and only now says that it is the last: it landed where others belong, of its
 * own message or of the next. */
TEST(wipe__what_was_there_already, .rows = 2)
{
    struct unit_trailer t = receiver_rig_unit(0, 0, 0);
    t.next_step = (int16_t)_i;
    t.next_unit = 4 * RIG_DATA / GRAIN;
    receiver_rig_land_unit(t);
    receiver_rig_land_unit(receiver_rig_last(1, 0, 0, RIG_DATA));
    uint32_t zeros = expect_clean(0, RIG_DATA);
    if (_i == 1) {
        receiver_rig_land_unit(receiver_rig_last(2, 1, 0, 10));
        zeros = expect_clean(1, 10);
    }
    ck_assert_uint_ge(zeros, RIG_DATA);
}

/* Small messages that were planned one behind the other. */
TEST(wipe__small_ones_where_one_was_spoilt)
{
    enum { SMALL = 40, COUNT = 6 };
    receiver_rig_fini();
    receiver_rig_init();
    receiver_rig_start(COUNT, SMALL);
    receiver_rig_plan();
    ck_assert_uint_eq(rig.landing.units, COUNT);
    for (uint32_t n = 0; n < COUNT; n++)
        memset(rig.buffer[n], 0xEE, SMALL);
    rig.landing.is_spoilt = true;
    receiver_rig_landed();
    rig.landing.is_spoilt = false;
    for (uint32_t n = 0; n < COUNT; n++) {
        receiver_rig_land_unit(receiver_rig_last(n, n, 0, 10));
        receiver_rig_expect_message(n, 10);
        for (uint32_t i = 10; i < SMALL; i++)
            ck_assert_uint_eq(rig.buffer[n][i], 0);
    }
}

/* ---- a row without room ---- */

enum {
    ENDS = 2 * MISSING_LINKS - 1, /* grains of a message: all others of them come first */
    FAR = ENDS + 3,
};

/* A unit of message 0, of one grain, that foretells the unit `foretold`. */
static void put_grain(uint32_t seq, uint32_t unit, uint32_t foretold)
{
    struct unit_trailer t = receiver_rig_unit(seq, 0, unit * GRAIN);
    t.length = t.next_length = GRAIN;
    t.next_unit = foretold;
    receiver_rig_put_unit(&t);
}

static void start_with_holes(uint32_t holes, uint64_t size)
{
    struct receiver_config config = receiver_rig_config();
    config.holes = holes;
    receiver_rig_fini();
    receiver_rig_init_with(&config);
    memset(rig.buffer, OWN, sizeof rig.buffer);
    receiver_rig_start(1, size);
}

/* A message misses as many ranges as it may. Then units land far behind, as they were foretold, and
 * count as never received: the message ends before them. */
TEST(wipe__a_row_without_room)
{
    const uint8_t *buffer = rig.buffer[0];
    struct event event;
    uint32_t seq = 0;
    start_with_holes(2 * MISSING_LINKS, (FAR + 8) * GRAIN);
    for (uint32_t unit = 1; unit < ENDS - 1; unit += 2) {
        put_grain(seq++, unit, unit + 2 < ENDS ? unit + 2 : FAR);
        receiver_rig_land();
    }
    for (uint32_t unit = FAR; unit < FAR + 3; unit++)
        put_grain(seq++, unit, unit + 1);
    receiver_rig_land();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_no_room, 1); /* of the row */
    for (uint32_t unit = 0; unit < ENDS - 1; unit += 2) {
        put_grain(seq++, unit, unit + 2);
        receiver_rig_land();
    }
    receiver_rig_land_unit(receiver_rig_last(seq, 0, (ENDS - 1) * GRAIN, GRAIN));
    ck_assert(receiver_event(rig.r, &event));
    ck_assert_uint_eq(event.length, ENDS * GRAIN);
    pieces_clear(NULL, rig.buffer[0], event.length, event.scribbled);
    for (uint32_t i = ENDS * GRAIN; i < (FAR + 8) * GRAIN; i++)
        ck_assert_msg(buffer[i] == OWN || buffer[i] == 0, "byte %" PRIu32, i);
}
