/* wrap: open socket ioctl write close */
#include "zcrp-link/ends.h"

#include "../../support/mock.h"
#include "common/complain.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TUN = 3, SOCKET = 4, SYSCTL = 5, DESCRIPTORS = 6 };

static const struct tun_settings settings = {"zcrp0", "198.18.0.1", 9180};

/* A kernel whose n-th call, from 1 on, fails. */
static struct {
    int calls, fails_at, error;
    bool is_open[DESCRIPTORS];
    bool has_ipv6;
    int mtu, backlog;
    short flags;
    char address[INET_ADDRSTRLEN], up[2 * IFNAMSIZ];
} fake;

static int answer(int result)
{
    if (++fake.calls != fake.fails_at)
        return result;
    errno = fake.error;
    return -1;
}

static int open_as(int fd)
{
    int result = answer(fd);
    if (result >= 0)
        fake.is_open[fd] = true;
    return result;
}

int __wrap_open(const char *path, int flags, ...)
{
    if (strcmp(path, TUN_DEVICE) != 0 && !fake.has_ipv6) {
        errno = ENOENT;
        return -1;
    }
    assert_true((flags & O_CLOEXEC) != 0);
    return open_as(strcmp(path, TUN_DEVICE) == 0 ? TUN : SYSCTL);
}

int __wrap_socket(int domain, int type, int protocol)
{
    (void)domain;
    (void)type;
    (void)protocol;
    return open_as(SOCKET);
}

static void take_request(unsigned long what, struct ifreq *request)
{
    struct sockaddr_in in;

    if (what == SIOCSIFMTU)
        fake.mtu = request->ifr_mtu;
    if (what == SIOCSIFTXQLEN)
        fake.backlog = request->ifr_qlen;
    if (what == TUNSETIFF)
        fake.flags = request->ifr_flags;
    if (what == SIOCSIFADDR) {
        memcpy(&in, &request->ifr_addr, sizeof in);
        inet_ntop(AF_INET, &in.sin_addr, fake.address, sizeof fake.address);
    }
    if (what == SIOCSIFFLAGS && (request->ifr_flags & IFF_UP) != 0)
        strcat(fake.up, request->ifr_name);
}

int __wrap_ioctl(int fd, unsigned long what, ...)
{
    va_list arguments;
    assert_int_equal(fd, what == TUNSETIFF ? TUN : SOCKET);
    va_start(arguments, what);
    take_request(what, va_arg(arguments, struct ifreq *));
    va_end(arguments);
    return answer(0);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    (void)bytes;
    assert_int_equal(fd, SYSCTL);
    return answer((int)size);
}

int __wrap_close(int fd)
{
    assert_true(fake.is_open[fd]);
    fake.is_open[fd] = false;
    return 0;
}

static int begin(int fails_at, int error)
{
    memset(&fake, 0, sizeof fake);
    fake.fails_at = fails_at;
    fake.error = error;
    fake.has_ipv6 = true;
    return tun_open(&settings);
}

FIXTURE(complain_silently, NULL)

TEST(tun_open__sets_all_up)
{
    assert_int_equal(begin(0, 0), TUN);
    assert_int_equal(fake.flags, IFF_TUN | IFF_NO_PI);
    assert_int_equal(fake.mtu, 9180);
    assert_int_equal(fake.backlog, 10000);
    assert_string_equal(fake.address, "198.18.0.1");
    assert_string_equal(fake.up, "lozcrp0");
    assert_true(fake.is_open[TUN] && !fake.is_open[SOCKET] && !fake.is_open[SYSCTL]);
}

TEST(tun_open__without_ipv6)
{
    memset(&fake, 0, sizeof fake);
    assert_int_equal(tun_open(&settings), TUN);
}

/* Whichever call fails: a complaint, and nothing stays open. Only IPv6 and the backlog are not
 * worth failing for. */
TEST(tun_open__each_call_fails)
{
    int calls;

    begin(0, 0);
    calls = fake.calls;
    assert_int_equal(calls, 13);
    for (int n = 1; n <= calls; n++) {
        bool is_harmless = (n >= 3 && n <= 4) || n == 6;
        assert_int_equal(begin(n, EPERM), is_harmless ? TUN : -1);
        assert_int_equal(fake.is_open[TUN], is_harmless);
        assert_false(fake.is_open[SOCKET] || fake.is_open[SYSCTL]);
        if (!is_harmless)
            assert_non_null(strstr(complain_last(), strerror(EPERM)));
    }
}

TEST(tun_open__no_device)
{
    static const int errors[] = {ENOENT, ENODEV, ENXIO};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(begin(1, errors[i]), -1);
        assert_non_null(strstr(complain_last(), "mknod " TUN_DEVICE));
    }
}
