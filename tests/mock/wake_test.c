/* wrap: eventfd read write close */
#include "platform/waking.h"

#include "../support/mock.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum { FD = 17 };

int __wrap_eventfd(unsigned start, int flags)
{
    assert_int_equal(start, 0);
    assert_int_equal(flags, EFD_NONBLOCK | EFD_CLOEXEC);
    return MOCK_RESULT();
}

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
    assert_int_equal(fd, FD);
    assert_non_null(buffer);
    assert_int_equal(size, 8);
    return MOCK_RESULT();
}

ssize_t __wrap_write(int fd, const void *buffer, size_t size)
{
    static const uint64_t one = 1;

    assert_int_equal(fd, FD);
    assert_int_equal(size, sizeof(one));
    assert_memory_equal(buffer, &one, sizeof(one));
    return MOCK_RESULT();
}

int __wrap_close(int fd)
{
    check_expected(fd);
    return 0;
}

TEST(wake_init__opens_and_closes)
{
    struct wake w;

    will_return(__wrap_eventfd, FD);
    assert_int_equal(wake_init(&w), 0);
    assert_int_equal(wake_fd(&w), FD);
    expect_value(__wrap_close, fd, FD);
    wake_fini(&w);
}

TEST(wake_init__no_descriptors)
{
    struct wake w;

    will_return(__wrap_eventfd, -EMFILE);
    assert_int_equal(wake_init(&w), -EMFILE);
}

TEST(wake_signal__results)
{
    struct wake w = {.fd = FD};

    will_return(__wrap_write, -EINTR);
    will_return(__wrap_write, 8);
    wake_signal(&w);
    will_return(__wrap_write, -EAGAIN); /* signalled 2^64 - 2 times before */
    wake_signal(&w);
}

TEST(wake_clear__results)
{
    struct wake w = {.fd = FD};

    will_return(__wrap_read, -EINTR);
    will_return(__wrap_read, 8);
    wake_clear(&w);
    will_return(__wrap_read, -EAGAIN); /* not signalled */
    wake_clear(&w);
}
