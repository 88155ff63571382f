/* Both ends of shared memory (transport/shm/shm.h) in one process, over sockets of this machine
 * that are connected to each other, and what moves between them. */
#ifndef ZCRP_TESTS_SUPPORT_SHM_PAIR_H
#define ZCRP_TESTS_SUPPORT_SHM_PAIR_H

#include "transport/channel.h"
#include "transport/names.h"
#include "transport/shm/ends.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct shm_pair {
    int fd[2];
    struct channel out, in;        /* of the sender, of the receiver */
    struct shm *sender, *receiver; /* NULL: not made yet, or refused */
    struct shared_arena *arena[2]; /* of the sender, of the receiver; NULL: none */
    enum shm_refusal listening, connecting;
    struct burst burst;
    struct landing landing;
    uint8_t *landing_memory;
};

static const struct shm_terms shm_pair_terms = {
    .pairing = {.session = 0x12345678, .tag = 0x9ABCDEF0}};

/* Connects the bound socket to where a datagram has come from. */
static inline bool shm_pair_connect(int fd)
{
    struct sockaddr_in from;
    socklen_t size = sizeof(from);
    uint8_t byte;

    return recvfrom(fd, &byte, 1, 0, (struct sockaddr *)&from, &size) >= 0 &&
           connect(fd, (struct sockaddr *)&from, size) == 0;
}

/* Opens the two channels. False if the machine does not let us. */
static inline bool shm_pair_open(struct shm_pair *n)
{
    const struct channel_options options = {.use_gso = true, .receive_bytes = 1 << 20};
    struct sockaddr_in own;
    socklen_t size = sizeof(own);
    char port[8];

    memset(n, 0, sizeof(*n));
    n->landing_memory = malloc(landing_memory(LANDING_OPENINGS));
    if (n->landing_memory == NULL)
        return false;
    landing_init(&n->landing, n->landing_memory, LANDING_OPENINGS);
    n->fd[1] = udp_bind("127.0.0.1", NULL);
    if (n->fd[1] < 0 || getsockname(n->fd[1], (struct sockaddr *)&own, &size) != 0)
        return false;
    (void)snprintf(port, sizeof(port), "%u", (unsigned)ntohs(own.sin_port));
    n->fd[0] = udp_connect("127.0.0.1", port);
    return n->fd[0] >= 0 && send(n->fd[0], "", 0, 0) == 0 && shm_pair_connect(n->fd[1]) &&
           channel_init(&n->out, n->fd[0], &options) == 0 &&
           channel_init(&n->in, n->fd[1], &options) == 0;
}

/* One listens, one connects, and the consent. True if both are here then. */
static inline bool shm_pair_meet(struct shm_pair *n)
{
    struct shm_terms terms[] = {shm_pair_terms, shm_pair_terms};

    terms[0].own = n->arena[0];
    terms[1].own = n->arena[1];
    n->listening = shm_meet(&n->receiver, false, &n->in, &terms[1]);
    n->connecting = shm_meet(&n->sender, true, &n->out, &terms[0]);
    return n->receiver != NULL && n->sender != NULL && shm_look(n->receiver) == SHM_HERE &&
           shm_look(n->sender) == SHM_HERE;
}

static inline void shm_pair_close(struct shm_pair *n)
{
    if (n->sender != NULL)
        shm_free(n->sender);
    if (n->receiver != NULL)
        shm_free(n->receiver);
    shared_arena_let_go(n->arena[0]);
    shared_arena_let_go(n->arena[1]);
    channel_fini(&n->out);
    channel_fini(&n->in);
    (void)close(n->fd[0]);
    (void)close(n->fd[1]);
    free(n->landing_memory);
}

/* Makes the burst `units` units of `message`, of `data` bytes each from `from` on; the trailer of
 * each is full of its number. */
static inline void shm_pair_fill(struct burst *b, uint64_t message, const uint8_t *from,
                                 uint32_t units, uint32_t data)
{
    b->is_control = b->is_scattered = false;
    b->datagrams = units;
    b->segment = data + TRAILER_BYTES;
    b->bytes = units * b->segment;
    b->pins = 1;
    b->pin[0] = (struct burst_pin){.message = message, .units = units};
    for (uint32_t i = 0; i < units; i++) {
        uint8_t *at = (uint8_t *)(uintptr_t)from + (size_t)i * data; /* NOLINT: it is only read */
        b->iov[2 * i] = (struct iovec){at, data};
        b->iov[2 * i + 1] = (struct iovec){b->trailer[i], TRAILER_BYTES};
        memset(b->trailer[i], (int)i, TRAILER_BYTES);
    }
}

/* Plans `openings` openings with `units` units of `data` bytes each, from `to` on. */
static inline void shm_pair_plan(struct landing *l, uint8_t *to, uint32_t openings, uint32_t units,
                                 uint32_t data)
{
    landing_begin(l);
    for (uint32_t i = 0; i < openings; i++) {
        (void)landing_offer_row(l, to + (size_t)i * units * data, data, units);
        (void)landing_seal(l);
    }
}

#endif
