/* An end of a QUIC connection (ngtcp2 with GnuTLS) with one stream from the client to the server,
 * of datagrams in bursts and with windows of 8 MiB. The library has no threads and no socket:
 * nothing happens but in quic_work, at both ends.
 *
 *      [ ring ] --> packets, a burst --> socket ...... socket --> packets --> [ ring ]
 */
#ifndef BENCH_QUIC_CONNECTION_H
#define BENCH_QUIC_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct quic;

/* On a connected UDP socket, which stays the caller's. NULL with a complaint. */
struct quic *quic_create(int fd, bool is_client);

void quic_destroy(struct quic *end);

/* Waits for at most wait_ms until there is something to do, and does it. 0, or -1 with a complaint.
 */
int quic_work(struct quic *end, int wait_ms);

bool quic_is_connected(const struct quic *end);

/* Client, server: moves bytes of the stream; returns how many, 0 if there is no room or nothing. */
size_t quic_write(struct quic *end, const void *bytes, size_t size);
size_t quic_read(struct quic *end, void *bytes, size_t size);

/* Client: bytes that are not acknowledged yet. */
uint64_t quic_left(const struct quic *end);

#endif
