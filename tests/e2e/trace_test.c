/* What the users' traces are shown: statistics that only grow, up to those at the end. */
#include "../support/ends.h"
#include <stdatomic.h>
#include <stdio.h>

LOAD(asleep)

enum { SIZE = 3000000 };

/* Of one end; touched within its entity's lock only. */
struct shown {
    struct zcrp_stats last;
    int64_t time_ns;
    uint64_t calls;
    uint64_t most_in_transit;
};

static void see(void *context, int64_t time_ns, const struct zcrp_stats *stats)
{
    struct shown *shown = context;

    ck_assert_int_ge(time_ns, shown->time_ns);
    ck_assert_uint_ge(stats->units, shown->last.units);
    ck_assert_uint_ge(stats->bytes_arrived, shown->last.bytes_arrived);
    ck_assert_uint_ge(stats->acknowledgements, shown->last.acknowledgements);
    if (stats->transit_bytes > shown->most_in_transit)
        shown->most_in_transit = stats->transit_bytes;
    shown->last = *stats;
    shown->time_ns = time_ns;
    shown->calls++;
}

TEST(trace__up_to_the_end)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct shown out = {.calls = 0}, in = {.calls = 0};
    const struct zcrp_options options = {.unit_bytes = 1472, .trace = see};
    struct zcrp_options of_sender = options, of_receiver = options;

    of_sender.trace_context = &out;
    of_receiver.trace_context = &in;
    struct ends_transfer counted = ends_transfer(&sockets, SIZE, &of_sender, &of_receiver);
    const struct zcrp_stats *sent = &counted.sent, *received = &counted.received;

    ck_assert_uint_eq(sent->bytes_arrived, SIZE);
    ck_assert_uint_eq(received->bytes_arrived, SIZE);
    ck_assert_uint_eq(sent->transit_bytes, 0);
    ck_assert_uint_eq(out.last.units, sent->units);
    ck_assert_uint_eq(out.last.bytes, SIZE);
    ck_assert_uint_eq(out.last.bytes_arrived, SIZE);
    ck_assert_uint_gt(out.last.rate_bytes_per_s, 0);
    ck_assert_uint_gt(out.last.system_calls, 0);
    ck_assert_uint_gt(out.most_in_transit, 0);
    ck_assert_uint_le(out.calls,
                      2 * (sent->bursts + sent->acknowledgements + sent->requests) + 100);
    ck_assert_uint_eq(in.last.units, received->units);
    ck_assert_uint_eq(in.last.bytes_arrived, SIZE);
    loopback_close(&sockets);
}

/* ---- a trace that calls the library ---- */

/* What it calls for; touched within the lock, too, once it is complete. */
struct caller {
    struct zcrp_entity *entity, *handle;
    struct zcrp_connection *connection;
    struct zcrp_listener *listener;
    struct zcrp_msg *message;
    _Atomic bool is_complete;
    _Atomic int calls;
};

static void call_for_messages(struct caller *c)
{
    struct zcrp_msg *const messages[] = {c->message};
    struct zcrp_stats stats;
    nlong size;

    ck_assert_int_eq(zcrp_submit(c->entity, c->message, 1), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_expect(zcrp_connection_receiver(c->connection), &size, 0),
                     ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_cancel(c->message), ZCRP_ERROR_TRACE);
    (void)zcrp_probe(c->message); /* says whether it has ended, and waits for nothing */
    ck_assert_int_eq(zcrp_wait_for(c->message, 0), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_wait_any(messages, 1, 0), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_stats(c->entity, &stats), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_identity(c->entity, (char[8]){0}, 8), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_descriptor(c->entity), ZCRP_ERROR_TRACE);
    ck_assert_ptr_null(zcrp_collect(c->entity));
    ck_assert_int_eq(zcrp_close(c->handle), ZCRP_ERROR_TRACE);
}

static void call_for_peers(struct caller *c)
{
    struct zcrp_connection *connection;
    struct zcrp_listener *listener;
    struct zcrp_listener_stats stats;
    struct zcrp_entity *e;

    ck_assert_int_eq(zcrp_open_sender(&e, (int[]){0, 0}, NULL), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_connect(&connection, "127.0.0.1", "1", NULL, 0), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", "0", NULL), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_accept(c->listener, &connection, 0), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_connection_status(c->connection), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_connection_wait(c->connection, 0), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_connection_peer(c->connection, (char[64]){0}, 64), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_connection_local(c->connection, (char[64]){0}, 64), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_connection_identity(c->connection, (char[64]){0}, 64), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_connection_close(c->connection), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_listener_descriptor(c->listener), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_listener_stats(c->listener, &stats), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_listener_close(c->listener), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_send_init((int[]){0, 0}), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_TRACE);
    ck_assert_int_eq(zcrp_rcv_close(), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_TRACE);
}

static void call_the_library(void *context, int64_t time_ns, const struct zcrp_stats *stats)
{
    struct caller *c = context;

    (void)time_ns, (void)stats;
    if (!c->is_complete)
        return;
    call_for_messages(c);
    call_for_peers(c);
    c->calls++;
}

/* Each call would wait for the lock that the trace's thread holds, or for that thread. */
TEST(trace__calls_of_the_library_are_refused)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct caller c = {.message = ends_filled(1, 1)};
    const struct zcrp_options options = {.trace = call_the_library, .trace_context = &c};
    struct zcrp_connection *other;
    char port[8];

    ck_assert_int_eq(zcrp_open_sender(&c.handle, sockets.sender, NULL), 0);
    ck_assert_int_eq(zcrp_listen(&c.listener, "127.0.0.1", "0", NULL), 0);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(c.listener));
    ck_assert_int_eq(zcrp_connect(&c.connection, "127.0.0.1", port, &options, 0), 0);
    ck_assert_int_eq(zcrp_accept(c.listener, &other, 20 * ENDS_SECOND), 0);
    ck_assert_int_eq(zcrp_connection_wait(c.connection, 20 * ENDS_SECOND), 0);
    c.entity = zcrp_connection_sender(c.connection);
    c.is_complete = true;
    struct zcrp_msg *in = ends_empty(1);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(other), in, 1), 0);
    ck_assert_int_eq(zcrp_submit(c.entity, c.message, 1), 0);
    ck_assert_int_eq(zcrp_wait_for(c.message, 20 * ENDS_SECOND), 0);
    ck_assert_int_eq(zcrp_wait_for(in, 20 * ENDS_SECOND), 0);
    ck_assert_int_gt(c.calls, 0);
    c.is_complete = false;
    ck_assert_int_eq(zcrp_connection_close(c.connection), 0);
    ck_assert_int_eq(zcrp_connection_close(other), 0);
    ck_assert_int_eq(zcrp_listener_close(c.listener), 0);
    ck_assert_int_eq(zcrp_close(c.handle), 0);
    loopback_close(&sockets);
    zcrp_free_msg(c.message);
    zcrp_free_msg(in);
}
