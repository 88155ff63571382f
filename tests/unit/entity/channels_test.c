/* What a half's two channels count is told together. */
#include "link/channels.h"

#include "../../support/suite.h"

static struct channels channels;

/* Counts of two channels that no sum or difference of others is like. */
static uint64_t inward(enum channel_counter which)
{
    return UINT64_C(1) << which;
}

static uint64_t outward(enum channel_counter which)
{
    return UINT64_C(1) << (which + CHANNEL_COUNTERS);
}

static void setup(void)
{
    channels = (struct channels){.in = &channels.channel[0], .out = &channels.channel[1]};
    for (enum channel_counter which = 0; which < CHANNEL_COUNTERS; which++) {
        channel_note(channels.in, which, inward(which));
        channel_note(channels.out, which, outward(which));
    }
}

FIXTURE(setup, NULL)

static const struct {
    size_t at; /* in the statistics */
    enum channel_counter which;
    enum channel_counter also; /* COUNTERS: no other */
} rows[] = {
    {offsetof(struct zcrp_stats, system_calls), CHANNEL_CALLS_OUT, CHANNEL_CALLS_IN},
    {offsetof(struct zcrp_stats, channel_full), CHANNEL_BLOCKS, CHANNEL_CROWDS},
    {offsetof(struct zcrp_stats, path_hints), CHANNEL_TOO_BIGS, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, channel_refused), CHANNEL_REFUSALS, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, faults), CHANNEL_FAULTS, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, drop_truncated), CHANNEL_TRUNCATIONS, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, drop_leftover), CHANNEL_LEFTOVERS, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, drop_socket), CHANNEL_DROPS, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, offload_fallbacks), CHANNEL_FALLBACKS, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, drop_damaged), CHANNEL_DAMAGES, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, drop_incomplete), CHANNEL_INCOMPLETE, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, drop_circuit), CHANNEL_STRANGERS, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, bytes_staged), CHANNEL_STAGED, CHANNEL_COUNTERS},
    {offsetof(struct zcrp_stats, cells_lost), CHANNEL_CELLS_LOST, CHANNEL_COUNTERS},
};

static uint64_t field_of(const struct zcrp_stats *stats, int row)
{
    return *(const uint64_t *)(const void *)((const char *)stats + rows[row].at);
}

/* Of one channel, or of both. */
static uint64_t expected(int row, uint64_t (*count)(enum channel_counter))
{
    return count(rows[row].which) +
           (rows[row].also != CHANNEL_COUNTERS ? count(rows[row].also) : 0);
}

TEST(channels_add_stats__adds_each_counter_of_both, .rows = ROWS(rows))
{
    struct zcrp_stats stats = {0};

    channels_add_stats(&channels, &stats);
    ck_assert_uint_eq(field_of(&stats, _i), expected(_i, inward) + expected(_i, outward));
    channels.out = channels.in;
    channels_add_stats(&channels, &stats);
    ck_assert_uint_eq(field_of(&stats, _i), 2 * expected(_i, inward) + expected(_i, outward));
}

TEST(channels_count__counts_one_channel_once)
{
    ck_assert_uint_eq(channels_count(&channels, CHANNEL_FAULTS),
                      inward(CHANNEL_FAULTS) + outward(CHANNEL_FAULTS));
    channels.out = channels.in;
    ck_assert_uint_eq(channels_count(&channels, CHANNEL_FAULTS), inward(CHANNEL_FAULTS));
}
