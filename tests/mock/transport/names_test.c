/* wrap: getaddrinfo freeaddrinfo socket bind connect close getsockopt recvmsg ready_wait */
#include "transport/names.h"

#include "../../support/mock.h"
#include "platform/sleep.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { FD = 30 };

static struct sockaddr_in6 address;
static struct addrinfo names[2]; /* an IPv6 address, then an IPv4 one */
static int lists, open_sockets;
static int last_family, last_flags;

/* Queued: the result, 0 for both names, 1 for the second alone; and errno for EAI_SYSTEM. */
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **list)
{
    int result = mock_type(int);

    assert_true(host || port);
    assert_int_equal(hints->ai_socktype, SOCK_DGRAM);
    last_family = hints->ai_family;
    last_flags = hints->ai_flags;
    if (result == EAI_SYSTEM)
        errno = EMFILE;
    if (result < 0)
        return result;
    lists++;
    *list = &names[result];
    return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
    assert_true(list == &names[0] || list == &names[1]);
    lists--;
}

int __wrap_socket(int family, int type, int protocol)
{
    int result = MOCK_RESULT();

    assert_true(family == AF_INET || family == AF_INET6);
    assert_int_equal(type, SOCK_DGRAM | SOCK_CLOEXEC);
    assert_int_equal(protocol, IPPROTO_UDP);
    open_sockets += result >= 0;
    return result;
}

int __wrap_bind(int fd, const struct sockaddr *a, socklen_t size)
{
    assert_int_equal(fd, FD);
    assert_non_null(a);
    assert_int_equal(size, sizeof(address));
    return MOCK_RESULT();
}

int __wrap_connect(int fd, const struct sockaddr *a, socklen_t size)
{
    assert_int_equal(fd, FD);
    assert_int_equal(size, sizeof(address));
    assert_memory_equal(a, &address, sizeof(address));
    return MOCK_RESULT();
}

int __wrap_close(int fd)
{
    assert_int_equal(fd, FD);
    open_sockets--;
    errno = EINTR; /* must not hide the error that led here */
    return -1;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    int family = MOCK_RESULT();

    assert_int_equal(fd, FD);
    assert_int_equal(level, SOL_SOCKET);
    assert_int_equal(name, SO_DOMAIN);
    assert_int_equal(*size, sizeof(family));
    memcpy(value, &family, sizeof(family));
    return family < 0 ? -1 : 0;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_PEEK | MSG_DONTWAIT);
    assert_int_equal(m->msg_iovlen, 0);
    memcpy(m->msg_name, &address, sizeof(address));
    m->msg_namelen = sizeof(address);
    return MOCK_RESULT();
}

int __wrap_ready_wait(struct pollfd *set, nfds_t count, instant deadline)
{
    assert_int_equal(count, 1);
    assert_int_equal(set->fd, FD);
    assert_int_equal(deadline, SECOND);
    set->revents = mock_type(short);
    return mock_type(int);
}

static void setup(void)
{
    address = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = 77};
    for (int i = 0; i < 2; i++)
        names[i] = (struct addrinfo){.ai_family = i ? AF_INET : AF_INET6,
                                     .ai_socktype = SOCK_DGRAM,
                                     .ai_protocol = IPPROTO_UDP,
                                     .ai_addr = (struct sockaddr *)(void *)&address,
                                     .ai_addrlen = sizeof(address),
                                     .ai_next = i ? NULL : &names[1]};
    lists = open_sockets = 0;
}

FIXTURE(setup, NULL)

/* Whatever happened, nothing stays behind but what was asked for. */
static void expect_left(int sockets)
{
    assert_int_equal(lists, 0);
    assert_int_equal(open_sockets, sockets);
}

static void resolves_to(int names_from)
{
    will_return(__wrap_getaddrinfo, names_from);
}

static void binds(int result)
{
    will_return(__wrap_socket, FD);
    will_return(__wrap_bind, result);
}

TEST(udp_bind__first_name_that_works)
{
    int fd;

    resolves_to(0);
    will_return(__wrap_socket, -EAFNOSUPPORT);
    binds(0);
    assert_int_equal(udp_bind(NULL, "7000", &fd), 0);
    assert_int_equal(fd, FD);
    assert_int_equal(last_flags, AI_PASSIVE);
    expect_left(1);
}

TEST(udp_bind__last_error_counts)
{
    int fd;

    resolves_to(0);
    binds(-EACCES);
    binds(-EADDRINUSE);
    assert_int_equal(udp_bind("host", "7000", &fd), -EADDRINUSE);
    assert_int_equal(fd, -1);
    expect_left(0);
}

TEST(udp_bind__no_descriptor)
{
    int fd;

    resolves_to(1);
    will_return(__wrap_socket, -EMFILE);
    assert_int_equal(udp_bind("host", "7000", &fd), -EMFILE);
    assert_int_equal(fd, -1);
    expect_left(0);
}

TEST(udp_bind__does_not_resolve)
{
    static const int error[] = {EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_SERVICE};
    int fd;

    for (size_t i = 0; i < sizeof(error) / sizeof(error[0]); i++) {
        resolves_to(error[i]);
        int code = udp_bind("host", "7000", &fd);
        assert_true(code < 0);
        assert_string_equal(udp_open_text(code), gai_strerror(error[i]));
        assert_int_equal(fd, -1);
    }
    resolves_to(EAI_SYSTEM);
    assert_int_equal(udp_bind("host", "7000", &fd), -EMFILE);
    expect_left(0);
}

TEST(udp_connect_fd__in_the_sockets_family)
{
    will_return(__wrap_getsockopt, AF_INET6);
    resolves_to(0);
    will_return(__wrap_connect, -ENETUNREACH);
    will_return(__wrap_connect, 0);
    assert_int_equal(udp_connect_fd(FD, "host", "7000"), 0);
    assert_int_equal(last_family, AF_INET6);
    expect_left(0);
}

TEST(udp_connect_fd__errors)
{
    will_return(__wrap_getsockopt, -EBADF);
    assert_int_equal(udp_connect_fd(FD, "host", "7000"), -EBADF);
    will_return(__wrap_getsockopt, AF_INET);
    resolves_to(1);
    will_return(__wrap_connect, -ENETUNREACH);
    assert_int_equal(udp_connect_fd(FD, "host", "7000"), -ENETUNREACH);
    expect_left(0);
}

/* The local end follows the family of each remote name; no socket of a name that failed stays. */
TEST(udp_open__second_name_works)
{
    int fd;

    resolves_to(0);
    resolves_to(0);
    binds(0);
    will_return(__wrap_connect, -ENETUNREACH);
    resolves_to(1);
    binds(0);
    will_return(__wrap_connect, 0);
    assert_int_equal(udp_open(NULL, NULL, "host", "7000", &fd), 0);
    assert_int_equal(fd, FD);
    assert_int_equal(last_family, AF_INET);
    expect_left(1);
}

TEST(udp_open__errors)
{
    int fd;

    resolves_to(EAI_NONAME);
    assert_string_equal(udp_open_text(udp_open(NULL, NULL, "host", "7000", &fd)),
                        gai_strerror(EAI_NONAME));
    assert_int_equal(fd, -1);
    resolves_to(1);
    resolves_to(1);
    binds(-EADDRNOTAVAIL);
    assert_int_equal(udp_open("local", "1", "host", "7000", &fd), -EADDRNOTAVAIL);
    resolves_to(1);
    resolves_to(1);
    binds(0);
    will_return(__wrap_connect, -EACCES);
    assert_int_equal(udp_open("local", "1", "host", "7000", &fd), -EACCES);
    assert_int_equal(fd, -1);
    expect_left(0);
}

TEST(udp_open_text__errno)
{
    assert_string_equal(udp_open_text(-EADDRINUSE), strerror(EADDRINUSE));
}
