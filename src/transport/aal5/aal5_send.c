#include "aal5_channel.h"
#include "core/check.h"
#include "platform/system.h"
#include "transport/crc.h"
#include "transport/udp/socket.h"

#include <errno.h>
#include <string.h>

enum {
    IOV_OUT = 4 * AAL5_PACKETS_OUT, /* head, data, trailer, tail; some units have more of data */
    PDU_PIECES = UNIT_PIECES + 2,
    STUCK_MOST = 4, /* times: then a unit does not fit the socket's buffer */
};

_Static_assert(2 * AAL5_PACKETS_OUT + PDU_PIECES <= IOV_OUT, "any PDU has room");

/* The packets of the next call. Those of a datagram follow on each other. */
struct outgoing {
    uint32_t packets;
    uint32_t unit[AAL5_PACKETS_OUT]; /* datagram of the burst whose piece it is */
    struct mmsghdr message[AAL5_PACKETS_OUT];
    uint32_t pieces; /* of all packets, one behind the other */
    struct iovec iov[IOV_OUT];
    uint8_t head[AAL5_PACKETS_OUT][AAL5_HEAD];
    uint8_t tail[AAL5_PACKETS_OUT][AAL5_TAIL_MOST]; /* of the PDU whose first packet it is */
};

/* A PDU that is to be cut: pieces of memory, of whole cells all together. */
struct whole {
    uint32_t pieces, bytes;
    uint32_t unit; /* datagram of the burst */
    bool has_end;
    bool is_congested;
    bool is_tagged;
    struct iovec piece[PDU_PIECES];
};

/* Takes `bytes` off the front of the PDU and adds them to the packet's pieces. */
static void take_front(struct whole *w, uint32_t bytes, struct outgoing *out, struct msghdr *packet)
{
    w->bytes -= bytes;
    for (uint32_t i = 0; bytes > 0; i++) {
        struct iovec *from = &w->piece[i];
        size_t run = from->iov_len < bytes ? from->iov_len : bytes;
        if (run == 0)
            continue;
        out->iov[out->pieces++] = (struct iovec){from->iov_base, run};
        packet->msg_iovlen++;
        from->iov_base = (uint8_t *)from->iov_base + run;
        from->iov_len -= run;
        bytes -= (uint32_t)run;
    }
}

/* Does packet i begin its PDU? */
static bool is_first(const struct outgoing *out, uint32_t i)
{
    return i == 0 || out->unit[i] != out->unit[i - 1];
}

/* The next packet to fill, its head written. */
static struct msghdr *begin_packet(struct aal5_channel *a, struct outgoing *out,
                                   const struct whole *w)
{
    uint32_t i = out->packets++;
    struct aal5_head head = {.label = a->label_out,
                             .number = a->number,
                             .is_end = w->bytes <= a->packet_bytes && w->has_end,
                             .is_congested = w->is_congested,
                             .is_tagged = w->is_tagged};

    out->unit[i] = w->unit;
    a->number = aal5_next_number(a->number);
    aal5_head_encode(out->head[i], &head);
    struct iovec *piece = &out->iov[out->pieces++];
    *piece = (struct iovec){out->head[i], AAL5_HEAD};
    out->message[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = piece, .msg_iovlen = 1}};
    return &out->message[i].msg_hdr;
}

static void cut_pdu(struct aal5_channel *a, struct outgoing *out, struct whole *w)
{
    while (w->bytes > 0) {
        struct msghdr *packet = begin_packet(a, out, w);
        take_front(w, w->bytes < a->packet_bytes ? w->bytes : a->packet_bytes, out, packet);
    }
}

/* The PDU of datagram i of the burst, its tail made. */
static void make_whole(struct whole *w, struct outgoing *out, const struct burst *b, uint32_t i)
{
    const struct iovec *piece = &b->iov[burst_first(b, i)];
    uint32_t pieces = burst_first(b, i + 1) - burst_first(b, i);
    uint8_t *tail = out->tail[out->packets];
    uint32_t payload = burst_datagram_bytes(b, i);
    uint32_t crc = crc32_gather(crc_best(), 0, piece, pieces);
    uint32_t tail_bytes = aal5_tail_encode(tail, payload, crc, (struct aal5_user){0}, crc_best());

    memcpy(w->piece, piece, pieces * sizeof(piece[0]));
    w->piece[pieces] = (struct iovec){tail, tail_bytes};
    w->pieces = pieces + 1;
    w->bytes = payload + tail_bytes;
    w->unit = i;
    w->has_end = true;
    w->is_congested = w->is_tagged = false;
}

/* Lets the PDU pass the network of the fault option; what is left lies in `passing`. */
static void pass_network(struct channel *c, struct whole *w)
{
    struct aal5_channel *a = c->aal5;
    uint64_t lost = a->network.cells_lost;
    uint8_t *to = a->passing;

    for (uint32_t i = 0; i < w->pieces; to += w->piece[i++].iov_len)
        if (w->piece[i].iov_len > 0)
            memcpy(to, w->piece[i].iov_base, w->piece[i].iov_len);
    struct aal5_fate fate = aal5_fault_pass(&a->network, a->passing, w->bytes / AAL5_CELL);
    w->bytes = fate.cells * AAL5_CELL;
    w->piece[0] = (struct iovec){a->passing, w->bytes};
    w->pieces = 1;
    w->has_end = fate.has_end;
    w->is_congested = fate.is_congested;
    w->is_tagged = fate.is_tagged;
    channel_note(c, CHANNEL_CELLS_LOST, a->network.cells_lost - lost);
}

/* Is there room for the packets of datagram i? There is for those of one. */
static bool has_room(const struct aal5_channel *a, const struct outgoing *out,
                     const struct burst *b, uint32_t i)
{
    uint32_t bytes = aal5_pdu_bytes(burst_datagram_bytes(b, i));
    uint32_t packets = (bytes + a->packet_bytes - 1) / a->packet_bytes;
    uint32_t pieces = burst_first(b, i + 1) - burst_first(b, i);

    return out->packets + packets <= AAL5_PACKETS_OUT &&
           out->pieces + 2 * packets + pieces <= IOV_OUT;
}

/* Makes the packets of the next call, from datagram `from` on. Returns the datagram behind them;
 * with faults it is the next, because there is one place for what passes. */
static uint32_t fill_packets(struct channel *c, struct outgoing *out, const struct burst *b,
                             uint32_t from)
{
    struct aal5_channel *a = c->aal5;
    bool has_faults = !aal5_fault_is_none(&a->network.faults);

    out->packets = out->pieces = 0;
    while (from < b->datagrams && has_room(a, out, b, from)) {
        struct whole w;
        make_whole(&w, out, b, from++);
        if (has_faults)
            pass_network(c, &w);
        cut_pdu(a, out, &w);
        if (has_faults)
            break;
    }
    return from;
}

/* One call for the packets from `at` on: how many the kernel took, or 0 and an error number. */
static uint32_t send_packets(const struct channel *c, struct outgoing *out, uint32_t at, int *error)
{
    int taken;

    do
        taken = sendmmsg(c->fd, &out->message[at], out->packets - at, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (taken < 0 && errno == EINTR);
    *error = taken < 0 ? errno : taken == 0 ? EAGAIN : 0;
    return taken > 0 ? (uint32_t)taken : 0;
}

/* The packets from `at` on will not be sent. A PDU that is out in part ends with a missing number,
 * so that its receiver does not take what comes next for the rest. */
static void take_back(struct aal5_channel *a, const struct outgoing *out, uint32_t at)
{
    struct aal5_head head;

    (void)aal5_head_decode(out->head[at], &head);
    a->number = is_first(out, at) ? head.number : aal5_next_number(head.number);
}

/* The path does not take these packets: cuts them to what the kernel says of it now, or to half if
 * that is not smaller. False if they cannot be smaller. */
static bool cut_smaller(struct channel *c)
{
    struct aal5_channel *a = c->aal5;
    uint32_t known = a->packet_bytes;
    uint32_t told = aal5_packet_bytes(socket_path_bytes(c));
    uint32_t least = aal5_packet_bytes(CONTROL_BYTES);
    uint32_t half = known / 2 / AAL5_CELL * AAL5_CELL;

    a->packet_bytes = told < known ? told : half > least ? half : least;
    return a->packet_bytes < known;
}

/* What to do about an error: OK to cut what is left anew and try again, else the verdict. One that
 * is the network's is put down to earlier packets first. */
static enum channel_verdict on_packet_error(struct channel *c, int error, uint32_t *late)
{
    enum channel_verdict verdict = fault_note(c, error);

    if (verdict != CHANNEL_TOO_BIG && verdict != CHANNEL_REFUSED)
        return verdict;
    if (*late < FAULT_LATE_MOST) {
        ++*late;
        return CHANNEL_OK;
    }
    return verdict == CHANNEL_TOO_BIG && cut_smaller(c) ? CHANNEL_OK : CHANNEL_REFUSED;
}

/* Lists what packet i carries behind its head; returns the bytes. */
static uint32_t list_pieces(const struct outgoing *out, uint32_t i, struct iovec *pieces,
                            uint32_t *count)
{
    const struct msghdr *packet = &out->message[i].msg_hdr;
    size_t bytes = 0;

    for (size_t p = 1; p < packet->msg_iovlen; p++) {
        pieces[(*count)++] = packet->msg_iov[p];
        bytes += packet->msg_iov[p].iov_len;
    }
    return (uint32_t)bytes;
}

/* Shows the tap the PDU that packet `last` ends. */
static void show_pdu(const struct channel *c, const struct outgoing *out, int64_t time_ns,
                     uint32_t last)
{
    struct iovec pieces[IOV_OUT];
    uint32_t first = last, count = 0, bytes = 0;

    while (!is_first(out, first))
        first--;
    for (uint32_t i = first; i <= last; i++)
        bytes += list_pieces(out, i, pieces, &count);
    c->tap.see(c->tap.context, c,
               &(struct channel_crossing){
                   .time_ns = time_ns,
                   .is_outward = true,
                   .bytes = bytes,
                   .count = count,
                   .pieces = pieces,
                   .is_pdu = true,
                   .circuit = aal5_circuit(c->aal5->label_out),
               });
}

/* Packets [from, to) are out, since `time_ns`: shows the tap the PDUs that they end. */
static void show_sent(const struct channel *c, const struct outgoing *out, int64_t time_ns,
                      uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (i + 1 == out->packets || is_first(out, i + 1))
            show_pdu(c, out, time_ns, i);
}

/* The socket has taken the packets below `at`, and no more. */
static void note_stuck(struct aal5_channel *a, const struct outgoing *out, uint32_t at)
{
    if (out->unit[at] > 0)
        a->stuck = 0;
    else if (!is_first(out, at))
        a->stuck++;
}

/* Sends the packets that were made. If that fails, `*sent` is the first datagram that is not out
 * wholly. */
static enum channel_verdict flush_packets(struct channel *c, struct outgoing *out, uint32_t *sent,
                                          uint32_t *late)
{
    uint32_t at = 0;
    int error = 0;

    while (at < out->packets) {
        int64_t time_ns = c->tap.see ? clock_date() : 0;
        uint32_t taken = send_packets(c, out, at, &error);
        if (c->tap.see)
            show_sent(c, out, time_ns, at, at + taken);
        at += taken;
        if (error) {
            *sent = out->unit[at];
            take_back(c->aal5, out, at);
            note_stuck(c->aal5, out, at);
            return on_packet_error(c, error, late);
        }
        channel_note(c, CHANNEL_CALLS_OUT, 1);
    }
    c->aal5->stuck = 0;
    return CHANNEL_OK;
}

enum channel_verdict aal5_send(struct channel *c, const struct burst *b, uint32_t *sent)
{
    struct outgoing out;
    enum channel_verdict verdict = CHANNEL_OK;
    uint32_t late = 0;

    CHECK(b->datagrams <= BURST_UNITS);
    *sent = 0;
    while (*sent < b->datagrams && verdict == CHANNEL_OK) {
        *sent = fill_packets(c, &out, b, *sent);
        verdict = flush_packets(c, &out, sent, &late);
    }
    if (verdict != CHANNEL_BLOCKED || c->aal5->stuck < STUCK_MOST)
        return verdict;
    c->aal5->stuck = 0;
    return CHANNEL_TOO_BIG;
}
