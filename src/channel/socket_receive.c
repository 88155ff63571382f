#include "socket_receive.h"

#include "fault.h"
#include "socket_ecn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>

/* A datagram carries the socket's count as it was when the datagram was queued. It wraps around. */
static void count_drops(struct channel *c, const uint8_t *value)
{
    uint32_t drops;

    memcpy(&drops, value, sizeof(drops));
    channel_note(c, CHANNEL_DROPS, drops - c->drops_seen);
    c->drops_seen = drops;
}

struct said {
    uint32_t segment; /* bytes of each of the joined datagrams; 0: there is one */
    int ecn;          /* of each of them: only equal ones are joined */
};

static struct said read_notes(struct channel *c, struct msghdr *message)
{
    struct said said = {0};

    for (struct cmsghdr *n = CMSG_FIRSTHDR(message); n; n = CMSG_NXTHDR(message, n)) {
        int bytes = 0;

        if (n->cmsg_level == SOL_SOCKET && n->cmsg_type == SO_RXQ_OVFL)
            count_drops(c, CMSG_DATA(n));
        said.ecn |= socket_ecn_of(n);
        if (n->cmsg_level != IPPROTO_UDP || n->cmsg_type != UDP_GRO)
            continue;
        memcpy(&bytes, CMSG_DATA(n), sizeof(bytes));
        said.segment = bytes > 0 ? (uint32_t)bytes : 0;
    }
    return said;
}

void socket_count_notes(struct channel *c, struct msghdr *message)
{
    (void)read_notes(c, message);
}

/* What was in the socket before it was connected may be anybody's. */
static bool is_leftover(struct channel *c, const struct msghdr *message)
{
    if (!message->msg_name || address_is_same(message->msg_name, &c->peer))
        return false;
    channel_note(c, CHANNEL_LEFTOVERS, 1);
    return true;
}

/* Enters what one opening received. Without its end a datagram has no trailer, joined ones without
 * their size cannot be told apart, and AF_UNIX carries datagrams larger than any unit: none of
 * these can be used. */
static void fill(struct channel *c, struct landing *l, uint32_t opening, struct msghdr *message,
                 size_t bytes)
{
    struct said said = read_notes(c, message);
    bool is_cut = bytes >= LANDING_DATAGRAM || (message->msg_flags & MSG_TRUNC) ||
                  ((message->msg_flags & MSG_CTRUNC) && c->has_gro && said.segment == 0);
    bool is_dropped = is_cut || is_leftover(c, message);

    if (is_cut)
        channel_note(c, CHANNEL_TRUNCATIONS, 1);
    l->is_spoilt |= is_dropped;
    l->bytes[opening] = is_dropped ? 0 : (uint32_t)bytes;
    l->segment[opening] = is_dropped ? 0 : said.segment;
    l->ecn[opening] = (uint8_t)said.ecn;
}

static struct msghdr pieces(const struct channel *c, struct landing *l, uint32_t opening,
                            union socket_notes *notes, union address *from)
{
    return (struct msghdr){
        .msg_name = c->has_leftovers ? from : NULL,
        .msg_namelen = c->has_leftovers ? sizeof(*from) : 0,
        .msg_iov = &l->iov[l->first[opening]],
        .msg_iovlen = (size_t)(l->first[opening + 1] - l->first[opening]),
        .msg_control = notes,
        .msg_controllen = sizeof(*notes),
    };
}

/* Each returns the openings it filled, or -1 and errno. */
static int receive_one(struct channel *c, struct landing *l)
{
    union socket_notes notes;
    union address from;
    struct msghdr message = pieces(c, l, 0, &notes, &from);
    ssize_t bytes = recvmsg(c->fd, &message, MSG_DONTWAIT);

    if (bytes < 0)
        return -1;
    fill(c, l, 0, &message, (size_t)bytes);
    return 1;
}

static int receive_several(struct channel *c, struct landing *l)
{
    union socket_notes notes[LANDING_OPENINGS];
    union address from[LANDING_OPENINGS];
    struct mmsghdr message[LANDING_OPENINGS];
    int filled;

    for (uint32_t d = 0; d < l->openings; d++)
        message[d] = (struct mmsghdr){.msg_hdr = pieces(c, l, d, &notes[d], &from[d])};
    filled = recvmmsg(c->fd, message, l->openings, MSG_DONTWAIT, NULL);
    for (int d = 0; d < filled; d++)
        fill(c, l, (uint32_t)d, &message[d].msg_hdr, message[d].msg_len);
    return filled;
}

/* The first error that is not ours may be an earlier datagram's, handed to us in place of what
 * waits behind it. */
bool socket_judge_receive(struct channel *c, int error, bool *was_late, int *result)
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

int socket_receive(struct channel *c, struct landing *l)
{
    bool was_late = false;
    int filled, result;

    l->received = 0;
    if (l->openings == 0)
        return 0;
    do
        filled = l->openings == 1 ? receive_one(c, l) : receive_several(c, l);
    while (filled < 0 && socket_judge_receive(c, errno, &was_late, &result));
    if (filled < 0)
        return result;
    channel_note(c, CHANNEL_CALLS_IN, 1);
    l->received = (uint32_t)filled;
    return filled;
}

int socket_receive_control(struct channel *c, uint8_t *buffer, size_t size)
{
    union socket_notes notes;
    union address from;
    struct iovec piece = {.iov_base = buffer, .iov_len = size};
    struct msghdr message;
    bool was_late = false;
    ssize_t bytes;
    int result;

    do {
        message = (struct msghdr){.msg_name = c->has_leftovers ? &from : NULL,
                                  .msg_namelen = c->has_leftovers ? sizeof(from) : 0,
                                  .msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = &notes,
                                  .msg_controllen = sizeof(notes)};
        bytes = recvmsg(c->fd, &message, MSG_DONTWAIT);
    } while (bytes < 0 && socket_judge_receive(c, errno, &was_late, &result));
    if (bytes < 0)
        return result;
    (void)read_notes(c, &message);
    channel_note(c, CHANNEL_CALLS_IN, 1);
    if (is_leftover(c, &message))
        return 0;
    if (!(message.msg_flags & MSG_TRUNC))
        return (int)bytes;
    channel_note(c, CHANNEL_TRUNCATIONS, 1);
    return 0;
}
