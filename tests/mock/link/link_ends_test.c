/* wrap: unshare open socket ioctl write close */
#include "zcrp-link/ends.h"

#include "../../support/mock.h"
#include "common/complain.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST = 10, DESCRIPTORS = 16, CALLS_OF_AN_END = 15 };

/* A kernel whose n-th call, from 1 on, fails. */
static struct {
    int calls, fails_at, error;
    int given, open; /* descriptors */
    bool is_open[DESCRIPTORS];
    bool has_no_ipv6;
    int mtu, backlog;
    short flags;
    char addresses[2 * INET_ADDRSTRLEN], up[5 * IFNAMSIZ];
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
    int fd = answer(FIRST + fake.given);

    if (fd >= 0) {
        assert_true(fake.given < DESCRIPTORS);
        fake.is_open[fake.given++] = true;
        fake.open++;
    }
    return fd;
}

int __wrap_unshare(int flags)
{
    assert_int_equal(flags, CLONE_NEWNET);
    return answer(0);
}

int __wrap_open(const char *path, int flags, ...)
{
    bool is_ipv6 = strstr(path, "ipv6") != NULL;

    assert_true(is_ipv6 || strcmp(path, ENDS_DEVICE) == 0 ||
                strcmp(path, "/proc/self/ns/net") == 0);
    assert_true((flags & O_CLOEXEC) != 0);
    if (!is_ipv6 || !fake.has_no_ipv6)
        return open_one();
    errno = ENOENT;
    return -1;
}

int __wrap_socket(int domain, int type, int protocol)
{
    (void)domain;
    (void)type;
    (void)protocol;
    return open_one();
}

static void take_request(unsigned long what, struct ifreq *request)
{
    struct sockaddr_in in;
    char text[INET_ADDRSTRLEN];

    if (what == SIOCSIFMTU)
        fake.mtu = request->ifr_mtu;
    if (what == SIOCSIFTXQLEN)
        fake.backlog = request->ifr_qlen;
    if (what == TUNSETIFF)
        fake.flags = request->ifr_flags;
    if (what == SIOCSIFADDR) {
        memcpy(&in, &request->ifr_addr, sizeof in);
        strcat(fake.addresses, inet_ntop(AF_INET, &in.sin_addr, text, sizeof text));
    }
    if (what == SIOCSIFFLAGS && (request->ifr_flags & IFF_UP) != 0)
        strcat(fake.up, request->ifr_name);
}

int __wrap_ioctl(int fd, unsigned long what, ...)
{
    va_list arguments;

    assert_true(fake.is_open[fd - FIRST]);
    va_start(arguments, what);
    take_request(what, va_arg(arguments, struct ifreq *));
    va_end(arguments);
    return answer(0);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    (void)bytes;
    assert_true(fake.is_open[fd - FIRST]);
    return answer((int)size);
}

int __wrap_close(int fd)
{
    assert_true(fake.is_open[fd - FIRST]);
    fake.is_open[fd - FIRST] = false;
    fake.open--;
    return 0;
}

static int begin(struct ends *ends, int fails_at, int error)
{
    memset(&fake, 0, sizeof fake);
    fake.fails_at = fails_at;
    fake.error = error;
    return ends_open(ends, 9180);
}

FIXTURE(complain_silently, NULL)

TEST(ends_open__sets_all_up)
{
    struct ends ends;

    assert_int_equal(begin(&ends, 0, 0), 0);
    assert_int_equal(fake.calls, 2 * CALLS_OF_AN_END);
    assert_int_equal(fake.flags, IFF_TUN | IFF_NO_PI);
    assert_int_equal(fake.mtu, 9180);
    assert_int_equal(fake.backlog, 10000);
    assert_string_equal(fake.addresses, "198.18.0.1198.18.0.2");
    assert_string_equal(fake.up, "lozcrp0lozcrp1");
    assert_int_equal(fake.open, 4);
    ends_close(&ends);
    assert_int_equal(fake.open, 0);
}

TEST(ends_open__without_ipv6)
{
    struct ends ends;

    memset(&fake, 0, sizeof fake);
    fake.has_no_ipv6 = true;
    assert_int_equal(ends_open(&ends, 1500), 0);
}

/* Whichever call fails: a complaint, and nothing stays open. Only IPv6 and the backlog are not
 * worth failing for. */
TEST(ends_open__each_call_fails)
{
    struct ends ends;

    for (int n = 1; n <= 2 * CALLS_OF_AN_END; n++) {
        int of_end = (n - 1) % CALLS_OF_AN_END + 1;
        bool is_harmless = of_end == 5 || of_end == 6 || of_end == 8;

        assert_int_equal(begin(&ends, n, EMFILE), is_harmless ? 0 : -1);
        assert_int_equal(fake.open, is_harmless ? 4 : 0);
        if (!is_harmless)
            assert_non_null(strstr(complain_last(), strerror(EMFILE)));
    }
}

TEST(ends_open__no_device)
{
    static const int errors[] = {ENOENT, ENODEV, ENXIO};
    struct ends ends;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(begin(&ends, 3, errors[i]), -1);
        assert_non_null(strstr(complain_last(), "mknod " ENDS_DEVICE));
    }
}

TEST(ends_open__without_rights)
{
    struct ends ends;

    assert_int_equal(begin(&ends, 1, EPERM), -1);
    assert_non_null(strstr(complain_last(), "rights of root"));
}
