/* An end with keys that cannot seal a datagram sends nothing. */
#include "transport/transport.h"

#include "../../support/suite.h"

#include <string.h>

enum { BYTES = 100 };

static bool seal_nothing(void *keys, const struct seal_text *t)
{
    (void)keys, (void)t;
    return false;
}

static void forget_nothing(void *keys, uint64_t epoch)
{
    (void)keys, (void)epoch;
}

static const struct cipher lacking = {
    .seal = seal_nothing, .forget = forget_nothing, .reach = forget_nothing};

/* Without keys yet, and without memory for those of the next epoch: it is lost, as on the way, and
 * nothing leaves in the clear. The socket is none, so the test would notice. */
TEST(transport_send__what_cannot_be_sealed_is_lost, .rows = 2)
{
    static uint8_t staging[SEAL_STAGING];
    struct channel none = {.fd = -1};
    struct keyring keyring = {
        .pairing = {.session = _i == 0 ? 0 : 1, .tag = 2},
        .control_out = {.cipher = &lacking, .keys = staging, .epoch_bits = SEAL_EPOCH_BITS}};
    struct transport t = {.out = &none, .keyring = &keyring, .staging = staging};
    struct burst burst;
    uint32_t sent;
    bool held;

    memset(burst.control, 0, BYTES);
    burst_set_control(&burst, BYTES);
    ck_assert_int_eq(transport_send(&t, false, &burst, &sent, &held), CHANNEL_OK);
    ck_assert_uint_eq(sent, burst.datagrams);
    ck_assert(!held);
}
