/* What callers without a good key cost those that have one: a listener's handshakes run in a thread
 * of their own, and those that fail are few for each host. */
#include "../../support/raw_keys.h"
#include "../../support/shared_keys.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

LOAD(asleep)

enum { ECHOES = 20, BYTES = 100 };

static const struct zcrp_options usual = {0};

/* A caller with a good key; how long it took until it was accepted. */
static int64_t meet(const struct house *p, struct both *b, struct zcrp_keys *keys)
{
    int64_t began = clock_now_ns();

    ck_assert_int_eq(connect_with(p->port, &b->there, usual, keys, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p->listener, &b->here, 30 * ENDS_SECOND), ZCRP_OK);
    return clock_now_ns() - began;
}

static void pass(struct zcrp_connection *from, struct zcrp_connection *to)
{
    struct zcrp_msg *out = zcrp_alloc_msg(BYTES), *in = zcrp_alloc_msg(BYTES);

    memset(out->buffer, 7, BYTES);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), in, BYTES), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), out, BYTES), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 30 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 30 * ENDS_SECOND), ZCRP_OK);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
}

/* ---- a lookup that takes its time ---- */

static _Atomic bool is_held, is_within;

static size_t look_up(void *context, const char *identity, uint8_t *found, size_t size)
{
    (void)context, (void)identity;
    atomic_store(&is_within, true);
    while (atomic_load(&is_held))
        usleep(1000);
    memcpy(found, key, ZCRP_KEYS_PSK_LEAST);
    return size >= ZCRP_KEYS_PSK_LEAST ? ZCRP_KEYS_PSK_LEAST : 0;
}

/* The user's function stands still amid a handshake, for as long as it takes for a connection's
 * messages to come and go. Handshakes ran in the thread that receives for all. */
TEST(strangers__a_handshake_holds_no_message_up, .needs = has_keys)
{
    struct zcrp_keys *keys = shared("alice", key);
    struct both first, second;
    struct zcrp_listener_stats stats;

    ck_assert_int_eq(zcrp_keys_set_lookup(keys, look_up, NULL), ZCRP_OK);
    struct house p = house_with(usual, keys);
    (void)meet(&p, &first, shared("alice", key));
    pass(first.there, first.here);
    atomic_store(&is_held, true);
    ck_assert_int_eq(connect_with(p.port, &second.there, usual, shared("bob", key), 0), ZCRP_OK);
    while (!atomic_load(&is_within))
        usleep(1000);
    for (int i = 0; i < ECHOES; i++) {
        pass(first.there, first.here);
        pass(first.here, first.there);
    }
    ck_assert_int_eq(zcrp_listener_stats(p.listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.admitted, 1);
    atomic_store(&is_held, false);
    ck_assert_int_eq(zcrp_accept(p.listener, &second.here, 30 * ENDS_SECOND), ZCRP_OK);
    pass(second.there, second.here);
    house_part(&second);
    house_part(&first);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* It ends with the handshake that is under way. */
static void *let_go(void *unused)
{
    usleep(50000);
    atomic_store(&is_held, false);
    return unused;
}

TEST(strangers__close_amid_a_handshake, .needs = has_keys)
{
    struct zcrp_keys *keys = shared("alice", key);
    struct zcrp_connection *c;
    pthread_t thread;

    ck_assert_int_eq(zcrp_keys_set_lookup(keys, look_up, NULL), ZCRP_OK);
    struct house p = house_with(usual, keys);
    atomic_store(&is_held, true);
    ck_assert_int_eq(connect_with(p.port, &c, usual, shared("bob", key), 0), ZCRP_OK);
    while (!atomic_load(&is_within))
        usleep(1000);
    ck_assert_int_eq(pthread_create(&thread, NULL, let_go, NULL), 0);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
    ck_assert(!atomic_load(&is_held));
    pthread_join(thread, NULL);
    (void)zcrp_connection_close(c);
}

/* The child has no thread that would go on with it, and its close does not wait for one. */
TEST(strangers__fork_amid_a_handshake, .needs = has_keys)
{
    struct zcrp_keys *keys = shared("alice", key);
    struct both b;
    int status;

    ck_assert_int_eq(zcrp_keys_set_lookup(keys, look_up, NULL), ZCRP_OK);
    struct house p = house_with(usual, keys);
    atomic_store(&is_held, true);
    ck_assert_int_eq(connect_with(p.port, &b.there, usual, shared("bob", key), 0), ZCRP_OK);
    while (!atomic_load(&is_within))
        usleep(1000);
    pid_t child = fork();
    if (child == 0)
        _exit(zcrp_listener_close(p.listener) == ZCRP_OK ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    atomic_store(&is_held, false);
    ck_assert_int_eq(zcrp_accept(p.listener, &b.here, 30 * ENDS_SECOND), ZCRP_OK);
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* ---- callers with a wrong key, one after the other ---- */

struct attacker {
    const struct house *house;
    pthread_t thread;
    _Atomic bool is_over;
    uint64_t tries;
};

static void *attack(void *context)
{
    struct attacker *a = context;
    struct zcrp_connection *c;

    for (; !atomic_load(&a->is_over); a->tries++)
        if (connect_with(a->house->port, &c, usual, raw(wrong), ENDS_SECOND) == ZCRP_OK)
            abort();
    return NULL;
}

enum { ATTACKERS = 3, SECONDS = 2, AT_ONCE = 32, A_SECOND = 20 };

/* A good caller is in before that; one may be late, on a machine that stands still for a while. */
#define LATE_NS (3 * ENDS_SECOND)
enum { LATE_MOST = 1 };

/* As many as there are for one host, and no more; before, there were hundreds each second. Somebody
 * with the right key, who calls from the same host, is in all the same. */
TEST(strangers__fail_so_often_and_no_more, .needs = has_keys)
{
    static struct attacker attacker[ATTACKERS];
    struct zcrp_listener_stats stats;
    struct house p = house_with(usual, raw(mine));
    struct both b;

    int64_t began = clock_now_ns(), slowest = 0;
    int late = 0;
    for (int i = 0; i < ATTACKERS; i++) {
        attacker[i].house = &p;
        ck_assert_int_eq(pthread_create(&attacker[i].thread, NULL, attack, &attacker[i]), 0);
    }
    while (clock_now_ns() - began < SECONDS * ENDS_SECOND) {
        int64_t took = meet(&p, &b, raw(mine));
        slowest = took > slowest ? took : slowest;
        late += took >= LATE_NS;
        house_part(&b);
    }
    ck_assert_int_eq(zcrp_listener_stats(p.listener, &stats), ZCRP_OK);
    int64_t lasted = clock_now_ns() - began;
    for (int i = 0; i < ATTACKERS; i++)
        atomic_store(&attacker[i].is_over, true);
    for (int i = 0; i < ATTACKERS; i++)
        pthread_join(attacker[i].thread, NULL);
    printf("%lu refused in %.1f s; the slowest of %lu good callers was in after %.1f ms\n",
           (unsigned long)stats.refused, (double)lasted / 1e9, (unsigned long)stats.admitted,
           (double)slowest / 1e6);
    ck_assert_uint_le(stats.refused, (uint64_t)(AT_ONCE + A_SECOND * lasted / ENDS_SECOND + 1));
    ck_assert_int_le(late, LATE_MOST);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* The same of a receiver over a descriptor. */
TEST(strangers__fail_so_often_at_a_receiver, .needs = has_keys)
{
    struct zcrp_options ours = {.keys = raw(mine)};
    struct zcrp_options theirs = {
        .keys = raw(wrong), .linger_ns = 1, .connect_ns = ENDS_SECOND / 4};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES);
    struct zcrp_entity *receiver, *sender;
    int64_t began = clock_now_ns();
    uint64_t refused = 0;
    int tries = 0;

    ck_assert_int_eq(zcrp_open_receiver(&receiver, sockets.receiver, &ours), ZCRP_OK);
    for (; clock_now_ns() - began < (refused > 0 ? 1 : 20) * ENDS_SECOND; tries++) {
        ck_assert_int_eq(zcrp_open_sender(&sender, sockets.sender, &theirs), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(sender, m, BYTES), ZCRP_OK);
        ck_assert_int_ne(zcrp_wait_for(m, 30 * ENDS_SECOND), ZCRP_OK);
        (void)zcrp_close(sender);
        refused = ends_stats(receiver).keys_refused;
    }
    int64_t lasted = clock_now_ns() - began;
    printf("%d tries, %lu refused in %.1f s\n", tries, (unsigned long)refused,
           (double)lasted / 1e9);
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_le(refused, (uint64_t)(1 + A_SECOND * lasted / ENDS_SECOND));
    ck_assert_int_eq(zcrp_close(receiver), ZCRP_OK);
    zcrp_keys_free(ours.keys);
    zcrp_keys_free(theirs.keys);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

/* ---- processes with addresses of their own, which do nothing else ---- */

/* One try after the other, from 127.0.0.`host`; the port of the listener comes through the gate. */
_Noreturn static void attack_from(unsigned int host, int gate)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(0x7F000000 + host)}};
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct zcrp_options options = {.keys = raw(wrong), .linger_ns = 1};
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES);
    int port;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(gate, &port, sizeof(port)) != sizeof(port))
        _exit(0);
    there.sin_port = htons((uint16_t)port);
    for (;;) {
        struct zcrp_entity *e;
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), both[] = {fd, fd};
        if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)) != 0 ||
            connect(fd, (struct sockaddr *)&there, sizeof(there)) != 0 ||
            zcrp_open_sender(&e, both, &options) != ZCRP_OK)
            _exit(1);
        if (zcrp_submit(e, m, BYTES) != ZCRP_OK || zcrp_wait_for(m, -1) == ZCRP_OK)
            _exit(1);
        (void)zcrp_close(e);
        (void)close(fd);
    }
}

struct strangers {
    pid_t pid[ATTACKERS];
    int gate[2];
};

/* Before there is a thread. */
static struct strangers start_strangers(void)
{
    struct strangers s;

    ck_assert_int_eq(pipe(s.gate), 0);
    for (int i = 0; i < ATTACKERS; i++) {
        s.pid[i] = fork();
        ck_assert_int_ge(s.pid[i], 0);
        if (s.pid[i] == 0)
            attack_from((unsigned int)(2 + i), s.gate[0]);
    }
    return s;
}

static void let_loose(const struct strangers *s, int port)
{
    for (int i = 0; i < ATTACKERS; i++)
        ck_assert_int_eq(write(s->gate[1], &port, sizeof(port)), sizeof(port));
}

static void stop_strangers(const struct strangers *s)
{
    for (int i = 0; i < ATTACKERS; i++)
        ends_kill_peer(s->pid[i]);
    close(s->gate[0]);
    close(s->gate[1]);
}

/* A message there and one back, again and again, and a nap behind each: how long naps take tells
 * how busy the machine is. */
struct echoes {
    const struct both *both;
    _Atomic bool is_over;
    pthread_t thread;
    int count;
    int64_t took_ns[100000], napped_ns[100000];
};

static void *echo(void *context)
{
    struct echoes *e = context;

    for (; !atomic_load(&e->is_over) && e->count < 100000; e->count++) {
        int64_t began = clock_now_ns();
        pass(e->both->there, e->both->here);
        pass(e->both->here, e->both->there);
        int64_t ended = clock_now_ns();
        e->took_ns[e->count] = ended - began;
        usleep(500);
        e->napped_ns[e->count] = clock_now_ns() - ended;
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Of so many times, which it sorts, the one that this share is within. */
static int64_t share_of(int64_t *times, int count, double share)
{
    qsort(times, (size_t)count, sizeof(times[0]), compare);
    return times[(int)((count - 1) * share)];
}

/* That share of the echoes takes no longer than a limit, and ten naps, as threads wake each other a
 * few times in an echo. */
static void expect_echoes(struct echoes *e, double share, int64_t limit_ns)
{
    int64_t took = share_of(e->took_ns, e->count, share);
    int64_t napped = share_of(e->napped_ns, e->count, share);

    printf("of %d echoes %g %% within %.2f ms, of the naps %.2f ms\n", e->count, 100 * share,
           (double)took / 1e6, (double)napped / 1e6);
    ck_assert_int_lt(took, limit_ns + 10 * napped);
}

/* Three strangers at full rate, each from a host of its own. Without any, and then with them: how
 * long do the messages of a connection take, and how long does a caller with a good key? The bound
 * is for a busy machine; tests/attack/README.md has what a quiet one took. */
TEST(strangers__at_full_rate, .needs = has_keys)
{
    static struct echoes e;
    struct strangers strangers = start_strangers();
    struct house p = house_with(usual, raw(mine));
    struct zcrp_listener_stats stats;
    struct both first, b;
    int64_t slowest = 0;
    int late = 0;

    (void)meet(&p, &first, raw(mine));
    e.both = &first;
    let_loose(&strangers, zcrp_listener_port(p.listener));
    int64_t began = clock_now_ns();
    ck_assert_int_eq(pthread_create(&e.thread, NULL, echo, &e), 0);
    while (clock_now_ns() - began < SECONDS * ENDS_SECOND) {
        int64_t took = meet(&p, &b, raw(mine));
        slowest = took > slowest ? took : slowest;
        late += took >= LATE_NS;
        house_part(&b);
        usleep(10000);
    }
    ck_assert_int_eq(zcrp_listener_stats(p.listener, &stats), ZCRP_OK);
    int64_t lasted = clock_now_ns() - began;
    atomic_store(&e.is_over, true);
    pthread_join(e.thread, NULL);
    stop_strangers(&strangers);
    printf("%lu refused in %.1f s; the slowest of %lu callers in after %.1f ms\n",
           (unsigned long)stats.refused, (double)lasted / 1e9, (unsigned long)stats.admitted,
           (double)slowest / 1e6);
    ck_assert_uint_gt(stats.refused, 0);
    ck_assert_uint_le(stats.refused,
                      (uint64_t)(ATTACKERS * (AT_ONCE + A_SECOND * lasted / ENDS_SECOND + 1)));
    ck_assert_int_le(late, LATE_MOST);
    expect_echoes(&e, 0.99, 250 * ENDS_MILLISECOND);
    expect_echoes(&e, 1, 3 * ENDS_SECOND); /* none waited for a timer of the protocol */
    house_part(&first);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* ---- callers that begin a handshake, and do not go on ---- */

enum { BEGINNERS = 100, TRAILER = 32 };

/* A datagram of 32 bytes of trailer, behind `count` bytes: nonce, cookie, tag, type. */
static size_t write_datagram(uint8_t *out, size_t count, uint64_t nonce, uint64_t cookie,
                             uint8_t last)
{
    uint8_t *t = out + count;
    memset(t, 0, TRAILER);
    for (int i = 0; i < 8; i++) {
        t[7 - i] = (uint8_t)(nonce >> 8 * i);
        t[15 - i] = (uint8_t)(cookie >> 8 * i);
    }
    t[29] = 7; /* the tag */
    t[31] = last;
    return count + TRAILER;
}

/* Asks, brings the cookie back, and the beginning of a ClientHello that never ends. */
static int begin_only(const struct house *p, uint64_t nonce)
{
    struct sockaddr_in there = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(p->port)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    uint8_t bytes[256] = {1, 0, 2, 0, 3, 3}, answer[64];
    uint64_t cookie = 0;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct timeval limit = {.tv_sec = 20};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&there, sizeof there), 0);
    uint8_t hello[TRAILER];
    ck_assert_int_eq(send(fd, hello, write_datagram(hello, 0, nonce, 0, 0x25), 0), TRAILER);
    ck_assert_int_eq(recv(fd, answer, sizeof answer, 0), TRAILER);
    for (int i = 0; i < 8; i++)
        cookie = cookie << 8 | answer[8 + i];
    size_t size = write_datagram(bytes, 40, nonce, cookie, 0x29);
    ck_assert_int_eq(send(fd, bytes, size, 0), (ssize_t)size);
    return fd;
}

TEST(strangers__begin_only, .needs = has_keys)
{
    struct zcrp_listener_stats stats;
    const struct zcrp_options ours = {.first_messages = 1, .first_bytes = 1000};
    struct house p = house_with(ours, shared("alice", key));
    struct both b;
    int fds[BEGINNERS];
    struct zcrp_msg *out = ends_filled(1000, 3), *first;

    for (int i = 0; i < BEGINNERS; i++)
        fds[i] = begin_only(&p, 1000 + (uint64_t)i);
    int64_t began = clock_now_ns();
    ck_assert_int_eq(connect_with(p.port, &b.there, usual, shared("alice", key), 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b.there), out, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.listener, &b.here, 5 * ENDS_SECOND), ZCRP_OK);
    printf("in after %lld ms\n", (long long)((clock_now_ns() - began) / ENDS_MILLISECOND));
    ck_assert_int_lt(clock_now_ns() - began, 3 * ENDS_SECOND);
    ck_assert_int_eq(zcrp_listener_stats(p.listener, &stats), ZCRP_OK);
    ck_assert_uint_ge(stats.dropped, BEGINNERS - 64); /* they found no room */
    ck_assert_uint_eq(stats.admitted, 1);
    for (int i = 0; i < BEGINNERS; i++)
        close(fds[i]);
    first = zcrp_connection_first(b.here, 0); /* no stranger has used it up */
    ck_assert_int_eq(zcrp_wait_for(first, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(memcmp(first->buffer, out->buffer, 1000), 0);
    ck_assert_int_eq(zcrp_wait_for(out, 5 * ENDS_SECOND), ZCRP_OK);
    zcrp_free_msg(out);
    pass(b.there, b.here);
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* Sends 100 hellos a millisecond, and handshake bytes with invented cookies. */
struct flood {
    int fd;
    pthread_t thread;
    _Atomic bool is_over;
    uint64_t sent;
};

static void *pour(void *context)
{
    struct flood *f = context;
    uint8_t hello[TRAILER], bytes[256] = {1, 0, 0, 200};
    while (!atomic_load(&f->is_over)) {
        for (uint64_t i = 0; i < 50; i++, f->sent += 2) {
            (void)!send(f->fd, hello, write_datagram(hello, 0, 1 + f->sent, 0, 0x25), 0);
            size_t size = write_datagram(bytes, 200, 1 + f->sent, 12345, 0x29);
            (void)!send(f->fd, bytes, size, 0);
        }
        usleep(1000);
    }
    return NULL;
}

TEST(strangers__flood, .needs = has_keys)
{
    struct zcrp_listener_stats stats;
    struct flood flood = {.fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
    struct house p = house_with(usual, shared("alice", key));
    struct both b;
    struct sockaddr_in there = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(p.port)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ck_assert_int_eq(connect(flood.fd, (struct sockaddr *)&there, sizeof there), 0);
    pthread_create(&flood.thread, NULL, pour, &flood);
    usleep(200000);
    for (int i = 0; i < 3; i++) {
        int64_t took = meet(&p, &b, shared("alice", key));
        printf("in after %lld ms\n", (long long)(took / ENDS_MILLISECOND));
        pass(b.there, b.here);
        house_part(&b);
    }
    atomic_store(&flood.is_over, true);
    pthread_join(flood.thread, NULL);
    ck_assert_int_eq(zcrp_listener_stats(p.listener, &stats), ZCRP_OK);
    printf("%llu datagrams of strangers\n", (unsigned long long)flood.sent);
    ck_assert_uint_eq(stats.admitted, 3);
    ck_assert_uint_eq(stats.dropped + stats.refused, 0); /* no place was taken */
    zcrp_listener_close(p.listener);
    close(flood.fd);
}
