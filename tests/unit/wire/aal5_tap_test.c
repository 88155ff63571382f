/* What a tap on an AAL5 channel is shown. */
#include "../../support/suite.h"
#include "transport/aal5/aal5_channel.h"
#include "transport/channel.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { UNITS = 20, DATA = 3000, ROUNDS = 40 };

/* What was shown at one end. */
struct shown {
    uint32_t good, damaged, pieces_most;
    uint32_t payload[UNITS * ROUNDS]; /* bytes of the good ones */
};

static struct channel sender, receiver;
static struct burst burst;
static struct landing landing;
static struct shown out, in;
static int fd[2];
static uint8_t from[UNITS][DATA], to[UNITS][DATA];

static void see(void *context, const struct channel *c, const struct channel_crossing *crossing)
{
    struct shown *shown = context;
    static uint8_t pdu[AAL5_PDU_MOST];
    uint32_t bytes = 0, payload = 0;

    for (uint32_t i = 0; i < crossing->count; i++) {
        ck_assert_uint_gt(crossing->pieces[i].iov_len, 0);
        memcpy(pdu + bytes, crossing->pieces[i].iov_base, crossing->pieces[i].iov_len);
        bytes += (uint32_t)crossing->pieces[i].iov_len;
    }
    ck_assert_uint_eq(bytes, crossing->bytes);
    ck_assert_uint_eq(bytes % AAL5_CELL, 0);
    ck_assert(crossing->is_pdu);
    ck_assert_int_eq(crossing->is_outward, c == &sender);
    ck_assert_uint_eq(crossing->circuit.vpi, 7);
    ck_assert_uint_eq(crossing->circuit.vci, 99);
    ck_assert_int_gt(crossing->time_ns, 0);
    if (aal5_judge(pdu + bytes - AAL5_TRAILER, bytes, crc32_add(0, pdu, bytes), &payload) ==
        AAL5_OK)
        shown->payload[shown->good++] = payload;
    else
        shown->damaged++;
    if (crossing->count > shown->pieces_most)
        shown->pieces_most = crossing->count;
}

static void open_ends(const struct aal5_faults *faults)
{
    struct channel_options options = {
        .aal5 = {.is_wanted = true, .out = {7, 99}, .in = {7, 99}, .mtu = 9180, .faults = *faults}};

    memset(&in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), 0);
    options.tap = (struct channel_tap){.see = see, .context = &out};
    ck_assert_int_eq(channel_init(&sender, fd[0], &options), 0);
    options.tap.context = &in;
    ck_assert_int_eq(channel_init(&receiver, fd[1], &options), 0);
    landing_init(&landing, malloc(landing_memory(LANDING_OPENINGS)), LANDING_OPENINGS);
    sender.aal5->packet_bytes = 10 * AAL5_CELL;
    memset(from, 0x5a, sizeof(from));
}

static void close_ends(void)
{
    channel_fini(&sender);
    channel_fini(&receiver);
    close(fd[0]);
    close(fd[1]);
    free(landing.spill);
}

/* Units of DATA bytes and less; the last has none. */
static void fill(void)
{
    burst.datagrams = UNITS;
    burst.segment = DATA + TRAILER_BYTES;
    for (uint32_t u = 0; u < UNITS; u++) {
        burst.iov[2 * u] = (struct iovec){from[u], u + 1 < UNITS ? DATA : 0};
        burst.iov[2 * u + 1] = (struct iovec){burst.trailer[u], TRAILER_BYTES};
    }
}

static void receive_all(void)
{
    int filled;

    do {
        landing_begin(&landing);
        for (uint32_t u = 0; u < UNITS; u++) {
            (void)landing_offer(&landing, to[u], DATA);
            (void)landing_seal(&landing);
        }
        filled = channel_receive(&receiver, &landing);
        ck_assert_int_ge(filled, 0);
    } while (filled > 0);
}

/* Sends the units, and receives whenever the socket is full. */
static void move(void)
{
    struct burst rest = burst;
    uint32_t taken;

    while (rest.datagrams > 0) {
        enum channel_verdict verdict = channel_send(&sender, &rest, &taken);
        ck_assert(verdict == CHANNEL_OK || verdict == CHANNEL_BLOCKED);
        rest.datagrams -= taken;
        memmove(rest.iov, &rest.iov[2 * taken], 2 * rest.datagrams * sizeof(rest.iov[0]));
        receive_all();
    }
}

TEST(aal5_tap__every_pdu_once)
{
    open_ends(&(struct aal5_faults){0});
    fill();
    move();
    ck_assert_uint_eq(out.damaged + in.damaged, 0);
    ck_assert_uint_eq(out.good, UNITS);
    ck_assert_uint_eq(in.good, UNITS);
    for (uint32_t u = 0; u < UNITS; u++) {
        ck_assert_uint_eq(out.payload[u], burst.iov[2 * u].iov_len + TRAILER_BYTES);
        ck_assert_uint_eq(in.payload[u], out.payload[u]);
    }
    ck_assert_uint_gt(out.pieces_most, 3);
    close_ends();
}

/* Lost cells: what is damaged is shown at both ends. */
TEST(aal5_tap__damaged)
{
    open_ends(&(struct aal5_faults){.loss = AAL5_CERTAIN / 200, .seed = 1});
    for (int i = 0; i < ROUNDS; i++) {
        fill();
        move();
    }
    ck_assert_uint_gt(out.good, 0);
    ck_assert_uint_gt(out.damaged, 0);
    ck_assert_uint_le(out.good + out.damaged, UNITS * ROUNDS); /* of some no cell is left */
    ck_assert_uint_le(in.good, out.good); /* one without its end takes the next with it */
    ck_assert_uint_gt(in.damaged, 0);
    ck_assert_uint_eq(in.damaged, channel_count(&receiver, CHANNEL_DAMAGES));
    close_ends();
}

TEST(aal5_tap__control)
{
    uint32_t sent;

    open_ends(&(struct aal5_faults){0});
    memset(burst.control, 0x42, 24);
    burst_set_control(&burst, 24);
    ck_assert_int_eq(channel_send(&sender, &burst, &sent), CHANNEL_OK);
    landing_begin(&landing);
    ck_assert(landing_seal(&landing));
    ck_assert_int_eq(channel_receive(&receiver, &landing), 1);
    ck_assert_uint_eq(out.good, 1);
    ck_assert_uint_eq(in.good, 1);
    ck_assert_uint_eq(in.payload[0], 24);
    close_ends();
}
