/* Connections over AAL5: what cells and circuits add. What connections are, whatever carries them,
 * is in connection_test.c, which runs over AAL5, too. */
#include "../../support/house.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

LOAD(asleep)

enum { MESSAGE = 100000, BIG = 5000000, AAL5_PORT = 6635 };

static const struct zcrp_options aal5 = {.channel = ZCRP_CHANNEL_AAL5};

/* One message each way at the same time, so that units and control meet in both directions. */
static void exchange(const struct both *b, nlong size, uint64_t seed)
{
    struct zcrp_connection *const end[] = {b->there, b->here};
    struct zcrp_msg *in[2], *out[2];

    for (int i = 0; i < 2; i++) {
        in[i] = ends_empty(size);
        out[i] = ends_filled(size, seed + (uint64_t)i);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(end[1 - i]), in[i], size), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(end[i]), out[i], size), ZCRP_OK);
    }
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
        ck_assert(pattern_holds(in[i]->buffer, size, seed + (uint64_t)i));
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
}

/* Nothing was lost on the way, and nothing was taken for something else. */
static void expect_clean(const struct both *b)
{
    struct zcrp_connection *const end[] = {b->there, b->here};

    for (int i = 0; i < 2; i++) {
        struct zcrp_stats in = ends_stats(zcrp_connection_receiver(end[i]));
        ck_assert_uint_eq(in.drop_damaged + in.drop_circuit + in.drop_incomplete, 0);
        ck_assert_uint_eq(in.drop_short + in.drop_version + in.drop_type + in.drop_malformed, 0);
    }
}

/* The port says that it is AAL5, to both ends. An address of its own keeps other tests away. */
TEST(connection_aal5__by_port)
{
    struct zcrp_listener *listener;
    struct both b;

    ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.9", "6635", NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_connect(&b.there, "127.0.0.9", "6635", NULL, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(listener, &b.here, 5 * ENDS_SECOND), ZCRP_OK);
    exchange(&b, BIG, 1);
    ck_assert_uint_le(ends_stats(zcrp_connection_sender(b.here)).unit_bytes, 9180);
    expect_clean(&b);
    house_part(&b);
    (void)zcrp_listener_close(listener);
}

/* The port of whoever calls says nothing: a listener for datagrams goes on with datagrams. */
TEST(connection_aal5__not_by_the_callers_port)
{
    const struct zcrp_options plain = {.channel = ZCRP_CHANNEL_DATAGRAM};
    const struct sockaddr_in own = {.sin_family = AF_INET,
                                    .sin_port = htons(AAL5_PORT),
                                    .sin_addr = {htonl(INADDR_LOOPBACK + 9)}};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct house h = house_open("127.0.0.1", NULL);
    struct zcrp_connection *here;
    struct zcrp_entity *sender;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    peer.sin_port = htons((uint16_t)zcrp_listener_port(h.listener));
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&own, sizeof own), 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&peer, sizeof peer), 0);
    ck_assert_int_eq(zcrp_open_sender(&sender, (int[]){fd, fd}, &plain), ZCRP_OK);
    struct zcrp_msg *out = ends_filled(MESSAGE, 1), *in = ends_empty(MESSAGE);
    ck_assert_int_eq(zcrp_submit(sender, out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h.listener, &here, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(here), in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert_int_eq(zcrp_close(sender), ZCRP_OK);
    (void)zcrp_connection_close(here);
    (void)zcrp_listener_close(h.listener);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    close(fd);
}

/* PDUs of more than one packet: what control comes between two pieces of a unit belongs to neither.
 */
TEST(connection_aal5__units_in_pieces)
{
    struct zcrp_options large = aal5;

    large.aal5.mtu = 65535;
    struct house h = house_open("127.0.0.1", &large);
    struct both b = house_meet(&h, &large);
    ck_assert_uint_gt(ends_stats(zcrp_connection_sender(b.here)).unit_bytes, 65500);
    for (uint64_t seed = 0; seed < 5; seed++) /* units become smaller if the sockets overflow */
        exchange(&b, BIG, 10 * seed);
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
}

/* Cells are lost, in all directions, also those of hellos and cookies. */
TEST(connection_aal5__cell_loss, .rows = 3)
{
    static const uint32_t mtu[] = {1500, 9180, 65535};
    struct zcrp_options lossy = aal5;

    lossy.aal5.mtu = mtu[_i];
    lossy.aal5.faults.loss = 1000;
    lossy.aal5.faults.seed = 1998;
    struct house h = house_open("127.0.0.1", &lossy);
    struct both b = house_meet(&h, &lossy);
    for (uint64_t seed = 0; seed < 3; seed++)
        exchange(&b, 500000, 10 * seed);
    ck_assert_uint_gt(ends_stats(zcrp_connection_sender(b.there)).cells_lost, 0);
    ck_assert_uint_gt(ends_stats(zcrp_connection_sender(b.there)).units_repeated, 0);
    (void)zcrp_connection_close(b.there);
    (void)zcrp_connection_close(b.here);
    (void)zcrp_listener_close(h.listener);
}

/* Circuits of the options, at both ends the same; whoever calls on another one is not heard. */
TEST(connection_aal5__circuits)
{
    struct zcrp_options ours = {.channel = ZCRP_CHANNEL_AAL5,
                                .aal5 = {.vpi = 7, .vci = 100, .vci_control = 50}};
    struct zcrp_options others = ours;
    struct house h = house_open("127.0.0.1", &ours);
    struct both b = house_meet(&h, &ours);
    struct zcrp_connection *c;

    exchange(&b, MESSAGE, 1);
    expect_clean(&b);
    others.aal5.vci = 101;
    others.linger_ns = ENDS_MILLISECOND;
    ck_assert_int_eq(house_connect(&h, &c, &others, 200 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    others = (struct zcrp_options){.linger_ns = ENDS_MILLISECOND}; /* datagrams, not cells */
    ck_assert_int_eq(house_connect(&h, &c, &others, 200 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_accept(h.listener, &c, 0), ZCRP_ERROR_TIMEOUT);
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
}

/* The tap shows which circuit each PDU took: units one, control the next. */
static _Atomic uint64_t on_units, on_control, elsewhere;

static void count_circuits(void *context, const struct zcrp_crossing *crossing)
{
    (void)context;
    bool is_ours = crossing->is_pdu && crossing->vpi == 3;
    if (is_ours && crossing->vci == 200)
        on_units++;
    else if (is_ours && crossing->vci == 201)
        on_control++;
    else
        elsewhere++;
}

TEST(connection_aal5__tap)
{
    struct zcrp_options tapped = {
        .channel = ZCRP_CHANNEL_AAL5, .aal5 = {.vpi = 3, .vci = 200}, .tap = count_circuits};
    struct house h = house_open("127.0.0.1", &tapped);
    struct both b = house_meet(&h, &tapped);

    exchange(&b, MESSAGE, 1);
    house_part(&b);
    ck_assert_uint_ge(on_units, 4 * (MESSAGE / 9180)); /* out and in at either end */
    ck_assert_uint_ge(on_control, 4);
    ck_assert_uint_eq(elsewhere, 0);
    (void)zcrp_listener_close(h.listener);
}

/* A raw socket has no port by which peers could be told apart, and hears all that comes from its
 * peer's address. And a circuit takes the units and control of one sender only. */
TEST(connection_aal5__refused)
{
    static const struct zcrp_aal5 bad[] = {
        {.vci = 31},
        {.vci = 4127}, /* no circuit is left for control, */
        {.vci = 40, .vci_control = 40},
        {.vci_control = 32},
        {.vci_control = 4128},
        {.vpi = 256},
        {.mtu = 1199},
        {.faults = {.loss = 1000001}},
    };
    struct zcrp_listener *listener;
    struct zcrp_connection *c;

    for (int i = 0; i < ROWS(bad); i++) {
        struct zcrp_options o = {.channel = ZCRP_CHANNEL_AAL5, .aal5 = bad[i]};
        ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", "0", &o), ZCRP_ERROR_ARGUMENT);
        ck_assert_ptr_null(listener);
        ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", "7000", &o, 0), ZCRP_ERROR_ARGUMENT);
        ck_assert_ptr_null(c);
    }
    ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", NULL, &aal5), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", NULL, &aal5, 0), ZCRP_ERROR_ARGUMENT);
    setenv("ZCRP_AAL5", "los=1", 1);
    ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", "0", &aal5), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", "7000", &aal5, 0), ZCRP_ERROR_ARGUMENT);
}
