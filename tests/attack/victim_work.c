/* The victim's process. */
#include "victim.h"

#include "../support/pattern.h"
#include "common/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct work {
    int orders;
    int socket;
    bool is_sender;
    struct zcrp_entity *entity;
    struct zcrp_msg *message[VICTIM_MESSAGES];
};

/* ---- sockets ---- */

static int bind_socket(struct work *w, const struct victim_order *o)
{
    socklen_t size;
    union place_address own = place_address_of(o->end, &size);

    w->socket = socket(place_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return bind(w->socket, &own.any, size) == 0 ? 0 : ZCRP_ERROR_SYSTEM;
}

static int connect_socket(struct work *w, const struct victim_order *o)
{
    socklen_t size;
    union place_address peer = place_address_of(o->end, &size);

    return connect(w->socket, &peer.any, size) == 0 ? 0 : ZCRP_ERROR_SYSTEM;
}

static int listen_by_name(struct work *w, const struct victim_order *o)
{
    char host[INET6_ADDRSTRLEN], port[8];

    place_text(o->end.address, host);
    snprintf(port, sizeof(port), "%u", (unsigned)o->end.port);
    w->socket = zcrp_udp_listen(host, port);
    return w->socket < 0 ? w->socket : 0;
}

static struct raw_end peer_of(int socket)
{
    union place_address peer = {0};
    socklen_t size = sizeof(peer);

    if (getpeername(socket, &peer.any, &size) != 0)
        return (struct raw_end){0};
    return place_end_of(&peer);
}

static int open_entity(struct work *w, const struct victim_order *o)
{
    const int both[2] = {w->socket, w->socket};

    w->is_sender = o->is_sender;
    return o->is_sender ? zcrp_open_sender(&w->entity, both, &o->options)
                        : zcrp_open_receiver(&w->entity, both, &o->options);
}

/* ---- messages ---- */

static int submit(struct work *w, const struct victim_order *o)
{
    struct zcrp_msg **m = &w->message[o->number];

    zcrp_free_msg(*m);
    *m = zcrp_alloc_msg(o->bytes);
    if (!*m)
        return ZCRP_ERROR_MEMORY;
    memset((*m)->buffer, VICTIM_EMPTY, o->bytes);
    if (w->is_sender)
        pattern_fill((*m)->buffer, o->bytes, o->seed);
    return zcrp_submit(w->entity, *m, o->bytes);
}

static uint64_t count_behind(const struct zcrp_msg *m, uint8_t value)
{
    uint64_t count = 0;

    for (uint64_t i = m->length; i < m->message_size; i++)
        count += m->buffer[i] == value;
    return count;
}

static int compare(const struct zcrp_msg *m, uint64_t seed)
{
    return pattern_holds(m->buffer, m->length, seed) ? 0 : 1;
}

/* ---- streams ---- */

struct stream {
    struct zcrp_msg *message[VICTIM_UNDER_WAY];
    uint64_t bytes;
    int64_t pause_ns;
    int64_t since, last; /* it began, and a message ended well */
    struct victim_flow flow;
};

static void note_limits(const struct work *w, struct victim_flow *flow)
{
    struct zcrp_stats stats = {0};

    if (!w->is_sender || zcrp_stats(w->entity, &stats) != 0)
        return;
    if (stats.unit_bytes < flow->least_unit_bytes)
        flow->least_unit_bytes = stats.unit_bytes;
    if (stats.window_bytes < flow->least_window_bytes)
        flow->least_window_bytes = stats.window_bytes;
}

static void note_end(const struct work *w, struct stream *s, const struct zcrp_msg *m, int code)
{
    struct victim_flow *flow = &s->flow;
    int64_t now = clock_now_ns();

    flow->duration_ns = now - s->since;
    if (code != ZCRP_OK) {
        flow->failed++;
        flow->code[-code % VICTIM_CODES]++;
        return;
    }
    if (now - s->last > flow->longest_pause_ns)
        flow->longest_pause_ns = now - s->last;
    s->last = now;
    flow->messages++;
    flow->bytes += m->length;
    note_limits(w, flow);
}

static void begin_stream(struct work *w, struct stream *s, const struct victim_order *o)
{
    *s =
        (struct stream){.bytes = o->bytes,
                        .pause_ns = o->timeout_ns,
                        .since = clock_now_ns(),
                        .flow = {.least_unit_bytes = UINT64_MAX, .least_window_bytes = UINT64_MAX}};
    s->last = s->since;
    for (int i = 0; i < VICTIM_UNDER_WAY; i++) {
        s->message[i] = zcrp_alloc_msg(o->bytes);
        if (zcrp_submit(w->entity, s->message[i], o->bytes) != 0)
            s->flow.failed++;
    }
}

static bool has_order(const struct work *w)
{
    struct pollfd set = {.fd = w->orders, .events = POLLIN};

    return poll(&set, 1, 0) > 0;
}

static void keep_stream(struct work *w, struct stream *s)
{
    for (unsigned i = 0; !has_order(w); i++) {
        struct zcrp_msg *m = s->message[i % VICTIM_UNDER_WAY];
        int code = ZCRP_ERROR_TIMEOUT;
        while (code == ZCRP_ERROR_TIMEOUT && !has_order(w))
            code = zcrp_wait_for(m, 20 * VICTIM_MS);
        if (code == ZCRP_ERROR_TIMEOUT)
            return;
        note_end(w, s, m, code);
        if (s->pause_ns > 0)
            usleep((useconds_t)(s->pause_ns / 1000));
        if (zcrp_submit(w->entity, m, s->bytes) != 0) {
            s->flow.failed++;
            return;
        }
    }
}

/* What is under way has to end: a sender's well, a receiver's because it is taken back. */
static void end_stream(struct work *w, struct stream *s)
{
    for (int i = 0; i < VICTIM_UNDER_WAY; i++) {
        struct zcrp_msg *m = s->message[i];
        if (!w->is_sender)
            (void)zcrp_cancel(m);
        int code = zcrp_wait_for(m, 5000 * VICTIM_MS);
        if (w->is_sender && code != ZCRP_ERROR_IDLE)
            note_end(w, s, m, code);
        if (code == ZCRP_ERROR_TIMEOUT)
            (void)zcrp_cancel(m);
        zcrp_free_msg(m);
    }
}

static struct victim_flow stream(struct work *w, const struct victim_order *o)
{
    struct stream s;
    struct victim_order end;

    begin_stream(w, &s, o);
    keep_stream(w, &s);
    if (recv(w->orders, &end, sizeof(end), 0) != sizeof(end))
        _exit(EXIT_SUCCESS);
    end_stream(w, &s);
    return s.flow;
}

/* ---- orders ---- */

static void follow(struct work *w, const struct victim_order *o, struct victim_report *r)
{
    struct zcrp_msg *m = w->message[o->number % VICTIM_MESSAGES];

    switch (o->task) {
    case VICTIM_BIND:
        r->code = bind_socket(w, o);
        break;
    case VICTIM_CONNECT:
        r->code = connect_socket(w, o);
        break;
    case VICTIM_LISTEN:
        r->code = listen_by_name(w, o);
        break;
    case VICTIM_ACCEPT:
        r->code = zcrp_udp_accept(w->socket, o->timeout_ns);
        r->peer = peer_of(w->socket);
        break;
    case VICTIM_OPEN:
        r->code = open_entity(w, o);
        break;
    case VICTIM_SUBMIT:
        r->code = submit(w, o);
        break;
    case VICTIM_WAIT:
        r->code = zcrp_wait_for(m, o->timeout_ns);
        break;
    case VICTIM_REFILL:
        memset(m->buffer, o->value, m->message_size);
        break;
    case VICTIM_COUNT:
        r->bytes = count_behind(m, o->value);
        break;
    case VICTIM_HOLDS:
        r->code = compare(m, o->seed);
        break;
    case VICTIM_STREAM:
        r->flow = stream(w, o);
        break;
    case VICTIM_STATS:
        r->code = zcrp_stats(w->entity, &r->stats);
        break;
    case VICTIM_CLOSE:
        r->code = zcrp_close(w->entity);
        w->entity = NULL;
        break;
    case VICTIM_END_STREAM:
    case VICTIM_TASKS:
        break;
    }
}

_Noreturn void victim_work(int orders)
{
    struct work w = {.orders = orders, .socket = -1};
    struct victim_order order;

    while (recv(orders, &order, sizeof(order), 0) == sizeof(order)) {
        struct victim_report report = {0};
        follow(&w, &order, &report);
        if (send(orders, &report, sizeof(report), MSG_NOSIGNAL) != sizeof(report))
            break;
    }
    _exit(EXIT_SUCCESS);
}
