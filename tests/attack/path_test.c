/* What an attacker says of the path: that it is congested, or narrow, or gone. Rows 7 and 8. */
#include "attack.h"

LOAD(asleep)

enum { MESSAGE = 262144, UNIT = 1472, UNIT_OF_IPV6 = 1440 };

static double megabytes_a_second(const struct victim_flow *flow)
{
    return flow->duration_ns == 0 ? 0 : (double)flow->bytes * 1e3 / (double)flow->duration_ns;
}

/* ---- row 7 ---- */

/* Datagrams in the peer's name that the network has marked: nothing, noise, and a unit of some
 * session. */
static void mark(struct raw *raw, struct raw_end from, struct raw_end to, unsigned i)
{
    static uint8_t noise[WIRE_TRAILER + 64] = {1, 2, 3};
    uint8_t datagram[WIRE_TRAILER + 64];
    const struct wire_unit unit = {.pairing = {1 + i, 1 + i}, .length = 64};
    size_t bytes = wire_unit(datagram, &unit, NULL);

    if (i % 3 == 0)
        raw_marked(raw, from, to, datagram, bytes, RAW_CONGESTED);
    else
        raw_marked(raw, from, to, noise, i % 3 == 1 ? 0 : sizeof(noise), RAW_CONGESTED);
}

/* A thousand marks a second for either end. */
static void mark_for(const struct stage *stage, double seconds, uint64_t *count)
{
    static struct raw near, far;

    raw_open(&near, stage, STAGE_RIGHT, attack_sender().port);
    raw_open(&far, stage, STAGE_LEFT, attack_receiver().port);
    for (double end = attack_seconds() + seconds; attack_seconds() < end; usleep(4000)) {
        for (unsigned i = 0; i < 5; i++) {
            mark(&near, attack_receiver(), attack_sender(), i);
            mark(&far, attack_sender(), attack_receiver(), i);
        }
        raw_flush(&near);
        raw_flush(&far);
    }
    *count = near.sent + far.sent;
    raw_close(&near);
    raw_close(&far);
}

/* The receiver's end of the stream runs already. */
static void stream_for(const struct victim *sender, unsigned milliseconds, struct victim_flow *flow)
{
    victim_begin_stream(sender, MESSAGE, 0);
    usleep(milliseconds * 1000);
    victim_end_stream(sender, flow);
}

TEST(row07__marks_of_strangers)
{
    const struct zcrp_options cubic = {.congestion = ZCRP_CONGESTION_CUBIC};
    struct stage stage;
    struct victim sender, receiver;
    struct victim_flow before, under, received;
    struct zcrp_stats of_sender, of_receiver;
    uint64_t marks;

    stage_open(&stage, 1500);
    bool is_limited = stage_limit(&stage, STAGE_LEFT, 160);
    attack_open_pair(&stage, &sender, &receiver, &cubic);
    victim_begin_stream(&receiver, MESSAGE, 0);
    stream_for(&sender, 500, &before); /* until the window is open */
    stream_for(&sender, 1500, &before);
    victim_begin_stream(&sender, MESSAGE, 0);
    mark_for(&stage, 2, &marks);
    victim_end_stream(&sender, &under);
    victim_stats(&sender, &of_sender);
    victim_end_stream(&receiver, &received);
    victim_stats(&receiver, &of_receiver);
    attack_figure(
        7,
        "%lu marks in 2 s, CUBIC %s: %lu believed; window of %lu, then %lu bytes at least, "
        "%.1f, then %.1f MB/s",
        marks, is_limited ? "at 20 MB/s" : "without a limit",
        of_sender.units_marked + of_receiver.units_marked, before.least_window_bytes,
        under.least_window_bytes, megabytes_a_second(&before), megabytes_a_second(&under));
    ck_assert_uint_eq(of_sender.units_marked, 0);
    ck_assert_uint_eq(of_receiver.units_marked, 0);
    ck_assert_uint_gt(under.least_window_bytes, before.least_window_bytes / 4);
    ck_assert_uint_eq(under.failed, 0);
}

/* ---- row 8 ---- */

/* Each type and code of ICMP, and each MTU that a router may name, about the sender's datagrams. */
static void complain_once(struct raw *raw)
{
    struct raw_icmp icmp = {.said = attack_sender(), .for_ = attack_receiver()};

    for (uint32_t i = 0; i < 65536; i++) {
        icmp.from = attack_stranger(i).address;
        icmp.type = place_is_ipv6() ? 2 : 3; /* too big */
        icmp.code = place_is_ipv6() ? 0 : 4;
        icmp.rest = 65535 - i;
        raw_icmp(raw, &icmp);
        if (i % 16 != 0)
            continue;
        icmp.type = (uint8_t)(i >> 8);
        icmp.code = (uint8_t)(i >> 4 & 15);
        raw_icmp(raw, &icmp);
    }
    raw_flush(raw);
}

/* As fast as can be, for a second: several complaints come between two calls of the sender's. */
static void complain_of_everything(struct raw *raw)
{
    double end = attack_seconds() + 1;

    do
        complain_once(raw);
    while (attack_seconds() < end);
}

TEST(row08__icmp_makes_no_unit_small, .rows = 2)
{
    static struct raw raw;
    struct stage stage;
    struct victim sender, receiver, later;
    struct victim_flow sent, after = {.messages = 0};
    struct zcrp_stats before, stats, fresh;

    if (!attack_open_stage(&stage, _i == 1))
        return;
    attack_open_pair(&stage, &sender, &receiver, NULL);
    victim_begin_stream(&receiver, MESSAGE, 0);
    victim_begin_stream(&sender, MESSAGE, 2 * VICTIM_MS);
    usleep(100000);
    raw_open(&raw, &stage, STAGE_RIGHT, 0);
    complain_of_everything(&raw);
    victim_end_stream(&sender, &sent);
    victim_stats(&sender, &before);
    for (int i = 0; i < 3 && after.messages <= 10; i++) { /* few: it got no processor */
        victim_begin_stream(&sender, MESSAGE, 2 * VICTIM_MS);
        usleep(1500000);
        victim_end_stream(&sender, &after);
    }
    victim_stats(&sender, &stats);
    victim_start(&later, &stage, STAGE_LEFT);
    ck_assert_int_eq(victim_open(&later, true, (struct raw_end){attack_sender().address, 4003},
                                 attack_receiver(), NULL),
                     0);
    victim_stats(&later, &fresh);
    attack_figure(8,
                  "%s: %lu complaints: least unit %lu bytes, 1.5 s later %lu; of a sender opened "
                  "then %lu; %lu messages failed",
                  attack_family(), raw.sent, sent.least_unit_bytes, stats.unit_bytes,
                  fresh.unit_bytes, sent.failed + after.failed);
    ck_assert_uint_ge(sent.least_unit_bytes, 1200);
    ck_assert_uint_ge(after.least_unit_bytes, 1200);
    ck_assert_uint_ge(fresh.unit_bytes, 1200);
    ck_assert_uint_eq(stats.unit_bytes, place_is_ipv6() ? UNIT_OF_IPV6 : UNIT);
    ck_assert_uint_eq(sent.failed + after.failed, 0);
    ck_assert_uint_gt(after.messages, 10);
}

/* Before there is a pairing a complaint may name the failure, no more: the receiver comes, and the
 * message with it. */
TEST(row08__icmp_ends_no_question, .rows = 2)
{
    const struct zcrp_options patient = {.connect_ns = 45000 * VICTIM_MS}; /* to hear all of it */
    static struct raw raw;
    struct stage stage;
    struct victim sender, receiver;

    if (!attack_open_stage(&stage, _i == 1))
        return;
    victim_start(&sender, &stage, STAGE_LEFT);
    victim_start(&receiver, &stage, STAGE_RIGHT);
    ck_assert_int_eq(victim_open(&sender, true, attack_sender(), attack_receiver(), &patient), 0);
    ck_assert_int_eq(victim_submit(&sender, 0, MESSAGE, 1), 0);
    raw_open(&raw, &stage, STAGE_RIGHT, 0);
    complain_of_everything(&raw);
    ck_assert_int_eq(victim_open(&receiver, false, attack_receiver(), attack_sender(), NULL), 0);
    ck_assert_int_eq(victim_submit(&receiver, 0, MESSAGE, 1), 0);
    double start = attack_seconds();
    int code = victim_wait(&sender, 0, 20000 * VICTIM_MS);
    attack_figure(8, "%s: %lu complaints before the receiver comes: \"%s\" after %.0f ms",
                  attack_family(), raw.sent, zcrp_strerror(code), (attack_seconds() - start) * 1e3);
    ck_assert_int_eq(code, ZCRP_OK);
}
