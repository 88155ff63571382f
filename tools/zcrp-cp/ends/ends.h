/* What main has read, and what it runs: the near end, which the user has started, or a far end,
 * that a remote shell has started for one copy or that stands. Each returns the exit status. */
#ifndef ZCRP_CP_ENDS_H
#define ZCRP_CP_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/* What the program ends with. */
enum {
    STATUS_FINE = 0,
    STATUS_SOME_FAILED = 1, /* files that could not be copied; the others are */
    STATUS_USAGE = 2,
    STATUS_BROKEN = 3, /* the connection or the remote shell */
    STATUS_INTERRUPTED = 130,
};

enum { PORT_OF_SERVERS = 6636 };

/* The command line. */
struct options {
    const char *rsh;         /* the remote shell's command */
    const char *far_program; /* this program, at the far end */
    const char *address;     /* to connect to, or to listen at; NULL: the host, or any */
    const char *keys;        /* a file of zcrp-keys; NULL: none */
    const char *serve;       /* the directory of a server; NULL: this is none */
    uint64_t port;           /* of the far end; 0: any, or PORT_OF_SERVERS */
    uint64_t rate;           /* bits a second; 0: any */
    int64_t interval_ns;     /* of --stats */
    bool is_far, is_read_only;
    bool is_accepted; /* -r, -p: what is done in any case */
    bool checksum, is_dry_run, is_quiet, is_verbose, wants_stats;
};

/* Copies what the words say. */
int near_run(const struct options *options, int count, char **words);

/* Serves the one copy that standard input tells of (meeting.h). */
int far_run(void);

/* Serves whoever has the key, as many copies as come. Or never returns. */
int server_serve(const struct options *options);

#endif
