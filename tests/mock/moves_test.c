/* A caller with keys that comes to another address, where the system refuses something: to connect
 * the listener's socket there, or to send from an address that is gone; where a datagram from there
 * comes while a waiter is about to sleep; and one that stays where it is, but whose datagrams are
 * read late. */
/* wrap: connect sendmsg sendmmsg recvmsg recvmmsg lease_set_asleep peer_move_post rx_sleep */
/* wrap: board_take board_write board_give */
#include "../support/crossing.h"
#include "../support/mock.h"
#include "../support/pattern.h"
#include "common/clock.h"
#include "link/link.h"
#include "link/peer_move.h"
#include "link/rx.h"
#include "statsfile/board.h"
#include "zcrp.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SIZE = 4 << 20 };

static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = "not random, because it is a test";

static _Atomic uint16_t refused_from; /* the port of the socket that is refused; 0: none */
static _Atomic int refusals;          /* to come */
static _Atomic int refused;           /* so far */
static _Atomic bool refuses_connect;  /* or to send */

static bool has_keys;        /* the library was built with them */
static struct crossing *nat; /* a translator of addresses */
static struct zcrp_listener *listener;
static struct zcrp_connection *there, *here;
static struct zcrp_msg *in, *out;

/* ---- rows of statistics ---- */

static _Atomic int named; /* the port in the newest row of a half that has followed its peer */

/* Each half has the place of its number. */
int __wrap_board_take(const char *where, uint64_t *number)
{
    static _Atomic int places;

    (void)where;
    *number = (uint64_t)atomic_fetch_add(&places, 1);
    return (int)*number;
}

/* The caller's halves have moved, and their peer has not. */
void __wrap_board_write(int at, const struct board_row *row)
{
    const char *port = strrchr(row->peer, ':') + 1;

    (void)at;
    if (row->stats[offsetof(struct zcrp_stats, moves) / sizeof(uint64_t)] > 0 &&
        strcmp(port, crossing_port(nat)) != 0)
        atomic_store(&named, atoi(port));
}

void __wrap_board_give(int at)
{
    (void)at;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_in own;
    socklen_t size = sizeof own;

    return getsockname(fd, (struct sockaddr *)&own, &size) == 0 ? ntohs(own.sin_port) : 0;
}

static bool is_refused(int fd, bool is_connect)
{
    uint16_t port = atomic_load(&refused_from);

    if (port == 0 || is_connect != atomic_load(&refuses_connect) || port_of(fd) != port ||
        atomic_load(&refusals) == 0)
        return false;
    atomic_fetch_sub(&refusals, 1);
    atomic_fetch_add(&refused, 1);
    return true;
}

int __real_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    if (!is_refused(fd, true))
        return __real_connect(fd, address, size);
    errno = ENETUNREACH;
    return -1;
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (!is_refused(fd, false))
        return __real_sendmsg(fd, message, flags);
    errno = EINVAL;
    return -1;
}

int __real_sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags)
{
    if (!is_refused(fd, false))
        return __real_sendmmsg(fd, message, count, flags);
    errno = EINVAL;
    return -1;
}

enum { LATE_MS = 300 }; /* longer than an answer takes to settle */

static int place; /* a stranger's; see carry. 0: none */
static _Atomic bool has_stranger;
static _Atomic int64_t late_until; /* the listener's reader, in ns; 0: no challenge has come */

/* The stranger copies what the caller sends, faster than the path, and carries challenges to it.
 * From the first on the listener reads late. */
static bool carry(void *context, bool is_outward, const uint8_t *datagram, size_t size)
{
    uint8_t challenge[2048];
    ssize_t bytes;

    (void)context;
    if (!atomic_load(&has_stranger))
        return true;
    while ((bytes = recv(place, challenge, sizeof challenge, MSG_DONTWAIT)) > 0) {
        if (atomic_load(&late_until) == 0)
            atomic_store(&late_until, clock_now_ns() + LATE_MS * INT64_C(1000000));
        crossing_tell(nat, challenge, (size_t)bytes);
    }
    if (is_outward)
        (void)send(place, datagram, size, MSG_DONTWAIT);
    return true;
}

static void setup(void)
{
    const struct crossing_faults faults = {.delay_ns = 2000000, .is_one = true, .see = carry};
    struct zcrp_options options = {
        .unit_bytes = 1472, .flags = ZCRP_NO_MEMORY, .stats_directory = "1"};

    atomic_store(&named, 0);
    atomic_store(&refused_from, 0);
    atomic_store(&refused, 0);
    has_keys = zcrp_keys_psk(&options.keys, "alice", key, sizeof key) == ZCRP_OK;
    if (!has_keys)
        return;
    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_OK);
    nat = crossing_open(zcrp_listener_port(listener), &faults, 1);
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", crossing_port(nat), &options, -1), ZCRP_OK);
    assert_int_equal(zcrp_accept(listener, &here, -1), ZCRP_OK);
    zcrp_keys_free(options.keys);
    in = zcrp_alloc_msg(SIZE);
    out = zcrp_alloc_msg(SIZE);
    pattern_fill(out->buffer, SIZE, 1);
}

static void teardown(void)
{
    if (!has_keys)
        return;
    assert_int_equal(zcrp_connection_close(there), ZCRP_OK);
    (void)zcrp_connection_close(here);
    (void)zcrp_listener_close(listener);
    crossing_close(nat);
    if (place > 0)
        (void)close(place);
    place = 0;
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

FIXTURE(setup, teardown)

/* So many calls of this socket fail from now on. */
static void refuse(uint16_t port, bool is_connect, int times)
{
    atomic_store(&refuses_connect, is_connect);
    atomic_store(&refusals, times);
    atomic_store(&refused_from, port);
}

static uint64_t moves(void)
{
    struct zcrp_stats stats;

    assert_int_equal(zcrp_stats(zcrp_connection_receiver(here), &stats), ZCRP_OK);
    return stats.moves;
}

static void cross(void)
{
    assert_int_equal(zcrp_submit(zcrp_connection_receiver(here), in, SIZE), ZCRP_OK);
    assert_int_equal(zcrp_submit(zcrp_connection_sender(there), out, SIZE), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(out, -1), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(in, -1), ZCRP_OK);
    assert_true(pattern_holds(in->buffer, SIZE, 1));
}

/* The child has the listener's port, and is the only socket of that which connects. All is as it
 * was before, and the next check ends well. */
TEST(moves__system_does_not_connect)
{
    char peer[80];

    if (!has_keys)
        skip();
    refuse((uint16_t)zcrp_listener_port(listener), true, 2);
    crossing_forget(nat);
    cross();
    assert_int_equal(atomic_load(&refused), 2);
    assert_int_equal(moves(), 1);
    assert_int_equal(zcrp_connection_peer(here, peer, sizeof peer), ZCRP_OK);
    assert_int_equal(strtol(strrchr(peer, ':') + 1, NULL, 10), crossing_mapped(nat));
    for (int i = 0; i < 2000 && atomic_load(&named) != crossing_mapped(nat); i++)
        (void)usleep(1000);
    assert_int_equal(atomic_load(&named), crossing_mapped(nat)); /* as zcrp-top shows it */
}

/* An address that is gone is no broken socket: it is looked whether there is another one. */
TEST(moves__own_address_is_gone)
{
    char own[80];

    if (!has_keys)
        skip();
    assert_int_equal(zcrp_connection_local(there, own, sizeof own), ZCRP_OK);
    refuse((uint16_t)strtol(strrchr(own, ':') + 1, NULL, 10), false, 300);
    cross();
    assert_int_equal(atomic_load(&refused), 300);
    assert_int_equal(moves(), 0);
}

/* ---- a listener that reads late ---- */

/* Of the caller's datagrams at the listener's child, which is connected. */
static bool is_late(int fd)
{
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;

    return atomic_load(&late_until) > clock_now_ns() &&
           port_of(fd) == zcrp_listener_port(listener) &&
           getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
}

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    if (!is_late(fd))
        return __real_recvmsg(fd, message, flags);
    errno = EAGAIN;
    return -1;
}

int __real_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags, void *limit);
int __wrap_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags, void *limit)
{
    if (!is_late(fd))
        return __real_recvmmsg(fd, message, count, flags, limit);
    errno = EAGAIN;
    return -1;
}

/* What the caller has sent from where it is lies in the socket by then: that counts, too. */
TEST(moves__not_while_the_old_address_is_unread)
{
    if (!has_keys)
        skip();
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)zcrp_listener_port(listener)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    place = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(place >= 0);
    assert_int_equal(connect(place, (const struct sockaddr *)&to, sizeof to), 0);
    atomic_store(&late_until, 0);
    atomic_store(&has_stranger, true);
    cross();
    cross();
    atomic_store(&has_stranger, false);
    assert_true(atomic_load(&late_until) > 0);
    assert_int_equal(moves(), 0);
}

/* ---- a letter before a sleep ---- */

enum { HOLDS = 100, TRIES = 50 };

/* A waiter is held before it says that it sleeps: nobody wakes it then. It is held for HOLDS
 * milliseconds at most, because the thread that hears the letter may be waiting for its lock. */
enum moment {
    MOMENT_NONE,
    MOMENT_HELD,
    MOMENT_COME, /* something came from the new address meanwhile; no more does, */
    MOMENT_PAST, /* until the waiter sleeps */
};

static _Atomic int moment;
static _Atomic bool holds_waiter, has_slept; /* beside a letter */
static _Thread_local bool is_waiter;

static bool moves_on(int from, int to)
{
    return atomic_compare_exchange_strong(&moment, &from, to);
}

void __real_lease_set_asleep(struct lease *l, instant until);
void __wrap_lease_set_asleep(struct lease *l, instant until)
{
    if (is_waiter && atomic_load(&holds_waiter) && moves_on(MOMENT_NONE, MOMENT_HELD)) {
        for (int i = 0; i < HOLDS && atomic_load(&moment) == MOMENT_HELD; i++)
            (void)usleep(1000);
        (void)moves_on(MOMENT_HELD, MOMENT_NONE);
    }
    __real_lease_set_asleep(l, until);
}

void __real_peer_move_post(struct link *l, const union address *from, const uint8_t *datagram,
                           size_t size);
void __wrap_peer_move_post(struct link *l, const union address *from, const uint8_t *datagram,
                           size_t size)
{
    if (atomic_load(&moment) == MOMENT_COME)
        return;
    __real_peer_move_post(l, from, datagram, size);
    (void)moves_on(MOMENT_HELD, MOMENT_COME);
}

int __real_rx_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline);
int __wrap_rx_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline)
{
    if (is_waiter && atomic_load(&moment) == MOMENT_COME) {
        atomic_store(&has_slept, peer_move_has_letters(e->link));
        atomic_store(&moment, MOMENT_PAST);
    }
    return __real_rx_sleep(e, wake, nap, deadline);
}

static void *wait_here(void *code)
{
    is_waiter = true;
    *(int *)code = zcrp_wait_for(in, -1);
    return NULL;
}

/* The caller comes to another address while somebody waits here. */
static void move_beside_a_waiter(void)
{
    pthread_t waiter;
    int code = ZCRP_ERROR_BUSY;

    assert_int_equal(zcrp_submit(zcrp_connection_receiver(here), in, SIZE), ZCRP_OK);
    atomic_store(&holds_waiter, true);
    assert_int_equal(pthread_create(&waiter, NULL, wait_here, &code), 0);
    for (int i = 0; i < HOLDS && atomic_load(&moment) != MOMENT_HELD; i++)
        (void)usleep(1000);
    crossing_forget(nat);
    assert_int_equal(zcrp_submit(zcrp_connection_sender(there), out, SIZE), ZCRP_OK);
    assert_int_equal(pthread_join(waiter, NULL), 0);
    assert_int_equal(code, ZCRP_OK);
    assert_int_equal(zcrp_wait_for(out, -1), ZCRP_OK);
    atomic_store(&holds_waiter, false);
}

/* A waiter that has looked, and does not sleep yet, is woken by nobody: so it looks for letters
 * once more behind the point from which it is woken. */
TEST(moves__letter_comes_before_a_sleep)
{
    if (!has_keys)
        skip();
    cross();
    for (int i = 0; i < TRIES && atomic_load(&moment) != MOMENT_PAST; i++)
        move_beside_a_waiter();
    assert_int_equal(atomic_load(&moment), MOMENT_PAST);
    assert_false(atomic_load(&has_slept));
}
