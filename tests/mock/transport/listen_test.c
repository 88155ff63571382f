/* Admitting a caller, whichever call of the system fails, and whatever the child hears. */
/* wrap: getsockname socket setsockopt bind connect close recvmsg sendmsg */
#include "accept/listen.h"

#include "../../support/mock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

enum { FD = 5, CHILD = 6, PORT = 7000, ENOUGH = 1000000 };

static int getsockname_error, socket_error, setsockopt_error, bind_error, connect_error;
static int opened, closed;
static bool is_ip6; /* the listening socket is */
static int child_family;
static union address bound, connected;
static struct sockaddr_in hears; /* from whom the child hears something; port 0: nobody */
static int heard, answers, strays;

static int result_of(int error)
{
    errno = error;
    return error != 0 ? -1 : 0;
}

int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *size)
{
    const struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};

    assert_int_equal(fd, FD);
    *size = is_ip6 ? sizeof(ip6) : sizeof(ip4);
    memcpy(address, is_ip6 ? (const void *)&ip6 : (const void *)&ip4, *size);
    return result_of(getsockname_error);
}

int __wrap_socket(int family, int type, int protocol)
{
    (void)type, (void)protocol;
    assert_int_equal(family, child_family);
    opened += socket_error == 0;
    return socket_error != 0 ? result_of(socket_error) : CHILD;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    (void)level, (void)name, (void)value, (void)size;
    assert_int_equal(fd, CHILD);
    return result_of(setsockopt_error);
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size)
{
    assert_int_equal(fd, CHILD);
    bound = (union address){.room = {.ss_family = AF_UNSPEC}};
    memcpy(&bound, address, size);
    return result_of(bind_error);
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    assert_int_equal(fd, CHILD);
    connected = (union address){.room = {.ss_family = AF_UNSPEC}};
    memcpy(&connected, address, size);
    return result_of(connect_error);
}

int __wrap_close(int fd)
{
    assert_int_equal(fd, CHILD);
    closed++;
    errno = EIO;
    return 0;
}

/* A flood never ends; a test gives up at some time. */
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    (void)flags;
    assert_int_equal(fd, CHILD);
    if (hears.sin_port == 0 || heard == ENOUGH)
        return result_of(EAGAIN);
    heard++;
    memcpy(message->msg_name, &hears, sizeof(hears));
    message->msg_namelen = sizeof(hears);
    message->msg_controllen = 0;
    return 0;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    (void)fd, (void)message, (void)flags;
    answers++;
    return 0;
}

static struct caller caller;
static struct listen_socket listening;

static void setup(void)
{
    const struct sockaddr_in from = {
        .sin_family = AF_INET, .sin_port = htons(4000), .sin_addr = {htonl(INADDR_LOOPBACK + 1)}};
    const struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};

    getsockname_error = socket_error = setsockopt_error = bind_error = connect_error = 0;
    opened = closed = heard = answers = strays = 0;
    is_ip6 = false;
    child_family = AF_INET;
    hears.sin_port = 0;
    listening = (struct listen_socket){.fd = FD};
    caller = (struct caller){.from_size = sizeof(from)};
    memcpy(&caller.from, &from, sizeof(from));
    memcpy(&caller.here, &here, sizeof(here));
}

static void hear(void *context, const struct caller *stray, const uint8_t *datagram, size_t size)
{
    (void)context, (void)stray, (void)datagram, (void)size;
    strays++;
}

static int admit(int *child)
{
    return listen_admit(&listening, &caller, child, hear, NULL);
}

FIXTURE(setup, NULL)

TEST(admit__is_bound_where_it_was_called)
{
    int child;

    assert_int_equal(admit(&child), 0);
    assert_int_equal(child, CHILD);
    struct sockaddr_in *own = (struct sockaddr_in *)&bound;
    assert_int_equal(address_port(&bound), PORT);
    assert_int_equal(own->sin_family, AF_INET);
    assert_int_equal(ntohl(own->sin_addr.s_addr), INADDR_LOOPBACK);
    assert_int_equal(strays, 0);
    assert_int_equal(closed, 0);
}

static void set_ip6(union address *a, const char *host, uint16_t port)
{
    *a = (union address){.ip6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)}};
    assert_int_equal(inet_pton(AF_INET6, host, &a->ip6.sin6_addr), 1);
}

/* A caller by IPv4 has a mapped address at a socket of IPv6, and the system says where it called in
 * the way of IPv4, of IPv6, or both. Its child is of IPv4. One that were bound to any address would
 * answer from the first of the machine. */
TEST(admit__by_ip4_at_a_socket_of_ip6)
{
    for (int i = 0; i < 2; i++) {
        int child;
        setup();
        is_ip6 = true;
        set_ip6(&caller.from, "::ffff:127.0.0.2", 4000);
        caller.from_size = sizeof(caller.from.ip6);
        if (i == 1)
            set_ip6(&caller.here, "::ffff:127.0.0.1", 0);
        assert_int_equal(admit(&child), 0);
        assert_int_equal(address_port(&bound), PORT);
        assert_int_equal(bound.ip4.sin_family, AF_INET);
        assert_int_equal(ntohl(bound.ip4.sin_addr.s_addr), INADDR_LOOPBACK);
        assert_int_equal(address_port(&connected), 4000);
        assert_int_equal(connected.ip4.sin_family, AF_INET);
        assert_int_equal(ntohl(connected.ip4.sin_addr.s_addr), INADDR_LOOPBACK + 1);
    }
}

TEST(admit__by_ip6)
{
    int child;

    is_ip6 = true;
    child_family = AF_INET6;
    set_ip6(&caller.from, "fe80::2", 4000);
    caller.from.ip6.sin6_scope_id = 3;
    caller.from_size = sizeof(caller.from.ip6);
    set_ip6(&caller.here, "fe80::1", 0);
    caller.here.ip6.sin6_scope_id = 3;
    assert_int_equal(admit(&child), 0);
    assert_int_equal(address_port(&bound), PORT);
    assert_true(address_has_host(&bound, &caller.here.any));
    assert_int_equal(bound.ip6.sin6_scope_id, 3);
    assert_true(address_is_same(&connected, &caller.from));
}

/* The error is that of the call, not that of the close which follows. */
TEST(admit__each_call_fails)
{
    static int *const errors[] = {&getsockname_error, &socket_error, &setsockopt_error, &bind_error,
                                  &connect_error};
    static const int values[] = {ENOBUFS, EMFILE, ENOPROTOOPT, EADDRNOTAVAIL, ENETUNREACH};

    for (int i = 0; i < 5; i++) {
        int child = 0;
        setup();
        *errors[i] = values[i];
        assert_int_equal(admit(&child), -values[i]);
        assert_int_equal(child, -1);
        assert_int_equal(strays, 0);
        assert_int_equal(closed, opened);
    }
}

/* The caller itself, or another, sends faster than its socket is read: that ends all the same. */
TEST(admit__under_a_flood)
{
    for (uint32_t i = 0; i < 2; i++) {
        int child;
        setup();
        hears = (struct sockaddr_in){.sin_family = AF_INET,
                                     .sin_port = htons(4000),
                                     .sin_addr = {htonl(INADDR_LOOPBACK + 1 + i)}};
        assert_int_equal(admit(&child), 0);
        assert_int_equal(child, CHILD);
        assert_in_range(heard, 1, 4096);
        assert_int_equal(answers, 0);
    }
}
