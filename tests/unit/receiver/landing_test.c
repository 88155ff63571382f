#include "../../support/scatter.h"
#include "../../support/suite.h"
#include "core/receiver/landing.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { OPENINGS = 2, UNIT = 100, SIZE = UNIT + TRAILER_BYTES, USER_BYTES = 1024 };

static struct landing landing;
static uint8_t *memory;
static uint8_t user[USER_BYTES];
static uint8_t arrived[LANDING_DATAGRAM];

static void set_up(void)
{
    memory = malloc(landing_memory(OPENINGS));
    landing_init(&landing, memory, OPENINGS);
    memset(user, 0, sizeof user);
    for (uint32_t i = 0; i < LANDING_DATAGRAM; i++)
        arrived[i] = (uint8_t)(i * 7 + i / 256 + 1);
}

static void tear_down(void)
{
    landing_check(&landing);
    free(memory);
}

static void check_piece(uint32_t piece, const void *base, size_t length)
{
    ck_assert_ptr_eq(landing.iov[piece].iov_base, base);
    ck_assert_uint_eq(landing.iov[piece].iov_len, length);
}

/* An opening of two slots of UNIT bytes, at the start of the user's memory and at 500. */
static void plan_two(void)
{
    ck_assert(landing_offer(&landing, user, UNIT));
    ck_assert(landing_offer(&landing, user + 500, UNIT));
    ck_assert(landing_seal(&landing));
}

/* One datagram that lands in it, and ends what arrived. */
static struct segment land(uint32_t bytes)
{
    struct landing_walk walk = {0};
    struct segment s, none;
    memset(&s, 0xEE, sizeof s);
    plan_two();
    scatter(&landing, arrived, bytes, 0);
    ck_assert(landing_next(&landing, &walk, &s));
    ck_assert_uint_eq(s.bytes, bytes);
    ck_assert(!landing_next(&landing, &walk, &none));
    return s;
}

FIXTURE(set_up, tear_down)

TEST(memory__is_spill_and_bounce_for_each_opening)
{
    ck_assert_uint_eq(landing_memory(1), 2 * LANDING_DATAGRAM);
    ck_assert_uint_eq(landing_memory(LANDING_OPENINGS), 64 * (size_t)LANDING_DATAGRAM);
}

TEST(begin__forgets_the_plan_and_what_arrived)
{
    struct landing_walk walk = {0};
    struct segment s;
    plan_two();
    scatter(&landing, arrived, SIZE, SIZE);
    landing_begin(&landing);
    ck_assert(!landing_next(&landing, &walk, &s));
    ck_assert_uint_eq(landing.openings, 0);
    ck_assert(landing_seal(&landing));
    check_piece(0, memory, LANDING_SPILL);
}

TEST(offer__is_slot_then_scratch)
{
    plan_two();
    check_piece(0, user, UNIT);
    check_piece(1, landing.trailer[0], TRAILER_BYTES);
    check_piece(2, user + 500, UNIT);
    check_piece(3, landing.trailer[1], TRAILER_BYTES);
    check_piece(4, memory, LANDING_SPILL);
}

TEST(offer__without_length_is_scratch_alone)
{
    ck_assert(landing_offer(&landing, user, 0));
    ck_assert(landing_offer(&landing, NULL, 0));
    ck_assert(landing_seal(&landing));
    check_piece(0, landing.trailer[0], TRAILER_BYTES);
    check_piece(1, landing.trailer[1], TRAILER_BYTES);
    check_piece(2, memory, LANDING_SPILL);
}

TEST(offer__of_null_takes_from_spill)
{
    ck_assert(landing_seal(&landing));
    ck_assert(landing_offer(&landing, NULL, 40));
    ck_assert(landing_offer(&landing, NULL, 7));
    ck_assert(landing_seal(&landing));
    uint8_t *spill = memory + LANDING_SPILL;
    check_piece(1, spill, 40);
    check_piece(3, spill + 40, 7);
    check_piece(5, spill + 47, LANDING_SPILL - 47);
}

TEST(offer__of_null_is_refused_when_spill_is_used_up)
{
    ck_assert(landing_offer(&landing, NULL, LANDING_SPILL - 10));
    ck_assert(!landing_offer(&landing, NULL, 11));
    ck_assert(landing_offer(&landing, NULL, 10));
    ck_assert(!landing_offer(&landing, NULL, 1));
    ck_assert(landing_offer(&landing, user, UNIT));
    ck_assert(landing_seal(&landing));
    ck_assert(landing_offer(&landing, NULL, 1));
    check_piece(6, memory + LANDING_SPILL, 0);
}

TEST(offer__is_refused_when_the_pairs_are_used_up)
{
    for (uint32_t i = 0; i < LANDING_UNITS; i++)
        ck_assert(landing_offer(&landing, user + i, 1));
    ck_assert(!landing_offer(&landing, user + LANDING_UNITS, 1));
    ck_assert(landing_seal(&landing));
    ck_assert(landing_seal(&landing));
    ck_assert_uint_eq(landing.first[2], 2 * LANDING_UNITS + 2);
}

TEST(seal__ends_each_opening_behind_its_spill)
{
    plan_two();
    ck_assert(landing_offer(&landing, user + 700, 1));
    ck_assert(landing_seal(&landing));
    ck_assert_uint_eq(landing.openings, 2);
    ck_assert_uint_eq(landing.first[0], 0);
    ck_assert_uint_eq(landing.first[1], 5);
    ck_assert_uint_eq(landing.first[2], 8);
    check_piece(7, memory + LANDING_SPILL, LANDING_SPILL);
}

TEST(seal__and_offer_are_refused_after_the_last_opening)
{
    ck_assert(landing_seal(&landing));
    ck_assert(landing_seal(&landing));
    ck_assert(!landing_seal(&landing));
    ck_assert(!landing_offer(&landing, user, UNIT));
    ck_assert_uint_eq(landing.openings, OPENINGS);
}

TEST(next__as_planned)
{
    struct landing_walk walk = {0};
    struct segment s;
    plan_two();
    scatter(&landing, arrived, 2 * SIZE, SIZE);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert(landing_next(&landing, &walk, &s));
        ck_assert_uint_eq(s.bytes, SIZE);
        ck_assert_ptr_eq(s.data, user + 500 * i);
        ck_assert(s.is_contiguous);
        ck_assert_mem_eq(s.tail, arrived + i * SIZE + UNIT, TRAILER_BYTES);
        ck_assert_uint_eq(landing_move(&landing, &s, 0, UNIT, user + 500 * i), 0);
    }
    ck_assert(!landing_next(&landing, &walk, &s));
    ck_assert_uint_eq(landing.moves, 0);
}

TEST(next__across_pieces)
{
    struct segment s = land(UNIT + TRAILER_BYTES + 50);
    ck_assert_ptr_eq(s.data, user);
    ck_assert(!s.is_contiguous);
    ck_assert_mem_eq(s.tail, arrived + UNIT + 50, TRAILER_BYTES);
}

TEST(next__of_a_short_datagram_has_all_of_it_at_the_end_of_the_tail)
{
    struct segment s = land(5);
    uint8_t tail[TRAILER_BYTES] = {0};
    memcpy(tail + TRAILER_BYTES - 5, arrived, 5);
    ck_assert(s.is_contiguous);
    ck_assert_mem_eq(s.tail, tail, TRAILER_BYTES);
    ck_assert_uint_eq(landing_move(&landing, &s, 0, 0, user), 0);
}

TEST(next__skips_openings_without_bytes)
{
    struct landing_walk walk = {0};
    struct segment s;
    plan_two();
    ck_assert(landing_offer(&landing, user + 700, UNIT));
    ck_assert(landing_seal(&landing));
    scatter(&landing, arrived, 0, SIZE);
    scatter(&landing, arrived, SIZE, SIZE);
    ck_assert(landing_next(&landing, &walk, &s));
    ck_assert_ptr_eq(s.data, user + 700);
    ck_assert_uint_eq(s.start.opening, 1);
    ck_assert(!landing_next(&landing, &walk, &s));
}

TEST(next__of_the_largest_datagram_when_spill_is_used_up)
{
    struct landing_walk walk = {0};
    struct segment s;
    ck_assert(landing_offer(&landing, NULL, LANDING_SPILL));
    ck_assert(landing_seal(&landing));
    scatter(&landing, arrived, LANDING_DATAGRAM - 1, 0);
    ck_assert(landing_next(&landing, &walk, &s));
    ck_assert_uint_eq(s.bytes, LANDING_DATAGRAM - 1);
    ck_assert_mem_eq(s.tail, arrived + s.bytes - TRAILER_BYTES, TRAILER_BYTES);
    ck_assert(!landing_next(&landing, &walk, &s));
}

/* 150 bytes of data: 100 in slot 0, 32 in scratch 0, 18 in slot 1. */
TEST(move__costs_only_what_lies_elsewhere)
{
    struct segment s = land(150 + TRAILER_BYTES);
    ck_assert_uint_eq(landing_move(&landing, &s, 0, 150, user), 50);
    ck_assert_uint_eq(landing.moves, 2);
    landing_move_all(&landing);
    ck_assert_mem_eq(user, arrived, 150);
}

TEST(move__of_a_part)
{
    struct segment s = land(150 + TRAILER_BYTES);
    ck_assert_uint_eq(landing_move(&landing, &s, 90, 45, user + 800), 45);
    ck_assert_uint_eq(landing.moves, 3);
    landing_move_all(&landing);
    ck_assert_mem_eq(user + 800, arrived + 90, 45);
    ck_assert_uint_eq(user[799], 0);
    ck_assert_uint_eq(user[845], 0);
}

TEST(move__without_room_asks_for_nothing)
{
    struct segment s = land(LANDING_MOVES + 2 * UNIT + TRAILER_BYTES);
    for (uint32_t i = 0; i < LANDING_MOVES - 2; i++)
        ck_assert_uint_eq(landing_move(&landing, &s, 200 + i, 1, user + i), 1);
    ck_assert_uint_eq(landing_move(&landing, &s, 0, 150, user + 600), UINT32_MAX);
    ck_assert_uint_eq(landing.moves, LANDING_MOVES - 2);
    ck_assert_uint_eq(landing_move(&landing, &s, 0, UNIT, user), 0);
    ck_assert_uint_eq(landing_move(&landing, &s, 0, 132, user + 600), 132);
    ck_assert_uint_eq(landing_move(&landing, &s, 140, 1, user + 800), UINT32_MAX);
}

TEST(landing_offer_row__as_one_after_the_other, .rows = 2)
{
    static struct landing row, single;
    static uint8_t room[2][2 * (LANDING_SPILL + LANDING_DATAGRAM)];
    static uint8_t slots[2 * LANDING_UNITS * 64];
    uint32_t count = _i == 0 ? 3 : 2 * LANDING_UNITS;
    uint32_t right = _i == 0 ? 3 : LANDING_UNITS - 1;

    landing_init(&row, room[0], 1);
    landing_init(&single, room[1], 1);
    landing_begin(&row);
    landing_begin(&single);
    ck_assert(landing_offer(&row, slots, 64));
    ck_assert_uint_eq(landing_offer_row(&row, slots + 64, 64, count), right);
    for (uint32_t i = 0; i <= right; i++)
        ck_assert(landing_offer(&single, slots + 64 * i, 64));
    ck_assert_uint_eq(row.pieces, single.pieces);
    for (uint32_t i = 0; i < row.pieces; i += 2) {
        ck_assert_ptr_eq(row.iov[i].iov_base, single.iov[i].iov_base);
        ck_assert_uint_eq(row.iov[i].iov_len, 64);
        ck_assert_ptr_eq(row.iov[i + 1].iov_base, row.trailer[i / 2]);
    }
    ck_assert(landing_seal(&row));
    ck_assert_uint_eq(landing_offer_row(&row, slots, 64, 1), 0); /* no opening any more */
}
