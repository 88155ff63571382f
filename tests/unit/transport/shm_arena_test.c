/* What moves between ends that have a shared arena. */
#include "../../support/shm_pair.h"
#include "../../support/suite.h"

#include <sys/mman.h>

enum { MESSAGE = 5, UNITS = 8, DATA = 16384, ROOM = UNITS * DATA, ARENA = 8 << 20 };

static struct shm_pair n;
static uint8_t *from[2], *to[2]; /* ordinary memory, and of the arena */

static uint8_t *map_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    return memory;
}

static void setup(void)
{
    ck_assert(shm_pair_open(&n));
    n.arena[0] = shared_arena_create(ARENA);
    n.arena[1] = shared_arena_create(ARENA);
    from[0] = map_pages(ROOM);
    to[0] = map_pages(ROOM);
    from[1] = shared_arena_take(n.arena[0], ROOM);
    to[1] = shared_arena_take(n.arena[1], ROOM);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < ROOM; i++)
            from[k][i] = (uint8_t)(i * 2654435761u >> 24);
    ck_assert(shm_pair_meet(&n));
}

static void teardown(void)
{
    shared_arena_give(n.arena[0], from[1]);
    shared_arena_give(n.arena[1], to[1]);
    (void)munmap(from[0], ROOM);
    (void)munmap(to[0], ROOM);
    shm_pair_close(&n);
}

FIXTURE(setup, teardown)

static void send_units(const uint8_t *memory, uint32_t data, bool is_held)
{
    uint32_t sent;
    bool held, calls;

    shm_pair_fill(&n.burst, MESSAGE, memory, UNITS, data);
    ck_assert_int_eq(shm_send(n.sender, &n.burst, &sent, &held, &calls), CHANNEL_OK);
    ck_assert_uint_eq(sent, UNITS);
    ck_assert_int_eq(held, is_held);
}

/* All units are in `memory`, and their trailers in scratch. */
static void expect_units(const uint8_t *memory)
{
    ck_assert_mem_eq(memory, from[0], ROOM);
    for (uint32_t i = 0; i < UNITS; i++) {
        ck_assert_uint_eq(n.landing.bytes[i], DATA + TRAILER_BYTES);
        for (uint32_t k = 0; k < TRAILER_BYTES; k++)
            ck_assert_uint_eq(n.landing.trailer[i][k], i);
    }
}

static void expect_reaped(uint32_t units)
{
    struct released released;

    for (uint32_t i = 0; i < units; i++) {
        ck_assert(shm_reap(n.sender, &released));
        ck_assert_uint_eq(released.message, MESSAGE);
        ck_assert(!released.has_faulted);
    }
}

TEST(shm_send__from_and_to_arena_or_not, .rows = 4)
{
    const uint8_t *memory = from[_i % 2];

    send_units(memory, DATA, true);
    shm_pair_plan(&n.landing, to[_i / 2], UNITS, 1, DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), UNITS);
    expect_units(to[_i / 2]);
    expect_reaped(UNITS);
    ck_assert_uint_eq(shm_bytes(n.receiver), ROOM);
}

/* What lies elsewhere comes in a call of its own. */
TEST(shm_receive__first_arena_then_other_memory)
{
    send_units(from[1], DATA, true);
    send_units(from[0], DATA, true);
    for (int i = 0; i < 2; i++) {
        memset(to[1], 0, ROOM);
        shm_pair_plan(&n.landing, to[1], UNITS, 1, DATA);
        ck_assert_int_eq(shm_receive(n.receiver, &n.landing), UNITS);
        expect_units(to[1]);
    }
    expect_reaped(2 * UNITS);
}

/* Small units lie in the staging buffer, joined. */
TEST(shm_send__small_units, .rows = 2)
{
    enum { SMALL_DATA = 100 };

    send_units(from[_i], SMALL_DATA, false);
    shm_pair_plan(&n.landing, to[_i], 1, UNITS, SMALL_DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
    ck_assert_uint_eq(n.landing.bytes[0], UNITS * (SMALL_DATA + TRAILER_BYTES));
    ck_assert_mem_eq(to[_i], from[0], (size_t)UNITS * SMALL_DATA);
}

/* A plan that expects other units than come: what they land in is not the trailers' scratch. */
TEST(shm_receive__not_as_planned)
{
    uint8_t expected[DATA + TRAILER_BYTES];

    send_units(from[1], DATA, true);
    shm_pair_plan(&n.landing, to[1], UNITS / 2, 1, 2 * DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), UNITS / 2);
    for (uint32_t i = 0; i < UNITS / 2; i++) {
        memcpy(expected, from[1] + (size_t)i * DATA, DATA);
        memset(expected + DATA, (int)i, TRAILER_BYTES);
        ck_assert_mem_eq(to[1] + 2UL * i * DATA, expected, sizeof(expected));
    }
}

TEST(shm_receive__own_memory_is_gone)
{
    send_units(from[1], DATA, true);
    ck_assert_int_eq(munmap(to[0] + DATA, ROOM - DATA), 0);
    shm_pair_plan(&n.landing, to[0], UNITS, 1, DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1); /* those before the hole */
    shm_pair_plan(&n.landing, to[0] + DATA, UNITS - 1, 1, DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), CHANNEL_FAULT);
    shm_pair_plan(&n.landing, to[1], UNITS, 1, DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), UNITS - 2);
    expect_reaped(UNITS);
}

/* Not within the arena, so the sender says. */
TEST(shm_receive__a_place_that_is_none)
{
    static const uint64_t places[] = {UINT64_MAX, ARENA - DATA + 1, UINT64_MAX - DATA};

    for (int i = 0; i < 3; i++) {
        send_units(from[1], DATA, true);
        for (int k = 0; k < UNITS; k++)
            n.sender->page->ring.slot[RING_NOTES - 1 - (i * UNITS + k)].where = places[i];
        for (int k = 0; k < UNITS; k++) {
            shm_pair_plan(&n.landing, to[1], UNITS, 1, DATA);
            ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
            ck_assert_uint_eq(n.landing.bytes[0], 0);
        }
    }
    ck_assert_int_eq(shm_look(n.receiver), SHM_HERE);
}
