#include "../../support/suite.h"
#include "platform/system.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 64 };

static size_t page;
static uint8_t *memory;

static void setup(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    memory = memory_reserve(PAGES * page);
    ck_assert_ptr_nonnull(memory);
}

static void teardown(void)
{
    memory_release(memory, PAGES * page);
}

FIXTURE(setup, teardown)

static int resident(void)
{
    unsigned char is_there[PAGES];
    int count = 0;

    ck_assert_int_eq(mincore(memory, PAGES * page, is_there), 0);
    for (int i = 0; i < PAGES; i++)
        count += is_there[i] & 1;
    return count;
}

TEST(memory_reserve__costs_what_is_touched)
{
    ck_assert_int_eq(resident(), 0);
    memory[0] = memory[5 * page] = 1;
    ck_assert_int_eq(resident(), 2);
    ck_assert_uint_eq(memory[1], 0);
}

TEST(memory_reserve__says_when_there_is_none)
{
    ck_assert_ptr_null(memory_reserve(SIZE_MAX / 8 * 7));
    memory_release(NULL, 0);
}

TEST(memory_forget__keeps_what_is_in_use)
{
    static const struct {
        size_t pages, bytes; /* in use: so much */
        int resident;
    } row[] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2}, {PAGES, 0, PAGES}};
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        memset(memory, 7, PAGES * page);
        memory_forget(memory, PAGES * page, row[i].pages * page + row[i].bytes);
        ck_assert_int_eq(resident(), row[i].resident);
        ck_assert_int_eq(row[i].resident == 0 || memory[0] == 7, 1);
    }
    memory_forget(memory, PAGES * page, SIZE_MAX);
    ck_assert_int_eq(resident(), PAGES);
}
