/* What the users' traces are shown: statistics that only grow, up to those at the end. */
#include "../support/ends.h"

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
