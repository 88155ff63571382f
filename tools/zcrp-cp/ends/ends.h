/* What main has read, and what it runs: the near end, which the user has started, or a far end,
 * that a remote shell has started for one copy or that stands. Each returns the exit status. */
#ifndef ZCRP_CP_ENDS_H
#define ZCRP_CP_ENDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/meeting.h"
#include "session.h"

/* What the program ends with. */
enum {
    STATUS_FINE = 0,
    STATUS_SOME_FAILED = 1, /* files that could not be copied; the others are */
    STATUS_USAGE = 2,
    STATUS_BROKEN = 3, /* the connection or the remote shell */
    STATUS_INTERRUPTED = 130,
};

enum { PORT_OF_SERVERS = 6636 };

/* The program, to a meeting. */
extern const struct meeting_program program_of_copies;

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

/* A standing far end: its clients, each of a thread of its own. It never has more of them than it
 * has descriptors for. When there is no place left and another one connects, the client gives way
 * that has moved nothing for the longest time, if that is long enough; else the caller waits in the
 * listener. So who has the key can keep others out only by copying all the time. */

enum {
    SERVER_CLIENTS_MOST = 64,
    SERVER_DESCRIPTORS = 320, /* of one client, at most: its names' folders and its open files */
};

struct client;

struct server {
    struct zcrp_listener *listener; /* the caller's, as the next four */
    struct session_rules rules;
    int clients_most; /* 1 .. SERVER_CLIENTS_MOST */
    FILE *log;        /* gets a line for each session; NULL: there is none */
    int64_t idle_ns;  /* a client that moves nothing for so long may have to give way */
    pthread_mutex_t lock;
    pthread_cond_t left;                         /* a client has */
    struct client *clients[SERVER_CLIENTS_MOST]; /* under the lock; NULL: none */
    int count;                                   /* of them, and of those that hang up */
    atomic_bool is_stopped;
};

/* How many clients this process has descriptors for, at most SERVER_CLIENTS_MOST. Raises the soft
 * limit of descriptors to the hard one. */
int server_clients(void);

/* Serves until the listener is interrupted, or has failed; then all clients have left, and know it.
 * Its code. */
int server_run(struct server *server);

#endif
