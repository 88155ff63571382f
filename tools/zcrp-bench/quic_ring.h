/* A stretch of a stream, kept by the offset of its bytes.
 *
 *      start <= end <= start + QUIC_RING; byte `offset` is at bytes[offset % QUIC_RING] */
#ifndef BENCH_QUIC_RING_H
#define BENCH_QUIC_RING_H

#include <stddef.h>
#include <stdint.h>

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

#endif
