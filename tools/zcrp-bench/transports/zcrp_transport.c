/* ZCRP as a message transport: over a channel that is one way, or over a connection, whose other
 * half is the way back. Keys, and round trips where nothing speaks against it, have connections. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/carrier.h"
#include "zcrp-bench/transports/trace.h"
#include "zcrp-bench/transports/transport.h"
#include "zcrp.h"

static const int64_t slice_ns =
    200000000; /* between two looks at whether the peer is still there */

enum {
    NO_PORT = 1,       /* stands for the port of a raw socket, which has none */
    COPIED_MOST = 512, /* bytes of a message that is copied to the library's memory (zcrp.7): in
                           the program's own the library would copy it with a system call */
};

/* The messages of one direction. */
struct half {
    struct zcrp_entity *entity; /* NULL: there is none */
    struct zcrp_msg **messages;
    uint64_t count;  /* messages that exist */
    bool are_copied; /* they have memory of the library's */
};

struct zcrp_state {
    struct zcrp_listener *listener;     /* until the other end has called */
    struct zcrp_connection *connection; /* the entities are its halves; NULL: one is of a socket */
    struct half out, in;
    struct half *main; /* the one of these that jobs of one way use */
};

static int message_failed(const char *what, uint64_t n, int code)
{
    return complain("zcrp: cannot %s message %llu: %s", what, (unsigned long long)n,
                    zcrp_explain(code));
}

static int start_failed(const struct transport *transport, int code)
{
    return udp_failed(transport, "start", code);
}

static int make_state(struct transport *transport, bool is_sender)
{
    struct zcrp_state *state = calloc(1, sizeof *state);

    transport->state = state;
    if (state == NULL)
        return start_failed(transport, ZCRP_ERROR_MEMORY);
    state->main = is_sender ? &state->out : &state->in;
    return 0;
}

static int half_begin(const struct transport *transport, struct half *half,
                      struct zcrp_entity *entity)
{
    half->entity = entity;
    half->messages = calloc(transport->settings->depth, sizeof(struct zcrp_msg *));
    return half->messages != NULL ? 0 : start_failed(transport, ZCRP_ERROR_MEMORY);
}

static void half_fini(struct half *half)
{
    for (uint64_t i = 0; i < half->count; i++)
        zcrp_free_msg(half->messages[i]);
    free(half->messages);
}

/* On the socket. */
static int end_open(struct transport *transport, bool is_sender)
{
    const int descriptors[2] = {transport->fd, transport->fd};
    struct zcrp_options options = carrier_options(transport->settings, transport->is_back);
    struct zcrp_entity *entity = NULL;

    if (make_state(transport, is_sender) < 0 || (is_sender && trace_channel(&options) < 0))
        return -1;
    struct zcrp_state *state = transport->state;
    int code = is_sender ? zcrp_open_sender(&entity, descriptors, &options)
                         : zcrp_open_receiver(&entity, descriptors, &options);
    return code == ZCRP_OK ? half_begin(transport, state->main, entity)
                           : start_failed(transport, code);
}

static void end_close(struct transport *transport)
{
    struct zcrp_state *state = transport->state;

    if (state == NULL)
        return;
    zcrp_listener_close(state->listener);
    if (state->connection != NULL)
        zcrp_connection_close(state->connection);
    else
        zcrp_close(state->main->entity);
    half_fini(&state->out);
    half_fini(&state->in);
    free(state);
}

/* The message that carries the job's n-th. */
static struct zcrp_msg **message_of(const struct half *half, const struct job *job, uint64_t n)
{
    assert(job->depth > 0);
    return &half->messages[n % job->depth];
}

/* Makes message n, if there is none of this size. */
static int make_copied(struct half *half, const struct job *job, uint64_t n)
{
    struct zcrp_msg **message = message_of(half, job, n);

    if (*message != NULL && (*message)->message_size == job->size)
        return 0;
    zcrp_free_msg(*message);
    *message = zcrp_alloc_msg(job->size);
    return *message != NULL ? 0 : message_failed("make", n, ZCRP_ERROR_MEMORY);
}

/* Points message n at its memory. */
static int aim(struct half *half, const struct job *job, uint64_t n, void *buffer)
{
    struct zcrp_msg **message = message_of(half, job, n);
    int code;

    if (half->are_copied)
        return make_copied(half, job, n);

    if (*message == NULL) {
        *message = zcrp_wrap_msg(buffer, job->size);
        return *message != NULL ? 0 : message_failed("make", n, ZCRP_ERROR_MEMORY);
    }
    if ((*message)->buffer == buffer && (*message)->message_size == job->size)
        return 0;
    code = zcrp_rewrap_msg(*message, buffer, job->size);
    return code == ZCRP_OK ? 0 : message_failed("make", n, code);
}

/* Of a size that wants them copied, and the one before did not, or the other way about. */
static void change_copied(struct half *half, bool are_copied)
{
    for (uint64_t i = 0; i < half->count && half->are_copied != are_copied; i++) {
        zcrp_free_msg(half->messages[i]);
        half->messages[i] = NULL;
    }
    half->are_copied = are_copied;
}

static int prepare_half(struct half *half, const struct job *job, bool is_memory)
{
    change_copied(half, is_memory && job->size <= COPIED_MOST);
    for (uint64_t n = 0; n < job->depth && half->entity != NULL; n++) {
        if (aim(half, job, n, memory_slot(&job->memory, n)) < 0)
            return -1;
        if (n >= half->count)
            half->count = n + 1;
    }
    return 0;
}

static int end_prepare(struct transport *transport, const struct job *job)
{
    struct zcrp_state *state = transport->state;
    bool is_memory = carrier_is_memory(transport->settings->channel);

    if (!job->are_trips)
        return prepare_half(state->main, job, is_memory);
    return prepare_half(&state->out, job, is_memory) < 0 ? -1
                                                         : prepare_half(&state->in, job, is_memory);
}

static int submit(struct half *half, const struct job *job, uint64_t n, void *buffer)
{
    int code;

    if (aim(half, job, n, buffer) < 0)
        return -1;
    code = zcrp_submit(half->entity, *message_of(half, job, n), job->size);
    return code == ZCRP_OK ? 0 : message_failed("submit", n, code);
}

static int send_one(struct half *half, const struct job *job, uint64_t n, void *buffer)
{
    if (half->are_copied)
        memcpy((*message_of(half, job, n))->buffer, buffer, job->size);
    return submit(half, job, n, buffer);
}

/* Waits until the message has ended, and says how: *code is ZCRP_ERROR_TIMEOUT if it has not for so
 * long that nothing will come any more. -1, with a complaint, when the other end is gone. */
static int wait_patiently(struct transport *transport, struct zcrp_msg *message, int *code)
{
    int64_t limit_ns = (int64_t)transport->settings->limit_ns;

    for (int64_t waited = 0; waited < limit_ns; waited += slice_ns) {
        *code = zcrp_wait_for(message, slice_ns);
        if (*code != ZCRP_ERROR_TIMEOUT)
            return 0;
        if (control_is_broken(transport->control) && control_hear(transport->control) < 0)
            return -1;
    }
    return 0;
}

static int await(struct transport *transport, const struct half *half, const struct job *job,
                 uint64_t n)
{
    struct zcrp_msg *message = *message_of(half, job, n);
    int code = ZCRP_ERROR_TIMEOUT;

    assert(message != NULL);
    if (wait_patiently(transport, message, &code) < 0)
        return -1;
    if (code != ZCRP_OK)
        return message_failed("finish", n, code);
    if (message->length != job->size)
        return complain("zcrp: message %llu has %llu bytes instead of %llu", (unsigned long long)n,
                        (unsigned long long)message->length, (unsigned long long)job->size);
    return 0;
}

static struct zcrp_stats stats_of(const struct transport *transport)
{
    const struct zcrp_state *state = transport->state;
    struct zcrp_stats stats = {0};

    zcrp_stats(state->main->entity, &stats);
    return stats;
}

static void end_count(struct transport *transport, struct counts *counts)
{
    const struct zcrp_stats stats = stats_of(transport);

    *counts = counts_of_stats(&stats);
}

static struct look end_look(struct transport *transport)
{
    const struct zcrp_stats stats = stats_of(transport);

    return (struct look){
        .is_known = true,
        .bytes = stats.bytes_arrived,
        .repeated = stats.units_repeated,
        .window_bytes = stats.window_bytes,
        .rtt_ns = stats.rtt_smoothed_ns,
    };
}

/* ---- a connection: the library has its socket ---- */

static bool is_connected(const struct transport *transport)
{
    return transport->settings->is_connected != 0;
}

/* It is there. */
static int use_connection(struct transport *transport)
{
    struct zcrp_state *state = transport->state;

    if (half_begin(transport, &state->out, zcrp_connection_sender(state->connection)) < 0)
        return -1;
    return half_begin(transport, &state->in, zcrp_connection_receiver(state->connection));
}

static int connected_offer(struct transport *transport)
{
    if (make_state(transport, transport->is_back) < 0)
        return -1;
    struct zcrp_state *state = transport->state;
    return carrier_listen(transport, &state->listener);
}

static int connected_accept(struct transport *transport)
{
    struct zcrp_state *state = transport->state;

    if (carrier_accept(transport, state->listener, &state->connection, 1) < 0)
        return -1;
    zcrp_listener_close(state->listener);
    state->listener = NULL;
    return use_connection(transport);
}

/* The other end accepts by now. */
static int end_meet(struct transport *transport)
{
    struct zcrp_state *state = transport->state;

    if (!is_connected(transport))
        return 0;
    if (carrier_connect(transport, &state->connection, 1) < 0)
        return -1;
    return use_connection(transport);
}

/* ---- the channel that the settings ask for ---- */

static bool is_raw(const struct transport *transport)
{
    return transport->settings->channel == CARRIER_AAL5;
}

static int end_offer(struct transport *transport)
{
    struct address here;

    if (is_connected(transport))
        return connected_offer(transport);
    if (!is_raw(transport))
        return udp_offer(transport);
    if (address_local(transport->control->fd, &here) < 0)
        return -1;
    transport->fd = zcrp_aal5_listen(here.host);
    return transport->fd >= 0 ? NO_PORT : udp_failed(transport, "listen", transport->fd);
}

/* The address of the control connection's peer is known only now. */
static int end_accept(struct transport *transport)
{
    if (is_connected(transport))
        return connected_accept(transport);
    if (is_raw(transport))
        transport->port = 0;
    if (udp_accept(transport) < 0)
        return -1;
    return end_open(transport, transport->is_back);
}

/* The same peer, without a port. */
static int connect_raw(struct transport *transport)
{
    struct address peer;

    if (address_peer(transport->control->fd, 0, &peer) < 0)
        return -1;
    transport->fd = zcrp_aal5_connect(peer.host);
    return transport->fd >= 0 ? NO_PORT : udp_failed(transport, "connect", transport->fd);
}

static int end_connect(struct transport *transport)
{
    if (is_connected(transport)) {
        carrier_name(transport->settings, transport->channel);
        return make_state(transport, !transport->is_back) < 0 ? -1 : transport->port;
    }
    int own = is_raw(transport) ? connect_raw(transport) : udp_connect(transport);

    carrier_name(transport->settings, transport->channel);
    return own < 0 || end_open(transport, !transport->is_back) < 0 ? -1 : own;
}

/* ---- jobs ---- */

static int end_settle(struct transport *transport, const struct job *job, uint64_t n)
{
    const struct zcrp_state *state = transport->state;

    return await(transport, &state->out, job, n);
}

static int end_take(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot)
{
    const struct zcrp_state *state = transport->state;

    if (await(transport, &state->in, job, n) < 0)
        return -1;
    if (state->in.are_copied)
        memcpy(memory_slot(&job->memory, slot), (*message_of(&state->in, job, n))->buffer,
               job->size);
    return 0;
}

static int end_post(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot)
{
    struct zcrp_state *state = transport->state;

    return submit(&state->in, job, n, memory_slot(&job->memory, slot));
}

static int end_put(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot)
{
    struct zcrp_state *state = transport->state;

    return send_one(&state->out, job, n, memory_slot(&job->memory, slot));
}

static int end_send_job(struct transport *transport, struct job *job)
{
    struct zcrp_state *state = transport->state;
    uint64_t waited = 0;

    for (uint64_t n = 0; n < job->count; n++) {
        if (n >= job->depth && end_settle(transport, job, waited++) < 0)
            return -1;
        if (send_one(&state->out, job, n, job_outgoing(job, n)) < 0)
            return -1;
    }
    while (waited < job->count) {
        if (end_settle(transport, job, waited++) < 0)
            return -1;
    }
    return 0;
}

/* Posts ahead, up to `depth` messages before the one that is waited for. */
static int end_receive_job(struct transport *transport, struct job *job)
{
    uint64_t posted = 0;

    for (uint64_t n = 0; n < job->count; n++) {
        for (; posted < job->count && posted - n < job->depth; posted++) {
            if (end_post(transport, job, posted, posted) < 0)
                return -1;
        }
        if (end_take(transport, job, n, n) < 0 ||
            job_incoming(job, n, memory_slot(&job->memory, n)) < 0)
            return -1;
    }
    return 0;
}

const struct transport_kind transport_zcrp = {
    .name = "zcrp",
    .is_zcrp = true,
    .crowd = &crowd_zcrp,
    .is_simplex = true,
    .offer = end_offer,
    .accept = end_accept,
    .connect = end_connect,
    .meet = end_meet,
    .prepare = end_prepare,
    .send = end_send_job,
    .receive = end_receive_job,
    .post = end_post,
    .put = end_put,
    .settle = end_settle,
    .take = end_take,
    .count = end_count,
    .close = end_close,
    .look = end_look,
};
