/* A burst: datagrams that cross the kernel in one call, outwards.
 *
 *     datagram 0          datagram 1                 datagram n-1
 *     iov[0]   iov[1]     iov[2]   iov[3]            iov[2n-2] iov[2n-1]
 *     data     trailer    data     trailer    ...    data      trailer
 *
 * Data pieces point into the user's messages, trailers into the burst itself: nothing is copied.
 *
 * I1  every datagram has exactly two pieces; a control datagram's first piece is empty.
 * I2  every datagram is `segment` bytes long; the last may be shorter.
 * I3  datagrams <= BURST_UNITS. */
#ifndef ZCRP_CORE_BURST_H
#define ZCRP_CORE_BURST_H

#include "datagram.h"

#include <stdint.h>
#include <sys/uio.h>

enum {
    BURST_CUT = 128,      /* UDP_MAX_SEGMENTS of Linux since 6.9; older kernels take 64 */
    BURST_UNITS = 264,    /* six times what the kernel cuts at once for Ethernet */
    CONTROL_BYTES = 1200, /* no control datagram is longer: it fits any path (RFC 9000, 14) */
};

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
    bool is_single;     /* the kernel is to cut none of its datagrams out of a larger one */
    bool cannot_fault;  /* its pieces stay mapped until it was sent; set by the link */
    bool is_present;    /* no page of theirs is to come; set by the link, too */
    uint32_t pins;
    struct burst_pin pin[BURST_UNITS];
    struct iovec iov[2 * BURST_UNITS];
    uint8_t trailer[BURST_UNITS][TRAILER_BYTES];
    uint8_t control[CONTROL_BYTES];
};

/* Makes the burst one control datagram, whose `size` bytes are in `control` already. */
static inline void burst_set_control(struct burst *burst, size_t size)
{
    burst->is_control = true;
    burst->is_flat = burst->is_single = false;
    burst->datagrams = 1;
    burst->segment = (uint32_t)size;
    burst->bytes = (uint32_t)size;
    burst->iov[0] = (struct iovec){.iov_base = NULL, .iov_len = 0};
    burst->iov[1] = (struct iovec){.iov_base = burst->control, .iov_len = size};
}

#endif
