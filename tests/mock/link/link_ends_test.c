/* wrap: unshare open close */
#include "zcrp-link/ends.h"

#include "../../support/mock.h"
#include "common/complain.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static struct {
    int calls, fails_at, error, opened, closed;
    const char *interfaces[ENDS];
    int interface_count;
} fake;

static int answer(int result)
{
    if (++fake.calls != fake.fails_at)
        return result;
    errno = fake.error;
    return -1;
}

static int open_one(void)
{
    int fd = answer(10 + fake.opened);
    fake.opened += fd >= 0;
    return fd;
}

int __wrap_unshare(int flags)
{
    assert_int_equal(flags, CLONE_NEWNET);
    return answer(0);
}

int __wrap_open(const char *path, int flags, ...)
{
    assert_string_equal(path, "/proc/self/ns/net");
    assert_true((flags & O_CLOEXEC) != 0);
    return open_one();
}

int __wrap_close(int fd)
{
    assert_true(fd >= 10 && fd < 10 + fake.opened);
    fake.closed++;
    return 0;
}

int tun_open(const struct tun_settings *settings)
{
    int fd = open_one();
    assert_int_equal(settings->mtu, 1500);
    if (fd >= 0)
        fake.interfaces[fake.interface_count++] = settings->address;
    return fd >= 0 ? fd : complain("no interface");
}

static int begin(struct ends *ends, int fails_at, int error)
{
    memset(&fake, 0, sizeof fake);
    fake.fails_at = fails_at;
    fake.error = error;
    return ends_open(ends, 1500);
}

FIXTURE(complain_silently, NULL)

TEST(ends_open__two)
{
    struct ends ends;
    assert_int_equal(begin(&ends, 0, 0), 0);
    for (int end = 0; end < ENDS; end++)
        assert_string_equal(fake.interfaces[end], ends_address(end));
    ends_close(&ends);
    assert_int_equal(fake.opened, 4);
    assert_int_equal(fake.closed, 4);
}

TEST(ends_open__each_call_fails)
{
    struct ends ends;
    for (int n = 1; n <= 6; n++) {
        assert_int_equal(begin(&ends, n, EMFILE), -1);
        assert_int_equal(fake.closed, fake.opened);
        assert_non_null(strstr(complain_last(), n % 3 == 0 ? "no interface" : strerror(EMFILE)));
    }
}

TEST(ends_open__without_rights)
{
    struct ends ends;
    assert_int_equal(begin(&ends, 1, EPERM), -1);
    assert_non_null(strstr(complain_last(), "rights of root"));
}
