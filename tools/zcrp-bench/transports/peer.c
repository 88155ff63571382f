#include "zcrp-bench/transports/peer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/job/watch.h"

/* Moves all of `size` bytes, by the kind's own call for some of them. */
static int move(struct transport *transport, stream_call *call, uint8_t *bytes, uint64_t size)
{
    int64_t since = watch_now_ns();

    while (size > 0) {
        ssize_t moved = call(transport, bytes, size);

        if (moved < 0 || (moved == 0 && transport_despair(transport, since) < 0))
            return -1;
        if (moved > 0)
            since = watch_now_ns();
        bytes += moved;
        size -= (uint64_t)moved;
    }
    return 0;
}

static int put(struct transport *transport, uint8_t *bytes, uint64_t size)
{
    return move(transport, transport->kind->stream->write, bytes, size);
}

static int take(struct transport *transport, uint8_t *bytes, uint64_t size)
{
    return move(transport, transport->kind->stream->read, bytes, size);
}

int stream_send(struct transport *transport, struct job *job)
{
    for (uint64_t n = 0; n < job->count; n++) {
        if (put(transport, job_outgoing(job, n), job_length(job, n)) < 0)
            return -1;
    }
    return 0;
}

int stream_receive(struct transport *transport, struct job *job)
{
    for (uint64_t n = 0; n < job->count; n++) {
        uint8_t *slot = memory_slot(&job->memory, n);

        if (take(transport, slot, job_length(job, n)) < 0 || job_incoming(job, n, slot) < 0)
            return -1;
    }
    return 0;
}

int stream_ask(struct transport *there, const struct job *job, uint64_t n)
{
    return put(there, memory_slot(&job->memory, n), job_length(job, n));
}

int stream_hear(struct transport *there, struct transport *back, const struct job *job, uint64_t n,
                int64_t *at_ns)
{
    (void)back;
    if (take(there, memory_slot(&job->memory, n), job_length(job, n)) < 0)
        return -1;
    *at_ns = watch_now_ns();
    return 0;
}

int stream_pong(struct transport *transport, struct transport *back, const struct job *job)
{
    (void)back;
    if (control_say(transport->control, "ready") < 0)
        return -1;
    for (uint64_t n = 0; n < job->count; n++) {
        uint8_t *slot = memory_slot(&job->memory, n);

        if (take(transport, slot, job_length(job, n)) < 0 ||
            put(transport, slot, job_length(job, n)) < 0)
            return -1;
    }
    return 0;
}

/* What getsockname or getpeername has said, at another port. */
static int set_port(int asked, int port, struct peer_address *address)
{
    if (asked < 0)
        return complain("a socket has no address: %s", strerror(errno));
    if (address->any.sa_family == AF_INET6)
        address->v6.sin6_port = htons((uint16_t)port);
    else
        address->v4.sin_port = htons((uint16_t)port);
    return 0;
}

int peer_address_here(const struct control *control, int port, struct peer_address *address)
{
    address->length = sizeof address->v6;
    return set_port(getsockname(control->fd, &address->any, &address->length), port, address);
}

int peer_address_there(const struct control *control, int port, struct peer_address *address)
{
    address->length = sizeof address->v6;
    return set_port(getpeername(control->fd, &address->any, &address->length), port, address);
}

int peer_address_port(const struct peer_address *address)
{
    return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port : address->v4.sin_port);
}
