/* Landings of one-byte units: what a unit carries is one letter, so memory reads as a word. */
#include "../../support/scatter.h"
#include "../../support/suite.h"
#include "core/receiver/landing.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { OPENINGS = 2, WORD = 8 };

static struct landing landing;
static uint8_t *memory;
static uint8_t user[WORD];

static void set_up(void)
{
    memory = malloc(landing_memory(OPENINGS));
    landing_init(&landing, memory, OPENINGS);
    memset(user, '.', sizeof user);
}

static void tear_down(void)
{
    free(memory);
}

/* One opening whose slot is all of the user's memory; in it lands one unit with these letters. */
static struct segment land(const char *letters)
{
    struct landing_walk walk = {0};
    struct segment s;
    uint8_t bytes[WORD + TRAILER_BYTES] = {0};
    memcpy(bytes, letters, WORD);
    ck_assert(landing_offer(&landing, user, WORD));
    ck_assert(landing_seal(&landing));
    scatter(&landing, bytes, sizeof bytes, 0);
    ck_assert(landing_next(&landing, &walk, &s));
    return s;
}

static void move(const struct segment *s, uint32_t from, uint32_t length, uint32_t to)
{
    ck_assert_uint_eq(landing_move(&landing, s, from, length, user + to), from == to ? 0 : length);
}

FIXTURE(set_up, tear_down)

/* Parts of "abcdefgh", and where they belong. */
static const struct {
    struct {
        uint32_t from, length, to;
    } part[WORD];
    const char *settled;
} words[] = {
    /* 0 nothing moves           */ {.settled = "abcdefgh"},
    /* 1 one, onto itself        */ {{{0, 6, 2}}, "ababcdef"},
    /* 2 upwards                 */
    {{{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 1, 4}, {4, 1, 5}, {5, 1, 6}, {6, 1, 7}}, "aabcdefg"},
    /* 3 downwards               */
    {{{1, 1, 0}, {2, 1, 1}, {3, 1, 2}, {4, 1, 3}, {5, 1, 4}, {6, 1, 5}, {7, 1, 6}}, "bcdefghh"},
    /* 4 a swap                  */ {{{0, 4, 4}, {4, 4, 0}}, "efghabcd"},
    /* 5 of different sizes      */ {{{0, 3, 5}, {3, 5, 0}}, "defghabc"},
    /* 6 cycles, one by one      */
    {{{0, 1, 2}, {1, 1, 0}, {2, 1, 1}, {3, 1, 4}, {4, 1, 3}, {5, 1, 5}, {6, 1, 7}, {7, 1, 6}},
     "bcaedfhg"},
    /* 7 cycles in each other: each of four is in one with the large one, which goes there */
    {{{0, 4, 4}, {4, 1, 3}, {5, 1, 2}, {6, 1, 1}, {7, 1, 0}}, "hgfeabcd"},
    /* 8 from the other end: two have to be stashed at a time */
    {{{0, 1, 7}, {1, 1, 6}, {2, 1, 5}, {3, 1, 4}, {4, 4, 0}}, "efghdcba"},
    /* 9 around what is in place */ {{{0, 1, 7}, {1, 6, 1}, {7, 1, 0}}, "hbcdefga"},
};

TEST(settle__words, .rows = ROWS(words))
{
    struct segment s = land("abcdefgh");
    for (int i = 0; i < WORD && words[_i].part[i].length > 0; i++)
        move(&s, words[_i].part[i].from, words[_i].part[i].length, words[_i].part[i].to);
    landing_check(&landing);
    landing_move_all(&landing);
    ck_assert_mem_eq(user, words[_i].settled, WORD);
    ck_assert_uint_eq(landing.moves, 0);
    landing_check(&landing);
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
