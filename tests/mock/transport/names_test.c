/* wrap: getaddrinfo freeaddrinfo socket setsockopt bind connect close */
#include "transport/names.h"

#include "../../support/mock.h"
#include "core/wire/aal5.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { FD = 30 };

static struct sockaddr_in6 address;
static struct addrinfo names[2]; /* an IPv6 address, then an IPv4 one */
static int lists, open_sockets;
static int last_flags, last_family, last_protocol;
static int both_families; /* times that a socket of IPv6 was told to have both */

static int system_error; /* errno of EAI_SYSTEM; 0: the resolver leaves it as it is */

/* Queued: the result, 0 for both names, 1 for the second alone. */
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **list)
{
    int result = mock_type(int);

    assert_true(host || port);
    assert_int_equal(hints->ai_socktype, SOCK_DGRAM);
    last_flags = hints->ai_flags;
    last_family = hints->ai_family;
    if (result == EAI_SYSTEM && system_error)
        errno = system_error;
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
    assert_int_equal(type, (protocol == IPPROTO_UDP ? SOCK_DGRAM : SOCK_RAW) | SOCK_CLOEXEC);
    last_protocol = protocol;
    open_sockets += result >= 0;
    return result;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    assert_int_equal(fd, FD);
    assert_int_equal(level, IPPROTO_IPV6);
    assert_int_equal(name, IPV6_V6ONLY);
    assert_int_equal(size, sizeof(int));
    assert_int_equal(*(const int *)value, 0);
    both_families++;
    return 0;
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
    lists = open_sockets = both_families = 0;
    system_error = EMFILE;
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

static void connects(int result)
{
    will_return(__wrap_socket, FD);
    will_return(__wrap_connect, result);
}

TEST(udp_bind__first_name_that_works)
{
    resolves_to(0);
    will_return(__wrap_socket, -EAFNOSUPPORT);
    binds(0);
    assert_int_equal(udp_bind("host", "7000"), FD);
    assert_int_equal(last_flags, AI_PASSIVE);
    assert_int_equal(last_family, AF_UNSPEC);
    assert_int_equal(last_protocol, IPPROTO_UDP);
    assert_int_equal(both_families, 0);
    expect_left(1);
}

TEST(udp_bind__any_address_of_both_families)
{
    resolves_to(0);
    binds(0);
    assert_int_equal(udp_bind(NULL, "7000"), FD);
    assert_int_equal(last_flags, AI_PASSIVE);
    assert_int_equal(last_family, AF_INET6);
    assert_int_equal(both_families, 1);
    expect_left(1);
}

/* IPv4 alone is for machines without IPv6, and not for those where somebody has the port there. */
TEST(udp_bind__any_address_without_ip6)
{
    static const int error[] = {EAFNOSUPPORT, EADDRNOTAVAIL};

    for (int i = 0; i < 2; i++) {
        setup();
        resolves_to(0);
        will_return(__wrap_socket, -error[i]);
        will_return(__wrap_socket, -error[i]);
        resolves_to(1);
        binds(0);
        assert_int_equal(udp_bind(NULL, "7000"), FD);
        assert_int_equal(last_flags, AI_PASSIVE);
        assert_int_equal(last_family, AF_INET);
        assert_int_equal(both_families, 0);
        expect_left(1);
    }
    setup();
    resolves_to(0);
    binds(-EADDRINUSE);
    binds(-EADDRINUSE);
    assert_int_equal(udp_bind(NULL, "7000"), -EADDRINUSE);
    expect_left(0);
}

TEST(udp_bind__last_error_counts)
{
    resolves_to(0);
    binds(-EACCES);
    binds(-EADDRINUSE);
    assert_int_equal(udp_bind("host", "7000"), -EADDRINUSE);
    expect_left(0);
}

/* A machine without IPv6 says that last, or first; that the port is in use says more. */
TEST(udp_bind__error_of_a_family_counts_less)
{
    static const int error[] = {EAFNOSUPPORT, EADDRNOTAVAIL, ENETUNREACH};

    for (size_t i = 0; i < sizeof(error) / sizeof(error[0]); i++) {
        resolves_to(0);
        binds(-EADDRINUSE);
        will_return(__wrap_socket, -error[i]);
        assert_int_equal(udp_bind("host", "7000"), -EADDRINUSE);
        resolves_to(0);
        will_return(__wrap_socket, -error[i]);
        binds(-EADDRINUSE);
        assert_int_equal(udp_bind("host", "7000"), -EADDRINUSE);
        resolves_to(1);
        will_return(__wrap_socket, -error[i]);
        assert_int_equal(udp_bind("host", "7000"), -error[i]);
    }
    resolves_to(0);
    binds(-EADDRINUSE);
    binds(0);
    assert_int_equal(udp_bind("host", "7000"), FD);
    expect_left(1);
}

TEST(udp_bind__no_descriptor)
{
    resolves_to(1);
    will_return(__wrap_socket, -EMFILE);
    assert_int_equal(udp_bind("host", "7000"), -EMFILE);
    expect_left(0);
}

TEST(udp_bind__does_not_resolve)
{
    static const int error[] = {EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_SERVICE};

    for (size_t i = 0; i < sizeof(error) / sizeof(error[0]); i++) {
        resolves_to(error[i]);
        assert_int_equal(names_resolver(udp_bind("host", "7000")), error[i]);
    }
    resolves_to(EAI_SYSTEM);
    assert_int_equal(udp_bind("host", "7000"), -EMFILE);
    system_error = errno = 0;
    resolves_to(EAI_SYSTEM); /* without an error: 0 would be a descriptor */
    assert_int_equal(udp_bind("host", "7000"), -EIO);
    resolves_to(EAI_MEMORY); /* which tells nothing of the name */
    assert_int_equal(udp_bind("host", "7000"), -ENOMEM);
    assert_int_equal(names_resolver(-EMFILE), 0);
    assert_int_equal(names_resolver(-4095), 0); /* the kernel's last */
    assert_int_equal(names_resolver(0), 0);
    expect_left(0);
}

/* No socket of a name that failed stays. */
TEST(udp_connect__second_name_works)
{
    resolves_to(0);
    connects(-ENETUNREACH);
    connects(0);
    assert_int_equal(udp_connect("host", "7000"), FD);
    assert_int_equal(last_flags, 0);
    expect_left(1);
}

TEST(udp_connect__errors)
{
    resolves_to(EAI_NONAME);
    assert_int_equal(names_resolver(udp_connect("host", "7000")), EAI_NONAME);
    resolves_to(1);
    connects(-EACCES);
    assert_int_equal(udp_connect("host", "7000"), -EACCES);
    expect_left(0);
}

TEST(aal5__raw_sockets)
{
    resolves_to(1);
    binds(0);
    assert_int_equal(aal5_bind(NULL), FD);
    assert_int_equal(last_flags, AI_PASSIVE);
    assert_int_equal(last_protocol, AAL5_PROTOCOL);
    resolves_to(1);
    connects(0);
    assert_int_equal(aal5_connect("host"), FD);
    assert_int_equal(last_protocol, AAL5_PROTOCOL);
    resolves_to(1);
    will_return(__wrap_socket, -EPERM);
    assert_int_equal(aal5_bind("host"), -EPERM);
    expect_left(2);
}
