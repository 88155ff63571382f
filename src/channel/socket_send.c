#include "socket_send.h"

#include "core/check.h"
#include "fault.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

enum {
    SEND_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL,
    SEGMENTS_OF_OLD = 64, /* UDP_MAX_SEGMENTS of Linux before 6.9 */
};

/* The kernel gathers all of a burst in one call. */
_Static_assert(2 * BURST_UNITS <= 1024, "IOV_MAX of Linux");

/* Room for one cmsg that says where to cut. */
union segment_note {
    struct cmsghdr head; /* aligns */
    uint8_t room[CMSG_SPACE(sizeof(uint16_t))];
};

/* Datagrams [from, from + count) of the burst as one message. The kernel only reads. */
static struct msghdr pieces(const struct burst *b, uint32_t from, uint32_t count)
{
    return (struct msghdr){
        .msg_iov = (struct iovec *)&b->iov[2 * from],
        .msg_iovlen = 2 * (size_t)count,
    };
}

static void cut_at(struct msghdr *m, union segment_note *note, uint32_t segment)
{
    uint16_t bytes = (uint16_t)segment;

    m->msg_control = note;
    m->msg_controllen = sizeof(*note);
    note->head.cmsg_level = IPPROTO_UDP;
    note->head.cmsg_type = UDP_SEGMENT;
    note->head.cmsg_len = CMSG_LEN(sizeof(bytes));
    memcpy(CMSG_DATA(&note->head), &bytes, sizeof(bytes));
}

/* One call for `count` datagrams, all or none: 0 or an error number. */
static int send_segmented(const struct channel *c, const struct burst *b, uint32_t from,
                          uint32_t count)
{
    union segment_note note = {0};
    struct msghdr message = pieces(b, from, count);
    ssize_t bytes;

    if (count > 1)
        cut_at(&message, &note, b->segment);
    do
        bytes = sendmsg(c->fd, &message, SEND_FLAGS);
    while (bytes < 0 && errno == EINTR);
    return bytes < 0 ? errno : 0;
}

/* One call for the rest of the burst; the kernel may take a part of it and says so in *count. */
static int send_several(const struct channel *c, const struct burst *b, uint32_t from,
                        uint32_t *count)
{
    struct mmsghdr message[BURST_UNITS];
    uint32_t left = b->datagrams - from;
    int taken;

    for (uint32_t i = 0; i < left; i++)
        message[i] = (struct mmsghdr){.msg_hdr = pieces(b, from + i, 1)};
    do
        taken = sendmmsg(c->fd, message, left, SEND_FLAGS);
    while (taken < 0 && errno == EINTR);
    *count = taken > 0 ? (uint32_t)taken : 0;
    return taken > 0 ? 0 : taken == 0 ? EAGAIN : errno;
}

/* How many datagrams go with the next call; 1 also where more go, but not cut by the kernel. */
static uint32_t segments(const struct channel *c, const struct burst *b, uint32_t from)
{
    uint32_t most = atomic_load_explicit(&c->gso_segments, memory_order_relaxed);
    uint32_t fit = c->datagram_max / b->segment;
    uint32_t left = b->datagrams - from;

    most = most < fit ? most : fit;
    most = most < left ? most : left;
    return most > 1 ? most : 1;
}

/* The kernel cannot cut here: not as many (older kernels), or not at all on this way (EIO: a device
 * or a tunnel without checksums). */
static void narrow(struct channel *c, int error, uint32_t count)
{
    uint32_t to = error == EINVAL && count > SEGMENTS_OF_OLD ? SEGMENTS_OF_OLD : 1;

    channel_note(c, CHANNEL_FALLBACKS, 1);
    if (to < atomic_load_explicit(&c->gso_segments, memory_order_relaxed))
        atomic_store_explicit(&c->gso_segments, to, memory_order_relaxed);
}

/* What went wrong with this burst so far. */
struct trouble {
    uint32_t late;    /* errors that were put down to earlier datagrams */
    uint32_t doubted; /* so many datagrams cut by the kernel failed; one of them alone tells why */
    int error;        /* of these */
};

/* What to do about an error on a call of `count` datagrams cut by the kernel (1: not cut): OK to
 * try again, else the verdict. Every REFUSED or TOO_BIG is put down to earlier datagrams first,
 * because ICMP makes the kernel say so at the next call. A size that the interface refuses is
 * EMSGSIZE, or EINVAL where the kernel cuts, and so is a burst that it cannot cut. */
static enum channel_verdict judge(struct channel *c, uint32_t count, int error, struct trouble *t)
{
    bool is_cut = count > 1;

    if (is_cut && error == EIO) {
        narrow(c, error, count);
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

/* One datagram that was in doubt, `count` that the kernel cuts, or those that it takes of the rest:
 * 0 or an error number. */
static int send_next(struct channel *c, const struct burst *b, uint32_t from, uint32_t count,
                     bool is_doubted, uint32_t *taken)
{
    *taken = count;
    if (is_doubted || count > 1 || b->datagrams - from == 1)
        return send_segmented(c, b, from, count);
    return send_several(c, b, from, taken);
}

/* One of them left alone: so it was not their size. */
static void end_doubt(struct channel *c, struct trouble *t)
{
    if (t->doubted > 0)
        narrow(c, t->error, t->doubted);
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
            verdict = judge(c, count, error, &trouble);
            continue;
        }
        end_doubt(c, &trouble);
        channel_note(c, CHANNEL_CALLS_OUT, 1);
        *sent += taken;
    }
    return verdict;
}
