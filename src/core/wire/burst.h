/* A burst: datagrams that cross the kernel in one call, outwards.
 *
 *     datagram 0          datagram 1                 datagram n-1
 *     iov[0]   iov[1]     iov[2]   iov[3]            iov[2n-2] iov[2n-1]
 *     data     trailer    data     trailer    ...    data      trailer
 *
 * Data pieces point into the user's messages, trailers into the burst itself: nothing is copied.
 * The data of a unit may lie in several pieces of the user's memory. A burst with such a unit is
 * scattered: then `first` says where each datagram's pieces begin. Otherwise it means nothing.
 *
 * I1  every datagram has exactly two pieces; a control datagram's first piece is empty. In a
 *     scattered burst it has up to UNIT_PIECES of data, at least one, and then the trailer.
 * I2  every datagram is `segment` bytes long; the last may be shorter.
 * I3  datagrams <= BURST_UNITS.
 * I4  in a scattered burst first[datagrams], the number of pieces, is at most BURST_PIECES. */
#ifndef ZCRP_CORE_BURST_H
#define ZCRP_CORE_BURST_H

#include "datagram.h"

#include <stdint.h>
#include <sys/uio.h>

enum {
    BURST_CUT = 128,      /* UDP_MAX_SEGMENTS of Linux since 6.9; older kernels take 64 */
    BURST_UNITS = 264,    /* six times what the kernel cuts at once for Ethernet */
    CONTROL_BYTES = 1200, /* no control datagram is longer: it fits any path (RFC 9000, 14) */
    BURST_PIECES = 2 * BURST_UNITS,
    UNIT_PIECES = 64, /* of the user's memory in one unit: one with more is cut shorter */
};

_Static_assert((int)UNIT_PIECES >= (int)GRAIN, "the shortest unit, in pieces of one byte");

/* Units of one message in a row, which pin it while the burst is under way. */
struct burst_pin {
    uint64_t message;
    uint32_t units;
};

struct burst {
    uint32_t datagrams;
    uint32_t segment;   /* bytes of each datagram but the last; 0 when empty */
    uint32_t bytes;     /* all together */
    uint64_t first_seq; /* sequence number of datagram 0; meaningless for control */
    bool is_control;    /* one hello, acknowledgement or request, in `control` */
    bool is_flat;       /* its pieces follow on each other in memory */
    bool is_scattered;  /* see above */
    bool is_single;     /* the kernel is to cut none of its datagrams out of a larger one */
    bool cannot_fault;  /* its pieces stay mapped until it was sent; set by the link */
    bool is_present;    /* no page of theirs is to come; set by the link, too */
    uint32_t pins;
    struct burst_pin pin[BURST_UNITS];
    struct iovec iov[BURST_PIECES];
    uint16_t first[BURST_UNITS + 1];
    uint8_t trailer[BURST_UNITS][TRAILER_BYTES];
    uint8_t control[CONTROL_BYTES];
};

/* Makes the burst one control datagram, whose `size` bytes are in `control` already. */
static inline void burst_set_control(struct burst *burst, size_t size)
{
    burst->is_control = true;
    burst->is_flat = burst->is_scattered = burst->is_single = false;
    burst->datagrams = 1;
    burst->segment = (uint32_t)size;
    burst->bytes = (uint32_t)size;
    burst->iov[0] = (struct iovec){.iov_base = NULL, .iov_len = 0};
    burst->iov[1] = (struct iovec){.iov_base = burst->control, .iov_len = size};
}

/* Where the pieces of datagram i begin, of `datagrams` at most; of that one, where they all end. */
static inline uint32_t burst_first(const struct burst *burst, uint32_t i)
{
    return burst->is_scattered ? burst->first[i] : 2 * i;
}

/* Bytes of datagram i, which there is. */
static inline uint32_t burst_datagram_bytes(const struct burst *burst, uint32_t i)
{
    size_t bytes = 0;
    for (uint32_t k = burst_first(burst, i); k < burst_first(burst, i + 1); k++)
        bytes += burst->iov[k].iov_len;
    return (uint32_t)bytes;
}

/* The burst is scattered from now on; what it has stays. O(datagrams). */
static inline void burst_scatter(struct burst *burst)
{
    for (uint32_t i = 0; i <= burst->datagrams && !burst->is_scattered; i++)
        burst->first[i] = (uint16_t)(2 * i);
    burst->is_scattered = true;
}

#endif
