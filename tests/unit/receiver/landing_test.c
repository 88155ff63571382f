/* What random plans, bursts and moves (property/landing_test.c) do not reach: which offers are
 * refused, and the largest datagrams. */
#include "../../support/scatter.h"
#include "../../support/suite.h"
#include "core/receiver/landing.h"

#include "../../support/asserts.h"
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

FIXTURE(set_up, tear_down)

TEST(memory__is_spill_and_bounce_for_each_opening)
{
    ck_assert_uint_eq(landing_memory(1), 2 * LANDING_DATAGRAM);
    ck_assert_uint_eq(landing_memory(LANDING_OPENINGS), 64 * (size_t)LANDING_DATAGRAM);
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

TEST(seal__and_offer_are_refused_after_the_last_opening)
{
    ck_assert(landing_seal(&landing));
    ck_assert(landing_seal(&landing));
    ck_assert(!landing_seal(&landing));
    ck_assert(!landing_offer(&landing, user, UNIT));
    ck_assert_uint_eq(landing.openings, OPENINGS);
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

/* Two messages of the user's have the same memory, and both datagrams land there. The two moves out
 * of it bring what lies there now, and touch nothing else. */
TEST(move_all__out_of_the_same_memory)
{
    static const uint8_t zeros[USER_BYTES];
    struct landing_walk walk = {0};
    struct segment s;

    ck_assert(landing_offer(&landing, user, UNIT));
    ck_assert(landing_offer(&landing, user, UNIT));
    ck_assert(landing_seal(&landing));
    scatter(&landing, arrived, 2 * SIZE, SIZE);
    for (int i = 0; i < 2; i++) {
        ck_assert(landing_next(&landing, &walk, &s));
        ck_assert_uint_eq(landing_move(&landing, &s, 0, UNIT, user + 200 + 200 * i), UNIT);
    }
    landing_move_all(&landing);
    for (int i = 0; i < 3; i++) {
        ck_assert_mem_eq(user + 200 * i, arrived + SIZE, UNIT);
        ck_assert_mem_eq(user + 200 * i + UNIT, zeros, UNIT);
    }
    landing_begin(&landing);
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

/* Whole bursts of the largest size change places: all of bounce that one cycle can need. */
TEST(settle__between_openings)
{
    enum { LARGE = LANDING_DATAGRAM - 1 - TRAILER_BYTES };
    static uint8_t slots[OPENINGS][LARGE];
    static uint8_t bytes[LANDING_DATAGRAM - 1];
    struct landing_walk walk = {0};
    struct segment s;
    for (uint32_t d = 0; d < OPENINGS; d++) {
        ck_assert(landing_offer(&landing, slots[d], LARGE));
        ck_assert(landing_seal(&landing));
    }
    for (uint32_t d = 0; d < OPENINGS; d++) {
        memset(bytes, 'a' + (int)d, sizeof bytes);
        scatter(&landing, bytes, sizeof bytes, 0);
    }
    for (uint32_t d = 0; d < OPENINGS; d++) {
        ck_assert(landing_next(&landing, &walk, &s));
        ck_assert_uint_eq(landing_move(&landing, &s, 0, LARGE, slots[1 - d]), LARGE);
    }
    landing_move_all(&landing);
    for (uint32_t i = 0; i < LARGE; i++) {
        ck_assert_uint_eq(slots[0][i], 'b');
        ck_assert_uint_eq(slots[1][i], 'a');
    }
}

/* ---- may the user's memory be written? ---- */

enum { PAGE = 4096, AHEAD = 65536, PAGES = 64 };

static _Alignas(PAGE) uint8_t pages[PAGES * PAGE];
static size_t writable, asked; /* bytes from the start of the pages; of the last question */
static uint32_t questions;

static bool is_writable(const void *at, size_t bytes)
{
    asked = bytes;
    questions++;
    return (size_t)((const uint8_t *)at - pages) + bytes <= writable;
}

static void expect_may_write(size_t at, uint64_t bytes, uint64_t room, bool may, uint32_t more)
{
    uint32_t before = questions;
    ck_assert_int_eq(landing_may_write(&landing, pages + at, bytes, room), may);
    ck_assert_uint_eq(questions - before, more);
}

TEST(may_write__is_not_asked_where_it_may_fault)
{
    expect_may_write(0, 10, 10, true, 0);
}

/* It asks for more than is written, up to the end of a page, and not again for what it knows. */
TEST(may_write__looks_ahead)
{
    landing.is_writable = is_writable;
    writable = sizeof pages;
    expect_may_write(100, 10, sizeof pages - 100, true, 1);
    ck_assert_uint_eq(asked, AHEAD);
    expect_may_write(0, AHEAD + PAGE, AHEAD + PAGE, true, 0);
    expect_may_write(AHEAD + PAGE - 10, 10, 10, true, 0);
    expect_may_write(AHEAD + PAGE - 10, 11, 20, true, 1);
    ck_assert_uint_eq(asked, 20);
    expect_may_write(AHEAD + PAGE, PAGE, PAGE, true, 0); /* of two pages */
    landing_begin(&landing);
    expect_may_write(AHEAD + PAGE, PAGE, PAGE, true, 1);
}

TEST(may_write__more_than_it_looks_ahead)
{
    landing.is_writable = is_writable;
    writable = sizeof pages;
    expect_may_write(0, AHEAD + 1, sizeof pages, true, 1);
    ck_assert_uint_eq(asked, AHEAD + 1);
}

/* What lies behind may not be there. */
TEST(may_write__up_to_the_end)
{
    landing.is_writable = is_writable;
    writable = PAGE;
    expect_may_write(PAGE - 10, 10, 20, true, 2);
    ck_assert_uint_eq(asked, 10);
    expect_may_write(PAGE - 10, 11, 20, false, 2);
    expect_may_write(PAGE, 1, 1, false, 2);
}

TEST(landing_init__forgets_what_was_there)
{
    memset(&landing, 0xFF, sizeof landing);
    landing_init(&landing, memory, OPENINGS);
    ck_assert(landing.is_writable == NULL);
    ck_assert_uint_eq(landing.received, 0);
    landing_check(&landing);
    plan_two();
}

/* ---- slots of several pieces ---- */

static const struct {
    uint32_t pieces, slots; /* of each slot; how many find room */
} full[] = {
    {1, LANDING_UNITS}, {2, LANDING_UNITS / 2}, {3, LANDING_UNITS / 2}, {16, LANDING_UNITS / 9}};

TEST(offer_pieces__is_refused_when_the_pairs_are_used_up, .rows = ROWS(full))
{
    struct iovec piece[LANDING_SLOT_PIECES];
    static uint8_t slots[LANDING_IOV];
    uint32_t slot = 0;
    for (uint8_t *at = slots; slot < LANDING_UNITS + 1; slot++) {
        for (uint32_t i = 0; i < full[_i].pieces; i++)
            piece[i] = (struct iovec){at++, 1};
        if (!landing_offer_pieces(&landing, piece, full[_i].pieces))
            break;
    }
    ck_assert_uint_eq(slot, full[_i].slots);
    ck_assert(landing_seal(&landing));
    landing_check(&landing);
    landing_begin(&landing);
    ck_assert(landing_seal(&landing));
    ck_assert(landing_seal(&landing));
    ck_assert(!landing_offer_pieces(&landing, piece, 1)); /* no opening is left */
}

/* Two bytes each, from the spill to places in two pieces, until the table of moves is full. */
TEST(move_to_pieces__as_many_as_there_is_room_for)
{
    enum { SHORT = 2 + TRAILER_BYTES };
    const struct iovec halves[] = {{user, USER_BYTES / 2}, {user + USER_BYTES / 2 + 1, 1}};
    struct pieces *table = pieces_init(malloc(pieces_room(2)), halves, 2);
    struct landing_walk walk = {0};
    struct segment s;
    ck_assert(landing_seal(&landing));
    scatter(&landing, arrived, (LANDING_MOVES + 1) * SHORT, SHORT);
    for (uint32_t i = 0; i <= LANDING_MOVES; i++) {
        ck_assert(landing_next(&landing, &walk, &s));
        uint32_t moved = landing_move_to_pieces(&landing, &s, 0, 2, table, USER_BYTES / 2 - 1);
        ck_assert_uint_eq(moved, i < LANDING_MOVES ? 2 : UINT32_MAX);
    }
    landing_begin(&landing);
    landing_move_all(&landing); /* none any more */
    ck_assert_uint_eq(user[USER_BYTES / 2 + 1], 0);
    free(table);
}

/* ---- mail ---- */

enum { LARGEST = UINT16_MAX };

static uint8_t mail_memory[LARGEST + 2 + 300 + 2];
static struct landing_mail mail;

/* A datagram of so many bytes arrives, and is posted, or not. */
static void post(uint32_t bytes, bool is_posted)
{
    struct landing_walk walk = {0};
    struct segment s;
    landing_begin(&landing);
    if (bytes > 100)
        plan_two(); /* then it lies in several pieces */
    else
        ck_assert(landing_seal(&landing));
    scatter(&landing, arrived, bytes, 0);
    ck_assert(landing_next(&landing, &walk, &s));
    ck_assert_int_eq(landing_post(&landing, &s), is_posted);
}

static void expect_mail(size_t *at, size_t bytes)
{
    const uint8_t *datagram;
    ck_assert_uint_eq(landing_mail_next(&mail, at, &datagram), bytes);
    if (bytes > 0)
        ck_assert_mem_eq(datagram, arrived, bytes);
}

TEST(post__without_mail)
{
    landing.mail = NULL;
    post(40, false);
}

/* Two bytes of length go with each. */
TEST(post__as_much_as_there_is_room_for)
{
    size_t at = 0;
    mail = (struct landing_mail){.memory = mail_memory, .room = 300 + 2 + 40 + 2 + 32 + 1};
    landing.mail = &mail;
    post(300, true);
    post(40, true);
    post(32, false);
    post(31, true);
    for (int i = 0; i < 3; i++)
        expect_mail(&at, i == 0 ? 300 : i == 1 ? 40 : 31);
    expect_mail(&at, 0);
    post(1, false);
    landing.mail = NULL;
}

TEST(post__the_largest)
{
    size_t at = 0;
    mail = (struct landing_mail){.memory = mail_memory, .room = sizeof mail_memory};
    landing.mail = &mail;
    post(LARGEST, true);
    post(300, true);
    post(1, false);
    expect_mail(&at, LARGEST);
    expect_mail(&at, 300);
    expect_mail(&at, 0);
    landing.mail = NULL;
}
