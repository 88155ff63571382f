/* The command line, and what runs for it: the near end, which the user has started, or a far end,
 * which a remote shell has started for one tunnel, or which stands. Each returns the exit status.
 */
#ifndef ZCRP_TUNNEL_TUNNEL_H
#define ZCRP_TUNNEL_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/meeting.h"
#include "spec.h"

enum {
    STATUS_FINE = 0,
    STATUS_REFUSED = 1, /* --stdio: the target, or the stream was reset */
    STATUS_USAGE = 2,
    STATUS_BROKEN = 3, /* no connection to the far end, or no address to listen at */
};

enum { PORT_OF_SERVERS = 6637, FORWARDS_MOST = 256 };

struct options {
    const char *rsh, *far_program, *keys, *address;
    uint64_t port;           /* of the far end that is started; 0: any */
    uint64_t window, memory; /* bytes in flight of a stream, each way; buffers of all streams */
    int64_t silence_ns;
    uint64_t warm; /* idle connections that are kept */
    struct forward forwards[FORWARDS_MOST];
    struct address allowed[RULES_MOST], listened[RULES_MOST]; /* --allow, --allow-listen */
    unsigned forward_count, allowed_count, listened_count;
    struct address serve, stdio; /* a host of "": none, but `serves` */
    bool serves, is_far, is_verbose, allows_all;
};

int near_run(const struct options *options, const char *host);
int stdio_run(const struct options *options, const char *target);
int far_serve(const struct options *options);
int far_run(struct options *options);

/* The zcrp options of both ends: raises the limit of descriptors. */
struct zcrp_options tunnel_options(const struct options *options, struct zcrp_keys *keys);

/* The program, to a meeting. */
extern const struct meeting_program tunnel_program;

/* Prints what was counted, on standard error. */
void tunnel_tell_counts(void);

#endif
