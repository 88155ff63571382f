/* The statistics: of machine, channels and entity together; and the user's trace of them. */
#include "turns.h"

#include "platform/system.h"

#include <string.h>

static void add_sender(const struct sender *s, struct zcrp_stats *stats)
{
    const struct sender_counters *c = sender_counters(s);
    struct sender_gauges g = sender_gauges(s);

    stats->bytes_arrived = c->bytes;
    stats->units = c->units;
    stats->units_repeated = c->repeated;
    stats->units_lost = c->lost;
    stats->units_spurious = c->spurious;
    stats->units_marked = c->marks;
    stats->probes = c->probes;
    stats->bursts = c->bursts;
    stats->acknowledgements = c->acks;
    stats->requests = c->requests;
    stats->drop_short = c->drop_short;
    stats->drop_version = c->drop_version;
    stats->drop_type = c->drop_type;
    stats->drop_malformed = c->drop_malformed;
    stats->drop_session = c->drop_session;
    stats->drop_number = c->drop_number;
    stats->path_probes = c->path_probes;
    stats->path_falls = c->path_falls;
    stats->left_out = c->left_out;
    stats->unit_bytes = g.unit;
    stats->path_bytes = g.path;
    stats->window_bytes = g.window;
    stats->transit_bytes = g.in_transit;
    stats->rate_bytes_per_s = g.rate;
    stats->rtt_smoothed_ns = (uint64_t)g.rtt_smoothed;
    stats->rtt_lowest_ns = (uint64_t)g.rtt_lowest;
}

static void add_receiver(const struct receiver *r, struct zcrp_stats *stats)
{
    const struct receiver_counters *c = receiver_counters(r);

    stats->bytes_arrived = c->bytes;
    stats->units = c->units;
    stats->units_in_place = c->in_place;
    stats->units_moved = c->moved;
    stats->bytes_moved = c->bytes_moved;
    stats->units_marked = c->marks;
    stats->bursts = c->bursts;
    stats->acknowledgements = c->acks;
    stats->requests = c->requests;
    stats->drop_short = c->drop_short;
    stats->drop_version = c->drop_version;
    stats->drop_type = c->drop_type;
    stats->drop_malformed = c->drop_malformed;
    stats->drop_session = c->drop_session;
    stats->drop_unposted = c->drop_unposted;
    stats->drop_beyond = c->drop_beyond;
    stats->drop_duplicate = c->drop_duplicate;
    stats->drop_no_room = c->drop_no_room;
    stats->drop_cookie = c->drop_cookie;
}

static void add_channel(const struct channel *c, struct zcrp_stats *stats)
{
    stats->system_calls += channel_count(c, CHANNEL_CALLS_OUT) + channel_count(c, CHANNEL_CALLS_IN);
    stats->drop_truncated += channel_count(c, CHANNEL_TRUNCATIONS);
    stats->drop_damaged += channel_count(c, CHANNEL_DAMAGES);
    stats->drop_incomplete += channel_count(c, CHANNEL_INCOMPLETE);
    stats->drop_circuit += channel_count(c, CHANNEL_STRANGERS);
    stats->bytes_staged += channel_count(c, CHANNEL_STAGED);
    stats->cells_lost += channel_count(c, CHANNEL_CELLS_LOST);
    stats->drop_socket += channel_count(c, CHANNEL_DROPS);
    stats->channel_refused += channel_count(c, CHANNEL_REFUSALS);
    stats->channel_full += channel_count(c, CHANNEL_BLOCKS) + channel_count(c, CHANNEL_CROWDS);
    stats->offload_fallbacks += channel_count(c, CHANNEL_FALLBACKS);
    stats->drop_leftover += channel_count(c, CHANNEL_LEFTOVERS);
    stats->path_hints += channel_count(c, CHANNEL_TOO_BIGS);
    stats->faults += channel_count(c, CHANNEL_FAULTS);
}

static void add_channels(const struct zcrp_entity *e, struct zcrp_stats *stats)
{
    add_channel(e->in, stats);
    if (e->out != e->in)
        add_channel(e->out, stats);
}

/* All that the lock guards. */
static struct zcrp_stats stats_of_machine(const struct zcrp_entity *e)
{
    struct zcrp_stats stats = {
        .messages = e->messages,
        .messages_failed = e->failures,
        .bytes = e->bytes,
    };

    if (e->machine.role == MACHINE_SENDER)
        add_sender(e->machine.sender, &stats);
    else
        add_receiver(e->machine.receiver, &stats);
    return stats;
}

int zcrp_stats_sized(struct zcrp_entity *entity, struct zcrp_stats *stats, size_t stats_size)
{
    struct zcrp_stats known;

    if (entity == NULL || stats == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (entity_is_forked(entity))
        return ZCRP_ERROR_FORKED;
    entity_enter(entity);
    known = stats_of_machine(entity);
    entity_leave(entity);
    add_channels(entity, &known);
    memset(stats, 0, stats_size);
    memcpy(stats, &known, stats_size < sizeof(known) ? stats_size : sizeof(known));
    return ZCRP_OK;
}

void stats_trace(struct zcrp_entity *e)
{
    struct zcrp_stats stats = stats_of_machine(e);

    if (memcmp(&stats, &e->traced, sizeof stats) == 0)
        return;
    e->traced = stats;
    add_channels(e, &stats);
    e->options.trace(e->options.trace_context, clock_now(), &stats);
}
