/* Messages over a stream of bytes in order, as TCP, SRT, QUIC, AF_UNIX sockets and pipes
 * carry it: one behind the other, from and to their places in memory. The receiving end knows where
 * each ends. */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "zcrp-bench/control/control.h"
#include "zcrp-bench/transports/transport.h"

enum {
    STREAM_PAUSE_MS = 100,
    STREAM_PIECES = 256,
};

/* The kind's own. Each moves some bytes, and returns how many; 0 if nothing moved for
 * STREAM_PAUSE_MS, -1 with a complaint if nothing will move any more. */
struct stream {
    ssize_t (*write)(struct transport *transport, const void *bytes, size_t size);
    ssize_t (*read)(struct transport *transport, const struct iovec *pieces, int count);
    int pieces; /* that `read` fills at once, 1 to STREAM_PIECES */
};

/* The stream that is a socket, transport->fd, which blocks for STREAM_PAUSE_MS at most. */
extern const struct stream stream_of_socket;

/* Two parts of it, for kinds that have another sort of descriptor. `stream_sent` turns what a
 * system call returned into what a kind's `write` returns; errno is the call's. `stream_read` reads
 * from transport->fd. */
ssize_t stream_sent(const struct transport *transport, ssize_t sent);
ssize_t stream_read(struct transport *transport, const struct iovec *pieces, int count);

/* As in struct transport_kind, for kinds with a `stream`. */
int stream_send(struct transport *transport, struct job *job);
int stream_receive(struct transport *transport, struct job *job);
int stream_put(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot);
int stream_take(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot);

/* All of these, of a kind whose messages go both ways. */
#define STREAM_CALLS(calls)                                                                        \
    .stream = (calls), .send = stream_send, .receive = stream_receive, .put = stream_put,          \
    .take = stream_take

#endif
