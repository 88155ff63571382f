/* Push slots: both sides in one process, and words that nobody should have written. */
#include "transport/shm/push_slots.h"

#include "../../support/suite.h"

#include <string.h>

static struct push_slots t;
static uint8_t memory[RING_NOTES];

static void setup(void)
{
    memset(&t, 0, sizeof(t));
}

FIXTURE(setup, NULL)

static void open_row(uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end; i++)
        ck_assert(push_slots_open(&t, i, &memory[i % RING_NOTES]));
    push_slots_show(&t, end);
}

static void expect_claimed(uint64_t first, uint64_t end, uint64_t expected)
{
    uint64_t number, at;

    ck_assert(push_slots_claim(&t, first, end, &number, &at));
    ck_assert_uint_eq(number, expected);
    ck_assert_uint_eq(at, (uintptr_t)&memory[expected % RING_NOTES]);
}

static void expect_none(uint64_t first, uint64_t end)
{
    uint64_t number, at;
    ck_assert(!push_slots_claim(&t, first, end, &number, &at));
}

TEST(push_slots_claim__the_last_first)
{
    expect_none(0, 10);
    open_row(2, 6);
    for (uint64_t i = 6; i-- > 2;)
        expect_claimed(0, 10, i);
    expect_none(0, 10);
}

TEST(push_slots_claim__passes_what_is_settled)
{
    open_row(0, 4);
    expect_claimed(0, 4, 3);
    push_slots_settle(&t, 3, true);
    expect_claimed(0, 4, 2);
    push_slots_settle(&t, 2, false);
    expect_claimed(0, 4, 1);
}

TEST(push_slots_claim__not_what_is_withdrawn)
{
    open_row(0, 4);
    for (uint64_t i = 0; i < 4; i++)
        ck_assert(push_slots_withdraw(&t, i));
    expect_none(0, 4);
}

/* Notes that the writer has not offered, or that were reaped. */
TEST(push_slots_claim__within_what_is_offered)
{
    open_row(4, 8);
    expect_none(0, 7);
    expect_none(9, 20);
    expect_claimed(7, 8, 7);
    expect_none(7, 8);
}

TEST(push_slots_take__what_was_claimed)
{
    open_row(0, 3);
    expect_claimed(0, 3, 2);
    expect_claimed(0, 3, 1);
    ck_assert(!push_slots_withdraw(&t, 2));
    ck_assert_int_eq(push_slots_take(&t, 2), PUSH_SLOT_CLAIMED);
    push_slots_settle(&t, 2, true);
    push_slots_settle(&t, 1, false);
    ck_assert(!push_slots_withdraw(&t, 2));
    ck_assert_int_eq(push_slots_take(&t, 2), PUSH_SLOT_PUSHED);
    ck_assert_int_eq(push_slots_take(&t, 1), PUSH_SLOT_FAILED);
    ck_assert(push_slots_open(&t, 2, memory));
}

/* The note a ring further on has the same place. */
TEST(push_slots_open__not_while_it_is_claimed)
{
    open_row(0, 1);
    expect_claimed(0, 1, 0);
    ck_assert(!push_slots_open(&t, RING_NOTES, memory));
    push_slots_settle(&t, 0, true);
    ck_assert_int_eq(push_slots_take(&t, 0), PUSH_SLOT_PUSHED);
    ck_assert(push_slots_open(&t, RING_NOTES, memory));
    push_slots_show(&t, RING_NOTES + 1);
    expect_claimed(RING_NOTES, RING_NOTES + 1, RING_NOTES);
}

TEST(push_slots_take__nonsense)
{
    static const uint32_t words[] = {PUSH_SLOT_NONE, PUSH_SLOT_FAILED + 1, UINT32_MAX};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        open_row(5, 6);
        atomic_store(&t.slot[5].state, words[i]);
        ck_assert(!push_slots_withdraw(&t, 5));
        ck_assert_int_eq(push_slots_take(&t, 5), PUSH_SLOT_FAILED);
    }
}
