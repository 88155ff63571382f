/* Two channels over real sockets of this machine, and a burst between them. */
#ifndef ZCRP_TESTS_UNIT_CHANNEL_PAIR_H
#define ZCRP_TESTS_UNIT_CHANNEL_PAIR_H

#include "../../support/split.h"
#include "../../support/suite.h"
#include "platform/system.h"
#include "platform/waking.h"
#include "transport/channel.h"
#include "transport/names.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNITS = 44, DATA = 1440, SEGMENT = DATA + TRAILER_BYTES, LAST = 777 };

enum family { IP4, IP6, IP4_OVER_6, LOCAL, FAMILIES };

/* Two ends, and what lies between them. */
struct pair {
    int fd[2];
    struct channel sender, receiver;
    struct burst burst;
    struct landing landing;
    uint8_t from[UNITS * DATA], to[UNITS * DATA];
    uint8_t spill[LANDING_DATAGRAM];
};

static struct pair *pair;

static inline void port_of(int fd, char text[8])
{
    struct sockaddr_storage any;
    struct sockaddr_in6 address;
    socklen_t size = sizeof(any);

    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&any, &size), 0);
    memcpy(&address, &any, sizeof(address));
    snprintf(text, 8, "%u", ntohs(address.sin6_port));
}

static inline void open_sockets(enum family family, int fd[2])
{
    static const char *const here[] = {"127.0.0.1", "::1", "::"};
    static const char *const there[] = {"127.0.0.1", "::1", "127.0.0.1"};
    struct sockaddr_storage from;
    socklen_t size = sizeof(from);
    char port[8];

    if (family == LOCAL) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), 0);
        return;
    }
    fd[1] = udp_bind(here[family], NULL);
    ck_assert_int_ge(fd[1], 0);
    port_of(fd[1], port);
    fd[0] = udp_connect(there[family], port);
    ck_assert_int_ge(fd[0], 0);
    ck_assert_int_eq(send(fd[0], "", 0, 0), 0);
    ck_assert_int_eq(recvfrom(fd[1], port, 0, 0, (struct sockaddr *)&from, &size), 0);
    ck_assert_int_eq(connect(fd[1], (struct sockaddr *)&from, size), 0);
}

static inline void open_pair_with(enum family family, struct channel_options out,
                                  struct channel_options in)
{
    in.receive_bytes = 1 << 20;

    pair = calloc(1, sizeof(*pair));
    open_sockets(family, pair->fd);
    ck_assert_int_eq(channel_init(&pair->sender, pair->fd[0], &out), 0);
    ck_assert_int_eq(channel_init(&pair->receiver, pair->fd[1], &in), 0);
}

static inline void open_pair(enum family family, bool use_gso, bool use_gro)
{
    open_pair_with(family, (struct channel_options){.use_gso = use_gso},
                   (struct channel_options){.use_gro = use_gro});
}

static inline void close_pair(void)
{
    channel_fini(&pair->sender);
    channel_fini(&pair->receiver);
    close(pair->fd[0]);
    close(pair->fd[1]);
    free(pair);
}

/* A burst of UNITS units; the last is shorter. */
static inline void fill_burst(void)
{
    struct burst *b = &pair->burst;

    b->datagrams = UNITS;
    b->segment = SEGMENT;
    b->bytes = (UNITS - 1) * SEGMENT + LAST + TRAILER_BYTES;
    for (uint32_t i = 0; i < sizeof(pair->from); i++)
        pair->from[i] = (uint8_t)(i * 2654435761u >> 24);
    for (uint32_t i = 0; i < UNITS; i++) {
        uint32_t length = i == UNITS - 1 ? LAST : DATA;
        b->iov[2 * i] = (struct iovec){&pair->from[i * DATA], length};
        b->iov[2 * i + 1] = (struct iovec){b->trailer[i], TRAILER_BYTES};
        memset(b->trailer[i], (int)i, TRAILER_BYTES);
    }
}

/* One opening for all units from `unit` on, or `openings` for a unit each. */
static inline void plan(uint32_t unit, uint32_t openings)
{
    struct landing *l = &pair->landing;
    uint16_t n = 0;

    l->openings = 0;
    while (l->openings < openings && unit < UNITS) {
        l->first[l->openings++] = n;
        do {
            l->iov[n++] = (struct iovec){&pair->to[unit * DATA], unit == UNITS - 1 ? LAST : DATA};
            l->iov[n++] = (struct iovec){l->trailer[unit], TRAILER_BYTES};
            unit++;
        } while (openings == 1 && unit < UNITS);
        l->iov[n++] = (struct iovec){pair->spill, sizeof(pair->spill)};
    }
    l->first[l->openings] = n;
}

static inline uint32_t units_in(uint32_t opening)
{
    uint32_t bytes = pair->landing.bytes[opening];
    uint32_t segment = pair->landing.segment[opening];

    return segment == 0 ? 1 : (bytes + segment - 1) / segment;
}

/* Receives one datagram, wherever it lands in spill: its bytes, or as channel_receive. */
static inline int receive_one(struct channel *c)
{
    struct landing *l = &pair->landing;

    l->openings = l->first[1] = 1;
    l->first[0] = 0;
    l->iov[0] = (struct iovec){pair->spill, sizeof(pair->spill)};
    int filled = channel_receive(c, l);
    return filled > 0 ? (int)l->bytes[0] : filled;
}

/* Receives what is there; the units that arrived, all in order. */
static inline uint32_t receive_from(uint32_t unit, uint32_t openings)
{
    uint32_t units = 0;

    plan(unit, openings);
    int filled = channel_receive(&pair->receiver, &pair->landing);
    ck_assert_int_ge(filled, 0);
    ck_assert_uint_eq(pair->landing.received, (uint32_t)filled);
    for (uint32_t d = 0; d < pair->landing.received; d++) {
        ck_assert_uint_ge(pair->landing.bytes[d], LAST + TRAILER_BYTES);
        units += units_in(d);
    }
    return units;
}

static inline struct burst *rest_of_burst(uint32_t sent)
{
    static struct burst rest;

    rest = pair->burst;
    split_rest(&rest, sent);
    return &rest;
}

/* Sends the burst and receives it, in as many steps as it takes. Returns the number of receives. */
static inline int move_burst(uint32_t openings)
{
    uint32_t sent = 0, received = 0;
    int receives = 0;

    while (received < UNITS) {
        uint32_t taken = 0;
        enum channel_verdict verdict = channel_send(&pair->sender, rest_of_burst(sent), &taken);

        sent += taken;
        ck_assert(verdict == CHANNEL_BLOCKED || (verdict == CHANNEL_OK && sent == UNITS));
        ck_assert_int_eq(channel_wait(&pair->receiver, -1, clock_now() + 60 * SECOND),
                         CHANNEL_READABLE);
        received += receive_from(received, openings);
        receives++;
    }
    ck_assert_uint_eq(received, UNITS);
    return receives;
}

static inline void expect_landed(void)
{
    ck_assert_mem_eq(pair->to, pair->from, (UNITS - 1) * DATA + LAST);
    ck_assert_mem_eq(pair->landing.trailer, pair->burst.trailer, UNITS * TRAILER_BYTES);
}

#endif
