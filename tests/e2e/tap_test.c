/* What the user's taps are shown: all that crossed, and nothing else. */
#include "../support/ends.h"

LOAD(asleep)

enum { SIZE = 300000 };

/* Of one end. Its counts are touched by the entity's threads, one at a time for each direction. */
struct shown {
    uint64_t units[2], others[2]; /* inward, outward */
    uint64_t data;                /* bytes in units */
    int descriptor;
};

static uint8_t byte_at(const struct zcrp_crossing *crossing, uint64_t at)
{
    const struct iovec *piece = crossing->pieces;

    for (; at >= piece->iov_len; piece++)
        at -= piece->iov_len;
    return ((const uint8_t *)piece->iov_base)[at];
}

/* Bytes of the datagram itself; of a PDU that lost its end what its last bytes make of it, at most
 * all of it. */
static uint64_t datagram_bytes(const struct zcrp_crossing *crossing)
{
    uint64_t bytes = crossing->bytes;

    if (!crossing->is_pdu)
        return bytes;
    uint64_t said = (uint64_t)byte_at(crossing, bytes - 6) << 8 | byte_at(crossing, bytes - 5);
    return said < bytes ? said : bytes;
}

static void see(void *context, const struct zcrp_crossing *crossing)
{
    struct shown *shown = context;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < crossing->piece_count; i++)
        bytes += crossing->pieces[i].iov_len;
    ck_assert_uint_eq(bytes, crossing->bytes);
    ck_assert_int_gt(crossing->time_ns, 0);
    ck_assert_int_eq(crossing->descriptor, shown->descriptor);
    bytes = datagram_bytes(crossing);
    if (bytes >= 32 && byte_at(crossing, bytes - 1) == 0x21) {
        shown->units[crossing->is_outward]++;
        shown->data += bytes - 32;
    } else {
        shown->others[crossing->is_outward]++;
    }
}

/* What is shown of cells that are lost can be anything; without, nothing is missing. A busy machine
 * may repeat units, and those may come when the figures are taken already. */
static void expect_all(const struct shown *out, const struct shown *in,
                       const struct zcrp_stats *sent, const struct zcrp_stats *received)
{
    ck_assert_uint_eq(out->units[0] + in->units[1], 0);
    if (sent->units_repeated == 0 && out->units[1] == sent->units)
        ck_assert_uint_eq(in->units[0], received->units + received->drop_duplicate);
    ck_assert_uint_ge(in->others[1], received->acknowledgements + received->requests);
}

TEST(tap__all_that_crossed, .rows = 4)
{
    struct loopback sockets = loopback_open(_i % 2 ? LOOPBACK_UDP6 : LOOPBACK_UDP4, false);
    struct shown out = {.descriptor = sockets.sender[1]}, in = {.descriptor = sockets.receiver[0]};
    const struct zcrp_options options = {
        .unit_bytes = _i / 2 ? 1472 : 0, .flags = ZCRP_NO_MEMORY, .tap = see};
    struct zcrp_options of_sender = options, of_receiver = options;

    of_sender.tap_context = &out;
    of_receiver.tap_context = &in;
    struct ends_transfer counted = ends_transfer(&sockets, SIZE, &of_sender, &of_receiver);
    if (!loopback_is_lossy())
        expect_all(&out, &in, &counted.sent, &counted.received);
    ck_assert_uint_le(out.units[1], counted.sent.units);
    ck_assert_uint_ge(out.data, SIZE);
    ck_assert_uint_ge(in.units[0], counted.received.units + counted.received.drop_duplicate);
    ck_assert_uint_ge(out.others[1], 1); /* a hello */
    ck_assert_uint_ge(out.others[0], 2); /* a request and an acknowledgement */
    loopback_close(&sockets);
}
