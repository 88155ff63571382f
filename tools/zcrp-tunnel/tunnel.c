#include "tunnel.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "buffers.h"
#include "stream.h"

enum {
    DESCRIPTORS_SPARE = 64, /* the library's, and the process's own */
    CONNECTIONS_MOST = 1 << 18,
    BACKLOG = 4096,
    MESSAGES = 64, /* of a connection, under way */
};

const struct meeting_program tunnel_program = {"zcrp-tunnel", CONTROL_VERSION, false};

struct zcrp_options tunnel_options(const struct options *options, struct zcrp_keys *keys)
{
    struct rlimit limit = {.rlim_cur = 1024};
    rlim_t most;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    most = limit.rlim_cur > 2 * DESCRIPTORS_SPARE ? (limit.rlim_cur - DESCRIPTORS_SPARE) / 2
                                                  : DESCRIPTORS_SPARE;
    most = most < CONNECTIONS_MOST ? most : CONNECTIONS_MOST;
    return (struct zcrp_options){
        .keys = keys,
        .connections = (uint32_t)most,
        .backlog = (uint32_t)(most < BACKLOG ? most : BACKLOG),
        .messages = MESSAGES,
        .silence_ns = options->silence_ns,
        .window_bytes = 2 * options->window,
        .flags = ZCRP_NO_MEMORY,
        .stats_directory = "1",
    };
}

void tunnel_tell_counts(void)
{
    uint64_t out = stream_counts.bytes_out, in = stream_counts.bytes_in;

    for (const struct stream *s = stream_after(NULL); s != NULL; s = stream_after(s)) {
        out += s->in.fd >= 0 ? s->bytes_out : 0;
        in += s->in.fd >= 0 ? s->bytes_in : 0;
    }
    fprintf(stderr,
            "{\"streams\": %" PRIu64 ", \"open\": %u, \"refused\": %" PRIu64 ", \"reset\": %" PRIu64
            ", \"connections\": %u, \"bytes_out\": %" PRIu64 ", \"bytes_in\": %" PRIu64
            ", \"buffer_bytes\": %" PRIu64 "}\n",
            stream_counts.streams, stream_counts.open, stream_counts.refused, stream_counts.reset,
            stream_counts.connections, out, in, buffers_extra());
    (void)fflush(stderr);
}
