/* One end of a QUIC connection (ngtcp2), which carries one stream from the client, the sending end,
 * to the server. Nothing happens but in quic_end_work.
 *
 *      [ ring ] --> packets, a burst --> socket ...... socket --> packets --> [ ring ]
 *
 * Errors: 0, or -1 with a complaint. */
#ifndef BENCH_QUIC_END_H
#define BENCH_QUIC_END_H

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-bench/transports/stream.h"

enum {
    QUIC_RING = 8 << 20,
    QUIC_NO_STREAM = -1,
    QUIC_PAYLOAD = 1452, /* of a packet for an MTU of 1500, over IPv6 too */
    QUIC_BURST = 65507,
};

/* A stretch of a stream, kept by the offset of its bytes.
 *
 *      start <= end <= start + QUIC_RING; byte `offset` is at bytes[offset % QUIC_RING] */
struct quic_ring {
    uint64_t start;
    uint64_t end;
    uint8_t bytes[QUIC_RING];
};

struct quic_end {
    int fd; /* a connected socket; the caller's */
    struct peer_address here;
    struct peer_address there;
    ngtcp2_conn *conn; /* NULL: none yet; a server has one from the first packet on */
    ngtcp2_crypto_conn_ref reference;
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
    int64_t stream;        /* QUIC_NO_STREAM: not open yet */
    uint64_t sent;         /* bytes of the stream that were put in packets */
    struct quic_ring ring; /* client: what is not acknowledged; server: what nobody has taken */
    uint8_t burst[QUIC_BURST];
};

/* A socket at end->here with buffers of `buffer` bytes: end->fd, and its port in end->here. */
int quic_end_open(struct quic_end *end, int buffer);

/* Begins a connection as the client; `end` has fd and addresses. */
int quic_end_connect(struct quic_end *end);

/* Lets the connection work: waits for wait_ms at most until there is something to do, then receives
 * and sends all that can be. */
int quic_end_work(struct quic_end *end, int wait_ms);

bool quic_end_is_connected(const struct quic_end *end);

/* Client: adds up to `size` bytes behind those that are not acknowledged; how many there was room
 * for. */
size_t quic_end_add(struct quic_end *end, const void *bytes, size_t size);

/* Server: takes bytes that have arrived, and lets as many more come. How many. */
size_t quic_end_take(struct quic_end *end, void *bytes, size_t size);

/* All but the socket and the memory of `end`. */
void quic_end_fini(struct quic_end *end);

#endif
