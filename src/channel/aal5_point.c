#include "aal5_point.h"

#include "aal5_channel.h"
#include "core/check.h"

/* Adds the bytes [from, last) of an opening's pieces to a packet's. */
static void add_range(struct msghdr *packet, const struct landing *l, uint32_t opening, size_t from,
                      size_t last)
{
    for (uint32_t i = l->first[opening]; i < l->first[opening + 1] && last > 0; i++) {
        size_t length = l->iov[i].iov_len;
        size_t begin = from < length ? from : length;
        size_t end = last < length ? last : length;
        if (begin < end)
            packet->msg_iov[packet->msg_iovlen++] =
                (struct iovec){(uint8_t *)l->iov[i].iov_base + begin, end - begin};
        from -= begin;
        last -= end;
    }
}

struct msghdr *aal5_point_head(struct aal5_incoming *in)
{
    uint32_t i = in->packets++;

    in->iov[i][0] = (struct iovec){in->head[i], in->head_bytes};
    in->message[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = in->iov[i], .msg_iovlen = 1}};
    return &in->message[i].msg_hdr;
}

/* What an opening holds without its spill: the unit that is expected there. */
static uint32_t expected_bytes(const struct landing *l, uint32_t opening)
{
    size_t bytes = 0;

    for (uint32_t i = l->first[opening]; i + 1 < l->first[opening + 1]; i++)
        bytes += l->iov[i].iov_len;
    return (uint32_t)bytes;
}

/* Points packets at the PDU expected in the opening, of which `have` bytes came before. The last
 * one has the spill behind it, so that it may be larger than expected. */
static void point_opening(struct aal5_incoming *in, const struct landing *l, uint32_t opening,
                          uint32_t have)
{
    uint32_t pdu = aal5_pdu_bytes(expected_bytes(l, opening));
    bool is_last = false;

    for (uint32_t at = have < pdu ? have : 0; !is_last && in->packets < AAL5_PACKETS_IN;
         at += in->piece_bytes) {
        is_last = pdu - at <= in->piece_bytes;
        add_range(aal5_point_head(in), l, opening, at, is_last ? SIZE_MAX : at + in->piece_bytes);
    }
}

void aal5_point(struct aal5_channel *a, const struct landing *l)
{
    a->in.packets = 0;
    for (uint32_t d = 0; d < l->openings && a->in.packets < AAL5_PACKETS_IN; d++) {
        CHECK(l->first[d + 1] - l->first[d] < AAL5_IOV_IN);
        point_opening(&a->in, l, d, d == 0 ? a->reassembly.bytes : 0);
    }
}
