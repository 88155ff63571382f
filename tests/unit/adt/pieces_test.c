/* What random tables beside a map (property/pieces_test.c) do not show by name: what is left out
 * and joined, and what ends the program. */
#include "core/adt/pieces.h"

#include "../../support/suite.h"

#include <signal.h>
#include <stdlib.h>

static uint8_t bytes[100];
static struct pieces *pieces;

static void make(const struct iovec *piece, uint32_t count)
{
    pieces = pieces_init(malloc(pieces_room(count)), piece, count);
}

/* Three pieces, the highest in memory first. */
static void setup(void)
{
    const struct iovec named[] = {{bytes + 60, 10}, {bytes + 30, 5}, {bytes, 20}};

    make(named, 3);
}

static void teardown(void)
{
    free(pieces);
}

FIXTURE(setup, teardown)

static void make_anew(const struct iovec *piece, uint32_t count)
{
    free(pieces);
    make(piece, count);
}

TEST(pieces_init__none)
{
    uint64_t run;

    make_anew(NULL, 0);
    ck_assert_uint_eq(pieces->count, 0);
    ck_assert_uint_eq(pieces->bytes, 0);
    ck_assert_ptr_null(pieces_at(pieces, 0, &run));
    ck_assert_uint_eq(pieces_reach(pieces, 0, 1), 0);
    ck_assert(!pieces_find(pieces, bytes, &run));
    pieces_check(pieces);
}

TEST(pieces_init__leaves_out_the_empty_and_joins_neighbours)
{
    const struct iovec named[] = {{NULL, 0},       {bytes, 10}, {bytes + 50, 0},
                                  {bytes + 10, 5}, {bytes, 0},  {bytes + 15, 1}};

    make_anew(named, 6);
    ck_assert_uint_eq(pieces->count, 1);
    ck_assert_uint_eq(pieces->bytes, 16);
    ck_assert_ptr_eq(pieces->piece[0].at, bytes);
    pieces_check(pieces);
}

TEST(pieces_init__as_many_as_there_may_be)
{
    static uint8_t sparse[2 * PIECES_MOST];
    static struct iovec named[PIECES_MOST];

    for (uint32_t i = 0; i < PIECES_MOST; i++)
        named[i] = (struct iovec){sparse + 2 * (PIECES_MOST - 1 - i), 1};
    make_anew(named, PIECES_MOST);
    pieces_check(pieces);
    ck_assert_uint_eq(pieces->count, PIECES_MOST);
    ck_assert_uint_eq(pieces_span(pieces, 0, PIECES_MOST), PIECES_MOST);
    ck_assert_uint_eq(pieces_reach(pieces, 1000, 64), 24);
    ck_assert_uint_eq(pieces_reach(pieces, 900, 64), 64);
}

TEST(pieces_init__of_too_many, .signal = SIGABRT)
{
    static struct iovec named[PIECES_MOST + 1];

    make_anew(named, PIECES_MOST + 1);
}

TEST(pieces_init__sees_what_overlaps)
{
    const struct iovec touching[] = {{bytes + 10, 5}, {bytes, 10}};
    const struct iovec inside[] = {{bytes, 50}, {bytes + 10, 5}, {bytes + 70, 5}};
    const struct iovec twice[] = {{bytes, 50}, {bytes, 50}};

    make_anew(touching, 2);
    ck_assert(!pieces->overlaps);
    make_anew(inside, 3);
    ck_assert(pieces->overlaps);
    make_anew(twice, 2);
    ck_assert(pieces->overlaps);
}

TEST(pieces_list__says_when_there_are_too_many)
{
    struct iovec out[3];

    ck_assert_uint_eq(pieces_list(pieces, 0, 35, out, 2), 0);
    ck_assert_uint_eq(pieces_list(pieces, 8, 20, out, 3), 3);
    ck_assert_ptr_eq(out[0].iov_base, bytes + 68);
    ck_assert_uint_eq(out[0].iov_len, 2);
    ck_assert_ptr_eq(out[2].iov_base, bytes);
    ck_assert_uint_eq(out[2].iov_len, 5);
}

TEST(pieces_span__of_nothing, .signal = SIGABRT)
{
    (void)pieces_span(pieces, 5, 5);
}

TEST(pieces_write__behind_the_end, .signal = SIGABRT)
{
    pieces_write(pieces, 30, bytes, 6);
}

TEST(pieces_clear__behind_the_end, .signal = SIGABRT)
{
    pieces_clear(pieces, NULL, 30, 36);
}

/* Each breaks one invariant; pieces_check ends the process. */
TEST(pieces_check__fires, .rows = 6, .signal = SIGABRT)
{
    switch (_i) {
    case 0:
        pieces->piece[1].first = 0;
        break;
    case 1:
        pieces->piece[1].at = bytes + 70;
        break;
    case 2:
        pieces->bytes++;
        break;
    case 3:
        pieces->piece[0].lower = 0;
        break;
    case 4:
        pieces->piece[0].lower = pieces->piece[1].lower;
        break;
    default:
        pieces->overlaps = true;
        break;
    }
    pieces_check(pieces);
}
