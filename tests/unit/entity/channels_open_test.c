/* Opening a half's channels on sockets of the user's, and giving them back as they were. */
#include "link/channels.h"
#include "link/options.h"

#include "../../support/loopback.h"
#include "../../support/own.h"
#include "../../support/suite.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKETS = 4 };

static int sockets[SOCKETS]; /* 0 and 1 are connected to each other, and so on */
static struct zcrp_options options;
static int before; /* descriptors */

static void setup(void)
{
    for (int i = 0; i < SOCKETS; i += 2)
        loopback_pair(LOOPBACK_UDP4, &sockets[i]);
    ck_assert_int_eq(options_complete(&options, NULL, 0), 0);
    before = own_descriptors();
}

FIXTURE(setup, NULL)
NEEDS(loopback_is_udp)

static int open_on(struct channels *c, bool is_sender, int first, int second)
{
    const int descriptors[2] = {first, second};

    return channels_open(c, is_sender, descriptors, &options);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void set_discovery(int fd, int value)
{
    ck_assert_int_eq(setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &value, sizeof(value)), 0);
}

static int discovery(int fd)
{
    int value = -1;
    socklen_t size = sizeof(value);

    ck_assert_int_eq(getsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &value, &size), 0);
    return value;
}

/* Has the library had the kernel look at checksums? */
static bool has_filter(int fd)
{
    socklen_t steps = 0;

    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, NULL, &steps), 0);
    return steps > 0;
}

/* Two descriptors of one socket are a channel that goes both ways. */
TEST(channels_open__one_socket_or_two)
{
    struct channels c = {0};
    int again = dup(sockets[0]);

    ck_assert_int_eq(open_on(&c, true, sockets[0], sockets[0]), ZCRP_OK);
    ck_assert_ptr_eq(c.in, c.out);
    channels_close(&c);
    ck_assert_int_eq(open_on(&c, true, sockets[0], again), ZCRP_OK);
    ck_assert_ptr_eq(c.in, c.out);
    channels_close(&c);
    ck_assert_int_eq(open_on(&c, true, sockets[0], sockets[2]), ZCRP_OK);
    ck_assert_ptr_ne(c.in, c.out);
    channels_close(&c);
    (void)close(again);
    ck_assert_int_eq(own_descriptors(), before);
    for (int i = 0; i < SOCKETS; i++)
        ck_assert(is_open(sockets[i]));
}

/* What cannot be opened leaves nothing. */
TEST(channels_open__refused)
{
    struct channels c = {0}, other = {0};
    int unconnected = loopback_bind();

    ck_assert_int_eq(open_on(&c, true, -1, sockets[0]), ZCRP_ERROR_DESCRIPTOR);
    ck_assert_int_eq(open_on(&c, true, sockets[0], -1), ZCRP_ERROR_DESCRIPTOR);
    set_discovery(sockets[0], IP_PMTUDISC_DONT);
    ck_assert_int_eq(open_on(&c, true, sockets[0], unconnected), ZCRP_ERROR_NOT_CONNECTED);
    ck_assert_int_eq(discovery(sockets[0]), IP_PMTUDISC_DONT);
    ck_assert_int_eq(open_on(&c, true, sockets[0], sockets[2]), ZCRP_OK);
    ck_assert_int_eq(open_on(&other, true, sockets[0], sockets[0]), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(open_on(&other, true, sockets[2], sockets[2]), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(open_on(&other, true, sockets[1], sockets[2]), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(open_on(&other, true, sockets[0], sockets[1]), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(open_on(&other, true, sockets[1], sockets[3]), ZCRP_OK);
    channels_close(&other);
    channels_close(&c);
    (void)close(unconnected);
    ck_assert_int_eq(own_descriptors(), before);
}

/* A sender and a receiver have one socket of two in common: each is given back as it was, by the
 * last that has it. */
TEST(channels_close__gives_sockets_back)
{
    static const int values[] = {IP_PMTUDISC_DONT, IP_PMTUDISC_DO, IP_PMTUDISC_WANT};
    struct channels sender = {0}, receiver = {0};

    for (int sender_first = 0; sender_first < 2; sender_first++) {
        for (int i = 0; i < 3; i++)
            set_discovery(sockets[i], values[i]);
        ck_assert_int_eq(open_on(&sender, true, sockets[0], sockets[1]), ZCRP_OK);
        ck_assert_int_eq(open_on(&receiver, false, sockets[2], sockets[1]), ZCRP_OK);
        channels_close(sender_first ? &sender : &receiver);
        ck_assert_int_eq(discovery(sockets[1]), IP_PMTUDISC_PROBE);
        ck_assert(has_filter(sockets[1]));
        ck_assert_int_eq(discovery(sockets[sender_first ? 0 : 2]), values[sender_first ? 0 : 2]);
        channels_close(sender_first ? &receiver : &sender);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(discovery(sockets[i]), values[i]);
            ck_assert(!has_filter(sockets[i]));
        }
    }
}

/* A child closes its copies alone, and of a connection, which has the descriptor, none. */
TEST(channels_abandon__closes_copies)
{
    struct channels c = {0};

    ck_assert_int_eq(open_on(&c, true, sockets[0], sockets[2]), ZCRP_OK);
    channels_abandon(&c);
    channels_after_fork();
    ck_assert_int_eq(own_descriptors(), before);
    ck_assert_int_eq(channels_open_half(&c, true, sockets[1], &options), ZCRP_OK);
    channels_abandon(&c);
    channels_after_fork();
    ck_assert(is_open(sockets[1]));
    ck_assert_int_eq(own_descriptors(), before);
}

/* ---- the tap ---- */

static int tapped; /* the descriptor that was shown last */

static void show(void *context, const struct zcrp_crossing *crossing)
{
    ck_assert_ptr_eq(context, &tapped);
    tapped = crossing->descriptor;
}

/* It is shown the user's descriptor, of which the library has a copy. */
TEST(channels_open__tap_knows_the_users_descriptor)
{
    struct channels c = {0};

    options.tap = show;
    options.tap_context = &tapped;
    for (int is_sender = 0; is_sender < 2; is_sender++) {
        ck_assert_int_eq(open_on(&c, is_sender, sockets[0], sockets[2]), ZCRP_OK);
        c.in->tap.see(c.in->tap.context, c.in, &(struct channel_crossing){.bytes = 1});
        ck_assert_int_eq(tapped, sockets[is_sender ? 0 : 2]);
        c.out->tap.see(c.out->tap.context, c.out, &(struct channel_crossing){.bytes = 1});
        ck_assert_int_eq(tapped, sockets[is_sender ? 2 : 0]);
        channels_close(&c);
    }
}
