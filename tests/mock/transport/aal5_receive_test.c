/* wrap: recvmsg recvmmsg */
#include "transport/aal5/aal5_channel.h"

#include "../../support/mock.h"
#include "core/wire/wire.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PAYLOAD = 3000, CELLS = 63, PIECE = 30 * AAL5_CELL };

/* Packets that are there: heads and cells. */
static struct {
    uint8_t bytes[AAL5_HEAD + 2 * CELLS * AAL5_CELL];
    size_t size;
} queue[8];
static unsigned queued, taken;
static struct sockaddr_in source; /* of all packets; port 0: it is not told */

static size_t scatter(struct msghdr *message, const uint8_t *bytes, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; i < message->msg_iovlen && at < size; i++) {
        size_t room = message->msg_iov[i].iov_len;
        size_t run = room < size - at ? room : size - at;
        memcpy(message->msg_iov[i].iov_base, bytes + at, run);
        at += run;
    }
    return at;
}

/* What was queued is how many packets come at most, or minus an error number. */
int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *limit)
{
    int most = mock_type(int);
    int filled = 0;

    (void)fd;
    assert_null(limit);
    assert_int_equal(flags, MSG_DONTWAIT);
    for (; filled < most && (unsigned)filled < count && taken < queued; filled++, taken++) {
        struct mmsghdr *m = &messages[filled];
        m->msg_len = (unsigned)scatter(&m->msg_hdr, queue[taken].bytes, queue[taken].size);
        m->msg_hdr.msg_flags = m->msg_len < queue[taken].size ? MSG_TRUNC : 0;
        m->msg_hdr.msg_controllen = 0;
        assert_int_equal(m->msg_hdr.msg_name != NULL, source.sin_family != 0);
        if (source.sin_family != 0)
            memcpy(m->msg_hdr.msg_name, &source, sizeof(source));
    }
    return mock_result(most < 0 ? most : filled > 0 ? filled : -EAGAIN);
}

/* One packet. */
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    struct mmsghdr packet = {.msg_hdr = *message};
    int filled = __wrap_recvmmsg(fd, &packet, 1, flags, NULL);

    *message = packet.msg_hdr;
    return filled > 0 ? (ssize_t)packet.msg_len : filled;
}

static struct channel c;
static struct landing landing;
static uint8_t pdu[CELLS * AAL5_CELL], slot[PAYLOAD];

static void open_channel_with(const struct channel_aal5 *options)
{
    c = (struct channel){.fd = 9, .kind = CHANNEL_UDP4, .path_bytes = PIECE + AAL5_HEAD};
    queued = taken = 0;
    source.sin_family = AF_UNSPEC;
    assert_int_equal(aal5_open(&c, options), 0);
    landing_init(&landing, malloc(landing_memory(LANDING_OPENINGS)), LANDING_OPENINGS);
    for (uint32_t i = 0; i < PAYLOAD; i++)
        pdu[i] = (uint8_t)(i * 31 >> 3);
    aal5_tail_encode(pdu + PAYLOAD, PAYLOAD, crc32_add(0, pdu, PAYLOAD), (struct aal5_user){0},
                     crc32_add);
    memset(slot, 0, sizeof(slot));
}

static void open_channel(void)
{
    open_channel_with(&(struct channel_aal5){.out = {0, 32}, .in = {0, 32}, .mtu = 9180});
}

static void close_channel(void)
{
    free(landing.spill);
    aal5_close(&c);
}

FIXTURE(open_channel, close_channel)

/* Queues cells [from, last) of the PDU as a packet. */
static void arrive(uint16_t number, uint32_t from, uint32_t last)
{
    struct aal5_head head = {.label = 16, .number = number, .is_end = last == CELLS};

    aal5_head_encode(queue[queued].bytes, &head);
    memcpy(queue[queued].bytes + AAL5_HEAD, pdu + from * AAL5_CELL, (last - from) * AAL5_CELL);
    queue[queued++].size = AAL5_HEAD + (last - from) * AAL5_CELL;
}

/* One call with the slot planned; the PDUs that came. */
static uint32_t receive(int most, int result)
{
    landing_begin(&landing);
    assert_true(landing_offer(&landing, slot, PAYLOAD - TRAILER_BYTES));
    while (landing_seal(&landing))
        ;
    will_return(__wrap_recvmmsg, most);
    assert_int_equal(aal5_receive(&c, &landing), result);
    return landing.received;
}

static void expect_in_place(void)
{
    assert_int_equal(landing.bytes[0], PAYLOAD);
    assert_memory_equal(slot, pdu, PAYLOAD - TRAILER_BYTES);
    assert_ptr_equal(landing.iov[0].iov_base, slot);
    assert_int_equal(landing.iov[0].iov_len, PAYLOAD - TRAILER_BYTES);
}

TEST(pieces_in_place)
{
    arrive(1, 0, 30);
    arrive(2, 30, 60);
    arrive(3, 60, CELLS);
    assert_int_equal(receive(32, 3), 1);
    expect_in_place();
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_IN), 1);
    assert_int_equal(channel_count(&c, CHANNEL_STAGED), 0);
}

/* What came first is set aside; the rest still lands in place. */
TEST(rest_in_the_next_call)
{
    struct landing_walk walk = {0};
    struct segment segment;

    arrive(1, 0, 30);
    arrive(2, 30, 60);
    arrive(3, 60, CELLS);
    assert_int_equal(receive(1, 1), 0);
    memset(slot, 0xEE, PIECE); /* the slot was not ours meanwhile */
    assert_int_equal(receive(32, 2), 1);
    assert_int_equal(channel_count(&c, CHANNEL_STAGED), PIECE);
    assert_true(landing_next(&landing, &walk, &segment));
    assert_int_equal(landing_move(&landing, &segment, 0, PAYLOAD - TRAILER_BYTES, slot), PIECE);
    landing_move_all(&landing);
    assert_memory_equal(slot, pdu, PAYLOAD - TRAILER_BYTES);
}

static void meet_congestion(unsigned packet)
{
    struct aal5_head head;

    assert_true(aal5_head_decode(queue[packet].bytes, &head));
    head.is_congested = true;
    aal5_head_encode(queue[packet].bytes, &head);
}

/* A mark on any piece is one of the PDU, whichever call brought it, and of no other. */
TEST(marked)
{
    arrive(1, 0, CELLS);
    arrive(2, 0, 30);
    arrive(3, 30, 60);
    arrive(4, 60, CELLS);
    arrive(5, 0, CELLS);
    meet_congestion(1);
    meet_congestion(2);
    assert_int_equal(receive(1, 1), 0); /* too large at first */
    assert_int_equal(receive(2, 2), 0);
    assert_int_equal(receive(32, 2), 2);
    assert_int_equal(landing.ecn[0], LANDING_ECN_CONGESTED); /* one of its pieces was marked */
    assert_int_equal(landing.ecn[1], LANDING_ECN_NONE);
    arrive(6, 0, CELLS);
    assert_int_equal(receive(32, 1), 1);
    assert_int_equal(landing.ecn[0], LANDING_ECN_NONE);
}

/* Where one PDU of several pieces was expected, small ones came, each in one: there are more PDUs
 * than the plan had openings. */
TEST(more_than_openings)
{
    enum { SMALL = 32, TIMES = 3 };
    struct landing_walk walk = {0};
    struct segment segment;

    for (uint16_t i = 0; i < TIMES; i++) {
        struct aal5_head head = {.label = 16, .number = (uint16_t)(i + 1), .is_end = true};
        uint8_t *cell = queue[queued].bytes + AAL5_HEAD;
        aal5_head_encode(queue[queued].bytes, &head);
        memset(cell, i, SMALL);
        aal5_tail_encode(cell + SMALL, SMALL, crc32_add(0, cell, SMALL), (struct aal5_user){0},
                         crc32_add);
        queue[queued++].size = AAL5_HEAD + AAL5_CELL;
    }
    landing_begin(&landing);
    assert_true(landing_offer(&landing, slot, PAYLOAD - TRAILER_BYTES));
    assert_true(landing_seal(&landing));
    will_return(__wrap_recvmmsg, TIMES);
    assert_int_equal(aal5_receive(&c, &landing), TIMES);
    for (int i = 0; i < TIMES; i++) {
        assert_true(landing_next(&landing, &walk, &segment));
        assert_int_equal(segment.bytes, SMALL);
        assert_int_equal(segment.tail[0], i);
    }
    assert_false(landing_next(&landing, &walk, &segment));
}

TEST(damaged)
{
    arrive(1, 0, 30);
    arrive(2, 30, 60);
    arrive(3, 60, CELLS);
    queue[0].bytes[100] ^= 1;
    assert_int_equal(receive(32, 3), 0);
    assert_int_equal(channel_count(&c, CHANNEL_DAMAGES), 1);
}

/* A length of 0, whatever the CRC: nothing is wrong on the way, the sender wants it no more. */
TEST(given_up_by_its_sender)
{
    memset(pdu + sizeof(pdu) - AAL5_TRAILER + 2, 0, 2);
    arrive(1, 0, 30);
    arrive(2, 30, 60);
    arrive(3, 60, CELLS);
    assert_int_equal(receive(32, 3), 0);
    assert_int_equal(channel_count(&c, CHANNEL_INCOMPLETE), 1);
    assert_int_equal(channel_count(&c, CHANNEL_DAMAGES), 0);
}

TEST(missing_piece)
{
    arrive(1, 0, 30);
    arrive(3, 0, 30);
    arrive(4, 30, 60);
    arrive(5, 60, CELLS);
    assert_int_equal(receive(32, 4), 1);
    assert_int_equal(landing.bytes[0], PAYLOAD);
    assert_int_equal(channel_count(&c, CHANNEL_INCOMPLETE), 1);
}

TEST(strangers)
{
    arrive(1, 0, 30);
    queue[0].bytes[2] |= 0x10; /* another label */
    arrive(2, 0, 30);
    queue[1].bytes[7] = 0; /* cells */
    arrive(3, 0, 30);
    queue[2].size = AAL5_HEAD;
    assert_int_equal(receive(32, 3), 0);
    assert_int_equal(channel_count(&c, CHANNEL_STRANGERS), 3);
}

/* A piece larger than those before does not fit where it is pointed; the next one does. */
TEST(larger_pieces)
{
    arrive(1, 0, 40);
    assert_int_equal(receive(32, 1), 0);
    assert_int_equal(channel_count(&c, CHANNEL_TRUNCATIONS), 1);
    arrive(2, 0, CELLS);
    assert_int_equal(receive(32, 1), 1);
    expect_in_place();
}

TEST(errors)
{
    assert_int_equal(receive(-EAGAIN, 0), 0);
    will_return(__wrap_recvmmsg, -EINTR);
    assert_int_equal(receive(-EAGAIN, 0), 0);
    assert_int_equal(receive(-EBADF, CHANNEL_BROKEN), 0);
}

/* Where nothing is expected a packet comes with each call, and lies in spill. */
TEST(scratch)
{
    struct landing_walk walk = {0};
    struct segment segment;
    struct iovec piece[LANDING_IOV];

    arrive(1, 0, 30);
    arrive(2, 30, CELLS);
    for (uint32_t received = 0; received < 2; received++) {
        landing_begin(&landing);
        assert_true(landing_seal(&landing));
        will_return(__wrap_recvmmsg, 32);
        assert_int_equal(aal5_receive(&c, &landing), 1);
        assert_int_equal(landing.received, received);
    }
    assert_true(landing_next(&landing, &walk, &segment));
    assert_int_equal(segment.bytes, PAYLOAD);
    assert_int_equal(landing_list(&landing, &segment, piece), 2);
    assert_memory_equal(piece[0].iov_base, pdu, 30 * AAL5_CELL);
    assert_memory_equal(piece[1].iov_base, pdu + 30 * AAL5_CELL, PAYLOAD - 30 * AAL5_CELL);
}

/* ---- a second circuit ---- */

enum { CONTROL = 150, CONTROL_CELLS = 4, CONTROL_LABEL = 17 };

static uint8_t answer[CONTROL_CELLS * AAL5_CELL];

static void add_circuit(void)
{
    close_channel();
    open_channel_with(
        &(struct channel_aal5){.out = {0, 33}, .in = {0, 32}, .also = {0, 33}, .mtu = 9180});
    for (uint32_t i = 0; i < CONTROL; i++)
        answer[i] = (uint8_t)(i * 17);
    aal5_tail_encode(answer + CONTROL, CONTROL, crc32_add(0, answer, CONTROL),
                     (struct aal5_user){0}, crc32_add);
}

/* Queues cells [first, last) of the answer PDU as a packet. */
static void arrive_control(uint16_t number, uint32_t first, uint32_t last)
{
    struct aal5_head head = {
        .label = CONTROL_LABEL, .number = number, .is_end = last == CONTROL_CELLS};

    aal5_head_encode(queue[queued].bytes, &head);
    memcpy(queue[queued].bytes + AAL5_HEAD, answer + first * AAL5_CELL, (last - first) * AAL5_CELL);
    queue[queued++].size = AAL5_HEAD + (last - first) * AAL5_CELL;
}

/* What the next segments are, in the order in which their last pieces came. */
static void expect_segment(struct landing_walk *walk, const uint8_t *bytes, uint32_t size)
{
    static uint8_t data[PAYLOAD];
    struct segment segment;

    assert_true(landing_next(&landing, walk, &segment));
    assert_int_equal(segment.bytes, size);
    assert_memory_equal(segment.tail, bytes + size - TRAILER_BYTES, TRAILER_BYTES);
    (void)landing_move(&landing, &segment, 0, size - TRAILER_BYTES, data);
    landing_move_all(&landing);
    assert_memory_equal(data, bytes, size - TRAILER_BYTES);
}

/* Numbers are a circuit's own, and so is the PDU under way. */
TEST(circuits__pieces_between_pieces)
{
    struct landing_walk walk = {0};

    add_circuit();
    arrive(7, 0, 30);
    arrive_control(40000, 0, 2);
    arrive(8, 30, 60);
    arrive_control(40001, 2, CONTROL_CELLS);
    arrive_control(40002, 0, CONTROL_CELLS);
    arrive(9, 60, CELLS);
    assert_int_equal(receive(32, 6), 3);
    expect_segment(&walk, answer, CONTROL);
    expect_segment(&walk, answer, CONTROL);
    expect_segment(&walk, pdu, PAYLOAD);
    assert_int_equal(channel_count(&c, CHANNEL_INCOMPLETE), 0);
    assert_int_equal(channel_count(&c, CHANNEL_DAMAGES), 0);
    assert_int_equal(channel_count(&c, CHANNEL_STRANGERS), 0);
}

/* Both PDUs under way are set aside at the end of each call, and neither in the other's place. */
TEST(circuits__both_set_aside)
{
    struct landing_walk walk = {0};

    add_circuit();
    arrive(1, 0, 30);
    arrive_control(1, 0, 2);
    arrive(2, 30, 60);
    arrive_control(2, 2, 3);
    arrive(3, 60, CELLS);
    arrive_control(3, 3, CONTROL_CELLS);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(receive(1, 1), 0);
        memset(slot, 0xEE, sizeof(slot)); /* not ours meanwhile */
        memset(landing.spill, 0xEE, LANDING_SPILL);
    }
    assert_int_equal(receive(32, 2), 2);
    expect_segment(&walk, pdu, PAYLOAD);
    expect_segment(&walk, answer, CONTROL);
}

/* A PDU that loses a piece is given up; that of the other circuit is not. */
TEST(circuits__a_gap_in_one)
{
    struct landing_walk walk = {0};

    add_circuit();
    arrive_control(1, 0, 2);
    arrive(1, 0, 30);
    arrive(3, 60, CELLS);
    arrive_control(2, 2, CONTROL_CELLS);
    assert_int_equal(receive(32, 4), 1);
    expect_segment(&walk, answer, CONTROL);
    assert_int_equal(channel_count(&c, CHANNEL_INCOMPLETE), 1);
}

/* The mark of one is not the other's. */
TEST(circuits__marked)
{
    add_circuit();
    arrive(1, 0, 30);
    arrive_control(1, 0, CONTROL_CELLS);
    arrive(2, 30, 60);
    arrive(3, 60, CELLS);
    meet_congestion(1);
    assert_int_equal(receive(32, 4), 2);
    assert_int_equal(landing.ecn[0], LANDING_ECN_CONGESTED);
    assert_int_equal(landing.ecn[1], LANDING_ECN_NONE);
}

/* ---- what came before the socket was connected ---- */

static void have_peer(uint32_t host)
{
    const struct sockaddr_in peer = {
        .sin_family = AF_INET, .sin_port = htons(7000), .sin_addr = {htonl(INADDR_LOOPBACK)}};

    memcpy(&c.peer, &peer, sizeof(peer));
    c.has_leftovers = true;
    source = peer;
    source.sin_addr.s_addr = htonl(host);
}

TEST(leftovers)
{
    have_peer(INADDR_LOOPBACK + 1);
    arrive(1, 0, 30);
    arrive(2, 30, CELLS);
    assert_int_equal(receive(32, 2), 0);
    assert_int_equal(channel_count(&c, CHANNEL_LEFTOVERS), 2);
    have_peer(INADDR_LOOPBACK);
    arrive(1, 0, 30);
    arrive(2, 30, 60);
    arrive(3, 60, CELLS);
    assert_int_equal(receive(32, 3), 1);
    expect_in_place();
    assert_true(c.has_leftovers); /* until the socket was empty */
    assert_int_equal(receive(-EAGAIN, 0), 0);
    assert_false(c.has_leftovers);
    assert_int_equal(channel_count(&c, CHANNEL_LEFTOVERS), 2);
}

/* What a raw socket receives has no port, whatever port it was connected to. */
TEST(leftovers__raw)
{
    const enum channel_kind kinds[] = {CHANNEL_UDP4, CHANNEL_RAW4, CHANNEL_RAW6};

    for (int i = 0; i < 3; i++) {
        c.kind = kinds[i];
        have_peer(INADDR_LOOPBACK);
        source.sin_port = 0;
        arrive(1, 0, CONTROL_CELLS);
        receive(32, 1);
        assert_int_equal(channel_count(&c, CHANNEL_LEFTOVERS), 1);
    }
    c.kind = CHANNEL_RAW4;
    have_peer(INADDR_LOOPBACK + 1);
    source.sin_port = 0;
    arrive(1, 0, CONTROL_CELLS);
    receive(32, 1);
    assert_int_equal(channel_count(&c, CHANNEL_LEFTOVERS), 2);
}
