/* A sender with keys whose peer, or which itself, comes to another address. */
#include "sender_rig.h"

#include "../../support/suite.h"
#include "core/path/address_check.h"

enum { UNITS = 12 };

static const struct pairing of_keys = {.session = RIG_SESSION, .tag = 5};
static struct keyring keyring;

static void setup_with(bool is_caller, enum congestion_kind kind)
{
    struct sender_config config = sender_rig_config();
    keyring = (struct keyring){.pairing = of_keys};
    config.keyring = &keyring;
    config.stays = true;
    config.is_caller = is_caller;
    config.congestion = kind;
    sender_rig_init(&config);
    sender_admit(rig.s, rig.now);
    rig.pairing = of_keys;
}

static void setup(void)
{
    setup_with(true, CONGESTION_CUBIC);
}

FIXTURE(setup, sender_rig_fini)

/* What was opened already. */
static void hear(const uint8_t *datagram, size_t size)
{
    sender_receive_near(rig.s, rig.now, datagram, size);
    sender_check(rig.s);
}

static void request(void)
{
    uint8_t datagram[CONTROL_BYTES];
    struct request_run run = {.count = 1, .size = UNITS * RIG_DATA};
    struct request said = {
        .pairing = of_keys, .capacity = rig.capacity, .length = 1, .runs = datagram};
    request_run_encode(datagram, &run);
    hear(datagram, request_encode(datagram, sizeof datagram, &said));
}

static void challenge(uint64_t number, uint32_t moves)
{
    uint8_t datagram[CONTROL_BYTES];
    struct challenge said = {.pairing = of_keys, .challenge = number, .moves = moves};
    hear(datagram, challenge_encode(datagram, sizeof datagram, &said));
}

/* All units in [first, last) have arrived. */
static void ack(uint32_t first, uint32_t last)
{
    uint8_t bounds[2 * ACK_BOUND_BYTES], datagram[CONTROL_BYTES];
    struct block_ack said = {.pairing = of_keys,
                             .newest = last - 1,
                             .capacity = rig.capacity,
                             .length = 1,
                             .bounds = bounds};
    ack_bound_encode(bounds, first);
    ack_bound_encode(bounds + ACK_BOUND_BYTES, last);
    hear(datagram, block_ack_encode(datagram, sizeof datagram, &said));
}

/* Units that leave; hellos are passed over. */
static uint32_t take_units(void)
{
    uint32_t units = 0;
    while (sender_take(rig.s, rig.now, &rig.burst)) {
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        units += rig.burst.is_control ? 0 : rig.burst.datagrams;
        sender_check(rig.s);
    }
    return units;
}

static uint32_t begin(void)
{
    request();
    sender_rig_submit(UNITS * RIG_DATA);
    return take_units();
}

TEST(sender_receive__challenge)
{
    struct challenge_answer answer;
    (void)take_units();
    challenge(0x123456789, 0);
    ck_assert(sender_has_burst(rig.s));
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    ck_assert(rig.burst.is_control);
    ck_assert_int_eq(challenge_answer_decode(rig.burst.control, rig.burst.bytes, &answer),
                     VERDICT_OK);
    ck_assert_uint_eq(answer.challenge, 0x123456789);
    ck_assert_uint_eq(answer.pairing.session, of_keys.session);
    sender_sent(rig.s, rig.now, &rig.burst, 1);
    ck_assert(!sender_has_burst(rig.s)); /* once */
}

TEST(sender_receive__challenge_of_another_pairing)
{
    uint8_t datagram[CONTROL_BYTES];
    struct challenge said = {.pairing = {RIG_SESSION + 1, 5}, .challenge = 1};
    (void)take_units();
    hear(datagram, challenge_encode(datagram, sizeof datagram, &said));
    ck_assert(!sender_has_burst(rig.s));
    ck_assert_uint_eq(sender_counters(rig.s)->drop_session, 1);
}

/* Its own address does not change, so it is asked by nobody. */
TEST(sender_receive__challenge_to_a_listener)
{
    sender_rig_fini();
    setup_with(false, CONGESTION_CUBIC);
    (void)take_units();
    challenge(1, 0);
    ck_assert(!sender_has_burst(rig.s));
    ck_assert_uint_eq(sender_counters(rig.s)->drop_type, 1);
}

/* All goes again, as the window allows it that congestion control begins with. */
TEST(sender_receive__moved)
{
    uint32_t before = begin();
    ck_assert_uint_ge(before, 10);
    ck_assert_uint_eq(take_units(), 0);
    challenge(0, 1);
    ck_assert_uint_eq(sender_counters(rig.s)->moves, 1);
    ck_assert_uint_eq(take_units(), before);
    challenge(0, 1); /* said again */
    ck_assert_uint_eq(sender_counters(rig.s)->moves, 1);
    ck_assert_uint_eq(take_units(), 0);
    ck_assert_int_eq(sender_gauges(rig.s).rtt_smoothed, 100 * MILLISECOND);
}

/* A move takes ADDRESS_CHECK_SETTLE at least: a peer that says more moves makes nothing leave. */
TEST(sender_receive__moves_too_often)
{
    uint32_t before = begin();
    uint64_t units = sender_counters(rig.s)->units;
    instant first = rig.now;
    for (uint32_t i = 1; i <= 50; i++) {
        challenge(0, i);
        (void)take_units();
        rig.now += MILLISECOND;
    }
    ck_assert_uint_eq(sender_counters(rig.s)->units - units, before);
    ck_assert_uint_eq(sender_counters(rig.s)->moves, 50);
    rig.now = first + ADDRESS_CHECK_SETTLE;
    challenge(0, 51);
    ck_assert_uint_eq(take_units(), before);
}

/* The acknowledgement of what had arrived over the old path tells no rate of the new one. */
TEST(sender_receive__moved_and_the_old_units_had_arrived)
{
    sender_rig_fini();
    setup_with(true, CONGESTION_BBR);
    uint32_t before = begin();
    challenge(0, 1);
    ck_assert_uint_eq(take_units(), before);
    rig.now += 10 * MICROSECOND;
    ack(0, before);
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, 0);
    ck_assert_uint_le(sender_gauges(rig.s).rate, UINT64_C(10) * RIG_UNIT * 1000);
}

/* Says hello at once, whatever is in transit; units are as large as the new path takes. */
TEST(sender_on_moved__begins_anew)
{
    struct hello hello;
    uint32_t before = begin();
    sender_on_moved(rig.s, rig.now, RIG_UNIT - 32, RIG_UNIT - 32);
    sender_check(rig.s);
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, 0);
    ck_assert_uint_eq(sender_gauges(rig.s).unit, RIG_UNIT - 32);
    hello = sender_rig_hello();
    ck_assert_uint_eq(hello.pairing.session, of_keys.session);
    ck_assert_uint_ge(take_units(), before);
}

/* A burst is with the channel meanwhile: none of it left, a part of it did, or all. */
TEST(sender_on_moved__beside_a_burst, .rows = 3)
{
    request();
    sender_rig_submit(UNITS * RIG_DATA);
    do
        ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    while (rig.burst.is_control);
    struct burst out = rig.burst;
    sender_on_moved(rig.s, rig.now, RIG_UNIT, RIG_UNIT);
    sender_check(rig.s);
    sender_sent(rig.s, rig.now, &out, (uint32_t)_i * out.datagrams / 2);
    sender_check(rig.s);
    ck_assert_uint_ge(take_units(), 10);
}

TEST(sender_show__a_hello_beside_units)
{
    (void)begin();
    sender_show(rig.s);
    (void)sender_rig_hello();
    ck_assert(!sender_has_burst(rig.s));
}
