/* Messages over a peer that carries a stream of bytes in order: one behind the other, from and to
 * their places in memory, as over TCP. The receiving end knows where each ends. */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include <stddef.h>
#include <sys/types.h>

#include "transport.h"

/* The peer's own. Each moves some of `size` bytes and returns how many; 0 if nothing moved for
 * STREAM_PAUSE_MS, -1 with a complaint if nothing will move any more. */
struct stream {
    ssize_t (*write)(struct transport *transport, const void *bytes, size_t size);
    ssize_t (*read)(struct transport *transport, void *bytes, size_t size);
};

enum {
    STREAM_PAUSE_MS = 100,
    STREAM_BUFFER = 8 << 20, /* of the peer, at each end: ZCRP's window */
    STREAM_SOCKET = 4 << 20, /* of the UDP socket: as ZCRP's */
};

/* As in struct transport_kind, for kinds with a `stream`. */
int stream_send(struct transport *transport, struct job *job);
int stream_receive(struct transport *transport, struct job *job);
int stream_ping(struct transport *transport, struct transport *back, const struct job *job,
                struct histogram *trips);
int stream_pong(struct transport *transport, struct transport *back, const struct job *job);

#endif
