/* A control ring in shared memory: both sides in one process. */
#include "transport/shm/control_ring.h"

#include "../../support/random.h"
#include "../../support/suite.h"

#include <string.h>

static struct control_ring control;
static struct control_far far;
static struct control_ring_place writer, reader;
static bool wakes;

static void setup(void)
{
    memset(&control, 0, sizeof(control));
    memset(&far, 0, sizeof(far));
    writer = (struct control_ring_place){.ring = &control, .far = &far};
    reader = writer;
    wakes = false;
}

FIXTURE(setup, NULL)

static bool put(uint8_t content, size_t bytes)
{
    uint8_t datagram[CONTROL_BYTES + 1];

    memset(datagram, content, sizeof(datagram));
    return control_ring_put(&writer, datagram, bytes, &wakes);
}

static void expect_datagram(uint8_t content, size_t bytes)
{
    uint8_t buffer[CONTROL_BYTES + 1] = {0}, expected[CONTROL_BYTES];

    memset(expected, content, sizeof(expected));
    buffer[bytes] = 0xEE; /* nothing is written behind it */
    ck_assert_uint_eq(control_ring_take(&reader, buffer), bytes);
    ck_assert_mem_eq(buffer, expected, bytes);
    ck_assert_uint_eq(buffer[bytes], 0xEE);
}

static void expect_none(void)
{
    uint8_t buffer[CONTROL_BYTES];
    ck_assert_uint_eq(control_ring_take(&reader, buffer), 0);
}

TEST(control_ring_put__sizes)
{
    ck_assert(!put(1, 0));
    ck_assert(!put(1, CONTROL_BYTES + 1));
    expect_none();
    ck_assert(put(1, 1));
    ck_assert(put(2, CONTROL_BYTES));
    expect_datagram(1, 1);
    expect_datagram(2, CONTROL_BYTES);
    expect_none();
}

TEST(answers__go_round)
{
    for (size_t bytes = 1; bytes <= CONTROL_BYTES; bytes++) {
        ck_assert(put((uint8_t)bytes, bytes));
        ck_assert(put(1, 32));
        expect_datagram((uint8_t)bytes, bytes);
        expect_datagram(1, 32);
    }
    expect_none();
}

TEST(control_ring_put__full)
{
    for (int i = 0; i < CONTROL_SLOTS; i++)
        ck_assert(put((uint8_t)i, CONTROL_PART));
    ck_assert(!put(99, 40));
    expect_datagram(0, CONTROL_PART);
    ck_assert(!put(99, CONTROL_PART + 1));
    ck_assert(put(99, 40));
    ck_assert(!put(100, 40));
    expect_datagram(1, CONTROL_PART);
    expect_datagram(2, CONTROL_PART);
    ck_assert(put(100, CONTROL_PART + 1));
}

TEST(control_ring_say_asleep__the_writer_wakes_once)
{
    ck_assert(put(1, 40));
    ck_assert(!wakes);
    ck_assert(!control_ring_say_asleep(&reader));
    ck_assert_uint_eq(control.is_asleep, 0);
    expect_datagram(1, 40);
    ck_assert(control_ring_say_asleep(&reader));
    ck_assert(put(2, 40));
    ck_assert(wakes);
    ck_assert(put(3, 40));
    ck_assert(!wakes);
}

TEST(control_ring_say_asleep__awake_again)
{
    ck_assert(control_ring_say_asleep(&reader));
    control_ring_say_awake(&reader);
    ck_assert(put(1, 40));
    ck_assert(!wakes);
}

/* The end of whole messages wakes nobody for whom nobody waits; a datagram does, and so does
 * whatever ends once somebody waits. */
TEST(control_ring_say_idle__only_what_matters_wakes)
{
    ck_assert(control_ring_say_idle(&reader));
    ck_assert(control_ring_has_sleeper(&writer));
    ck_assert(!control_ring_take_waiter(&writer));
    control_ring_say_awaited(&reader);
    ck_assert(control_ring_take_waiter(&writer));
    ck_assert(!control_ring_take_waiter(&writer));
    control_ring_say_awaited(&reader); /* it is awake */
    ck_assert(!control_ring_has_sleeper(&writer));
    ck_assert(control_ring_say_idle(&reader));
    ck_assert(put(1, 40));
    ck_assert(wakes);
    ck_assert(!control_ring_say_idle(&reader));
    ck_assert(!control_ring_has_sleeper(&writer));
}

/* A size that is none gets the buffer's. */
TEST(control_ring_take__a_hostile_size)
{
    ck_assert(put(7, CONTROL_BYTES));
    control.near[0].bytes = UINT32_MAX;
    expect_datagram(7, CONTROL_BYTES);
    expect_none();
}

/* Any words: each call ends, and stays within its buffer. */
TEST(answers__scribbled_at_random, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    uint8_t buffer[CONTROL_BYTES + 8];

    for (int step = 0; step < 100000; step++) {
        size_t place = random_below(&random, CONTROL_SLOTS);
        struct control_slot *slot =
            place < CONTROL_NEAR ? &control.near[place] : &far.slot[place - CONTROL_NEAR];
        slot->bytes = random_chance(&random, 50) ? 0 : (uint32_t)random_next(&random);
        control.is_asleep = (uint32_t)random_below(&random, 3);
        memset(buffer + CONTROL_BYTES, 0xEE, 8);
        ck_assert_uint_le(control_ring_take(&reader, buffer), CONTROL_BYTES);
        for (int i = 0; i < 8; i++)
            ck_assert_uint_eq(buffer[CONTROL_BYTES + i], 0xEE);
        (void)put((uint8_t)step, 1 + random_below(&random, CONTROL_BYTES));
        if (control_ring_say_asleep(&reader))
            control_ring_say_awake(&reader);
    }
}
