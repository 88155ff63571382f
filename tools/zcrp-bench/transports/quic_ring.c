#include <string.h>

#include "zcrp-bench/transports/quic_end.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t quic_ring_add(struct quic_ring *ring, const void *bytes, size_t size)
{
    size_t count = least(size, QUIC_RING - (size_t)(ring->end - ring->start));
    size_t at = ring->end % QUIC_RING;
    size_t first = least(count, QUIC_RING - at);

    memcpy(&ring->bytes[at], bytes, first);
    memcpy(ring->bytes, (const uint8_t *)bytes + first, count - first);
    ring->end += count;
    return count;
}

size_t quic_ring_piece(struct quic_ring *ring, uint64_t offset, uint8_t **at)
{
    size_t place = offset % QUIC_RING;

    *at = &ring->bytes[place];
    return least((size_t)(ring->end - offset), QUIC_RING - place);
}

size_t quic_ring_take(struct quic_ring *ring, void *bytes, size_t size)
{
    uint8_t *at;
    size_t first = least(size, quic_ring_piece(ring, ring->start, &at));
    size_t rest;

    memcpy(bytes, at, first);
    ring->start += first;
    rest = least(size - first, quic_ring_piece(ring, ring->start, &at));
    memcpy((uint8_t *)bytes + first, at, rest);
    ring->start += rest;
    return first + rest;
}
