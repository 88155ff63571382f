/* A listener without keys, and hosts that take all places they can get: a caller from another host
 * is in all the same. A stranger is a socket that says two hellos, and nothing else. */
#include "../../support/house.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

LOAD(asleep)

enum { TRAILER = 32, HELLO = 0x25, PLACES = 64, TRIES = 3 * PLACES };

/* A hello: nonce, cookie, and the tag. */
static void say_hello(int fd, uint64_t nonce, uint64_t cookie)
{
    uint8_t t[TRAILER] = {0};

    for (int i = 0; i < 8; i++) {
        t[7 - i] = (uint8_t)(nonce >> 8 * i);
        t[15 - i] = (uint8_t)(cookie >> 8 * i);
    }
    t[29] = 7;
    t[31] = HELLO;
    ck_assert_int_eq(send(fd, t, sizeof(t), 0), sizeof(t));
}

/* Asks from 127.0.0.`host`, and says what a caller says with the cookie, or stays a stranger.
 * Whoever asked before has been heard by then. Returns the socket: while it is open, no other one
 * has its port, for which the listener may have a connection. */
static int be_stranger(unsigned int host, int port, uint64_t nonce, bool is_caller)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(0x7F000000 + host)}};
    struct sockaddr_in there = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct timeval limit = {.tv_usec = 200000};
    uint8_t answer[64];
    uint64_t cookie = 0;
    ssize_t heard = -1;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&there, sizeof(there)), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    for (int tries = 0; tries < 25 && heard < 0; tries++) { /* a datagram may be lost */
        say_hello(fd, nonce, 0);
        heard = recv(fd, answer, sizeof(answer), 0);
    }
    ck_assert_int_eq(heard, TRAILER);
    for (int i = 0; i < 8; i++)
        cookie = cookie << 8 | answer[8 + i];
    if (is_caller)
        say_hello(fd, nonce, cookie);
    return fd;
}

static struct zcrp_listener_stats stats_of(struct zcrp_listener *l)
{
    struct zcrp_listener_stats stats;

    ck_assert_int_eq(zcrp_listener_stats(l, &stats), ZCRP_OK);
    return stats;
}

/* Whoever has called so far. */
static int accept_all(struct zcrp_listener *l, struct zcrp_connection *all[], int count)
{
    while (count < PLACES && zcrp_accept(l, &all[count], 0) == ZCRP_OK)
        count++;
    return count;
}

static const struct {
    int hosts;            /* that have a stranger each */
    bool accepts;         /* else they stay in the backlog */
    uint32_t connections; /* PLACES, or more than the backlog has */
} rows[] = {{1, true, PLACES}, {1, false, 10 * PLACES}, {4, true, PLACES}, {4, false, 10 * PLACES}};

/* The strangers want three times as many places as there are. */
TEST(shares__a_new_host_finds_a_place, .rows = ROWS(rows))
{
    const struct zcrp_options options = {.connections = rows[_i].connections,
                                         .backlog = PLACES,
                                         .linger_ns = 1,
                                         .channel = ZCRP_CHANNEL_DATAGRAM};
    struct house h = house_open("127.0.0.1", &options);
    struct zcrp_connection *there, *all[PLACES];
    int port = atoi(h.port), count = 0, strangers[TRIES + 1];

    for (int i = 0; i < TRIES; i++) {
        strangers[i] =
            be_stranger(2 + (unsigned int)(i % rows[_i].hosts), port, 1 + (uint64_t)i, true);
        if (rows[_i].accepts)
            count = accept_all(h.listener, all, count);
    }
    strangers[TRIES] = be_stranger(2, port, 1 + TRIES, false);
    struct zcrp_listener_stats before = stats_of(h.listener);
    printf("%d hosts have %lu of %d places\n", rows[_i].hosts, (unsigned long)before.connections,
           PLACES);
    ck_assert_int_eq(house_connect(&h, &there, &options, 0), ZCRP_OK);
    int64_t began = clock_now_ns();
    while (stats_of(h.listener).admitted == before.admitted) {
        ck_assert_int_lt(clock_now_ns() - began, 20 * ENDS_SECOND);
        usleep(1000);
    }
    ck_assert_uint_gt(before.dropped, 0);
    count = accept_all(h.listener, all, count);
    (void)zcrp_connection_close(there);
    for (int i = 0; i < count; i++)
        (void)zcrp_connection_close(all[i]);
    for (int i = 0; i <= TRIES; i++)
        close(strangers[i]);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}
