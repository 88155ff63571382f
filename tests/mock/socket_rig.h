/* What socket_send and its helpers are given in tests with mocked system calls: a channel over UDP,
 * and a burst of units of one size. */
#ifndef ZCRP_TESTS_MOCK_SOCKET_RIG_H
#define ZCRP_TESTS_MOCK_SOCKET_RIG_H

#include "channel/socket.h"

#include "../support/mock.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

enum { FD = 5, LAST_BYTE = 0x11, WIDEST = 65507 };

static struct channel c;
static struct burst b;
static uint8_t data[1 << 16];

/* Each datagram is `segment` bytes, the last of which is LAST_BYTE. */
static inline void fill_burst(uint32_t datagrams, uint32_t segment)
{
    b = (struct burst){.datagrams = datagrams, .segment = segment, .bytes = datagrams * segment};
    for (uint32_t i = 0; i < datagrams; i++) {
        b.iov[2 * i] = (struct iovec){data, segment - TRAILER_BYTES};
        b.iov[2 * i + 1] = (struct iovec){b.trailer[i], TRAILER_BYTES};
        b.trailer[i][TRAILER_BYTES - 1] = LAST_BYTE;
    }
}

static inline void setup_channel(void)
{
    c = (struct channel){.fd = FD, .kind = CHANNEL_UDP4, .datagram_max = WIDEST};
    atomic_init(&c.gso_segments, BURST_UNITS);
}

static inline void expect_send(enum channel_verdict verdict, uint32_t sent)
{
    uint32_t taken = 12345;

    assert_int_equal(socket_send(&c, &b, &taken), verdict);
    assert_int_equal(taken, sent);
}

static inline void expect_counter(enum channel_counter which, uint64_t count)
{
    assert_int_equal(channel_count(&c, which), count);
}

#endif
