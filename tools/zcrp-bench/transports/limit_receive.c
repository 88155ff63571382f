/* The receiving end of udp-limit. */
#include "zcrp-bench/transports/limit.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "zcrp-bench/transports/carrier.h"

enum { PIECES = 2 * LIMIT_UNITS + LIMIT_OPENINGS, UNIT_OVERHEAD = 1024, GATHERED_OVERHEAD = 32 };

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
    uint32_t first[LIMIT_OPENINGS + 1];
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

    while (*index < end && r->trailers < LIMIT_UNITS) {
        const struct unit unit = limit_unit_at(r->state, r->job, *index);
        uint8_t *slot = memory_slot(&r->job->memory, unit.message) + unit.offset;

        bytes += unit.length + LIMIT_TRAILER;
        if (bytes > LIMIT_DATAGRAM || unit.message >= r->complete + r->job->depth)
            break;
        r->pieces[piece++] = (struct iovec){slot, unit.length};
        r->pieces[piece++] = (struct iovec){r->state->trailer[r->trailers++], LIMIT_TRAILER};
        ++*index;
    }
    r->pieces[piece++] = (struct iovec){r->state->spill[r->openings], LIMIT_DATAGRAM};
    r->first[++r->openings] = piece;
}

static void plan(struct receiving *r)
{
    uint64_t index = r->next;
    bool has_gro = r->state->has_gro;
    uint32_t openings = has_gro ? 1 : LIMIT_OPENINGS;

    r->openings = 0;
    r->trailers = 0;
    r->first[0] = 0;
    while (r->openings < openings && (index < r->all || r->openings == 0))
        plan_opening(r, &index, has_gro ? LIMIT_UNITS : 1);
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

    for (uint64_t left = bytes; left >= LIMIT_TRAILER; left -= segment) {
        uint8_t trailer[LIMIT_TRAILER];
        uint64_t index;

        segment = left < segment ? left : segment;
        is_in_place = is_in_place && at == 0 && piece->iov_len + LIMIT_TRAILER == segment;
        walk(&piece, &at, segment - LIMIT_TRAILER, NULL);
        walk(&piece, &at, LIMIT_TRAILER, trailer);
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
    uint64_t units = limit_units_a_message(r->state, r->job);
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
    int64_t silence_ns = watch_now_ns() - r->arrival_ns;

    if (!has_begun || silence_ns < 4 * (int64_t)LIMIT_PAUSE_NS)
        return transport_despair(r->transport, has_begun ? r->arrival_ns : watch_now_ns());
    r->state->counts.value[COUNT_units_lost] += r->all - r->next;
    r->next = r->all;
    return hand_over(r);
}

/* Datagrams of one call, or what it means that there are none. */
static int receive_some(struct receiving *r)
{
    union udp_note notes[LIMIT_OPENINGS];
    struct mmsghdr messages[LIMIT_OPENINGS];

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
                                                                          : limit_broken("receive");
    for (int d = 0; d < got; d++) {
        if (take(r, &messages[d].msg_hdr, messages[d].msg_len) < 0)
            return -1;
    }
    r->arrival_ns = watch_now_ns();
    return 0;
}

/* What a unit takes of the socket's buffer: a gathered burst hardly more than its bytes, a datagram
 * of its own also what the kernel keeps with it. */
static uint64_t window_units(const struct limit_state *state, const struct job *job)
{
    uint64_t data = job->size < state->unit_data ? job->size : state->unit_data;
    uint64_t bytes = data + LIMIT_TRAILER;
    bool is_gathered = state->has_gro && state->has_gso;
    uint64_t each = bytes + (is_gathered ? bytes / 4 + GATHERED_OVERHEAD : UNIT_OVERHEAD);

    return state->window / each > 0 ? state->window / each : 1;
}

int limit_receive(struct transport *transport, struct job *job)
{
    struct limit_state *state = transport->state;
    struct receiving r = {
        .transport = transport,
        .state = state,
        .job = job,
        .all = limit_units(state, job),
        .window = window_units(state, job),
    };

    for (; r.next < r.all; r.all = limit_units(state, job)) {
        give_credit(&r);
        plan(&r);
        if (receive_some(&r) < 0)
            return -1;
    }
    return 0;
}
