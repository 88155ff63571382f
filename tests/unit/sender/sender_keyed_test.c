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
