#include "zcrp-bench/transports/limit.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/complain.h"
#include "common/environment.h"
#include "zcrp-bench/transports/carrier.h"

/* udp-limit's channel: sockets and settings as ZCRP has them. */
enum { DEFAULT_BUFFER = 4 << 20, UDP4_HEADS = 28, UDP6_HEADS = 48, GRAIN = 32 };

int limit_broken(const char *doing)
{
    return complain("udp-limit: cannot %s: %s", doing, strerror(errno));
}

static int option(int fd, int level, int name)
{
    socklen_t length = sizeof(int);
    int value = 0;

    return getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

/* The largest datagram: as --unit says, or what the path carries whole. */
static int datagram_bytes(const struct transport *transport)
{
    bool is_4 = option(transport->fd, SOL_SOCKET, SO_DOMAIN) == AF_INET;
    int path = is_4 ? option(transport->fd, IPPROTO_IP, IP_MTU) - UDP4_HEADS
                    : option(transport->fd, IPPROTO_IPV6, IPV6_MTU) - UDP6_HEADS;
    int most = path < LIMIT_BURST ? path : LIMIT_BURST;
    int wanted = (int)transport->settings->unit_bytes;

    return wanted != 0 && wanted < most ? wanted : most;
}

/* As the library does: a privileged process may pass the system's limit, and what is that large
 * already, in the kernel's doubled figures, is left alone. */
static void grow_receive_buffer(int fd, uint64_t bytes)
{
    int size = bytes != 0 && bytes < INT_MAX / 2 ? (int)bytes : DEFAULT_BUFFER;

    if (option(fd, SOL_SOCKET, SO_RCVBUF) >= 2 * size)
        return;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

/* The variables that the library heeds are for this channel as well. */
static int start(struct transport *transport)
{
    const struct settings *settings = transport->settings;
    struct limit_state *state = calloc(1, sizeof *state);
    struct timeval pause = {.tv_usec = LIMIT_PAUSE_NS / 1000};
    bool may_offload = !environment_is_set("ZCRP_NO_OFFLOAD");
    int discover = IP_PMTUDISC_DO;
    int one = 1;
    int fd = transport->fd;

    transport->state = state;
    if (state == NULL)
        return limit_broken("start");
    grow_receive_buffer(fd, settings->buffer_bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause);
    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
    state->counts.is_known = true;
    state->unit_data = (uint64_t)(datagram_bytes(transport) - LIMIT_TRAILER) / GRAIN * GRAIN;
    state->window = (uint64_t)option(fd, SOL_SOCKET, SO_RCVBUF);
    state->has_gso = may_offload && !environment_is_set("ZCRP_NO_SEGMENT") &&
                     option(fd, IPPROTO_UDP, UDP_SEGMENT) >= 0;
    state->has_gro = may_offload && !environment_is_set("ZCRP_NO_GRO") &&
                     setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one) == 0;
    return 0;
}

static int limit_accept(struct transport *transport, int port)
{
    return udp_accept(transport, port) < 0 ? -1 : start(transport);
}

static int limit_connect(struct transport *transport, int port)
{
    int own = udp_connect(transport, port);

    return own < 0 || start(transport) < 0 ? -1 : own;
}

static int limit_prepare(struct transport *transport, const struct job *job)
{
    struct limit_state *state = transport->state;

    (void)job;
    state->job++;
    return 0;
}

uint64_t limit_units_a_message(const struct limit_state *state, const struct job *job)
{
    return (job->size - 1) / state->unit_data + 1;
}

static struct limit_unit unit_of(const struct limit_state *state, const struct job *job,
                                 uint64_t message, uint64_t offset)
{
    uint64_t rest = job->size - offset;

    return (struct limit_unit){
        .message = message,
        .offset = offset,
        .length = rest < state->unit_data ? rest : state->unit_data,
    };
}

struct limit_unit limit_unit_at(const struct limit_state *state, const struct job *job,
                                uint64_t index)
{
    uint64_t units = limit_units_a_message(state, job);

    return unit_of(state, job, index / units, index % units * state->unit_data);
}

struct limit_unit limit_unit_after(const struct limit_state *state, const struct job *job,
                                   const struct limit_unit *unit)
{
    uint64_t end = unit->offset + unit->length;

    if (end < job->size)
        return unit_of(state, job, unit->message, end);
    return unit_of(state, job, unit->message + 1, 0);
}

uint64_t limit_units(const struct limit_state *state, const struct job *job)
{
    return job->count * limit_units_a_message(state, job);
}

static void limit_count(struct transport *transport, struct counts *counts)
{
    const struct limit_state *state = transport->state;

    *counts = state->counts;
}

static void limit_close(struct transport *transport)
{
    free(transport->state);
}

const struct transport_kind transport_limit = {
    .name = "udp-limit",
    .offer = udp_offer,
    .accept = limit_accept,
    .connect = limit_connect,
    .prepare = limit_prepare,
    .send = limit_send,
    .receive = limit_receive,
    .count = limit_count,
    .close = limit_close,
};
