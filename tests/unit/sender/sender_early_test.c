/* A sender whose handshake has given credit: what it sends before its peer is heard, and how that
 * ends. */
#include "core/path/ecn_path.h"
#include "sender_rig.h"

#include "../../support/suite.h"

static const struct pairing of_keys = {.session = RIG_SESSION, .tag = 5};
static struct keyring keyring;

enum { UNIT = 1408, SMALL = EARLY_DATA, BUFFERS = 3, SIZE = 8192 };

static void setup(void)
{
    struct sender_config config = sender_rig_config();

    keyring = (struct keyring){.pairing = of_keys};
    config.keyring = &keyring;
    config.stays = true;
    config.unit_bytes = UNIT + TRAILER_BYTES;
    config.burst_units = 32;
    config.burst_bytes = 65536;
    config.window_bytes = 1 << 20;
    config.connect = SECOND;
    sender_rig_init(&config);
    rig.pairing = of_keys;
}

static void teardown(void)
{
    sender_rig_fini();
}

FIXTURE(setup, teardown)

static void admit_early(void)
{
    sender_admit_early(rig.s, rig.now, BUFFERS, SIZE);
    sender_check(rig.s);
}

/* Takes all that may leave. The largest unit's data, and how many there were. */
static uint32_t take_all(uint32_t *largest)
{
    uint32_t units = 0;

    *largest = 0;
    while (sender_take(rig.s, rig.now, &rig.burst)) {
        ck_assert(!rig.burst.is_control);
        units += rig.burst.datagrams;
        if (rig.burst.segment - TRAILER_BYTES > *largest)
            *largest = rig.burst.segment - (uint32_t)TRAILER_BYTES;
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        sender_check(rig.s);
    }
    return units;
}

/* An acknowledgement of what was sealed in the session, and opened. */
static void hear(uint32_t units)
{
    uint8_t datagram[CONTROL_BYTES];
    struct block_ack ack = {.pairing = of_keys,
                            .newest = units - 1,
                            .capacity = rig.capacity,
                            .length = units > 0,
                            .first_is_positive = true,
                            .has_ecn = rig.has_ecn,
                            .bounds = datagram};

    ack_bound_encode(datagram, 0);
    ack_bound_encode(datagram + ACK_BOUND_BYTES, units);
    sender_admit(rig.s, rig.now);
    sender_receive_near(rig.s, rig.now, datagram,
                        block_ack_encode(datagram, sizeof datagram, &ack));
    sender_check(rig.s);
}

/* Small units, no more than the peer keeps, whose messages have a buffer by the handshake. */
TEST(sender_admit_early__few_small_units)
{
    uint32_t largest;
    for (int i = 0; i < BUFFERS + 1; i++)
        sender_rig_submit(SIZE);
    sender_rig_expect_nothing();
    admit_early();
    ck_assert_int_eq(sender_link(rig.s), LINK_ASKING);
    ck_assert(!sender_is_admitted(rig.s));
    ck_assert_uint_eq(sender_pairing(rig.s).session, 0);
    ck_assert(!sender_wants_ecn(rig.s));
    ck_assert_uint_eq(take_all(&largest), EARLY_UNITS);
    ck_assert_uint_eq(largest, SMALL);
}

/* However small they are. */
TEST(sender_admit_early__few_tiny_units)
{
    uint32_t largest;
    for (int i = 0; i < 2 * EARLY_UNITS; i++)
        sender_rig_submit(8);
    sender_admit_early(rig.s, rig.now, 2 * EARLY_UNITS, SIZE);
    ck_assert_uint_eq(take_all(&largest), EARLY_UNITS);
    ck_assert_uint_eq(largest, 8);
}

/* Afterwards everything is as ever: larger units, and the link is up. */
TEST(sender_admit__after_early_units)
{
    uint32_t largest;
    for (int i = 0; i < BUFFERS + 1; i++)
        sender_rig_submit(SIZE);
    admit_early();
    ck_assert_uint_eq(take_all(&largest), EARLY_UNITS);
    hear(EARLY_UNITS);
    ck_assert_int_eq(sender_link(rig.s), LINK_UP);
    ck_assert_uint_eq(sender_pairing(rig.s).session, RIG_SESSION);
    sender_rig_expect_event(OUTCOME_OK, SIZE);
    ck_assert_uint_gt(take_all(&largest), 0);
    ck_assert_uint_eq(largest, UNIT);
    sender_rig_expect_no_event();
}

/* Early units leave without ECN's field, so that it is missing says nothing of the path. */
TEST(sender_admit__early_units_do_not_test_ecn)
{
    uint32_t largest;
    sender_rig_submit(SIZE);
    sender_rig_submit(SIZE);
    admit_early();
    ck_assert_uint_eq(take_all(&largest), EARLY_UNITS);
    hear(EARLY_UNITS);
    ck_assert(sender_wants_ecn(rig.s));
    (void)take_all(&largest);
    rig.has_ecn = true;
    hear(EARLY_UNITS + 1);
    ck_assert(sender_wants_ecn(rig.s));
}

/* A message without a buffer waits for its request, and one that is too large is void. */
TEST(sender_admit_early__what_has_no_buffer)
{
    sender_rig_submit(0);
    sender_rig_submit(SIZE);
    sender_admit_early(rig.s, rig.now, 1, 100);
    sender_rig_expect("0:0+0LA");
    sender_rig_expect_nothing();
}

TEST(sender_admit_early__too_large)
{
    sender_rig_submit(SIZE);
    sender_admit_early(rig.s, rig.now, 1, 100);
    sender_rig_expect("0:1+0LVA");
}

/* The peer does not admit this side: the limit of that holds, and the reason is the handshake's. */
TEST(sender_admit_early__never_admitted)
{
    uint32_t largest;
    instant began = rig.now;
    sender_rig_submit(SIZE);
    admit_early();
    sender_on_keys(rig.s, OUTCOME_NOT_ADMITTED);
    struct event event;
    while (!sender_event(rig.s, &event)) {
        (void)take_all(&largest);
        rig.now = sender_deadline(rig.s);
        sender_expire(rig.s, rig.now);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_NOT_ADMITTED);
    ck_assert_int_eq(rig.now - began, SECOND);
    ck_assert_int_eq(sender_link(rig.s), LINK_ENDED);
}

/* It is refused: nothing is left, nobody is to be told, and the close is in order. */
TEST(sender_admit_early__refused)
{
    uint32_t largest;
    sender_rig_submit(SIZE);
    admit_early();
    (void)take_all(&largest);
    sender_fail(rig.s, rig.now, OUTCOME_KEYS);
    sender_rig_expect_event(OUTCOME_KEYS, 0);
    admit_early();
    sender_admit(rig.s, rig.now);
    ck_assert_int_eq(sender_link(rig.s), LINK_ENDED);
    sender_close(rig.s, rig.now);
    ck_assert(sender_is_closed(rig.s));
    ck_assert(sender_is_confirmed(rig.s));
}

/* What is lost goes again, by the time, and no hello before the peer is heard. */
TEST(sender_admit_early__lost)
{
    uint32_t largest;
    sender_rig_submit(100);
    admit_early();
    ck_assert_uint_eq(take_all(&largest), 1);
    for (int i = 0; i < 2; i++) {
        rig.now = sender_deadline(rig.s);
        sender_expire(rig.s, rig.now);
        ck_assert_uint_eq(take_all(&largest), 1);
    }
    ck_assert_uint_eq(sender_counters(rig.s)->hellos, 0);
}

/* A close that begins meanwhile waits for the messages, and the peer confirms it. */
TEST(sender_admit_early__closed_meanwhile)
{
    uint32_t largest;
    sender_rig_submit(100);
    admit_early();
    ck_assert_uint_eq(take_all(&largest), 1);
    sender_close(rig.s, rig.now);
    ck_assert(!sender_is_closed(rig.s));
    hear(1);
    ck_assert(sender_is_admitted(rig.s));
    sender_rig_expect_event(OUTCOME_OK, 100);
    sender_expire(rig.s, rig.now);
    ck_assert(sender_rig_hello().is_closing);
}

/* Those behind them do, and each counts once. */
TEST(sender_admit__units_behind_early_ones_test_ecn)
{
    uint32_t largest;
    for (int i = 0; i < BUFFERS; i++)
        sender_rig_submit(SIZE);
    admit_early();
    ck_assert_uint_eq(take_all(&largest), EARLY_UNITS);
    hear(EARLY_UNITS);
    uint32_t units = take_all(&largest);
    ck_assert_uint_ge(units, ECN_PATH_UNITS);
    hear(EARLY_UNITS + ECN_PATH_UNITS - 1);
    ck_assert(sender_wants_ecn(rig.s));
    hear(EARLY_UNITS + ECN_PATH_UNITS);
    ck_assert(!sender_wants_ecn(rig.s));
}

/* ---- the peer forgets the handshake ---- */

/* Nothing was sent: all goes on with the keys of the next one, and so does the limit of time. */
TEST(sender_unbind__nothing_was_sent)
{
    sender_rig_submit(100);
    sender_rig_submit(SIZE);
    admit_early();
    instant gives_up_at = sender_gives_up_at(rig.s);
    ck_assert(sender_cancel(rig.s, rig.now, 0));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    rig.now += SECOND / 2;
    ck_assert(sender_unbind(rig.s, rig.now));
    sender_check(rig.s);
    ck_assert_int_eq(sender_gives_up_at(rig.s), gives_up_at);
    ck_assert_int_eq(sender_link(rig.s), LINK_ASKING);
    sender_rig_expect_nothing();
    keyring.pairing.tag++;
    rig.pairing = keyring.pairing;
    sender_admit(rig.s, rig.now);
    sender_check(rig.s);
    ck_assert_int_eq(sender_link(rig.s), LINK_UP);
    ck_assert_uint_eq(sender_pairing(rig.s).tag, keyring.pairing.tag);
}

/* Credit of the next one counts. */
TEST(sender_unbind__early_again)
{
    uint32_t largest;
    sender_rig_submit(100);
    ck_assert(sender_unbind(rig.s, rig.now)); /* there is nothing to undo */
    sender_admit_early(rig.s, rig.now, 0, SIZE);
    sender_rig_expect_nothing();
    ck_assert(sender_unbind(rig.s, rig.now));
    admit_early();
    ck_assert_uint_eq(take_all(&largest), 1);
}

/* What was sent may have arrived. */
TEST(sender_unbind__a_unit_was_sent)
{
    uint32_t largest;
    sender_rig_submit(100);
    admit_early();
    ck_assert_uint_eq(take_all(&largest), 1);
    ck_assert(!sender_unbind(rig.s, rig.now));
    sender_check(rig.s);
    sender_fail(rig.s, rig.now, OUTCOME_RESTARTED);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
    ck_assert_int_eq(sender_link(rig.s), LINK_ENDED);
}
