/* The head of IP and UDP that a datagram of a connected socket travels behind, made up again for a
 * capture. */
#ifndef BENCH_FLOW_H
#define BENCH_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { FLOW_HEAD_MOST = 48 };

/* A socket's two ends. */
struct flow {
    int descriptor;
    bool is_ip6;
    uint8_t here[16], there[16]; /* addresses; IPv4 has the first 4 bytes of each */
    uint16_t here_port, there_port;
};

/* Asks the socket. 0, or -1 with errno: not a connected UDP socket. */
int flow_init(struct flow *flow, int descriptor);

/* Writes the heads of a datagram in these pieces, `bytes` bytes all together (at most what UDP
 * carries). Returns the bytes of the heads. Cannot fail. */
size_t flow_head(const struct flow *flow, uint8_t out[FLOW_HEAD_MOST], bool is_outward,
                 const struct iovec *pieces, size_t count, uint32_t bytes);

#endif
