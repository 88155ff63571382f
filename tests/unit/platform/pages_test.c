#include "../../support/own.h"
#include "../../support/suite.h"
#include "platform/pages.h"
#include "platform/system.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 64, WAIT_US = 1000, WAITS = 10000 };

static size_t page;
static uint8_t *memory;

static void setup(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ck_assert_int_eq(madvise(memory, PAGES * page, MADV_NOHUGEPAGE), 0);
}

static void teardown(void)
{
    (void)munmap(memory, PAGES * page);
}

FIXTURE(setup, teardown)

TEST(pages_are_there__where_they_were_touched)
{
    ck_assert(pages_are_there(memory, 0));
    ck_assert(!pages_are_there(memory, 1));
    memory[page] = memory[2 * page] = 1;
    ck_assert(pages_are_there(memory + page, 1));
    ck_assert(pages_are_there(memory + page, 2 * page));
    ck_assert(!pages_are_there(memory + page - 1, 2));
    ck_assert(!pages_are_there(memory + page, 2 * page + 1));
    memset(memory, 1, PAGES * page);
    ck_assert(pages_are_there(memory, PAGES * page));
    ck_assert_int_eq(madvise(memory + 3 * page, page, MADV_DONTNEED), 0);
    ck_assert(!pages_are_there(memory, PAGES * page));
    ck_assert(pages_are_there(memory, 3 * page));
}

/* Nobody has to wait to learn that there is nothing. */
TEST(pages_are_there__no_memory)
{
    ck_assert_int_eq(munmap(memory, PAGES * page), 0);
    ck_assert(pages_are_there(memory, page));
}

TEST(pages_of_all_are_there__says_which_are_not)
{
    const struct iovec piece[] = {{memory, page}, {NULL, 0}, {memory + page, page}, {NULL, 0}};
    const struct iovec apart[] = {{memory + 40 * page, 1}, {memory, 1}, {memory + 20 * page, 1}};
    struct pages_seen seen = {0};
    size_t absent = 7;

    memory[0] = 1;
    ck_assert(!pages_of_all_are_there(&seen, piece, 2, 2, &absent));
    ck_assert_uint_eq(absent, 1);
    ck_assert(!pages_of_all_are_there(&seen, piece, 2, 2, NULL));
    memory[page] = 1;
    ck_assert(pages_of_all_are_there(&seen, piece, 2, 2, &absent));
    ck_assert(!pages_of_all_are_there(&seen, apart, 3, 1, &absent));
    ck_assert_uint_eq(absent, 0);
    memory[40 * page] = memory[20 * page] = 1;
    ck_assert(pages_of_all_are_there(&seen, apart, 3, 1, &absent));
    ck_assert(pages_of_all_are_there(&seen, apart, 0, 1, &absent));
}

/* A page of a file that nobody has touched here, but that the kernel has: mincore calls it present.
 */
static uint8_t *untouched_page(void)
{
    int fd = memfd_create("zcrp-test", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, "x", 1, 0), 1);
    uint8_t *at = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(at, MAP_FAILED);
    close(fd);
    return at;
}

/* Can this kernel be asked for more than mincore knows (Linux 6.7)? */
static bool tells_touched_pages(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *at = untouched_page();
    bool is_told = !pages_are_there(at, 1);

    (void)munmap(at, page);
    pages_after_fork(); /* the tests are processes of their own */
    return is_told;
}

/* The first look finds no descriptor left. A later one does. */
TEST(pages_are_there__a_descriptor_is_left_again, .needs = tells_touched_pages)
{
    uint8_t *at = untouched_page();

    pages_after_fork(); /* as if nobody had looked */
    struct rlimit before = own_leave_descriptors(0);
    ck_assert(!pages_are_there(memory, 1));
    ck_assert(pages_are_there(at, 1));
    own_limit_descriptors(before);
    ck_assert(!pages_are_there(at, 1));
    (void)munmap(at, page);
}

/* What follows what was asked about was seen, too, for a moment. */
TEST(pages_of_all_are_there__seen)
{
    const struct iovec first = {memory, page}, next = {memory + page, 2 * page};
    struct pages_seen seen = {0};

    memset(memory, 1, 3 * page);
    ck_assert(pages_of_all_are_there(&seen, &first, 1, 1, NULL));
    ck_assert_uint_eq(seen.end - seen.first, 3 * page);
    seen.at = clock_now() + SECOND; /* however slow this test is */
    ck_assert_int_eq(madvise(memory, 3 * page, MADV_DONTNEED), 0);
    ck_assert(pages_of_all_are_there(&seen, &next, 1, 1, NULL));
    seen.at = clock_now() - PAGES_SEEN_FOR;
    ck_assert(!pages_of_all_are_there(&seen, &next, 1, 1, NULL));
}

static _Atomic int told; /* calls, of all tests of the process so far */

static void count(void *context)
{
    ck_assert_ptr_eq(context, &told);
    atomic_fetch_add(&told, 1);
}

static void await_end(const struct fetch *f)
{
    for (int i = 0; i < WAITS && !fetch_is_over(f); i++)
        (void)usleep(WAIT_US);
    ck_assert(fetch_is_over(f));
}

TEST(fetch__brings_pages)
{
    int before = atomic_load(&told);
    struct fetch *f = fetch_begin(memory + page, 9 * page, count, &told);

    ck_assert_ptr_nonnull(f);
    await_end(f);
    ck_assert(pages_are_there(memory + page, 9 * page));
    ck_assert(!pages_are_there(memory + 10 * page, page));
    ck_assert(fetch_has_brought(f, memory + page, 9 * page));
    ck_assert(!fetch_has_brought(f, memory + page, 9 * page + 1));
    ck_assert(!fetch_has_brought(f, memory, page));
    fetch_leave(f);
    ck_assert_int_le(atomic_load(&told) - before, 1);
}

/* In steps, each of which is told, and not more than it says. */
TEST(fetch__steps)
{
    size_t bytes = FETCH_MOST + 2 * FETCH_STEP;
    uint8_t *much = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(much, MAP_FAILED);
    int before = atomic_load(&told);
    struct fetch *f = fetch_begin(much, bytes, count, &told);
    ck_assert_ptr_nonnull(f);
    await_end(f);
    ck_assert(fetch_has_brought(f, much, FETCH_MOST));
    ck_assert(!fetch_has_brought(f, much, FETCH_MOST + 1));
    for (int i = 0; i < WAITS && atomic_load(&told) - before < FETCH_MOST / FETCH_STEP; i++)
        (void)usleep(WAIT_US);
    ck_assert_int_eq(atomic_load(&told) - before, FETCH_MOST / FETCH_STEP);
    fetch_leave(f);
    (void)munmap(much, bytes);
}

TEST(fetch__of_what_is_gone)
{
    ck_assert_int_eq(munmap(memory + page, page), 0);
    struct fetch *f = fetch_begin(memory, 3 * page, count, &told);

    ck_assert_ptr_nonnull(f);
    await_end(f);
    ck_assert(fetch_has_brought(f, memory, 3 * page));
    fetch_leave(f);
    fetch_leave(NULL);
    fetch_abandon(NULL);
}

/* Whoever leaves it is told nothing more. */
TEST(fetch_leave__at_any_time)
{
    for (int i = 0; i < 200; i++) {
        struct fetch *f = fetch_begin(memory, PAGES * page, count, &told);
        if (f == NULL)
            continue; /* so many are under way */
        fetch_leave(f);
        int now = atomic_load(&told);
        (void)usleep((unsigned)i % 7);
        ck_assert_int_eq(atomic_load(&told), now);
    }
}
