/* wrap: open64 open ioctl mincore madvise pthread_create */
#include "platform/pages.h"

#include "../support/mock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 8 };

/* What fails. */
static bool no_file, no_scan, no_advice, no_thread;
static int core_error; /* of mincore; -1: all pages are missing */

static size_t page;
static uint8_t *memory;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    if (no_file) {
        errno = ENOENT;
        return -1;
    }
    return __real_open(path, flags);
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list rest;

    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (no_scan) {
        errno = ENOTTY;
        return -1;
    }
    return __real_ioctl(fd, request, argument);
}

int __real_mincore(void *at, size_t bytes, unsigned char *there);
int __wrap_mincore(void *at, size_t bytes, unsigned char *there);
int __wrap_mincore(void *at, size_t bytes, unsigned char *there)
{
    if (core_error > 0) {
        errno = core_error;
        return -1;
    }
    if (core_error < 0) {
        memset(there, 0, bytes / page);
        return 0;
    }
    return __real_mincore(at, bytes, there);
}

int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice)
{
    if (no_advice) {
        errno = EINVAL;
        return -1;
    }
    return __real_madvise(at, bytes, advice);
}

int __real_pthread_create(pthread_t *handle, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument);
int __wrap_pthread_create(pthread_t *handle, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument)
{
    return no_thread ? EAGAIN : __real_pthread_create(handle, attributes, begin, argument);
}

static void map_memory(void)
{
    pages_after_fork(); /* forgets the file */
    no_file = no_scan = no_advice = no_thread = false;
    core_error = 0;
    page = (size_t)sysconf(_SC_PAGESIZE);
    memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
}

static void unmap_memory(void)
{
    (void)munmap(memory, PAGES * page);
}

static void expect_answers(void)
{
    assert_false(pages_are_there(memory, PAGES * page));
    memory[page] = 1;
    assert_true(pages_are_there(memory + page, page));
    assert_false(pages_are_there(memory + page, page + 1));
}

TEST(pages_are_there__without_a_file)
{
    map_memory();
    no_file = true;
    expect_answers();
    unmap_memory();
}

TEST(pages_are_there__with_an_older_kernel)
{
    map_memory();
    no_scan = true;
    expect_answers();
    (void)munmap(memory + 2 * page, page);
    assert_false(pages_are_there(memory, 4 * page));
    assert_true(pages_are_there(memory + page, 2 * page));
    assert_false(pages_are_there(memory + page, 3 * page));
    unmap_memory();
    assert_true(pages_are_there(memory, page)); /* none, which a read tells at once */
}

TEST(pages_are_there__if_the_kernel_has_no_memory)
{
    map_memory();
    no_scan = true;
    memory[0] = 1;
    core_error = EAGAIN;
    assert_false(pages_are_there(memory, page));
    core_error = ENOMEM;
    assert_true(pages_are_there(memory, page));
    unmap_memory();
}

static _Atomic int told;

static void count(void *context)
{
    (void)context;
    atomic_fetch_add(&told, 1);
}

static void await_end(const struct fetch *f)
{
    for (int i = 0; i < 10000 && !fetch_is_over(f); i++)
        (void)usleep(1000);
    assert_true(fetch_is_over(f));
}

/* MADV_POPULATE_READ is of Linux 5.14. */
TEST(fetch__by_touch)
{
    map_memory();
    no_advice = true;
    struct fetch *f = fetch_begin(memory, PAGES * page, count, NULL);
    assert_non_null(f);
    await_end(f);
    assert_true(pages_are_there(memory, PAGES * page));
    fetch_leave(f);
    unmap_memory();
}

TEST(fetch__no_thread)
{
    map_memory();
    no_thread = true;
    for (int i = 0; i < 2 * FETCHES; i++)
        assert_null(fetch_begin(memory, page, count, NULL));
    no_thread = false;
    struct fetch *f = fetch_begin(memory, page, count, NULL);
    assert_non_null(f);
    await_end(f);
    fetch_leave(f);
    unmap_memory();
}
