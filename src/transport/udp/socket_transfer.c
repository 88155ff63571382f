/* Bursts out of sockets, and landings into them. */
#include "core/check.h"
#include "platform/numbers.h"
#include "socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

enum {
    SEND_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL,
    SEGMENTS_OF_OLD = 64, /* UDP_MAX_SEGMENTS of Linux before 6.9 */
};

/* The kernel gathers all of a burst in one call. */
_Static_assert(BURST_PIECES <= 1024, "IOV_MAX of Linux");

/* ---- error numbers ---- */

/* REFUSED is what the network causes: what ICMP makes the kernel report on a connected socket, a
 * firewall's EPERM, and what is gone for now: an interface, the socket's own address (EINVAL,
 * EADDRNOTAVAIL), a tunnel's peer (ENOKEY of WireGuard), or a local peer. An interface that goes
 * down and up again brings its address back, and then the socket goes on. */
static enum channel_verdict verdict_of(const struct channel *c, int error)
{
    switch (error) {
    case EAGAIN:
        return CHANNEL_BLOCKED;
    case ENOBUFS:
    case ENOMEM:
        return CHANNEL_CROWDED;
    case EMSGSIZE:
        return CHANNEL_TOO_BIG;
    case EFAULT:
        return CHANNEL_FAULT;
    case ECONNREFUSED:
    case ECONNRESET:
    case ENOTCONN:
    case EDESTADDRREQ:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
    case ENONET:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case EPROTO:
    case EACCES:
    case EPERM:
    case ENODEV:
    case ENOKEY:
        return CHANNEL_REFUSED;
    case EINVAL:
    case EADDRNOTAVAIL:
        return c->kind == CHANNEL_UNIX ? CHANNEL_BROKEN : CHANNEL_REFUSED;
    default:
        return CHANNEL_BROKEN;
    }
}

/* Says a socket so whose own address is gone, or that no route leads from? */
static bool is_homeless(int error)
{
    return error == EINVAL || error == EADDRNOTAVAIL || error == ENETUNREACH || error == ENETDOWN ||
           error == ENODEV || error == ENOTCONN || error == EDESTADDRREQ;
}

enum channel_verdict fault_note(struct channel *c, int error)
{
    static const enum channel_counter counter[] = {
        [-CHANNEL_BLOCKED] = CHANNEL_BLOCKS,   [-CHANNEL_CROWDED] = CHANNEL_CROWDS,
        [-CHANNEL_TOO_BIG] = CHANNEL_TOO_BIGS, [-CHANNEL_REFUSED] = CHANNEL_REFUSALS,
        [-CHANNEL_FAULT] = CHANNEL_FAULTS,
    };
    enum channel_verdict verdict = verdict_of(c, error);

    if (error == ECONNREFUSED)
        channel_note(c, CHANNEL_CLOSED_PORTS, 1);
    if (c->may_rebind && is_homeless(error))
        channel_note(c, CHANNEL_HOMELESS, 1);
    /* Last: who finds it counted looks at the others (tx_pass_hints). */
    if (verdict != CHANNEL_BROKEN)
        channel_note(c, counter[-verdict], 1);
    return verdict;
}

/* ---- sending ---- */

/* Room for one cmsg that says where to cut. */
union segment_note {
    struct cmsghdr head; /* aligns */
    uint8_t room[CMSG_SPACE(sizeof(uint16_t))];
};

/* Datagrams [from, from + count) of the burst as one message. The kernel only reads. Of a flat
 * burst `whole` is the one piece. */
static struct msghdr message_of_datagrams(const struct burst *b, uint32_t from, uint32_t count,
                                          struct iovec *whole)
{
    if (b->is_flat) {
        uint32_t left = b->bytes - from * b->segment;
        const struct iovec *first = &b->iov[2 * from];
        *whole =
            (struct iovec){.iov_base = first[0].iov_len > 0 ? first[0].iov_base : first[1].iov_base,
                           .iov_len = count * b->segment < left ? count * b->segment : left};
        return (struct msghdr){.msg_iov = whole, .msg_iovlen = 1};
    }
    uint32_t first = burst_first(b, from);
    return (struct msghdr){
        .msg_iov = (struct iovec *)&b->iov[first],
        .msg_iovlen = burst_first(b, from + count) - first,
    };
}

static void cut_at(struct msghdr *m, union segment_note *note, uint32_t segment)
{
    uint16_t bytes = (uint16_t)segment;

    *note = (union segment_note){0};
    m->msg_control = note;
    m->msg_controllen = sizeof(*note);
    note->head.cmsg_level = IPPROTO_UDP;
    note->head.cmsg_type = NUMBER_UDP_SEGMENT;
    note->head.cmsg_len = CMSG_LEN(sizeof(bytes));
    memcpy(CMSG_DATA(&note->head), &bytes, sizeof(bytes));
}

/* One call for `count` datagrams, all or none: 0 or an error number. */
static int send_segmented(const struct channel *c, const struct burst *b, uint32_t from,
                          uint32_t count)
{
    union segment_note note;
    struct iovec whole;
    struct msghdr message = message_of_datagrams(b, from, count, &whole);
    ssize_t bytes;

    if (count > 1)
        cut_at(&message, &note, b->segment);
    do
        bytes = sendmsg(c->fd, &message, SEND_FLAGS);
    while (bytes < 0 && errno == EINTR);
    return bytes < 0 ? errno : 0;
}

/* One call for the rest of the burst, `count` datagrams to be cut out of each message. The kernel
 * may take a part of them and says so in *taken: datagrams. */
static int send_several(const struct channel *c, const struct burst *b, uint32_t from,
                        uint32_t count, uint32_t *taken)
{
    struct mmsghdr message[BURST_UNITS];
    union segment_note note[BURST_UNITS / 2];
    struct iovec whole[BURST_UNITS];
    uint32_t messages = 0;
    int sent;

    for (uint32_t at = from; at < b->datagrams; at += count, messages++) {
        uint32_t left = b->datagrams - at;
        uint32_t here = left < count ? left : count;
        message[messages] =
            (struct mmsghdr){.msg_hdr = message_of_datagrams(b, at, here, &whole[messages])};
        if (here > 1)
            cut_at(&message[messages].msg_hdr, &note[messages], b->segment);
    }
    do
        sent = sendmmsg(c->fd, message, messages, SEND_FLAGS);
    while (sent < 0 && errno == EINTR);
    uint32_t most = b->datagrams - from;
    uint32_t all = sent > 0 ? (uint32_t)sent * count : 0;
    *taken = all < most ? all : most;
    return sent > 0 ? 0 : sent == 0 ? EAGAIN : errno;
}

/* How many datagrams go with the next call; 1 also where more go, but not cut by the kernel. */
static uint32_t segments(const struct channel *c, const struct burst *b, uint32_t from)
{
    uint32_t most = b->is_single ? 1 : channel_cuts(c);
    uint32_t fit = c->datagram_max / b->segment;
    uint32_t left = b->datagrams - from;

    most = most < fit ? most : fit;
    most = most < left ? most : left;
    return most > 1 ? most : 1;
}

/* The kernel cannot cut here: not as many (older kernels), or not at all on this way (EIO: a device
 * or a tunnel without checksums). */
static void lower_segments(struct channel *c, int error, uint32_t count)
{
    uint32_t to = error == EINVAL && count > SEGMENTS_OF_OLD ? SEGMENTS_OF_OLD : 1;

    channel_note(c, CHANNEL_FALLBACKS, 1);
    if (to < atomic_load_explicit(&c->gso_segments, memory_order_relaxed))
        atomic_store_explicit(&c->gso_segments, to, memory_order_relaxed);
}

/* What went wrong with this burst so far. */
struct trouble {
    uint32_t late;    /* errors that were put down to earlier datagrams */
    uint32_t doubted; /* number of datagrams cut by the kernel that failed; sending one tells why */
    int error;        /* of these */
};

/* What to do about an error on a call of `count` datagrams cut by the kernel (1: not cut): OK to
 * try again, else the verdict. Every REFUSED or TOO_BIG is put down to earlier datagrams first,
 * because ICMP makes the kernel say so at the next call. A size that the interface refuses is
 * EMSGSIZE, or EINVAL where the kernel cuts, and so is a burst that it cannot cut. */
static enum channel_verdict on_send_error(struct channel *c, uint32_t count, int error,
                                          struct trouble *t)
{
    bool is_cut = count > 1;

    if (is_cut && error == EIO) {
        lower_segments(c, error, count);
        return CHANNEL_OK;
    }
    if (is_cut && (error == EINVAL || (error == EMSGSIZE && t->late == FAULT_LATE_MOST))) {
        t->doubted = count;
        t->error = error;
        return CHANNEL_OK;
    }
    enum channel_verdict verdict = fault_note(c, error);
    if ((verdict == CHANNEL_REFUSED || verdict == CHANNEL_TOO_BIG) && t->late < FAULT_LATE_MOST) {
        t->late++;
        return CHANNEL_OK;
    }
    return verdict;
}

/* One datagram that was in doubt, or the rest of the burst, of which the kernel cuts `count` at
 * once: 0 or an error number. */
static int send_next(struct channel *c, const struct burst *b, uint32_t from, uint32_t count,
                     bool is_doubted, uint32_t *taken)
{
    *taken = count;
    if (is_doubted || b->datagrams - from == count)
        return send_segmented(c, b, from, count);
    return send_several(c, b, from, count, taken);
}

/* One of them left alone: so it was not their size. */
static void end_doubt(struct channel *c, struct trouble *t)
{
    if (t->doubted > 0)
        lower_segments(c, t->error, t->doubted);
    t->doubted = 0;
}

enum channel_verdict socket_send(struct channel *c, const struct burst *b, uint32_t *sent)
{
    enum channel_verdict verdict = CHANNEL_OK;
    struct trouble trouble = {.late = 0};

    CHECK(b->datagrams <= BURST_UNITS);
    CHECK(b->datagrams == 0 || b->segment > 0);
    *sent = 0;
    while (*sent < b->datagrams && verdict == CHANNEL_OK) {
        bool is_doubted = trouble.doubted > 0;
        uint32_t count = is_doubted ? 1 : segments(c, b, *sent);
        uint32_t taken;
        int error = send_next(c, b, *sent, count, is_doubted, &taken);

        if (error) {
            verdict = on_send_error(c, count, error, &trouble);
            continue;
        }
        end_doubt(c, &trouble);
        channel_note(c, CHANNEL_CALLS_OUT, 1);
        *sent += taken;
    }
    return verdict;
}

/* ---- receiving ---- */

/* A datagram carries the socket's count as it was when the datagram was queued. It wraps around. It
 * is less than the channel has seen if the datagram was there before the channel. */
static void count_drops(struct channel *c, const uint8_t *value)
{
    uint32_t drops;

    memcpy(&drops, value, sizeof(drops));
    int32_t more = (int32_t)(drops - c->drops_seen);
    if (more <= 0)
        return;
    channel_note(c, CHANNEL_DROPS, (uint64_t)more);
    c->drops_seen = drops;
}

struct socket_noted socket_read_notes(struct channel *c, struct msghdr *message)
{
    struct socket_noted notes = {0};

    for (struct cmsghdr *n = CMSG_FIRSTHDR(message); n; n = CMSG_NXTHDR(message, n)) {
        int bytes = 0;

        if (n->cmsg_level == SOL_SOCKET && n->cmsg_type == SO_RXQ_OVFL)
            count_drops(c, CMSG_DATA(n));
        notes.ecn |= socket_ecn_of(n);
        if (n->cmsg_level != IPPROTO_UDP || n->cmsg_type != NUMBER_UDP_GRO)
            continue;
        memcpy(&bytes, CMSG_DATA(n), sizeof(bytes));
        notes.segment = bytes > 0 ? (uint32_t)bytes : 0;
    }
    return notes;
}

bool socket_is_leftover(struct channel *c, const struct msghdr *message)
{
    const union address *from = message->msg_name;

    if (from == NULL || (channel_is_raw(c) ? address_has_host(from, &c->peer.any) /* no port */
                                           : address_is_same(from, &c->peer)))
        return false;
    channel_note(c, CHANNEL_LEFTOVERS, 1);
    return true;
}

/* The first error that is not ours may be an earlier datagram's, handed to us in place of what
 * waits behind it: then the call is repeated. If not, `*result` is 0, FAULT or BROKEN. */
static bool repeats_receive(struct channel *c, int error, bool *was_late, int *result)
{
    enum channel_verdict verdict;

    *result = 0;
    if (error == EINTR)
        return true;
    if (error == EAGAIN) {
        c->has_leftovers = false; /* the socket was empty */
        return false;
    }
    verdict = fault_note(c, error);
    if (verdict == CHANNEL_BROKEN || verdict == CHANNEL_FAULT) {
        *result = (int)verdict;
        return false;
    }
    if (*was_late)
        return false;
    *was_late = true;
    return true;
}

/* How many came, or -1 and errno. One packet costs less by itself. */
static int receive(int fd, struct mmsghdr *message, uint32_t count)
{
    if (count > 1)
        return recvmmsg(fd, message, count, MSG_DONTWAIT, NULL);
    ssize_t bytes = recvmsg(fd, &message->msg_hdr, MSG_DONTWAIT);
    message->msg_len = bytes < 0 ? 0 : (unsigned)bytes;
    return bytes < 0 ? -1 : 1;
}

int socket_receive_packets(struct channel *c, struct socket_packets *p, uint32_t count)
{
    bool was_late = false;
    int filled, result;

    do {
        for (uint32_t i = 0; i < count; i++) {
            struct msghdr *packet = &p->message[i].msg_hdr;
            packet->msg_control = &p->notes[i];
            packet->msg_controllen = sizeof(p->notes[i]);
            packet->msg_name = c->has_leftovers ? &p->from[i] : NULL;
            packet->msg_namelen = c->has_leftovers ? sizeof(p->from[i]) : 0;
        }
        filled = receive(c->fd, p->message, count);
    } while (filled < 0 && repeats_receive(c, errno, &was_late, &result));
    if (filled < 0)
        return result;
    channel_note(c, CHANNEL_CALLS_IN, 1);
    return filled;
}

/* Enters what one opening received. Without its end a datagram has no trailer, joined ones without
 * their size cannot be told apart, and AF_UNIX carries datagrams larger than any unit: none of
 * these can be used. */
static void fill_opening(struct channel *c, struct landing *l, uint32_t opening,
                         struct mmsghdr *packet)
{
    struct msghdr *message = &packet->msg_hdr;
    struct socket_noted notes = socket_read_notes(c, message);
    bool is_cut = packet->msg_len >= LANDING_DATAGRAM || (message->msg_flags & MSG_TRUNC) ||
                  ((message->msg_flags & MSG_CTRUNC) && c->has_gro && notes.segment == 0);
    bool is_dropped = is_cut || socket_is_leftover(c, message);

    if (is_cut)
        channel_note(c, CHANNEL_TRUNCATIONS, 1);
    l->is_spoilt |= is_dropped;
    l->bytes[opening] = is_dropped ? 0 : packet->msg_len;
    l->segment[opening] = is_dropped ? 0 : notes.segment;
    l->ecn[opening] = (uint8_t)notes.ecn;
}

int socket_receive(struct channel *c, struct landing *l)
{
    struct socket_packets packets;

    l->received = 0;
    l->is_spoilt |= c->has_leftovers; /* of which some were queued before socket_open.c's filter */
    if (l->openings == 0)
        return 0;
    for (uint32_t d = 0; d < l->openings; d++)
        packets.message[d].msg_hdr = (struct msghdr){
            .msg_iov = &l->iov[l->first[d]],
            .msg_iovlen = (size_t)(l->first[d + 1] - l->first[d]),
        };
    int filled = socket_receive_packets(c, &packets, l->openings);
    if (filled <= 0)
        return filled;
    for (uint32_t d = 0; d < (uint32_t)filled; d++)
        fill_opening(c, l, d, &packets.message[d]);
    l->received = (uint32_t)filled;
    l->is_spoilt |= l->received < l->openings && !l->cannot_fault; /* recvmmsg tells a fault late */
    return filled;
}
