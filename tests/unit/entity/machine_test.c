/* What a machine's configuration makes of options and of the channel; what it counts; and which
 * messages fail because of memory that is not there. */
#include "core/receiver/receiver_state.h"
#include "core/sender/sender_state.h"
#include "handshake/tls_handshake.h"
#include "link/machine.h"
#include "link/options.h"

#include "../../support/suite.h"

#include <sys/mman.h>

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

/* ---- memory that is not there ---- */

enum { MESSAGES = 4, BYTES = 100, IN_A_ROW = 3 };

/* A machine that has some messages, numbered from 0 on. */
static struct {
    struct machine machine;
    struct message message[MESSAGES];
    uint8_t bytes[MESSAGES][BYTES];
    struct burst burst;
    struct landing landing;
} f;

static void begin_faults(enum machine_role role)
{
    ck_assert(machine_init(&f.machine, role, &options, &channel));
    for (uint32_t i = 0; i < MESSAGES; i++) {
        f.message[i] = (struct message){.public.buffer = f.bytes[i], .size = BYTES};
        ck_assert(machine_submit(&f.machine, 0, &f.message[i]));
        ck_assert_uint_eq(f.message[i].number, i);
    }
}

/* Which messages have failed, because of their memory; a bit each. */
static uint32_t failed(void)
{
    struct event event;
    uint32_t bits = 0;

    while (machine_event(&f.machine, &event)) {
        ck_assert_int_eq(event.outcome, OUTCOME_FAULT);
        bits |= UINT32_C(1) << ((const struct message *)event.user - f.message);
    }
    return bits;
}

/* A burst of two of the messages, whose units are these pieces. */
static void plan_burst(struct iovec one, struct iovec other)
{
    f.burst = (struct burst){.datagrams = 1, .pins = 2, .iov = {one, other}};
    f.burst.pin[0].message = 1;
    f.burst.pin[1].message = 2;
}

/* The memory is there when somebody looks: only if that happens again and again do messages fail,
 * those of the burst. What the kernel has read begins the row anew. */
TEST(machine_on_burst_fault__no_culprit)
{
    const struct burst control = {.datagrams = 1, .is_control = true};

    begin_faults(MACHINE_SENDER);
    plan_burst((struct iovec){f.bytes[1], BYTES}, (struct iovec){f.bytes[2], BYTES});
    machine_on_burst_fault(&f.machine, &f.burst);
    for (int i = 0; i < IN_A_ROW; i++)
        machine_on_burst_fault(&f.machine, &control); /* which has no messages */
    machine_on_burst_fault(&f.machine, &f.burst);
    machine_on_burst_read(&f.machine, &control);
    ck_assert_uint_eq(failed(), 0);
    machine_on_burst_read(&f.machine, &f.burst);
    for (int i = 1; i < IN_A_ROW; i++)
        machine_on_burst_fault(&f.machine, &f.burst);
    ck_assert_uint_eq(failed(), 0);
    machine_on_burst_fault(&f.machine, &f.burst);
    ck_assert_uint_eq(failed(), 1 << 1 | 1 << 2);
    machine_fini(&f.machine);
}

/* Submits a message of one byte, which is not there. */
static void submit_lost(struct message *lost)
{
    uint8_t *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(gone, MAP_FAILED);
    *lost = (struct message){.public.buffer = gone, .size = 1};
    ck_assert(machine_submit(&f.machine, 0, lost));
    ck_assert_uint_eq(lost->number, MESSAGES);
}

/* It alone has failed. */
static void expect_lost(const struct message *lost)
{
    struct event event;

    ck_assert(machine_event(&f.machine, &event));
    ck_assert_ptr_eq(event.user, lost);
    ck_assert_int_eq(event.outcome, OUTCOME_FAULT);
    ck_assert_uint_eq(failed(), 0);
}

/* One byte that is not there is enough. Its message fails at once, and no other: if it is of the
 * burst. */
TEST(machine_on_burst_fault__culprit)
{
    struct message lost;

    begin_faults(MACHINE_SENDER);
    submit_lost(&lost);
    plan_burst((struct iovec){f.bytes[1], BYTES}, (struct iovec){lost.public.buffer, 1});
    f.burst.pin[1].message = lost.number;
    f.burst.pins = 1;
    machine_on_burst_fault(&f.machine, &f.burst);
    ck_assert_uint_eq(failed(), 0);
    f.burst.pins = 2;
    machine_on_burst_fault(&f.machine, &f.burst);
    expect_lost(&lost);
    for (int i = 1; i < IN_A_ROW; i++)
        machine_on_burst_fault(&f.machine, &f.burst);
    ck_assert_uint_eq(failed(), 0);
    machine_fini(&f.machine);
}

/* A receive that ran into a fault lands nothing that counts, but bytes may lie in messages. */
static void fault_plan(uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        f.landing.is_spoilt = false;
        machine_on_plan_fault(&f.machine, &f.landing);
        ck_assert(f.landing.is_spoilt);
    }
}

TEST(machine_on_plan_fault__no_culprit)
{
    begin_faults(MACHINE_RECEIVER);
    f.machine.receiver->planned = (struct interval){1, 3};
    fault_plan(IN_A_ROW - 1);
    ck_assert_uint_eq(failed(), 0);
    fault_plan(1);
    ck_assert_uint_eq(failed(), 1 << 1 | 1 << 2);
    machine_fini(&f.machine);
}

TEST(machine_on_plan_fault__culprit)
{
    struct message lost;

    begin_faults(MACHINE_RECEIVER);
    submit_lost(&lost);
    f.landing.iov[0] = (struct iovec){lost.public.buffer, 1};
    f.landing.openings = f.landing.first[1] = 1;
    f.machine.receiver->planned = (struct interval){lost.number - 1, lost.number + 1};
    fault_plan(1);
    expect_lost(&lost);
    machine_fini(&f.machine);
}

/* A plan without messages does not count. */
TEST(machine_on_plan_fault__no_messages)
{
    begin_faults(MACHINE_RECEIVER);
    f.machine.receiver->planned = (struct interval){2, 2};
    fault_plan(2 * IN_A_ROW);
    f.machine.receiver->planned = (struct interval){1, 3};
    fault_plan(IN_A_ROW - 1);
    ck_assert_uint_eq(failed(), 0);
    machine_fini(&f.machine);
}
