/* cmocka, and the convention of our mocked system calls: what `will_return` queued is the call's
 * result, or, if it is negative, minus the error number with which it fails. */
#ifndef ZCRP_TESTS_SUPPORT_MOCK_H
#define ZCRP_TESTS_SUPPORT_MOCK_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
