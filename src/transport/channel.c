#include "channel.h"

#include "platform/sleep.h"
#include "platform/system.h"
#include "transport/aal5/aal5_channel.h"
#include "transport/udp/socket.h"

#include <sys/socket.h>

/* ---- the tap; AAL5 shows its PDUs itself ---- */

static void show_datagram(const struct channel *c, const struct burst *b, uint32_t i,
                          int64_t time_ns)
{
    const struct iovec *pieces = &b->iov[burst_first(b, i)];
    uint32_t count = burst_first(b, i + 1) - burst_first(b, i);
    uint32_t skip = pieces[0].iov_len == 0; /* control has no data, a unit may have none */

    c->tap.see(c->tap.context, c,
               &(struct channel_crossing){
                   .time_ns = time_ns,
                   .is_outward = true,
                   .bytes = burst_datagram_bytes(b, i),
                   .count = count - skip,
                   .pieces = pieces + skip,
               });
}

static enum channel_verdict send_tapped(struct channel *c, const struct burst *b, uint32_t *sent)
{
    int64_t time_ns = clock_date();
    enum channel_verdict verdict = socket_send(c, b, sent);

    for (uint32_t i = 0; i < *sent; i++)
        show_datagram(c, b, i, time_ns);
    return verdict;
}

static int receive_tapped(struct channel *c, struct landing *l)
{
    struct iovec pieces[LANDING_IOV];
    struct landing_walk walk = {0};
    struct segment segment;
    int filled = socket_receive(c, l);
    int64_t time_ns = clock_date();

    while (filled > 0 && landing_next(l, &walk, &segment))
        c->tap.see(c->tap.context, c,
                   &(struct channel_crossing){
                       .time_ns = time_ns,
                       .bytes = segment.bytes,
                       .count = landing_list(l, &segment, pieces),
                       .pieces = pieces,
                   });
    return filled;
}

static bool is_tapped(const struct channel *c)
{
    return __builtin_expect(c->tap.see != NULL, 0);
}

enum channel_verdict channel_send(struct channel *c, const struct burst *b, uint32_t *sent)
{
    if (c->aal5)
        return aal5_send(c, b, sent);
    return is_tapped(c) ? send_tapped(c, b, sent) : socket_send(c, b, sent);
}

int channel_receive(struct channel *c, struct landing *l)
{
    if (c->aal5)
        return aal5_receive(c, l);
    return is_tapped(c) ? receive_tapped(c, l) : socket_receive(c, l);
}

void channel_send_to(struct channel *c, const struct burst *b, const union address *to)
{
    const struct iovec *pieces = b->iov[0].iov_len > 0 ? &b->iov[0] : &b->iov[1];
    struct msghdr message = {.msg_name = (void *)&to->any,
                             .msg_namelen = address_bytes(to),
                             .msg_iov = (struct iovec *)pieces,
                             .msg_iovlen = b->iov[0].iov_len > 0 ? 2 : 1};
    int64_t time_ns = is_tapped(c) ? clock_date() : 0;
    bool is_sent = false;

    /* The error of an earlier datagram may be handed to a call; see channel_wake_peer. */
    for (int i = 0; i < 3 && !is_sent; i++) {
        channel_note(c, CHANNEL_CALLS_OUT, 1);
        is_sent = sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    }
    if (is_sent && is_tapped(c))
        show_datagram(c, b, 0, time_ns);
}

void channel_on_moved(struct channel *c)
{
    c->peer = address_of_peer(c->fd);
    c->has_leftovers = true;
    socket_path_find(c);
}

void channel_wake_peer(struct channel *c)
{
    /* A connected socket hands the error of an earlier datagram to this call instead of sending. */
    for (int i = 0; i < 2; i++) {
        channel_note(c, CHANNEL_CALLS_OUT, 1);
        if (send(c->fd, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL) == 0)
            return;
    }
}

/* POLLERR counts as ready: the next call takes the error off the socket. A socket that was closed
 * (POLLNVAL) or hung up would be ready for ever. */
int channel_wait(const struct channel *c, int wake_fd, instant deadline)
{
    struct pollfd set[] = {{.fd = c->fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    int ready = ready_wait(set, 2, deadline);

    if (ready < 0 || (set[0].revents & POLLNVAL) ||
        (set[0].revents & (POLLHUP | POLLIN)) == POLLHUP)
        return CHANNEL_BROKEN;
    return (set[0].revents ? CHANNEL_READABLE : 0) | (set[1].revents ? CHANNEL_WOKEN : 0);
}

int channel_nap(int wake_fd, instant deadline)
{
    struct pollfd wake = {.fd = wake_fd, .events = POLLIN};
    int ready = ready_wait(&wake, 1, deadline);

    return ready < 0 ? CHANNEL_BROKEN : ready > 0 ? CHANNEL_WOKEN : 0;
}
