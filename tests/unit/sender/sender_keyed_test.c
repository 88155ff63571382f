/* A sender whose session follows from keys: there is no other one that it could ask for. */
#include "sender_rig.h"

#include "../../support/suite.h"

static const struct pairing of_keys = {.session = RIG_SESSION, .tag = 5};
static struct keyring keyring;

static void setup(void)
{
    struct sender_config config = sender_rig_config();

    keyring = (struct keyring){.pairing = of_keys};
    config.keyring = &keyring;
    config.stays = true;
    sender_rig_init(&config);
    sender_admit(rig.s, rig.now);
    rig.pairing = of_keys;
}

static void teardown(void)
{
    sender_rig_fini();
}

FIXTURE(setup, teardown)

/* The receiver asks for a message; what it says was opened already. */
static void request(uint64_t size)
{
    uint8_t datagram[CONTROL_BYTES];
    struct request_run run = {.first = 0, .count = 1, .size = size};
    struct request said = {
        .pairing = of_keys, .capacity = rig.capacity, .length = 1, .runs = datagram};

    request_run_encode(datagram, &run);
    sender_receive_near(rig.s, rig.now, datagram, request_encode(datagram, sizeof datagram, &said));
}

static uint32_t take_all(void)
{
    uint32_t hellos = 0;

    while (sender_take(rig.s, rig.now, &rig.burst)) {
        struct hello hello;
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        if (!rig.burst.is_control || hello_decode(rig.burst.control, rig.burst.bytes, &hello) != 0)
            continue;
        ck_assert_uint_eq(hello.pairing.session, of_keys.session);
        ck_assert_uint_eq(hello.pairing.tag, of_keys.tag);
        hellos++;
    }
    return hellos;
}

/* Nothing comes back: it tells the receiver of its own session that it is there, so that this one
 * does not take it for silent. */
TEST(sender_expire__no_answer_for_long)
{
    uint32_t hellos = 0;

    request(RIG_DATA);
    sender_rig_submit(RIG_DATA);
    (void)take_all();
    while (sender_counters(rig.s)->probes < 4) {
        sender_rig_wait();
        hellos += take_all();
    }
    ck_assert_uint_gt(hellos, 0);
}

/* One that is no half of a connection, and has no keys yet. */
static void start_alone(void)
{
    struct sender_config config = sender_rig_config();

    free(rig.s);
    keyring = (struct keyring){.pairing = {0, 0}};
    config.keyring = &keyring;
    sender_rig_init(&config);
}

static void expire(void)
{
    rig.now = sender_deadline(rig.s);
    sender_expire(rig.s, rig.now);
}

/* Before there are keys it has found nobody, and may find somebody later; it asks for nothing
 * itself. */
TEST(sender_fail__before_the_session)
{
    start_alone();
    for (int i = 0; i < 2; i++) {
        sender_rig_submit(RIG_DATA);
        ck_assert_uint_eq(take_all(), 0);
        expire();
        sender_rig_expect_event(OUTCOME_UNREACHABLE, 0);
        ck_assert_int_eq(sender_deadline(rig.s), NEVER);
    }
    sender_rig_submit(RIG_DATA);
    keyring.pairing = rig.pairing = of_keys;
    sender_admit(rig.s, rig.now);
    sender_rig_expect_no_event();
    ck_assert_int_eq(sender_link(rig.s), LINK_UP);
}

/* The peer has just shown that it is there: it is silent from then on. */
TEST(sender_admit__is_a_sign_of_life)
{
    struct event event;

    start_alone();
    sender_rig_submit(RIG_DATA);
    rig.now += 4 * SECOND;
    instant admitted = rig.now;
    keyring.pairing = rig.pairing = of_keys;
    sender_admit(rig.s, rig.now);
    (void)take_all();
    while (!sender_event(rig.s, &event)) {
        sender_rig_wait();
        (void)take_all();
    }
    ck_assert_int_eq(event.outcome, OUTCOME_SILENT);
    ck_assert_int_eq(rig.now - admitted, sender_rig_config().silence);
}

/* Its session is the only one, because numbers are sealed once. */
TEST(sender_fail__ends_with_its_session)
{
    start_alone();
    keyring.pairing = rig.pairing = of_keys;
    sender_admit(rig.s, rig.now);
    sender_fail(rig.s, rig.now, OUTCOME_SILENT);
    sender_rig_submit(RIG_DATA);
    sender_rig_expect_event(OUTCOME_SILENT, 0);
    sender_admit(rig.s, rig.now);
    ck_assert_int_eq(sender_link(rig.s), LINK_ENDED);
}

TEST(sender_fail__ends_with_wrong_keys)
{
    start_alone();
    sender_fail(rig.s, rig.now, OUTCOME_KEYS);
    sender_rig_submit(RIG_DATA);
    sender_rig_expect_event(OUTCOME_KEYS, 0);
}

/* Somebody is there, and goes on with no handshake, since before there was a message. */
TEST(sender_submit__what_the_handshake_found_out_holds)
{
    start_alone();
    sender_on_keys(rig.s, OUTCOME_KEYS);
    sender_rig_submit(RIG_DATA);
    expire();
    sender_rig_expect_event(OUTCOME_KEYS, 0);
}

/* What looks for a peer is the handshake's: refused again and again it has found nobody, but not if
 * the peer has taken part in it meanwhile. */
TEST(sender_on_refused__with_keys, .rows = 2)
{
    struct sender_config config = sender_rig_config();

    free(rig.s);
    keyring = (struct keyring){.pairing = {0, 0}};
    config.keyring = &keyring;
    config.refusal = SECOND;
    sender_rig_init(&config);
    sender_rig_submit(RIG_DATA);
    instant first = rig.now;
    for (int i = 0; i <= 10; i++) {
        rig.now = first + i * 100 * MILLISECOND;
        sender_rig_expect_no_event();
        if (_i == 1 && i == 9)
            sender_on_keys(rig.s, OUTCOME_NOT_ADMITTED);
        sender_on_handshake_sent(rig.s, rig.now);
        sender_on_listened(rig.s);
        sender_on_refused(rig.s, rig.now);
        sender_expire(rig.s, rig.now);
    }
    if (_i == 0)
        sender_rig_expect_event(OUTCOME_REFUSED, 0);
    else
        sender_rig_expect_no_event();
}

/* The largest that can be sealed control is looked at, and nothing larger. */
TEST(sender_receive__too_large)
{
    static uint8_t datagram[CONTROL_BYTES + SEAL_CONTROL_BYTES + 1];
    sender_receive(rig.s, rig.now, datagram, sizeof datagram - 1);
    ck_assert_uint_eq(sender_counters(rig.s)->drop_malformed, 0);
    ck_assert_uint_eq(sender_counters(rig.s)->drop_session, 1);
    sender_receive(rig.s, rig.now, datagram, sizeof datagram);
    ck_assert_uint_eq(sender_counters(rig.s)->drop_malformed, 1);
    ck_assert_uint_eq(sender_counters(rig.s)->drop_session, 1);
}
