/* udp-limit: what the path carries before any protocol is added. The units, bursts, offloads and
 * places in memory are ZCRP's, but nothing is acknowledged, repeated or put right: what is lost is
 * counted, and what it displaced lies where it fell.
 *
 *      sending end                                       receiving end
 *      {data, trailer} x n   -- one call a burst -->     {slot, trailer} x n, in order
 *                            <-- credit: units that may be sent so far, a few per window --
 *
 * Units are numbered through the whole job; a trailer, and a credit, says which job and unit it is.
 * If credit does not come, units were lost: after a pause the sending end goes on without. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/complain.h"
#include "common/environment.h"
#include "zcrp-bench/transports/carrier.h"

enum {
    TRAILER = 32,
    UNITS = 128,      /* in a burst, as many as the kernel cuts */
    BURST = 65507,    /* bytes in a burst, as many as a datagram has */
    OPENINGS = 32,    /* datagrams a call, where the kernel does not gather them */
    DATAGRAM = 65536, /* room for any */
    PAUSE_NS = 100000000,
};

struct limit_state {
    uint64_t unit_data; /* bytes of data in a full unit */
    uint64_t job;       /* number of the job under way, the same at both ends */
    uint64_t window;    /* receiving end: bytes that its socket holds */
    bool has_gso;
    bool has_gro;
    struct counts counts;
    uint8_t trailer[UNITS][TRAILER];
    uint8_t spill[OPENINGS][DATAGRAM]; /* for what was not foreseen */
};

/* Where a unit belongs. */
struct unit {
    uint64_t message;
    uint64_t offset; /* in the message */
    uint64_t length; /* bytes of data */
};

static uint64_t units_a_message(const struct limit_state *state, const struct job *job)
{
    return (job->size - 1) / state->unit_data + 1;
}

/* Of the whole job, as far as its count is known. */
static uint64_t units_of(const struct limit_state *state, const struct job *job)
{
    return job->count * units_a_message(state, job);
}

/* Unit `index` of a job, counted through all messages. */
static struct unit unit_at(const struct limit_state *state, const struct job *job, uint64_t index)
{
    uint64_t units = units_a_message(state, job);
    uint64_t offset = index % units * state->unit_data;
    uint64_t rest = job->size - offset;

    return (struct unit){
        .message = index / units,
        .offset = offset,
        .length = rest < state->unit_data ? rest : state->unit_data,
    };
}

/* ---- the channel: sockets and settings as ZCRP has them ---- */

enum { UDP4_HEADS = 28, UDP6_HEADS = 48, GRAIN = 32 };

static int broken(const char *doing)
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
    int most = path < BURST ? path : BURST;
    int wanted = (int)transport->settings->unit_bytes;

    return wanted != 0 && wanted < most ? wanted : most;
}

/* The variables that the library heeds are for this channel as well. */
static int start(struct transport *transport)
{
    const struct settings *settings = transport->settings;
    struct limit_state *state = calloc(1, sizeof *state);
    struct timeval pause = {.tv_usec = PAUSE_NS / 1000};
    bool may_offload = !environment_is_set("ZCRP_NO_OFFLOAD");
    int discover = IP_PMTUDISC_DO;
    int one = 1;
    int fd = transport->fd;

    transport->state = state;
    if (state == NULL)
        return broken("start");
    udp_grow(fd, SO_RCVBUF, SO_RCVBUFFORCE, settings->buffer_bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause);
    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
    state->counts.is_known = true;
    state->unit_data = (uint64_t)(datagram_bytes(transport) - TRAILER) / GRAIN * GRAIN;
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

struct sending {
    struct transport *transport;
    struct limit_state *state;
    struct job *job;
    uint64_t next;    /* unit to send */
    uint64_t allowed; /* units that there is credit for, from the first */
    uint64_t message; /* that `place` is of; UINT64_MAX: none yet */
    uint8_t *place;

    /* The burst: units that leave in one call, {data, trailer} each. */
    uint32_t units;
    uint64_t segment; /* bytes of each unit but the last, which may be shorter */
    uint64_t bytes;
    struct iovec pieces[2 * UNITS];
};

/* The next unit joins the burst. */
static void add(struct sending *s, const struct unit *unit)
{
    uint8_t *trailer = s->state->trailer[s->units];

    if (s->message != unit->message) {
        s->message = unit->message;
        s->place = job_outgoing(s->job, unit->message);
    }
    word_store(&trailer[0], s->state->job);
    word_store(&trailer[WORD_BYTES], s->next++);
    s->pieces[2 * s->units] = (struct iovec){s->place + unit->offset, unit->length};
    s->pieces[2 * s->units + 1] = (struct iovec){trailer, TRAILER};
    s->bytes += unit->length + TRAILER;
    s->units++;
}

/* Units of one size, the last may be shorter; at most what one call carries. */
static void fill(struct sending *s)
{
    s->units = 0;
    s->bytes = s->segment = 0;
    while (s->next < units_of(s->state, s->job) && s->units < UNITS &&
           s->bytes == s->units * s->segment) {
        const struct unit unit = unit_at(s->state, s->job, s->next);
        uint64_t bytes = unit.length + TRAILER;

        if (s->units == 0)
            s->segment = bytes;
        if (bytes > s->segment || s->bytes + bytes > BURST)
            break;
        add(s, &unit);
    }
}

/* The whole burst, which the kernel cuts, or one by one, of which it may take a part: units that
 * were sent. */
static ssize_t send_some(struct sending *s, uint32_t from)
{
    struct mmsghdr messages[UNITS];
    uint32_t count = s->units - from;
    int fd = s->transport->fd;

    if (s->state->has_gso)
        return udp_send(fd, s->pieces, 2 * (size_t)count, s->bytes, s->segment) < 0
                   ? -1
                   : (ssize_t)count;
    for (uint32_t i = 0; i < count; i++) {
        messages[i] =
            (struct mmsghdr){.msg_hdr = {.msg_iov = &s->pieces[2 * (from + i)], .msg_iovlen = 2}};
    }
    return sendmmsg(fd, messages, count, MSG_NOSIGNAL);
}

static int send_burst(struct sending *s)
{
    uint64_t *count = s->state->counts.value;
    uint32_t sent = 0;

    while (sent < s->units) {
        ssize_t taken = send_some(s, sent);

        count[COUNT_system_calls]++;
        if (taken < 0 && s->state->has_gso && (errno == EIO || errno == EINVAL)) {
            s->state->has_gso = false; /* not on this path */
            continue;
        }
        if (taken < 0 && errno == ECONNREFUSED)
            return transport_despair(s->transport, clock_now_ns());
        if (taken < 0 && errno != EINTR && errno != EAGAIN && errno != ENOBUFS)
            return broken("send");
        sent += taken > 0 ? (uint32_t)taken : 0;
    }
    count[COUNT_units] += s->units;
    count[COUNT_bursts]++;
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
        sending->allowed += UNITS;
    if (got == sizeof credit && word_load(&credit[0]) == state->job &&
        word_load(&credit[WORD_BYTES]) > sending->allowed)
        sending->allowed = word_load(&credit[WORD_BYTES]);
}

/* Waits for credit for another burst. */
static int wait_for_credit(struct sending *sending)
{
    int64_t since = clock_now_ns();

    while (sending->next >= sending->allowed) {
        take_credit(sending);
        if (sending->next >= sending->allowed && transport_despair(sending->transport, since) < 0)
            return -1;
    }
    return 0;
}

static int limit_send(struct transport *transport, struct job *job)
{
    struct sending s = {
        .transport = transport,
        .state = transport->state,
        .job = job,
        .message = UINT64_MAX,
    };

    while (s.next < units_of(s.state, job)) {
        if (wait_for_credit(&s) < 0)
            return -1;
        fill(&s);
        if (send_burst(&s) < 0)
            return -1;
    }
    return 0;
}

/* ---- the receiving end ---- */

enum { PIECES = 2 * UNITS + OPENINGS, UNIT_OVERHEAD = 1024, GATHERED_OVERHEAD = 32 };

struct receiving {
    struct transport *transport;
    struct limit_state *state;
    struct job *job;
    uint64_t next;      /* unit expected */
    uint64_t all;       /* units of the job */
    uint64_t window;    /* units that may be under way */
    uint64_t allowed;   /* units that were given credit */
    uint64_t complete;  /* messages handed over */
    int64_t arrival_ns; /* of the last unit */

    /* The plan: opening d has the pieces first[d] .. first[d + 1] - 1, the last is spill. */
    struct iovec pieces[PIECES];
    uint32_t first[OPENINGS + 1];
    uint32_t openings;
    uint32_t trailers; /* in use */
};

/* An opening for at most `units` units from *index on, as much as one call can bring: pairs, then
 * spill. Moves *index on. */
static void plan_opening(struct receiving *r, uint64_t *index, uint64_t units)
{
    uint32_t piece = r->first[r->openings];
    uint64_t end = *index + units < r->all ? *index + units : r->all;
    uint64_t bytes = 0;

    while (*index < end && r->trailers < UNITS) {
        const struct unit unit = unit_at(r->state, r->job, *index);
        uint8_t *slot = memory_slot(&r->job->memory, unit.message) + unit.offset;

        bytes += unit.length + TRAILER;
        if (bytes > DATAGRAM || unit.message >= r->complete + r->job->depth)
            break;
        r->pieces[piece++] = (struct iovec){slot, unit.length};
        r->pieces[piece++] = (struct iovec){r->state->trailer[r->trailers++], TRAILER};
        ++*index;
    }
    r->pieces[piece++] = (struct iovec){r->state->spill[r->openings], DATAGRAM};
    r->first[++r->openings] = piece;
}

static void plan(struct receiving *r)
{
    uint64_t index = r->next;
    bool has_gro = r->state->has_gro;
    uint32_t openings = has_gro ? 1 : OPENINGS;

    r->openings = 0;
    r->trailers = 0;
    r->first[0] = 0;
    while (r->openings < openings && (index < r->all || r->openings == 0))
        plan_opening(r, &index, has_gro ? UNITS : 1);
}

/* The job and the unit that a trailer names; false if it is of another job. */
static bool read_trailer(const struct receiving *r, const uint8_t *trailer, uint64_t *index)
{
    *index = word_load(&trailer[WORD_BYTES]);
    return word_load(&trailer[0]) == r->state->job && *index < r->all;
}

/* Moves on in the pieces of an opening by `bytes`, which go to `out` unless that is NULL. */
static void walk(const struct iovec **piece, uint64_t *at, uint64_t bytes, uint8_t *out)
{
    while (bytes > 0) {
        uint64_t here = (*piece)->iov_len - *at;
        uint64_t few = here < bytes ? here : bytes;

        if (out != NULL) {
            memcpy(out, (const uint8_t *)(*piece)->iov_base + *at, few);
            out += few;
        }
        bytes -= few;
        *at += few;
        if (*at == (*piece)->iov_len) {
            ++*piece;
            *at = 0;
        }
    }
}

/* Reads the trailers of what an opening received, wherever they came down: what is missing between
 * them is lost. Data lie in place as long as each unit before was the one that was planned there.
 */
static void take_units(struct receiving *r, const struct iovec *piece, uint64_t bytes,
                       uint64_t segment)
{
    uint64_t *count = r->state->counts.value;
    bool is_in_place = true;
    uint64_t at = 0;

    for (uint64_t left = bytes; left >= TRAILER; left -= segment) {
        uint8_t trailer[TRAILER];
        uint64_t index;

        segment = left < segment ? left : segment;
        is_in_place = is_in_place && at == 0 && piece->iov_len + TRAILER == segment;
        walk(&piece, &at, segment - TRAILER, NULL);
        walk(&piece, &at, TRAILER, trailer);
        if (!read_trailer(r, trailer, &index) || index < r->next) {
            is_in_place = false;
            continue;
        }
        is_in_place = is_in_place && index == r->next;
        count[COUNT_units]++;
        count[COUNT_units_in_place] += is_in_place;
        count[COUNT_units_lost] += index - r->next;
        r->next = index + 1;
    }
}

/* Hands over the messages that all units are there of, or lost. */
static int hand_over(struct receiving *r)
{
    uint64_t units = units_a_message(r->state, r->job);
    uint64_t end = r->next == r->all ? r->job->count : r->next / units;

    for (; r->complete < end; r->complete++) {
        if (job_incoming(r->job, r->complete, memory_slot(&r->job->memory, r->complete)) < 0)
            return -1;
    }
    return 0;
}

static int take(struct receiving *r, struct msghdr *message, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    r->state->counts.value[COUNT_bursts]++;
    take_units(r, message->msg_iov, bytes, udp_segment(message, bytes));
    return hand_over(r);
}

/* Credit for a window beyond what is here, as soon as that is worth a datagram. */
static void give_credit(struct receiving *r)
{
    uint8_t credit[2 * WORD_BYTES];

    if (r->next + r->window < r->allowed + r->window / 4 && r->allowed > 0)
        return;
    r->allowed = r->next + r->window;
    word_store(&credit[0], r->state->job);
    word_store(&credit[WORD_BYTES], r->allowed);
    send(r->transport->fd, credit, sizeof credit, MSG_NOSIGNAL | MSG_DONTWAIT);
    r->state->counts.value[COUNT_system_calls]++;
}

/* Nothing came for a while: with the sending end done, the rest is lost. */
static int wait_on(struct receiving *r)
{
    bool has_begun = r->arrival_ns != 0;
    int64_t silence_ns = clock_now_ns() - r->arrival_ns;

    if (!has_begun || silence_ns < 4 * (int64_t)PAUSE_NS)
        return transport_despair(r->transport, has_begun ? r->arrival_ns : clock_now_ns());
    r->state->counts.value[COUNT_units_lost] += r->all - r->next;
    r->next = r->all;
    return hand_over(r);
}

/* Datagrams of one call, or what it means that there are none. */
static int receive_some(struct receiving *r)
{
    union udp_note notes[OPENINGS];
    struct mmsghdr messages[OPENINGS];

    for (uint32_t d = 0; d < r->openings; d++) {
        messages[d].msg_hdr = (struct msghdr){
            .msg_iov = &r->pieces[r->first[d]],
            .msg_iovlen = r->first[d + 1] - r->first[d],
            .msg_control = &notes[d],
            .msg_controllen = sizeof notes[d],
        };
    }
    int got = recvmmsg(r->transport->fd, messages, r->openings, MSG_WAITFORONE, NULL);
    r->state->counts.value[COUNT_system_calls]++;
    if (got < 0)
        return errno == EINTR || errno == EAGAIN || errno == ECONNREFUSED ? wait_on(r)
                                                                          : broken("receive");
    for (int d = 0; d < got; d++) {
        if (take(r, &messages[d].msg_hdr, messages[d].msg_len) < 0)
            return -1;
    }
    r->arrival_ns = clock_now_ns();
    return 0;
}

/* What a unit takes of the socket's buffer: a gathered burst hardly more than its bytes, a datagram
 * of its own also what the kernel keeps with it. */
static uint64_t window_units(const struct limit_state *state, const struct job *job)
{
    uint64_t data = job->size < state->unit_data ? job->size : state->unit_data;
    uint64_t bytes = data + TRAILER;
    bool is_gathered = state->has_gro && state->has_gso;
    uint64_t each = bytes + (is_gathered ? bytes / 4 + GATHERED_OVERHEAD : UNIT_OVERHEAD);

    return state->window / each > 0 ? state->window / each : 1;
}

static int limit_receive(struct transport *transport, struct job *job)
{
    struct limit_state *state = transport->state;
    struct receiving r = {
        .transport = transport,
        .state = state,
        .job = job,
        .all = units_of(state, job),
        .window = window_units(state, job),
    };

    for (; r.next < r.all; r.all = units_of(state, job)) {
        give_credit(&r);
        plan(&r);
        if (receive_some(&r) < 0)
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
