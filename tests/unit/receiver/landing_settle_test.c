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

static void check_settled(const char *word)
{
    landing_check(&landing);
    landing_move_all(&landing);
    ck_assert_mem_eq(user, word, WORD);
    ck_assert_uint_eq(landing.moves, 0);
    landing_check(&landing);
}

FIXTURE(set_up, tear_down)

TEST(settle__of_nothing)
{
    land("abcdefgh");
    check_settled("abcdefgh");
}

TEST(settle__of_one_onto_itself)
{
    struct segment s = land("abcdefgh");
    move(&s, 0, 6, 2);
    check_settled("ababcdef");
}

TEST(settle__upwards)
{
    struct segment s = land("abcdefgh");
    for (uint32_t i = 0; i < 7; i++)
        move(&s, i, 1, i + 1);
    check_settled("aabcdefg");
}

TEST(settle__downwards)
{
    struct segment s = land("abcdefgh");
    for (uint32_t i = 1; i < 8; i++)
        move(&s, i, 1, i - 1);
    check_settled("bcdefghh");
}

TEST(settle__of_a_swap)
{
    struct segment s = land("abcdefgh");
    move(&s, 0, 4, 4);
    move(&s, 4, 4, 0);
    check_settled("efghabcd");
}

TEST(settle__of_a_swap_of_different_sizes)
{
    struct segment s = land("abcdefgh");
    move(&s, 0, 3, 5);
    move(&s, 3, 5, 0);
    check_settled("defghabc");
}

TEST(settle__of_cycles_one_after_the_other)
{
    struct segment s = land("abcdefgh");
    static const uint32_t to[WORD] = {2, 0, 1, 4, 3, 5, 7, 6};
    for (uint32_t i = 0; i < WORD; i++)
        move(&s, i, 1, to[i]);
    check_settled("bcaedfhg");
}

/* Each of the four is in a cycle with the large one, which goes where they all lie. */
TEST(settle__of_cycles_within_each_other)
{
    struct segment s = land("abcdefgh");
    move(&s, 0, 4, 4);
    for (uint32_t i = 4; i < 8; i++)
        move(&s, i, 1, 7 - i);
    check_settled("hgfeabcd");
}

/* The same from the other end: two have to be stashed at a time. */
TEST(settle__of_cycles_within_each_other_reversed)
{
    struct segment s = land("abcdefgh");
    for (uint32_t i = 0; i < 4; i++)
        move(&s, i, 1, 7 - i);
    move(&s, 4, 4, 0);
    check_settled("efghdcba");
}

TEST(settle__leaves_what_is_in_place)
{
    struct segment s = land("abcdefgh");
    move(&s, 0, 1, 7);
    move(&s, 1, 6, 1);
    move(&s, 7, 1, 0);
    check_settled("hbcdefga");
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
