#include "aal5_channel.h"
#include "core/check.h"
#include "platform/system.h"
#include "transport/crc.h"
#include "transport/udp/socket.h"

#include <errno.h>
#include <string.h>

enum {
    IP4_HEAD = 20, /* what a raw socket puts before the head, without options, */
    IP4_FIRST = 0x45,
    HEAD_MOST = IP4_HEAD + AAL5_HEAD,
    PACKETS_IN = LANDING_OPENINGS, /* with one call; each might be a whole PDU */
    IOV_IN = 4,                    /* head, slot, trailer, spill */
};

_Static_assert(AAL5_FRAGMENTS == PACKETS_IN * (IOV_IN - 1) + 1, "and what was set aside");

/* Where the packets of a call are pointed. */
struct incoming {
    uint32_t packets;
    uint32_t head_bytes; /* before the cells, with what the kernel adds */
    struct socket_packets packet;
    struct iovec iov[PACKETS_IN][IOV_IN];
    uint8_t head[PACKETS_IN][HEAD_MOST];
};

/* ---- where packets shall come down ---- */

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

/* Adds a packet with a place for its head and nothing else. Needs room for one. */
static struct msghdr *point_head(struct incoming *in)
{
    uint32_t i = in->packets++;
    struct msghdr *packet = &in->packet.message[i].msg_hdr;

    in->iov[i][0] = (struct iovec){in->head[i], in->head_bytes};
    *packet = (struct msghdr){.msg_iov = in->iov[i], .msg_iovlen = 1};
    return packet;
}

/* What an opening holds without its spill: the unit that is expected there. */
static uint32_t expected_bytes(const struct landing *l, uint32_t opening)
{
    size_t bytes = 0;

    for (uint32_t i = l->first[opening]; i + 1 < l->first[opening + 1]; i++)
        bytes += l->iov[i].iov_len;
    return (uint32_t)bytes;
}

/* Points packets at the PDU expected in the opening, in the first one those that go on where the
 * one under way stands. The last one has the spill behind it, so that it may be larger than
 * expected. */
static void point_opening(struct incoming *in, const struct landing *l, uint32_t opening,
                          const struct aal5_source *source)
{
    uint32_t pdu = aal5_pdu_bytes(expected_bytes(l, opening));
    uint32_t piece = source->piece_bytes, have = opening == 0 ? source->reassembly.bytes : 0;
    bool is_last = false;

    CHECK(l->first[opening + 1] - l->first[opening] < IOV_IN);
    for (uint32_t at = have < pdu ? have : 0; !is_last && in->packets < PACKETS_IN; at += piece) {
        is_last = pdu - at <= piece;
        add_range(point_head(in), l, opening, at, is_last ? SIZE_MAX : at + piece);
    }
}

/* ---- PDUs out of packets ---- */

static void add_fragment(struct aal5_source *source, uint8_t *base, size_t length)
{
    struct iovec *last = source->fragments > 0 ? &source->fragment[source->fragments - 1] : NULL;

    if (last && (uint8_t *)last->iov_base + last->iov_len == base) {
        last->iov_len += length;
        return;
    }
    CHECK(source->fragments < AAL5_FRAGMENTS);
    source->fragment[source->fragments++] = (struct iovec){base, length};
}

/* Adds the `bytes` bytes of cells in packet i, where they landed. */
static void add_cells(struct aal5_source *source, const struct incoming *in, uint32_t i,
                      size_t bytes)
{
    for (const struct iovec *piece = &in->iov[i][1]; bytes > 0; piece++) {
        size_t run = piece->iov_len < bytes ? piece->iov_len : bytes;
        add_fragment(source, piece->iov_base, run);
        bytes -= run;
    }
}

/* The last bytes of the PDU under way. */
static void read_trailer(const struct aal5_source *source, uint8_t trailer[AAL5_TRAILER])
{
    size_t left = AAL5_TRAILER;

    for (uint32_t i = source->fragments; left > 0; i--) {
        const struct iovec *f = &source->fragment[i - 1];
        size_t run = f->iov_len < left ? f->iov_len : left;
        memcpy(trailer + left - run, (const uint8_t *)f->iov_base + f->iov_len - run, run);
        left -= run;
    }
}

/* Shows the tap the PDU of `bytes` bytes that the fragments are. */
static void show_received(const struct channel *c, const struct aal5_source *source, uint32_t bytes)
{
    c->tap.see(c->tap.context, c,
               &(struct channel_crossing){
                   .time_ns = clock_date(),
                   .bytes = bytes,
                   .count = source->fragments,
                   .pieces = source->fragment,
                   .is_pdu = true,
                   .circuit = aal5_circuit(source->label),
               });
}

/* Checks the PDU under way, of `bytes` bytes, which is whole: its payload's bytes, or 0 if it is
 * damaged. */
static uint32_t check_pdu(struct channel *c, const struct aal5_source *source, uint32_t bytes)
{
    uint32_t crc = crc32_gather(crc_best(), 0, source->fragment, source->fragments);
    uint8_t trailer[AAL5_TRAILER];
    uint32_t payload;

    if (c->tap.see)
        show_received(c, source, bytes);
    read_trailer(source, trailer);
    switch (aal5_judge(trailer, bytes, crc, &payload)) {
    case AAL5_OK:
        return payload;
    case AAL5_ABORTED:
        channel_note(c, CHANNEL_INCOMPLETE, 1);
        break;
    case AAL5_DAMAGED:
    case AAL5_LENGTH:
        channel_note(c, CHANNEL_DAMAGES, 1);
        break;
    }
    return 0;
}

/* The circuit with that label, or NULL. */
static struct aal5_source *source_of(struct aal5_channel *a, uint32_t label)
{
    for (int i = 0; i < AAL5_SOURCES; i++)
        if (a->source[i].label == label)
            return &a->source[i];
    return NULL;
}

/* Reads the head of packet i; where its cells belong, or NULL if it is none of ours. Then there are
 * some. */
static struct aal5_source *read_head(struct channel *c, const struct incoming *in, uint32_t i,
                                     struct aal5_head *head)
{
    const uint8_t *bare = in->head[i] + in->head_bytes - AAL5_HEAD;
    bool is_ours = in->packet.message[i].msg_len > in->head_bytes &&
                   (in->head_bytes == AAL5_HEAD || in->head[i][0] == IP4_FIRST) &&
                   aal5_head_decode(bare, head);
    struct aal5_source *source = is_ours ? source_of(c->aal5, head->label) : NULL;

    if (source == NULL)
        channel_note(c, CHANNEL_STRANGERS, 1);
    return source;
}

/* A piece of `bytes` came at this offset. Larger ones are expected at once; smaller ones only when
 * a PDU of several pieces was good, because one that lost its end looks like a small piece. */
static void learn_piece(struct aal5_source *source, uint32_t offset, uint32_t bytes)
{
    if (offset == 0)
        source->first_bytes = bytes;
    if (bytes > source->piece_bytes)
        source->piece_bytes = bytes;
}

/* Counts what the reassembly has given up since `before`. */
static uint64_t given_up(const struct aal5_reassembly *r)
{
    return r->gaps + r->overlong + r->stalled + r->odd;
}

/* What became of a packet. */
struct taking {
    struct aal5_source *source; /* NULL: it is none of ours */
    uint32_t payload;           /* bytes, if the PDU of its circuit is whole now and good, else 0 */
};

/* Takes packet i into the PDU under way of its circuit. If that is whole now, its fragments are
 * those of the circuit until the next packet is taken. */
static struct taking take_packet(struct channel *c, const struct incoming *in, instant now,
                                 uint32_t i)
{
    struct aal5_head head;
    struct taking taking = {.source = read_head(c, in, i, &head)};
    struct aal5_source *source = taking.source;
    uint32_t cells = in->packet.message[i].msg_len - in->head_bytes;

    if (source == NULL)
        return taking;
    uint64_t before = given_up(&source->reassembly);
    struct aal5_step step = aal5_reassembly_take(&source->reassembly, now, &head, cells);
    channel_note(c, CHANNEL_INCOMPLETE, given_up(&source->reassembly) - before);
    if (!step.is_taken || step.offset == 0)
        source->fragments = 0;
    if (!step.is_taken)
        return taking;
    source->is_congested = head.is_congested || (step.offset > 0 && source->is_congested);
    learn_piece(source, step.offset, cells);
    add_cells(source, in, i, cells);
    taking.payload = step.is_whole ? check_pdu(c, source, step.offset + cells) : 0;
    if (taking.payload > 0 && step.offset > 0)
        source->piece_bytes = source->first_bytes;
    return taking;
}

/* ---- what is left at the end of a call ---- */

/* Sets the beginning of a circuit's PDU under way aside, in one piece. What of it is set aside
 * already stays where it is; a PDU that was taken from there in this call is left alone. */
static void set_aside(struct channel *c, struct aal5_source *source)
{
    uint32_t fragments = source->fragments;
    bool is_begun = fragments > 0 && source->fragment[0].iov_base == source->stages[source->stage];

    if (source->reassembly.bytes == 0)
        return;
    if (!is_begun)
        source->stage = !source->stage;
    uint8_t *stage = source->stages[source->stage];
    size_t at = is_begun ? source->fragment[0].iov_len : 0;
    for (uint32_t i = is_begun ? 1 : 0; i < fragments; i++) {
        memcpy(stage + at, source->fragment[i].iov_base, source->fragment[i].iov_len);
        channel_note(c, CHANNEL_STAGED, source->fragment[i].iov_len);
        at += source->fragment[i].iov_len;
    }
    source->fragment[0] = (struct iovec){stage, at};
    source->fragments = 1;
}

/* ---- a call ---- */

/* Writes the fragments of a whole PDU down as the landing's next opening. */
static void put_opening(struct landing *l, const struct aal5_source *source, uint32_t payload)
{
    uint32_t d = l->received++;
    uint32_t n = l->first[d];

    CHECK(n + source->fragments <= LANDING_IOV);
    memcpy(&l->iov[n], source->fragment, source->fragments * sizeof(source->fragment[0]));
    l->first[d + 1] = (uint16_t)(n + source->fragments);
    l->bytes[d] = payload;
    l->segment[d] = 0;
    l->ecn[d] = source->is_congested ? LANDING_ECN_CONGESTED : LANDING_ECN_NONE;
}

/* True if packet i has come whole. One that did not fit is dropped: then larger ones are expected.
 * So is what came from elsewhere, before the socket was connected. */
static bool check_packet(struct channel *c, struct incoming *in, uint32_t i)
{
    struct msghdr *packet = &in->packet.message[i].msg_hdr;

    (void)socket_read_notes(c, packet);
    if (socket_is_leftover(c, packet))
        return false;
    if (!(packet->msg_flags & MSG_TRUNC))
        return in->packet.message[i].msg_len > 0;
    channel_note(c, CHANNEL_TRUNCATIONS, 1);
    c->aal5->source[0].piece_bytes = AAL5_PDU_MOST;
    return false;
}

int aal5_receive(struct channel *c, struct landing *l)
{
    struct incoming in;

    l->received = 0;
    l->is_spoilt |= c->has_leftovers;
    if (l->openings == 0)
        return 0;
    in.packets = 0;
    in.head_bytes = c->kind == CHANNEL_RAW4 ? HEAD_MOST : AAL5_HEAD;
    for (uint32_t d = 0; d < l->openings && in.packets < PACKETS_IN; d++)
        point_opening(&in, l, d, &c->aal5->source[0]);
    int filled = socket_receive_packets(c, &in.packet, in.packets);
    if (filled <= 0)
        return filled;
    instant now = clock_now();
    l->is_spoilt = true; /* the ends of PDUs, and pieces of those that are not whole */
    for (uint32_t i = 0; i < (uint32_t)filled; i++) {
        struct taking taking = {.payload = 0};
        if (check_packet(c, &in, i))
            taking = take_packet(c, &in, now, i);
        if (taking.payload > 0)
            put_opening(l, taking.source, taking.payload);
    }
    l->openings = l->received; /* what was expected in one opening may have been several PDUs */
    for (int i = 0; i < AAL5_SOURCES; i++)
        set_aside(c, &c->aal5->source[i]);
    return filled;
}
