/* How options and the channel become a machine's configuration; and its counters. */
#include "core/receiver/receiver_state.h"
#include "core/sender/sender_state.h"
#include "handshake/tls_handshake.h"
#include "link/machine.h"
#include "link/options.h"

#include "../../support/suite.h"

#define DAY (86400 * SECOND)

static struct session_keys keys;
static struct channel channel;
static struct zcrp_options options;

static void setup(void)
{
    channel = (struct channel){.datagram_max = 65507, .path_bytes = 1472, .path_most = 1472};
    ck_assert_int_eq(options_complete(&options, NULL, 0), 0);
}

FIXTURE(setup, NULL)

/* How long the system has to say that the peer's port is closed. */
static duration gone(struct keyring *keyring)
{
    struct machine m = {.stays = true, .keyring = keyring};

    ck_assert(machine_init(&m, MACHINE_RECEIVER, &options, &channel));
    duration time = m.receiver->config.gone;
    machine_fini(&m);
    return time;
}

TEST(machine__peer_that_is_gone)
{
    ck_assert_int_eq(gone(NULL), 5 * SECOND);
    options.silence_ns = INT64_MAX;
    ck_assert_int_eq(gone(NULL), 0);
    ck_assert_int_eq(gone(&keys.receiver), 0);
}

/* A caller with keys whose address changes says so at its next sign: two of them may be lost. */
TEST(machine__peer_that_may_move)
{
    options.keepalive_ns = 4 * SECOND;
    ck_assert_int_eq(gone(&keys.receiver), 13 * SECOND);
    options.keepalive_ns = DAY;
    ck_assert_int_eq(gone(&keys.receiver), 5 * SECOND + options.silence_ns / 2);
    channel.may_rebind = true;
    ck_assert_int_eq(gone(&keys.receiver), 5 * SECOND);
}

/* ---- of a receiver's buffer ---- */

/* What a receiver promises of its socket's buffer: half, or of large units six of eight parts, and
 * two units in any case. */
static const struct {
    enum channel_kind kind;
    uint32_t unit, buffer, capacity;
} buffers[] = {
    {CHANNEL_UDP4, 1472, 1 << 20, 1 << 19},     {CHANNEL_UDP4, (16 << 10) - 1, 1 << 20, 1 << 19},
    {CHANNEL_UDP4, 16 << 10, 1 << 20, 6 << 17}, {CHANNEL_UDP4, 1472, 4096, 2 * 1472},
    {CHANNEL_UNIX, 1472, 4096, UINT32_MAX},
};

TEST(machine__capacity, .rows = ROWS(buffers))
{
    struct machine m = {.keyring = NULL};

    channel.kind = buffers[_i].kind;
    channel.receive_buffer = buffers[_i].buffer;
    options.unit_bytes = buffers[_i].unit;
    ck_assert(machine_init(&m, MACHINE_RECEIVER, &options, &channel));
    ck_assert_uint_eq(m.receiver->config.capacity, buffers[_i].capacity);
    machine_fini(&m);
}

/* ---- of a sender's bursts ---- */

static struct sender_config config_of_sender(struct keyring *keyring)
{
    struct machine m = {.keyring = keyring};

    ck_assert(machine_init(&m, MACHINE_SENDER, &options, &channel));
    struct sender_config config = m.sender->config;
    machine_fini(&m);
    return config;
}

/* One call sends what the kernel cuts at once, some times over. */
TEST(machine__call)
{
    struct sender_config config = config_of_sender(NULL);

    ck_assert_uint_eq(config.call_bytes, 65507);
    ck_assert_uint_eq(config.burst_bytes, 17 * 65507);
    ck_assert_uint_eq(config.burst_units, BURST_UNITS);
    config = config_of_sender(&keys.sender); /* the kernel sees the seals, too */
    ck_assert_uint_eq(config.call_bytes, 65507 - BURST_CUT * SEAL_UNIT_BYTES);
    ck_assert_uint_eq(config.burst_bytes, config.call_bytes);
    ck_assert_uint_eq(config.burst_units, BURST_CUT);
}

/* The path's units may grow up to what the interface takes; those that the user wants stay. */
TEST(machine__largest_unit)
{
    channel.path_most = 9000;
    struct sender_config config = config_of_sender(NULL);
    ck_assert_uint_eq(config.unit_bytes, 1472);
    ck_assert_uint_eq(config.unit_most, 9000);
    options.unit_bytes = 4000;
    config = config_of_sender(NULL);
    ck_assert_uint_eq(config.unit_bytes, 4000);
    ck_assert_uint_eq(config.unit_most, 4000);
}

/* Only a kernel that cuts more than one datagram has an offload that could fail. */
TEST(machine__offload)
{
    for (uint32_t cuts = 1; cuts <= 3; cuts++) {
        atomic_store(&channel.gso_segments, cuts);
        ck_assert(config_of_sender(NULL).is_offloaded == (cuts > 1));
        ck_assert(!config_of_sender(NULL).is_cut);
    }
}

/* The least window has room for 256 units, a large one for units of 1 KiB. */
TEST(machine__transit)
{
    options.window_bytes = 1;
    ck_assert_uint_eq(config_of_sender(NULL).transit_units, 256);
    options.window_bytes = 300 << 10;
    ck_assert_uint_eq(config_of_sender(NULL).transit_units, 300);
    options.window_bytes--;
    ck_assert_uint_eq(config_of_sender(NULL).transit_units, 299);
    options.window_bytes = UINT64_MAX;
    ck_assert_uint_eq(config_of_sender(NULL).transit_units, 1 << 16);
}

/* ---- another address ---- */

/* A sender begins with what the new path takes. */
TEST(machine_on_moved__sender)
{
    struct machine m = {.stays = true};

    ck_assert(machine_init(&m, MACHINE_SENDER, &options, &channel));
    ck_assert_uint_eq(sender_gauges(m.sender).unit, 1472);
    channel.path_bytes = 1216;
    machine_on_moved(&m, 1, &options, &channel);
    ck_assert_uint_eq(sender_gauges(m.sender).unit, 1216);
    machine_fini(&m);
}

/* ---- what only one of them knows ---- */

TEST(machine__of_the_other_role)
{
    struct machine sender = {.stays = true}, receiver = {.stays = false};

    ck_assert(machine_init(&sender, MACHINE_SENDER, &options, &channel));
    ck_assert(machine_init(&receiver, MACHINE_RECEIVER, &options, &channel));
    ck_assert_int_eq(machine_round_trip(&sender), 0);
    ck_assert_int_eq(machine_end_beside(&sender, OUTCOME_SILENT), OUTCOME_SILENT);
    ck_assert(!machine_is_in_transit(&receiver));
    ck_assert_int_eq(machine_link(&receiver), LINK_ASKING);
    machine_fini(&sender);
    machine_fini(&receiver);
}

/* ---- what it counts ---- */

#define SENDER_COUNTS(X)                                                                           \
    X(bytes, bytes_arrived)                                                                        \
    X(units, units)                                                                                \
    X(repeated, units_repeated)                                                                    \
    X(lost, units_lost)                                                                            \
    X(spurious, units_spurious)                                                                    \
    X(marks, units_marked)                                                                         \
    X(probes, probes)                                                                              \
    X(bursts, bursts)                                                                              \
    X(acks, acknowledgements)                                                                      \
    X(wholes, messages_whole)                                                                      \
    X(requests, requests)                                                                          \
    X(drop_short, drop_short)                                                                      \
    X(drop_version, drop_version)                                                                  \
    X(drop_type, drop_type)                                                                        \
    X(drop_malformed, drop_malformed)                                                              \
    X(drop_session, drop_session)                                                                  \
    X(drop_number, drop_number)                                                                    \
    X(path_probes, path_probes)                                                                    \
    X(path_falls, path_falls)                                                                      \
    X(offload_failures, offload_failures)                                                          \
    X(left_out, left_out)

#define RECEIVER_COUNTS(X)                                                                         \
    X(bytes, bytes_arrived)                                                                        \
    X(units, units)                                                                                \
    X(in_place, units_in_place)                                                                    \
    X(moved, units_moved)                                                                          \
    X(bytes_moved, bytes_moved)                                                                    \
    X(marks, units_marked)                                                                         \
    X(bursts, bursts)                                                                              \
    X(acks, acknowledgements)                                                                      \
    X(wholes, messages_whole)                                                                      \
    X(requests, requests)                                                                          \
    X(offload_failures, offload_failures)                                                          \
    X(drop_short, drop_short)                                                                      \
    X(drop_version, drop_version)                                                                  \
    X(drop_type, drop_type)                                                                        \
    X(drop_malformed, drop_malformed)                                                              \
    X(drop_session, drop_session)                                                                  \
    X(drop_unposted, drop_unposted)                                                                \
    X(drop_beyond, drop_beyond)                                                                    \
    X(drop_duplicate, drop_duplicate)                                                              \
    X(drop_no_room, drop_no_room)                                                                  \
    X(drop_cookie, drop_cookie)

#define COUNT(counter, statistic) counters->counter = ++count;
#define EXPECT(counter, statistic) ck_assert_uint_eq(stats.statistic, ++count);

TEST(machine_add_stats__sender)
{
    struct machine m = {.keyring = &keys.sender};
    struct zcrp_stats stats = {0};
    uint64_t count = 0;

    keys.sender.control_in.forged = 1000;
    keys.sender.control_in.replayed = 2000;
    ck_assert(machine_init(&m, MACHINE_SENDER, &options, &channel));
    struct sender_counters *counters = &m.sender->counters;
    SENDER_COUNTS(COUNT)
    machine_add_stats(&m, &stats);
    count = 0;
    SENDER_COUNTS(EXPECT)
    ck_assert_uint_eq(stats.drop_forged, 1000);
    ck_assert_uint_eq(stats.drop_replayed, 2000);
    machine_fini(&m);
}

/* What is forged, or replayed, is counted together, whether it is a unit or control. */
TEST(machine_add_stats__receiver)
{
    struct machine m = {.keyring = &keys.receiver};
    struct zcrp_stats stats = {0};
    uint64_t count = 0;

    keys.receiver.control_in.forged = 1000;
    keys.receiver.control_in.replayed = 2000;
    ck_assert(machine_init(&m, MACHINE_RECEIVER, &options, &channel));
    struct receiver_counters *counters = &m.receiver->counters;
    RECEIVER_COUNTS(COUNT)
    counters->forged = 100;
    counters->replayed = 200;
    machine_add_stats(&m, &stats);
    count = 0;
    RECEIVER_COUNTS(EXPECT)
    ck_assert_uint_eq(stats.drop_forged, 1100);
    ck_assert_uint_eq(stats.drop_replayed, 2200);
    machine_fini(&m);
}
