/* How a channel stands in the midst of a job, at its sending end. */
#ifndef BENCH_LOOK_H
#define BENCH_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct look {
    bool is_known;
    uint64_t bytes;    /* of messages, acknowledged since the channel was opened */
    uint64_t repeated; /* units of ZCRP, segments of TCP, since then */
    uint64_t window_bytes;
    uint64_t rtt_ns; /* smoothed */
};

/* What the kernel says of a TCP socket. */
struct look look_at_tcp(int fd);

#endif
