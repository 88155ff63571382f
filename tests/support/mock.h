/* Tests that register themselves, over cmocka: a file is a program, whose main is here.
 *
 *     FIXTURE(setup, teardown)
 *
 *     TEST(futex_wait__no_limit) { ... }
 *
 * And the convention of our mocked system calls: what `will_return` queued is the call's result,
 * or, if it is negative, minus the error number with which it fails. */
#ifndef ZCRP_TESTS_SUPPORT_MOCK_H
#define ZCRP_TESTS_SUPPORT_MOCK_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

/* The linker alone knows __wrap_ functions: nobody declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* The system's own calls, which several mocks wrap. */
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                                const struct iovec *there, unsigned long theres,
                                unsigned long flags);
ssize_t __real_process_vm_writev(pid_t pid, const struct iovec *here, unsigned long heres,
                                 const struct iovec *there, unsigned long theres,
                                 unsigned long flags);

enum { MOCK_TESTS_MOST = 64 };

/* The tests of this file, and what surrounds each of them; NULL: nothing. */
static struct {
    struct CMUnitTest tests[MOCK_TESTS_MOST];
    size_t count;
    void (*setup)(void), (*teardown)(void);
} mock;

static inline int mock_begin(void **state)
{
    (void)state;
    if (mock.setup != NULL)
        mock.setup();
    return 0;
}

static inline int mock_end(void **state)
{
    (void)state;
    if (mock.teardown != NULL)
        mock.teardown();
    return 0;
}

static inline void mock_add(const char *name, CMUnitTestFunction test)
{
    if (mock.count == MOCK_TESTS_MOST)
        abort();
    mock.tests[mock.count++] = (struct CMUnitTest){name, test, mock_begin, mock_end, NULL};
}

/* A test, followed by its body. */
#define TEST(name)                                                                                 \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void name##_add(void)                                      \
    {                                                                                              \
        mock_add(#name, name);                                                                     \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

/* What surrounds each test of this file. */
#define FIXTURE(setup_function, teardown_function)                                                 \
    __attribute__((constructor)) static void mock_fixture(void)                                    \
    {                                                                                              \
        mock.setup = setup_function;                                                               \
        mock.teardown = teardown_function;                                                         \
    }

int main(void)
{
    (void)setenv("ZCRP_NO_MEMORY", "1", 0); /* mocks are of the socket, unless they say so */
    return _cmocka_run_group_tests(program_invocation_short_name, mock.tests, mock.count, NULL,
                                   NULL);
}

/* Does the system watch a process by a descriptor? Without that, as under valgrind, nobody pushes.
 */
static inline bool has_pidfd(void)
{
    long fd = syscall(SYS_pidfd_open, getpid(), 0);

    return fd >= 0 && close((int)fd) == 0;
}

/* Ends a mocked call: its result, errno set where that is -1. For use in __wrap_ functions. */
#define MOCK_RESULT() mock_result(mock_type(int))

static inline int mock_result(int queued)
{
    if (queued >= 0)
        return queued;
    errno = -queued;
    return -1;
}

#endif
