/* The credit ring: both sides in one process, and words that nobody should have written. */
#include "transport/shm/credit_ring.h"

#include "../../support/suite.h"

#include <string.h>

static struct credit_near near;
static struct credit_far far;
static const struct credit_ring ring = {&near, &far};

static void setup(void)
{
    memset(&near, 0, sizeof(near));
    memset(&far, 0, sizeof(far));
}

FIXTURE(setup, NULL)

static void expect(uint64_t message, uint64_t size)
{
    uint64_t shown;

    ck_assert(credit_ring_find(&ring, message, &shown));
    ck_assert_uint_eq(shown, size);
}

static void expect_none(uint64_t message)
{
    uint64_t shown;
    ck_assert(!credit_ring_find(&ring, message, &shown));
}

TEST(credit_ring_show__is_found)
{
    expect_none(0);
    expect_none(1);
    credit_ring_show(&ring, 0, 10);
    credit_ring_show(&ring, 1, 0);
    credit_ring_show(&ring, 2, UINT64_MAX);
    expect(0, 10);
    expect(1, 0);
    expect(2, UINT64_MAX);
    expect_none(3);
}

/* Each has the place of one that is over. */
TEST(credit_ring_show__goes_round)
{
    for (uint64_t i = 0; i < 3 * CREDIT_ENTRIES; i++)
        credit_ring_show(&ring, i, i);
    for (uint64_t i = 0; i < 2 * CREDIT_ENTRIES; i++)
        expect_none(i);
    for (uint64_t i = 2 * CREDIT_ENTRIES; i < 3 * CREDIT_ENTRIES; i++)
        expect(i, i);
    expect_none(3 * CREDIT_ENTRIES);
    expect_none(UINT64_MAX);
}

TEST(credit_ring_want__is_taken_once)
{
    ck_assert(!credit_ring_take_want(&ring));
    credit_ring_want(&ring);
    credit_ring_want(&ring);
    ck_assert(credit_ring_take_want(&ring));
    ck_assert(!credit_ring_take_want(&ring));
    credit_ring_want(&ring);
    ck_assert(credit_ring_take_want(&ring));
}

static void scribble(int byte)
{
    memset(&near, byte, sizeof(near));
    memset(&far, byte, sizeof(far));
}

TEST(credit_ring__scribbled)
{
    scribble(0xFF);
    expect_none(0);
    expect(UINT64_MAX - 1, UINT64_MAX);
    ck_assert(credit_ring_take_want(&ring));
    scribble(0x01);
    expect_none(1);
    credit_ring_show(&ring, 5, 7);
    expect(5, 7);
}
