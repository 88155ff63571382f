/* Datagrams of one connected UDP socket in bursts, which the kernel cuts and gathers where it can.
 */
#ifndef BENCH_QUIC_SOCKET_H
#define BENCH_QUIC_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "zcrp-bench/transports/peer.h"

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

#endif
