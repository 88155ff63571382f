/* Connections of ZCRP: each half's descriptor says when messages have ended. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "common/complain.h"
#include "zcrp-bench/peers/peers.h"
#include "zcrp-bench/transports/carrier.h"
#include "zcrp-bench/transports/run_keys.h"
#include "zcrp.h"

enum { EVENTS = 256, PORT_ROOM = 8, PAGE = 4096 };

struct houses {
    struct zcrp_listener *listener;
    struct zcrp_entity **entity; /* of each way: a half of its connection */
    struct zcrp_connection **connection;
};

static int failed(const struct crowd *crowd, const char *what, int code)
{
    char channel[TRANSPORT_CHANNEL_ROOM];

    carrier_name(&crowd->stage->settings, channel);
    return complain("--peers: connections over %s: %s: %s", channel, what, zcrp_explain(code));
}

/* The same at both ends, circuits and keys included; the caller frees the keys. Connecting fails
 * after the limit of the settings, too, and so does a message that does not move. A code. */
static int make_options(const struct crowd *crowd, bool is_listening, struct zcrp_options *options)
{
    *options = carrier_options(&crowd->stage->settings, false);
    options->connect_ns = options->silence_ns;
    options->progress_ns = options->silence_ns;
    options->connections = 2 * (uint32_t)crowd->stage->peers; /* one host gets seven of eight */
    if (crowd->stage->settings.channel == CARRIER_MAPPED)
        options->mapped_bytes = 2 * crowd->stage->depth * (crowd->stage->size + PAGE);
    return run_keys_make(&crowd->stage->settings, is_listening, &options->keys);
}

static struct houses *make_houses(struct crowd *crowd)
{
    struct houses *houses = calloc(1, sizeof *houses);

    if (houses == NULL)
        return NULL;
    houses->entity = calloc(crowd->stage->ways, sizeof(struct zcrp_entity *));
    houses->connection = calloc(crowd->stage->peers, sizeof(struct zcrp_connection *));
    crowd->state = houses;
    return houses->entity != NULL && houses->connection != NULL ? houses : NULL;
}

static int listen_here(struct crowd *crowd)
{
    struct houses *houses = make_houses(crowd);
    struct zcrp_options options;
    int code = houses == NULL ? ZCRP_ERROR_MEMORY : make_options(crowd, true, &options);

    if (code == ZCRP_OK) {
        code = zcrp_listen(&houses->listener, "127.0.0.1", "0", &options);
        zcrp_keys_free(options.keys);
    }
    return code == ZCRP_OK ? zcrp_listener_port(houses->listener) : failed(crowd, "listen", code);
}

static int accept_all(struct crowd *crowd)
{
    struct houses *houses = crowd->state;
    int64_t limit_ns = (int64_t)crowd->stage->settings.limit_ns;

    for (uint64_t i = 0; i < crowd->stage->peers; i++) {
        int code = zcrp_accept(houses->listener, &houses->connection[i], limit_ns);
        if (code != ZCRP_OK)
            return failed(crowd, "accept", code);
    }
    return 0;
}

static int connect_all(struct crowd *crowd, int port)
{
    struct houses *houses = make_houses(crowd);
    struct zcrp_options options;
    char text[PORT_ROOM];
    int code = houses == NULL ? ZCRP_ERROR_MEMORY : make_options(crowd, false, &options);

    if (code != ZCRP_OK)
        return failed(crowd, "connect", code);
    snprintf(text, sizeof text, "%d", port);
    carrier_name(&crowd->stage->settings, crowd->stage->channel);
    for (uint64_t i = 0; i < crowd->stage->peers && code == ZCRP_OK; i++)
        code = zcrp_connect(&houses->connection[i], "127.0.0.1", text, &options, -1);
    zcrp_keys_free(options.keys);
    return code == ZCRP_OK ? 0 : failed(crowd, "connect", code);
}

/* Of the library's memory if both ends are to map it. */
static struct zcrp_msg *make_message(struct crowd *crowd, uint64_t way, uint64_t slot)
{
    struct houses *houses = crowd->state;
    nlong size = crowd->stage->size;

    if (crowd->stage->settings.channel == CARRIER_MAPPED)
        return zcrp_connection_alloc_msg(houses->connection[way % crowd->stage->peers], size);
    return zcrp_wrap_msg(crowd_slot(crowd, way, slot), size);
}

static int begin_way(struct crowd *crowd, uint64_t way)
{
    struct houses *houses = crowd->state;
    struct zcrp_entity *entity = houses->entity[way];
    int fd = zcrp_descriptor(entity);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = way};
    nlong size = crowd->stage->size;

    if (fd < 0 || epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return failed(crowd, "a descriptor", fd < 0 ? fd : ZCRP_ERROR_SYSTEM);
    for (uint64_t i = 0; i < crowd->stage->depth; i++) {
        struct zcrp_msg *message = make_message(crowd, way, i);
        int code = message == NULL ? ZCRP_ERROR_MEMORY : zcrp_submit(entity, message, size);
        if (code != ZCRP_OK)
            return failed(crowd, "submit", code);
    }
    return 0;
}

static int begin(struct crowd *crowd)
{
    struct houses *houses = crowd->state;

    for (uint64_t i = 0; i < crowd->stage->ways; i++) {
        struct zcrp_connection *c = houses->connection[i % crowd->stage->peers];
        houses->entity[i] =
            crowd_sends(crowd, i) ? zcrp_connection_sender(c) : zcrp_connection_receiver(c);
        if (begin_way(crowd, i) < 0)
            return -1;
    }
    return 0;
}

/* What has ended is submitted again. */
static int serve(struct crowd *crowd, uint64_t way)
{
    struct houses *houses = crowd->state;
    struct zcrp_entity *entity = houses->entity[way];
    struct zcrp_msg *message;

    while ((message = zcrp_collect(entity)) != NULL) {
        int code = zcrp_error(message);
        crowd->received[way] += message->length;
        if (code == ZCRP_OK)
            code = zcrp_submit(entity, message, crowd->stage->size);
        if (code != ZCRP_OK && crowd->stage->phase != PEERS_OVER)
            return failed(crowd, "a message", code);
        if (code != ZCRP_OK)
            return 0;
    }
    return 0;
}

static int turn(struct crowd *crowd)
{
    struct epoll_event event[EVENTS];
    int count = epoll_wait(crowd->epoll, event, EVENTS, PEERS_LOOK_MS);

    for (int i = 0; i < count; i++) {
        if (serve(crowd, event[i].data.u64) < 0)
            return -1;
    }
    return 0;
}

/* Over all connections, since they were opened. */
static void name(struct crowd *crowd)
{
    struct houses *houses = crowd->state;
    struct counts sum = {.is_known = true};

    if (crowd->stage->settings.channel != CARRIER_AUTO)
        return;
    for (uint64_t i = 0; i < crowd->stage->ways; i++) {
        struct zcrp_stats stats = {0};
        zcrp_stats(houses->entity[i], &stats);
        const struct counts counts = counts_of_stats(&stats);
        counts_add(&sum, &counts);
    }
    if (carrier_was_memory(&sum, sum.value[COUNT_bytes]))
        snprintf(crowd->stage->channel, sizeof crowd->stage->channel, "%s",
                 carrier_names[CARRIER_MEMORY]);
}

const struct crowd_kind crowd_zcrp = {listen_here, accept_all, connect_all, begin, turn, name};
