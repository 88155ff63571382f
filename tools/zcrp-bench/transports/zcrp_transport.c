#include <assert.h>
#include <stdlib.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/carrier.h"
#include "zcrp-bench/transports/trace.h"
#include "zcrp-bench/transports/transport.h"
#include "zcrp.h"

static const int64_t slice_ns =
    200000000; /* between two looks at whether the peer is still there */

/* The connection whose other half is for the way back, which this thread opens next; NULL: none. */
static _Thread_local struct zcrp_connection *connection_there;

/* Stands for the port of what has none: a raw socket, and the other half of a connection. */
enum { NO_PORT = 1 };

struct zcrp_state {
    struct zcrp_listener *listener;     /* until the other end has called */
    struct zcrp_connection *connection; /* the entity is one half of it; NULL: it is of a socket, or
                                           of the connection of the way there */
    int port;                           /* of the other end's listener */
    struct zcrp_entity *entity;
    struct zcrp_msg **messages;
    uint64_t count; /* messages that exist */
};

static int message_failed(const char *what, uint64_t n, int code)
{
    return complain("zcrp: cannot %s message %llu: %s", what, (unsigned long long)n,
                    zcrp_explain(code));
}

static int make_state(struct transport *transport)
{
    struct zcrp_state *state = calloc(1, sizeof *state);

    transport->state = state;
    if (state != NULL)
        state->messages = calloc(transport->settings->depth, sizeof(struct zcrp_msg *));
    if (state != NULL && state->messages != NULL)
        return 0;
    return udp_failed(transport, "start", ZCRP_ERROR_MEMORY);
}

static int end_open(struct transport *transport, bool is_sender)
{
    const int descriptors[2] = {transport->fd, transport->fd};
    struct zcrp_options options = carrier_options(transport->settings, transport->is_back);
    int code;

    if (make_state(transport) < 0)
        return -1;
    struct zcrp_state *state = transport->state;
    if (is_sender && trace_channel(&options) < 0)
        return -1;
    code = is_sender ? zcrp_open_sender(&state->entity, descriptors, &options)
                     : zcrp_open_receiver(&state->entity, descriptors, &options);
    return code == ZCRP_OK ? 0 : udp_failed(transport, "start", code);
}

static bool is_connected(const struct transport *transport)
{
    return transport->settings->is_connected != 0;
}

static void end_close(struct transport *transport)
{
    struct zcrp_state *state = transport->state;

    if (state == NULL)
        return;
    zcrp_listener_close(state->listener);
    if (state->connection != NULL)
        zcrp_connection_close(state->connection);
    else if (!is_connected(transport))
        zcrp_close(state->entity);
    if (connection_there == state->connection)
        connection_there = NULL;
    for (uint64_t i = 0; i < state->count; i++)
        zcrp_free_msg(state->messages[i]);
    free(state->messages);
    free(state);
}

/* The message that carries the job's n-th. */
static struct zcrp_msg **message_of(struct zcrp_state *state, const struct job *job, uint64_t n)
{
    assert(job->depth > 0);
    return &state->messages[n % job->depth];
}

/* Points message n at its memory. */
static int aim(struct zcrp_state *state, const struct job *job, uint64_t n, void *buffer)
{
    struct zcrp_msg **message = message_of(state, job, n);
    uint64_t size = job->size;
    int code;

    if (*message == NULL) {
        *message = zcrp_wrap_msg(buffer, size);
        return *message != NULL ? 0 : message_failed("make", n, ZCRP_ERROR_MEMORY);
    }
    if ((*message)->buffer == buffer && (*message)->message_size == size)
        return 0;
    code = zcrp_rewrap_msg(*message, buffer, size);
    return code == ZCRP_OK ? 0 : message_failed("make", n, code);
}

static int end_prepare(struct transport *transport, const struct job *job)
{
    struct zcrp_state *state = transport->state;

    for (uint64_t n = 0; n < job->depth; n++) {
        if (aim(state, job, n, memory_slot(&job->memory, n)) < 0)
            return -1;
        if (n >= state->count)
            state->count = n + 1;
    }
    return 0;
}

static int end_submit(struct transport *transport, const struct job *job, uint64_t n, void *buffer)
{
    struct zcrp_state *state = transport->state;
    int code;

    if (aim(state, job, n, buffer) < 0)
        return -1;
    code = zcrp_submit(state->entity, *message_of(state, job, n), job->size);
    return code == ZCRP_OK ? 0 : message_failed("submit", n, code);
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

static int end_wait(struct transport *transport, const struct job *job, uint64_t n)
{
    struct zcrp_msg *message = *message_of(transport->state, job, n);
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

static void end_count(struct transport *transport, struct counts *counts)
{
    struct zcrp_state *state = transport->state;
    struct zcrp_stats stats = {0};

    zcrp_stats(state->entity, &stats);
    *counts = counts_of_stats(&stats);
}

static struct look end_look(struct transport *transport)
{
    struct zcrp_state *state = transport->state;
    struct zcrp_stats stats = {0};

    zcrp_stats(state->entity, &stats);
    return (struct look){
        .is_known = true,
        .bytes = stats.bytes_arrived,
        .repeated = stats.units_repeated,
        .window_bytes = stats.window_bytes,
        .rtt_ns = stats.rtt_smoothed_ns,
    };
}

/* A connection, of which each transport uses one half. The library has its socket. */

static void use_half(struct zcrp_state *state, struct zcrp_connection *connection, bool is_sender)
{
    state->entity =
        is_sender ? zcrp_connection_sender(connection) : zcrp_connection_receiver(connection);
}

/* The way back takes the half that the way there has left, if there was one. */
static bool takes_other_half(const struct transport *transport)
{
    return transport->is_back && connection_there != NULL;
}

static int use_other_half(struct transport *transport, bool is_sender)
{
    if (make_state(transport) < 0)
        return -1;
    use_half(transport->state, connection_there, is_sender);
    return NO_PORT;
}

/* The connection is there. */
static int use_connection(const struct transport *transport, bool is_sender)
{
    struct zcrp_state *state = transport->state;

    connection_there = transport->is_back ? NULL : state->connection;
    use_half(state, state->connection, is_sender);
    return 0;
}

static int connected_offer(struct transport *transport)
{
    if (takes_other_half(transport))
        return use_other_half(transport, true);
    if (make_state(transport) < 0)
        return -1;
    struct zcrp_state *state = transport->state;
    return carrier_listen(transport, &state->listener);
}

static int connected_accept(struct transport *transport)
{
    struct zcrp_state *state = transport->state;

    if (state->listener == NULL)
        return 0; /* it has the other half */
    if (carrier_accept(transport, state->listener, &state->connection, 1) < 0)
        return -1;
    zcrp_listener_close(state->listener);
    state->listener = NULL;
    return use_connection(transport, transport->is_back);
}

static int connected_connect(struct transport *transport, int port)
{
    carrier_name(transport->settings, transport->channel);
    if (takes_other_half(transport))
        return use_other_half(transport, false);
    if (make_state(transport) < 0)
        return -1;
    struct zcrp_state *state = transport->state;
    return state->port = port;
}

/* The other end accepts by now. */
static int end_meet(struct transport *transport)
{
    struct zcrp_state *state = transport->state;

    if (state->entity != NULL)
        return 0;
    if (carrier_connect(transport, state->port, &state->connection, 1) < 0)
        return -1;
    return use_connection(transport, !transport->is_back);
}

/* ZCRP as a message transport. Simplex: a channel each way for round trips. */

/* On the channel that the settings ask for. */

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
static int end_accept(struct transport *transport, int port)
{
    if (is_connected(transport))
        return connected_accept(transport);
    if (udp_accept(transport, is_raw(transport) ? 0 : port) < 0)
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

static int end_connect(struct transport *transport, int port)
{
    if (is_connected(transport))
        return connected_connect(transport, port);
    int own = is_raw(transport) ? connect_raw(transport) : udp_connect(transport, port);

    carrier_name(transport->settings, transport->channel);
    return own < 0 || end_open(transport, !transport->is_back) < 0 ? -1 : own;
}

static int end_send_job(struct transport *transport, struct job *job)
{
    uint64_t waited = 0;

    for (uint64_t n = 0; n < job->count; n++) {
        if (n >= job->depth && end_wait(transport, job, waited++) < 0)
            return -1;
        if (end_submit(transport, job, n, job_outgoing(job, n)) < 0)
            return -1;
    }
    while (waited < job->count) {
        if (end_wait(transport, job, waited++) < 0)
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
            if (end_submit(transport, job, posted, memory_slot(&job->memory, posted)) < 0)
                return -1;
        }
        if (end_wait(transport, job, n) < 0 ||
            job_incoming(job, n, memory_slot(&job->memory, n)) < 0)
            return -1;
    }
    return 0;
}

static int post(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot)
{
    if (n >= job->count)
        return 0;
    return end_submit(transport, job, n, memory_slot(&job->memory, slot));
}

/* Posts the first `depth` messages: buffers are there before anything arrives. Message n's question
 * has slot 2n, its answer slot 2n + 1. */
static int post_ahead(struct transport *transport, const struct job *job, uint64_t side)
{
    for (uint64_t n = 0; n < job->depth; n++) {
        if (post(transport, job, n, 2 * n + side) < 0)
            return -1;
    }
    return 0;
}

static int end_expect(struct transport *back, const struct job *job)
{
    return post_ahead(back, job, 1);
}

static int end_ask(struct transport *there, const struct job *job, uint64_t n)
{
    return end_submit(there, job, n, memory_slot(&job->memory, 2 * n));
}

static int end_hear(struct transport *there, struct transport *back, const struct job *job,
                    uint64_t n, int64_t *at_ns)
{
    if (end_wait(back, job, n) < 0)
        return -1;
    *at_ns = watch_now_ns();
    if (end_wait(there, job, n) < 0)
        return -1;
    return post(back, job, n + job->depth, 2 * (n + job->depth) + 1);
}

/* Answers with the question itself; all that can wait is done behind the answer. */
static int end_pong(struct transport *there, struct transport *back, const struct job *job)
{
    if (post_ahead(there, job, 0) < 0 || control_say(there->control, "ready") < 0)
        return -1;
    for (uint64_t n = 0; n < job->count; n++) {
        if (end_wait(there, job, n) < 0 ||
            end_submit(back, job, n, memory_slot(&job->memory, 2 * n)) < 0)
            return -1;
        if (n > 0 && (end_wait(back, job, n - 1) < 0 ||
                      post(there, job, n - 1 + job->depth, 2 * (n - 1 + job->depth)) < 0))
            return -1;
    }
    return end_wait(back, job, job->count - 1);
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
    .expect = end_expect,
    .ask = end_ask,
    .hear = end_hear,
    .pong = end_pong,
    .count = end_count,
    .close = end_close,
    .look = end_look,
};
