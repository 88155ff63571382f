/* A standing far end: its clients, each of a thread of its own. It never has more of them than it
 * has descriptors for. When there is no place left and another one connects, the client gives way
 * that has moved nothing for the longest time, if that is long enough; else the caller waits in the
 * listener. So who has the key can keep others out only by copying all the time. */
#ifndef ZCRP_CP_SERVER_H
#define ZCRP_CP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "session.h"

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
