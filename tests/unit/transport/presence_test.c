/* What a sender waits for before it offers a burst to its peer's process: pages of units in one
 * place, and of units in several. */
#include "../../support/split.h"
#include "../../support/suite.h"
#include "transport/shm/presence.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UNITS = 4, DATA = 16384, MESSAGE = 7, WAITS = 3000, WAIT_US = 10000 };

static struct presence p;
static struct burst b;
static uint8_t *memory;

/* Units of one message, none of whose pages are there. */
static void setup(void)
{
    memory = mmap(NULL, UNITS * DATA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    p = (struct presence){.message = 0};
    b = (struct burst){.datagrams = UNITS, .segment = DATA + TRAILER_BYTES, .pins = 1};
    b.bytes = UNITS * b.segment;
    b.pin[0] = (struct burst_pin){.message = MESSAGE, .units = UNITS};
    for (uint32_t i = 0; i < UNITS; i++) {
        b.iov[2 * i] = (struct iovec){memory + i * DATA, DATA};
        b.iov[2 * i + 1] = (struct iovec){b.trailer[i], TRAILER_BYTES};
    }
}

static void teardown(void)
{
    presence_end(&p);
    (void)munmap(memory, UNITS * DATA);
}

FIXTURE(setup, teardown)

static void told(void *context)
{
    (void)context;
}

/* Brings what is missing, each piece by itself, until the burst may go. How often it did. */
static uint32_t fetches(void)
{
    uint32_t count = 0;

    while (!presence_allows(&p, &b)) {
        ck_assert_uint_lt(count++, 2 * BURST_PIECES);
        ck_assert_uint_eq(p.message, MESSAGE);
        presence_fetch(&p, p.missing, told, NULL);
        for (int i = 0; i < WAITS && presence_is_awaited(&p); i++)
            (void)usleep(WAIT_US);
        ck_assert(!presence_is_awaited(&p));
    }
    return count;
}

TEST(presence__all_is_there)
{
    memset(memory, 1, UNITS * DATA);
    ck_assert(presence_allows(&p, &b));
    split_unit(&b, 1, 3);
    ck_assert(presence_allows(&p, &b));
}

TEST(presence__small_units_are_not_looked_at)
{
    b.segment = PRESENCE_COPIED;
    ck_assert(presence_allows(&p, &b));
}

TEST(presence__one_unit_after_the_other)
{
    ck_assert_uint_eq(fetches(), UNITS);
    ck_assert_uint_eq(fetches(), 0);
}

/* Of a unit in several places, each that is missing. */
TEST(presence__pieces)
{
    memset(memory, 1, DATA);
    split_unit(&b, 2, 2);
    b.iov[burst_first(&b, 2)].iov_base = memory;
    ck_assert(!presence_allows(&p, &b));
    ck_assert_ptr_eq(p.missing.iov_base, memory + DATA);
    ck_assert_uint_eq(fetches(), UNITS - 1);
}

/* What is gone is offered when it was looked for once: the peer finds out. Two such pieces do not
 * wait for each other for ever. */
TEST(presence__what_is_gone, .rows = 2)
{
    if (_i == 1)
        split_unit(&b, 1, 2);
    ck_assert_int_eq(mprotect(memory, UNITS * DATA, PROT_NONE), 0);
    ck_assert_uint_le(fetches(), UNITS + 1);
    ck_assert_uint_eq(fetches(), 0);
}
