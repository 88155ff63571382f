/* Admitting a caller, whichever call of the system fails, and whatever the child hears. */
/* wrap: getsockname socket setsockopt bind connect close recvmsg sendmsg */
#include "accept/listen.h"

#include "../../support/mock.h"

#include <netinet/in.h>
#include <string.h>

enum { FD = 5, CHILD = 6, PORT = 7000, ENOUGH = 1000000 };

static int getsockname_error, socket_error, setsockopt_error, bind_error, connect_error;
static int opened, closed;
static bool is_ip6; /* the listening socket is */
static union address bound;
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
    assert_int_equal(family, is_ip6 ? AF_INET6 : AF_INET);
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
    (void)address, (void)size;
    assert_int_equal(fd, CHILD);
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

/* The system says of a caller by IPv4 where it called in the way of IPv4, also of one at a socket
 * of IPv6. A child that were bound to any address would answer from the first of the machine. */
TEST(admit__by_ip4_at_a_socket_of_ip6)
{
    const struct sockaddr_in6 *own = (const struct sockaddr_in6 *)&bound;
    const uint8_t mapped[16] = {[10] = 0xFF, [11] = 0xFF, 127, 0, 0, 1};
    int child;

    is_ip6 = true;
    assert_int_equal(admit(&child), 0);
    assert_int_equal(address_port(&bound), PORT);
    assert_int_equal(own->sin6_family, AF_INET6);
    assert_memory_equal(&own->sin6_addr, mapped, sizeof(mapped));
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
