#include "aal5_channel.h"
#include "core/check.h"
#include "platform/system.h"
#include "transport/udp/socket.h"

#include <errno.h>
#include <string.h>

enum { TAP_PIECES_MOST = AAL5_PACKETS_OUT * (AAL5_IOV_OUT - 1) };

/* A PDU that is to be cut: pieces of memory, of whole cells all together. */
struct whole {
    struct iovec piece[3];
    uint32_t bytes;
    uint32_t unit; /* datagram of the burst */
    bool has_end;
    bool is_congested;
    bool is_tagged;
};

/* Takes `bytes` off the front of the PDU and adds them to the packet's pieces. */
static void take_front(struct whole *w, uint32_t bytes, struct msghdr *packet)
{
    w->bytes -= bytes;
    for (int i = 0; bytes > 0; i++) {
        struct iovec *from = &w->piece[i];
        size_t run = from->iov_len < bytes ? from->iov_len : bytes;
        if (run == 0)
            continue;
        packet->msg_iov[packet->msg_iovlen++] = (struct iovec){from->iov_base, run};
        from->iov_base = (uint8_t *)from->iov_base + run;
        from->iov_len -= run;
        bytes -= (uint32_t)run;
    }
}

/* The next packet to fill, its head written. */
static struct msghdr *begin_packet(struct aal5_channel *a, const struct whole *w, bool is_first,
                                   bool is_last)
{
    struct aal5_outgoing *out = &a->out;
    uint32_t i = out->packets++;
    struct aal5_head head = {.label = a->label_out,
                             .number = a->number,
                             .is_end = is_last && w->has_end,
                             .is_congested = w->is_congested,
                             .is_tagged = w->is_tagged};

    out->unit[i] = w->unit;
    out->number[i] = a->number;
    out->is_first[i] = is_first;
    a->number = aal5_next_number(a->number);
    aal5_head_encode(out->head[i], &head);
    out->iov[i][0] = (struct iovec){out->head[i], AAL5_HEAD};
    out->message[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = out->iov[i], .msg_iovlen = 1}};
    return &out->message[i].msg_hdr;
}

static void cut_pdu(struct aal5_channel *a, struct whole *w)
{
    for (bool is_first = true; w->bytes > 0; is_first = false) {
        bool is_last = w->bytes <= a->packet_bytes;
        struct msghdr *packet = begin_packet(a, w, is_first, is_last);
        take_front(w, is_last ? w->bytes : a->packet_bytes, packet);
    }
}

/* The PDU of datagram i of the burst, its tail made. */
static struct whole whole_of(struct aal5_channel *a, const struct burst *b, uint32_t i)
{
    const struct iovec *piece = &b->iov[2 * i];
    uint8_t *tail = a->out.tail[a->out.tails++];
    uint32_t payload = (uint32_t)(piece[0].iov_len + piece[1].iov_len);
    uint32_t crc = crc32_gather(a->crc, 0, piece, 2);
    uint32_t tail_bytes = aal5_tail_encode(tail, payload, crc, (struct aal5_user){0}, a->crc);

    return (struct whole){.piece = {piece[0], piece[1], {tail, tail_bytes}},
                          .bytes = payload + tail_bytes,
                          .unit = i,
                          .has_end = true};
}

/* Lets the PDU pass the network of the fault option; what is left lies in `passing`. */
static void pass_network(struct channel *c, struct whole *w)
{
    struct aal5_channel *a = c->aal5;
    uint64_t lost = a->network.cells_lost;
    uint8_t *to = a->passing;

    for (int i = 0; i < 3; to += w->piece[i++].iov_len)
        if (w->piece[i].iov_len > 0)
            memcpy(to, w->piece[i].iov_base, w->piece[i].iov_len);
    struct aal5_fate fate = aal5_fault_pass(&a->network, a->passing, w->bytes / AAL5_CELL);
    *w = (struct whole){.piece = {{a->passing, fate.cells * AAL5_CELL}},
                        .bytes = fate.cells * AAL5_CELL,
                        .unit = w->unit,
                        .has_end = fate.has_end,
                        .is_congested = fate.is_congested,
                        .is_tagged = fate.is_tagged};
    channel_note(c, CHANNEL_CELLS_LOST, a->network.cells_lost - lost);
}

static uint32_t packets_of(const struct aal5_channel *a, const struct burst *b, uint32_t i)
{
    uint32_t bytes = aal5_pdu_bytes((uint32_t)(b->iov[2 * i].iov_len + b->iov[2 * i + 1].iov_len));
    return (bytes + a->packet_bytes - 1) / a->packet_bytes;
}

/* Makes the packets of the next call, from datagram `from` on. Returns the datagram behind them;
 * with faults it is the next, because there is one place for what passes. */
static uint32_t fill_packets(struct channel *c, const struct burst *b, uint32_t from)
{
    struct aal5_channel *a = c->aal5;

    a->out.packets = 0;
    a->out.tails = 0;
    for (; from < b->datagrams; from++) {
        if (a->out.packets + packets_of(a, b, from) > AAL5_PACKETS_OUT)
            break;
        struct whole w = whole_of(a, b, from);
        if (a->passing)
            pass_network(c, &w);
        cut_pdu(a, &w);
        if (a->passing)
            return from + 1;
    }
    return from;
}

/* One call for the packets from `at` on: how many the kernel took, or 0 and an error number. */
static uint32_t send_packets(struct channel *c, uint32_t at, int *error)
{
    struct aal5_outgoing *out = &c->aal5->out;
    int taken;

    do
        taken = sendmmsg(c->fd, &out->message[at], out->packets - at, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (taken < 0 && errno == EINTR);
    *error = taken < 0 ? errno : taken == 0 ? EAGAIN : 0;
    return taken > 0 ? (uint32_t)taken : 0;
}

/* The packets from `at` on will not be sent. A PDU that is out in part ends with a missing number,
 * so that its receiver does not take what comes next for the rest. */
static void take_back(struct aal5_channel *a, uint32_t at)
{
    uint16_t number = a->out.number[at];

    a->number = a->out.is_first[at] ? number : aal5_next_number(number);
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
static uint32_t list_pieces(const struct aal5_outgoing *out, uint32_t i, struct iovec *pieces,
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
static void show_pdu(const struct channel *c, int64_t time_ns, uint32_t last)
{
    const struct aal5_outgoing *out = &c->aal5->out;
    struct iovec pieces[TAP_PIECES_MOST];
    uint32_t first = last, count = 0, bytes = 0;

    while (!out->is_first[first])
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
static void show_sent(const struct channel *c, int64_t time_ns, uint32_t from, uint32_t to)
{
    const struct aal5_outgoing *out = &c->aal5->out;

    for (uint32_t i = from; i < to; i++)
        if (i + 1 == out->packets || out->is_first[i + 1])
            show_pdu(c, time_ns, i);
}

/* Sends the packets that were made; `*sent` is the first datagram that is not out wholly. */
static enum channel_verdict flush_packets(struct channel *c, uint32_t behind, uint32_t *sent,
                                          uint32_t *late)
{
    struct aal5_outgoing *out = &c->aal5->out;
    uint32_t at = 0;
    int error = 0;

    while (at < out->packets) {
        int64_t time_ns = c->tap.see ? clock_date() : 0;
        uint32_t taken = send_packets(c, at, &error);
        if (c->tap.see)
            show_sent(c, time_ns, at, at + taken);
        at += taken;
        if (error) {
            *sent = out->unit[at];
            take_back(c->aal5, at);
            return on_packet_error(c, error, late);
        }
        channel_note(c, CHANNEL_CALLS_OUT, 1);
    }
    *sent = behind;
    return CHANNEL_OK;
}

enum channel_verdict aal5_send(struct channel *c, const struct burst *b, uint32_t *sent)
{
    enum channel_verdict verdict = CHANNEL_OK;
    uint32_t late = 0;

    CHECK(b->datagrams <= BURST_UNITS);
    *sent = 0;
    while (*sent < b->datagrams && verdict == CHANNEL_OK) {
        uint32_t behind = fill_packets(c, b, *sent);
        verdict = flush_packets(c, behind, sent, &late);
    }
    return verdict;
}
