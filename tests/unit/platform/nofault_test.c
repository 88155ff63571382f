#include "../../support/own.h"
#include "../../support/suite.h"
#include "platform/nofault.h"
#include "platform/system.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, ROOM = 4 * NOFAULT_LITTLE, THREADS = 2 * NOFAULT_PLACES, ROUNDS = 2000 };

/* Little goes one way, more another. */
static const size_t sizes[] = {1, 96, PAGE, NOFAULT_LITTLE, NOFAULT_LITTLE + 1, ROOM};

static uint8_t bytes[ROOM], other[ROOM];

static void fill(uint8_t *at, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        at[i] = (uint8_t)(i * 31 + i / 253 + seed);
}

/* `pages` pages, and behind them one that nobody may access. */
static uint8_t *map_pages(size_t pages)
{
    void *memory =
        mmap(NULL, (pages + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ck_assert_int_eq(mprotect((uint8_t *)memory + pages * PAGE, PAGE, PROT_NONE), 0);
    return memory;
}

static void expect_copies(size_t size)
{
    struct iovec halves[] = {{other, size / 2}, {other + size / 2, size - size / 2}};
    struct iovec thirds[] = {{bytes, size / 3}, {bytes + size / 3, size - size / 3}};

    fill(other, size, 1);
    memset(bytes, 0, size);
    ck_assert_int_eq(nofault_read(bytes, halves, 2, size), (ssize_t)size);
    ck_assert_mem_eq(bytes, other, size);
    fill(bytes, size, 2);
    ck_assert_int_eq(nofault_write(halves, 2, thirds, 2, size), (ssize_t)size);
    ck_assert_mem_eq(bytes, other, size);
}

TEST(nofault__copies, .rows = ROWS(sizes))
{
    expect_copies(sizes[_i]);
}

/* Memory that is gone from its first byte on. */
TEST(nofault__gone, .rows = ROWS(sizes))
{
    uint8_t *memory = map_pages(0);
    struct iovec gone = {memory, sizes[_i]}, here = {bytes, sizes[_i]};

    ck_assert_int_eq(nofault_read(bytes, &gone, 1, sizes[_i]), -1);
    ck_assert_int_eq(errno, EFAULT);
    ck_assert_int_eq(nofault_write(&gone, 1, &here, 1, sizes[_i]), -1);
    ck_assert_int_eq(errno, EFAULT);
    ck_assert_int_eq(munmap(memory, PAGE), 0);
}

/* Some of it is gone: what lies before counts, and nothing else is claimed. */
TEST(nofault__partly_gone)
{
    uint8_t *memory = map_pages(1);
    struct iovec user[] = {{memory, PAGE}, {memory + PAGE, 100}}, here = {bytes, PAGE + 100};

    fill(memory, PAGE, 3);
    ck_assert_int_lt(nofault_read(bytes, user, 2, PAGE + 100), PAGE + 100);
    ck_assert_int_lt(nofault_write(user, 2, &here, 1, PAGE + 100), PAGE + 100);
    ck_assert_int_eq(munmap(memory, 2L * PAGE), 0);
}

/* Threads do not see each other's bytes, whichever way is free. */
static void *copy_much(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    uint8_t from[600], to[600];
    struct iovec user = {from, sizeof(from)}, own = {to, sizeof(to)};

    for (unsigned i = 0; i < ROUNDS; i++) {
        fill(from, sizeof(from), seed + i);
        ck_assert_int_eq(nofault_read(to, &user, 1, sizeof(from)), sizeof(from));
        ck_assert_mem_eq(from, to, sizeof(from));
        memset(from, 0, sizeof(from));
        ck_assert_int_eq(nofault_write(&user, 1, &own, 1, sizeof(from)), sizeof(from));
        ck_assert_mem_eq(from, to, sizeof(from));
    }
    return NULL;
}

TEST(nofault__threads)
{
    pthread_t thread[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, copy_much, (void *)(i * 1000)), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
}

static void in_child(void (*work)(void))
{
    int status;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        work();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static void copy_all(void)
{
    for (int i = 0; i < ROWS(sizes); i++)
        expect_copies(sizes[i]);
}

static void do_nothing(void)
{
}

/* A child has a file of its own: it does not write into its parent's. */
TEST(nofault__a_child)
{
    forked_watch(do_nothing);
    nofault_begin();
    in_child(copy_all);
    copy_all();
}

/* A process that may write no more files copies all the same, and is not ended. */
static void copy_limited(void)
{
    const struct rlimit limit = {.rlim_cur = 0, .rlim_max = 0};

    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(1);
    copy_all();
}

TEST(nofault__no_files_any_more, .rows = 2)
{
    forked_watch(do_nothing);
    if (_i == 1)
        nofault_begin();
    in_child(copy_limited);
}

/* The process goes on without its first thread: the kernel knows its memory by the others. */
static void *copy_when_first_has_ended(void *unused)
{
    struct iovec here = {bytes, 1}, there = {other, 1};

    while (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1)
        (void)poll(NULL, 0, 1);
    copy_all();
    _exit(0);
    return unused;
}

static void end_first_thread(void)
{
    pthread_t second;

    if (pthread_create(&second, NULL, copy_when_first_has_ended, NULL) != 0)
        _exit(1);
    pthread_exit(NULL);
}

TEST(nofault__first_thread_has_ended)
{
    forked_watch(do_nothing);
    in_child(end_first_thread);
}

/* ---- clearing ---- */

TEST(nofault_clear__as_far_as_there_is_memory)
{
    uint8_t *pages = map_pages(5);

    memset(pages, 1, (size_t)5 * PAGE);
    nofault_clear(pages + 1, (size_t)6 * PAGE); /* ends in the page that nobody may access */
    ck_assert_uint_eq(pages[0], 1);
    for (size_t i = 1; i < (size_t)5 * PAGE; i++)
        ck_assert_uint_eq(pages[i], 0);
    ck_assert_int_eq(munmap(pages, (size_t)6 * PAGE), 0);
}

/* ---- forks ---- */

/* A child closes its parent's file at once: its program may close all descriptors, and another file
 * gets the number. */
TEST(nofault_after_fork__closes_the_file)
{
    int status;

    nofault_begin();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        int before = own_count("/proc/self/fd");
        nofault_after_fork();
        bool is_closed = own_count("/proc/self/fd") == before - 1;
        expect_copies(PAGE);
        _exit(is_closed && own_count("/proc/self/fd") == before ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
