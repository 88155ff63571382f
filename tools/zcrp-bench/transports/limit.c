#include "zcrp-bench/transports/limit.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/complain.h"
#include "common/environment.h"
#include "zcrp-bench/transports/carrier.h"

/* ---- the channel: sockets and settings as ZCRP has them ---- */

enum { UDP4_HEADS = 28, UDP6_HEADS = 48, GRAIN = 32 };

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
    udp_grow(fd, SO_RCVBUF, SO_RCVBUFFORCE, settings->buffer_bytes);
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

static int limit_accept(struct transport *transport)
{
    return udp_accept(transport) < 0 ? -1 : start(transport);
}

static int limit_connect(struct transport *transport)
{
    int own = udp_connect(transport);

    return own < 0 || start(transport) < 0 ? -1 : own;
}

static int limit_prepare(struct transport *transport, const struct job *job)
{
    struct limit_state *state = transport->state;

    (void)job;
    state->job++;
    return 0;
}

/* ---- the sending end ---- */

/* Units that leave in one call, {data, trailer} each. */
struct burst {
    uint32_t units;
    uint64_t segment; /* bytes of each unit but the last, which may be shorter */
    uint64_t bytes;
    struct iovec pieces[2 * LIMIT_UNITS];
};

struct sending {
    struct transport *transport;
    struct limit_state *state;
    struct job *job;
    uint64_t next;    /* unit to send */
    uint64_t allowed; /* units that there is credit for, from the first */
    uint64_t message; /* that `place` is of; UINT64_MAX: none yet */
    uint8_t *place;
};

/* The next unit joins the burst. */
static void add(struct sending *sending, struct burst *burst, const struct unit *unit)
{
    struct limit_state *state = sending->state;
    uint8_t *trailer = state->trailer[burst->units];

    if (sending->message != unit->message) {
        sending->message = unit->message;
        sending->place = job_outgoing(sending->job, unit->message);
    }
    word_store(&trailer[0], state->job);
    word_store(&trailer[WORD_BYTES], sending->next);
    burst->pieces[2 * burst->units] = (struct iovec){sending->place + unit->offset, unit->length};
    burst->pieces[2 * burst->units + 1] = (struct iovec){trailer, LIMIT_TRAILER};
    burst->bytes += unit->length + LIMIT_TRAILER;
    burst->units++;
    sending->next++;
}

/* Units of one size, the last may be shorter; at most what one call carries. */
static void fill(struct sending *sending, struct burst *burst)
{
    burst->units = 0;
    burst->bytes = 0;
    burst->segment = 0;
    while (sending->next < limit_units(sending->state, sending->job) &&
           burst->units < LIMIT_UNITS && burst->bytes == burst->units * burst->segment) {
        const struct unit unit = limit_unit_at(sending->state, sending->job, sending->next);
        uint64_t bytes = unit.length + LIMIT_TRAILER;

        if (burst->units == 0)
            burst->segment = bytes;
        if (bytes > burst->segment || burst->bytes + bytes > LIMIT_BURST)
            break;
        add(sending, burst, &unit);
    }
}

/* The whole burst, which the kernel cuts, or one by one, of which it may take a part: units that
 * were sent. */
static ssize_t send_some(const struct sending *sending, struct burst *burst, uint32_t from)
{
    struct mmsghdr messages[LIMIT_UNITS];
    uint32_t count = burst->units - from;
    int fd = sending->transport->fd;

    if (sending->state->has_gso)
        return udp_send(fd, burst->pieces, 2 * (size_t)count, burst->bytes, burst->segment) < 0
                   ? -1
                   : (ssize_t)count;
    for (uint32_t i = 0; i < count; i++) {
        messages[i] = (struct mmsghdr){
            .msg_hdr = {.msg_iov = &burst->pieces[2 * (from + i)], .msg_iovlen = 2}};
    }
    return sendmmsg(fd, messages, count, MSG_NOSIGNAL);
}

static int send_burst(struct sending *sending, struct burst *burst)
{
    struct limit_state *state = sending->state;
    uint32_t sent = 0;

    while (sent < burst->units) {
        ssize_t taken = send_some(sending, burst, sent);

        state->counts.value[COUNT_system_calls]++;
        if (taken < 0 && state->has_gso && (errno == EIO || errno == EINVAL)) {
            state->has_gso = false; /* not on this path */
            continue;
        }
        if (taken < 0 && errno == ECONNREFUSED)
            return transport_despair(sending->transport, watch_now_ns());
        if (taken < 0 && errno != EINTR && errno != EAGAIN && errno != ENOBUFS)
            return limit_broken("send");
        sent += taken > 0 ? (uint32_t)taken : 0;
    }
    state->counts.value[COUNT_units] += burst->units;
    state->counts.value[COUNT_bursts]++;
    return 0;
}

/* Reads one credit; waits for it for a moment, in vain if units were lost. */
static void take_credit(struct sending *sending)
{
    struct limit_state *state = sending->state;
    uint8_t credit[2 * WORD_BYTES];
    ssize_t got = recv(sending->transport->fd, credit, sizeof credit, 0);

    state->counts.value[COUNT_system_calls]++;
    if (got < 0 && errno == EAGAIN && sending->next > 0)
        sending->allowed += LIMIT_UNITS;
    if (got == sizeof credit && word_load(&credit[0]) == state->job &&
        word_load(&credit[WORD_BYTES]) > sending->allowed)
        sending->allowed = word_load(&credit[WORD_BYTES]);
}

/* Waits for credit for another burst. */
static int wait_for_credit(struct sending *sending)
{
    int64_t since = watch_now_ns();

    while (sending->next >= sending->allowed) {
        take_credit(sending);
        if (sending->next >= sending->allowed && transport_despair(sending->transport, since) < 0)
            return -1;
    }
    return 0;
}

static int limit_send(struct transport *transport, struct job *job)
{
    struct limit_state *state = transport->state;
    struct burst burst;
    struct sending sending = {
        .transport = transport,
        .state = state,
        .job = job,
        .message = UINT64_MAX,
    };

    while (sending.next < limit_units(state, job)) {
        if (wait_for_credit(&sending) < 0)
            return -1;
        fill(&sending, &burst);
        if (send_burst(&sending, &burst) < 0)
            return -1;
    }
    return 0;
}

/* ---- the transport ---- */

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
