/* What a machine's configuration makes of options and of the channel. */
#include "core/receiver/receiver_state.h"
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
