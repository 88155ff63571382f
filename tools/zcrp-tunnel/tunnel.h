/* The command line, and what runs for it: the near end, which the user has started, or a far end,
 * which a remote shell has started for one tunnel, or which stands. Each returns the exit status.
 */
#ifndef ZCRP_TUNNEL_TUNNEL_H
#define ZCRP_TUNNEL_TUNNEL_H

#include "common/meeting.h"
#include "spec.h"
#include "stream.h"

enum {
    STATUS_FINE = 0,
    STATUS_REFUSED = 1, /* --stdio: the target, or the stream was reset */
    STATUS_USAGE = 2,
    STATUS_BROKEN = 3, /* no connection to the far end, or no address to listen at */
};

enum { PORT_OF_SERVERS = 6637 };

struct options {
    const char *rsh, *far_program, *keys, *address;
    uint64_t port; /* of the far end that is started; 0: any */
    struct stream_settings streams;
    uint64_t warm; /* idle connections that are kept */
    struct forward forwards[FORWARDS_MOST];
    unsigned forward_count;
    struct rules allowed, listened; /* --allow, --allow-listen */
    struct address serve, stdio;    /* a host of "": none */
    bool is_far;
};

int near_run(const struct options *options, const char *host);
int stdio_run(const struct options *options, const char *word);
int far_serve(const struct options *given);
int far_run(struct options *given);

/* The program, to a meeting. */
extern const struct meeting_program tunnel_program;

#endif
