#include "aal5_tap.h"

#include "aal5_channel.h"
#include "platform/system.h"
#include "tap.h"

enum { PIECES_MOST = AAL5_PACKETS_OUT * (AAL5_IOV_OUT - 1) };

static void show(const struct channel *c, const struct channel_crossing *crossing)
{
    if (crossing->bytes > 0)
        c->tap.see(c->tap.context, c, crossing);
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

/* Shows the PDU that packet `last` ends. */
static void show_pdu(const struct channel *c, int64_t time_ns, uint32_t last)
{
    const struct aal5_outgoing *out = &c->aal5->out;
    struct iovec pieces[PIECES_MOST];
    uint32_t first = last, count = 0, bytes = 0;

    while (!out->is_first[first])
        first--;
    for (uint32_t i = first; i <= last; i++)
        bytes += list_pieces(out, i, pieces, &count);
    show(c, &(struct channel_crossing){
                .time_ns = time_ns,
                .is_outward = true,
                .bytes = bytes,
                .count = count,
                .pieces = pieces,
                .is_pdu = true,
                .circuit = aal5_circuit(c->aal5->label_out),
            });
}

void aal5_tap_out(const struct channel *c, int64_t time_ns, uint32_t from, uint32_t to)
{
    const struct aal5_outgoing *out = &c->aal5->out;

    for (uint32_t i = from; i < to; i++)
        if (i + 1 == out->packets || out->is_first[i + 1])
            show_pdu(c, time_ns, i);
}

void aal5_tap_in(const struct channel *c, uint32_t bytes)
{
    const struct aal5_incoming *in = &c->aal5->in;

    show(c, &(struct channel_crossing){
                .time_ns = clock_date(),
                .bytes = bytes,
                .count = in->fragments,
                .pieces = in->fragment,
                .is_pdu = true,
                .circuit = aal5_circuit(c->aal5->label_in),
            });
}
