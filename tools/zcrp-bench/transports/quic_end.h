/* A stretch of a stream, kept by the offset of its bytes.
 *
 *      start <= end <= start + QUIC_RING; byte `offset` is at bytes[offset % QUIC_RING] */
#ifndef BENCH_QUIC_END_H
#define BENCH_QUIC_END_H

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "zcrp-bench/transports/stream.h"

enum { QUIC_RING = 8 << 20 };

struct quic_ring {
    uint64_t start;
    uint64_t end;
    uint8_t bytes[QUIC_RING];
};

/* Adds up to `size` bytes behind the end; how many there was room for. */
size_t quic_ring_add(struct quic_ring *ring, const void *bytes, size_t size);

/* Takes up to `size` bytes from the start; how many there were. */
size_t quic_ring_take(struct quic_ring *ring, void *bytes, size_t size);

/* Bytes from `offset` on that lie in one piece, and where; 0 at the end. */
size_t quic_ring_piece(struct quic_ring *ring, uint64_t offset, uint8_t **at);

/* Datagrams of one connected UDP socket in bursts, which the kernel cuts and gathers where it can.
 */

enum { QUIC_BURST = 65507, QUIC_BURST_DATAGRAMS = 64 };

/* A socket at `here` with buffers of `buffer` bytes, and its port in *here. Descriptor, or -1 with
 * a complaint. */
int quic_socket_open(struct peer_address *here, int buffer);

/* Sends datagrams of `size` bytes, the last of which may be shorter, of `bytes` in all; waits while
 * the socket is full. What the other end is not there for is lost. 0, or -1 with a complaint. */
int quic_socket_send(int fd, const uint8_t *burst, size_t bytes, size_t size);

/* Receives without waiting: bytes, of datagrams of *size each (the last may be shorter); 0 if there
 * are none, -1 with a complaint. */
ssize_t quic_socket_receive(int fd, uint8_t burst[QUIC_BURST], size_t *size);

/* TLS for QUIC, by GnuTLS: a key and a certificate made on the spot, which the other end takes as
 * it is. Enough to pay for encryption, not to be safe from anybody in between. */

struct quic_tls {
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
};

/* `reference` is how the session finds its connection, and stays the caller's. 0, or -1 with a
 * complaint; quic_tls_fini is fine in any case. */
int quic_tls_init(struct quic_tls *tls, bool is_server, ngtcp2_crypto_conn_ref *reference);

/* Also of zeros. */
void quic_tls_fini(struct quic_tls *tls);

/* One end of a QUIC connection (ngtcp2), which carries one stream from the client, the sending end,
 * to the server. Nothing happens but in quic_end_work.
 *
 *      [ ring ] --> packets, a burst --> socket ...... socket --> packets --> [ ring ]
 *
 * Errors: 0, or -1 with a complaint. */

enum {
    QUIC_NO_STREAM = -1,
    QUIC_PAYLOAD = 1452, /* of a packet for an MTU of 1500, over IPv6 too */
};

struct quic_end {
    int fd; /* a connected socket; the caller's */
    struct peer_address here;
    struct peer_address there;
    ngtcp2_conn *conn; /* NULL: none yet; a server has one from the first packet on */
    ngtcp2_crypto_conn_ref reference;
    struct quic_tls tls;
    int64_t stream;        /* QUIC_NO_STREAM: not open yet */
    uint64_t sent;         /* bytes of the stream that were put in packets */
    struct quic_ring ring; /* client: what is not acknowledged; server: what nobody has taken */
    uint8_t burst[QUIC_BURST];
};

/* Begins a connection as the client; `end` has fd and addresses. */
int quic_end_connect(struct quic_end *end);

/* Lets the connection work: waits for wait_ms at most until there is something to do, then receives
 * and sends all that can be. */
int quic_end_work(struct quic_end *end, int wait_ms);

bool quic_end_is_connected(const struct quic_end *end);

/* Server: takes bytes that have arrived, and lets as many more come. How many. */
size_t quic_end_take(struct quic_end *end, void *bytes, size_t size);

/* All but the socket and the memory of `end`. */
void quic_end_fini(struct quic_end *end);

#endif
