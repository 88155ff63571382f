/* A crowd of ZCRP's connections: each half's descriptor says when messages have ended. */
#include <stdlib.h>
#include <sys/epoll.h>

#include "common/complain.h"
#include "zcrp-bench/transports/carrier.h"
#include "zcrp-bench/transports/crowd.h"

static int failed(const char *what, int code)
{
    return complain("connections of ZCRP: %s: %s", what, zcrp_explain(code));
}

static int offer(struct transport *transport)
{
    struct crowd *crowd = crowd_create(transport, true);

    return crowd == NULL ? -1 : carrier_listen(transport, &crowd->listener);
}

static int accept_all(struct transport *transport)
{
    const struct crowd *crowd = transport->state;

    return carrier_accept(transport, crowd->listener, crowd->connection, crowd->peers);
}

static int connect_all(struct transport *transport)
{
    const struct crowd *crowd = transport->state;

    carrier_name(transport->settings, transport->channel);
    return carrier_connect(transport, crowd->connection, crowd->peers);
}

/* Of the library's memory if both ends are to map it. */
static struct zcrp_msg *make_message(const struct transport *transport, const struct job *job,
                                     uint64_t way, uint64_t slot)
{
    const struct crowd *crowd = transport->state;

    if (transport->settings->channel == CARRIER_MAPPED)
        return zcrp_connection_alloc_msg(crowd->connection[way % crowd->peers], job->size);
    return zcrp_wrap_msg(crowd_slot(job, way, slot), job->size);
}

/* What is to be sent waits for its turn; what is to be received is posted. */
static int begin_half(const struct transport *transport, const struct job *job, uint64_t way)
{
    const struct crowd *crowd = transport->state;
    struct way *half = &crowd->way[way];
    struct zcrp_connection *connection = crowd->connection[way % crowd->peers];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = way};

    half->entity = crowd_sends_on(crowd, way) ? zcrp_connection_sender(connection)
                                              : zcrp_connection_receiver(connection);
    half->message = calloc(job->depth, sizeof(struct zcrp_msg *));
    half->idle = calloc(job->depth, sizeof(struct zcrp_msg *));
    int fd = zcrp_descriptor(half->entity);
    if (fd < 0 || half->message == NULL || half->idle == NULL ||
        epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return failed("a descriptor", fd < 0 ? fd : ZCRP_ERROR_SYSTEM);
    for (uint64_t i = 0; i < job->depth; i++) {
        struct zcrp_msg *message = make_message(transport, job, way, i);
        int code = message != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY;

        half->message[half->message_count++] = message;
        if (crowd_sends_on(crowd, way))
            half->idle[half->idle_count++] = message;
        else if (code == ZCRP_OK)
            code = zcrp_submit(half->entity, message, job->size);
        if (code != ZCRP_OK)
            return failed("submit", code);
    }
    return 0;
}

static int begin(struct transport *transport, const struct job *job)
{
    const struct crowd *crowd = transport->state;

    for (uint64_t way = 0; way < crowd->ways; way++) {
        if (begin_half(transport, job, way) < 0)
            return -1;
    }
    return 0;
}

static int fill(struct crowd *crowd)
{
    bool has_begun = true;

    while (has_begun) {
        has_begun = false;
        for (uint64_t way = 0; way < crowd->ways; way++) {
            struct way *half = &crowd->way[way];

            if (half->idle_count == 0 || !crowd_begin_message(crowd))
                continue;
            int code = zcrp_submit(half->entity, half->idle[--half->idle_count], crowd->job->size);
            if (code != ZCRP_OK)
                return failed("submit", code);
            has_begun = true;
        }
    }
    return 0;
}

/* What has ended is submitted again. */
static int serve(struct crowd *crowd, uint64_t way)
{
    struct way *half = &crowd->way[way];
    bool is_outward = crowd_sends_on(crowd, way);
    struct zcrp_msg *message;

    while ((message = zcrp_collect(half->entity)) != NULL) {
        int code = zcrp_error(message);

        if (code == ZCRP_OK && !is_outward && crowd_arrive(crowd, way, message->length) < 0)
            return -1;
        crowd->ended += is_outward;
        if (is_outward && !crowd_begin_message(crowd))
            half->idle[half->idle_count++] = message;
        else if (code == ZCRP_OK)
            code = zcrp_submit(half->entity, message, crowd->job->size);
        if (code != ZCRP_OK)
            return failed("a message", code);
    }
    return 0;
}

static void count(struct transport *transport, struct counts *counts)
{
    const struct crowd *crowd = transport->state;

    for (uint64_t way = 0; way < crowd->ways; way++) {
        struct zcrp_stats stats = {0};

        zcrp_stats(crowd->way[way].entity, &stats);
        const struct counts half = counts_of_stats(&stats);
        if (way == 0)
            *counts = half;
        else
            counts_add(counts, &half);
    }
}

/* Connections first: what is posted is the library's until then. */
static void close_all(struct transport *transport)
{
    struct crowd *crowd = transport->state;

    if (crowd == NULL)
        return;
    (void)zcrp_listener_close(crowd->listener);
    for (uint64_t i = 0; i < crowd->peers; i++)
        (void)zcrp_connection_close(crowd->connection[i]);
    for (uint64_t way = 0; way < crowd->ways; way++) {
        struct way *half = &crowd->way[way];

        for (uint64_t i = 0; i < half->message_count; i++)
            zcrp_free_msg(half->message[i]);
        free(half->message);
        free(half->idle);
    }
    crowd_destroy(crowd);
}

static const struct crowd_calls calls = {begin, fill, serve};

const struct transport_kind crowd_zcrp = {
    .name = "zcrp",
    .is_zcrp = true,
    CROWD_CALLS(&calls),
    .offer = offer,
    .accept = accept_all,
    .meet = connect_all,
    .count = count,
    .close = close_all,
};
