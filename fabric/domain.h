/* A domain: one zcrp queue, which tells what happens on the connections of all endpoints, and one
 * mutex, which guards everything in it. Whoever takes from the queue holds the mutex, so one thread
 * at a time handles what happens.
 *
 * Progress is made by whoever reads a completion queue or a counter, by whoever sends many large
 * messages, and, where the program asks for automatic progress, by a thread. ZCRP's own threads go
 * on sending and acknowledging meanwhile; what waits for progress is the matching of messages and
 * receives. */
#ifndef FABRIC_DOMAIN_H
#define FABRIC_DOMAIN_H

#include "closer.h"
#include "list.h"
#include "zcrp.h"

#include <pthread.h>
#include <rdma/fi_domain.h>
#include <stdint.h>

enum { SPARE_OPS_MOST = 256 };

struct domain {
    struct fid_domain fid;
    struct fid_fabric *fabric;
    pthread_mutex_t mutex;
    struct zcrp_queue *queue;
    struct zcrp_keys *keys; /* (c) NULL: none */
    int users;              /* endpoints, queues, ... that are open in it */
    int announced;          /* large messages, since somebody last made progress */
    bool is_automatic;      /* (c) with a thread for progress, */
    pthread_t thread;
    int stop;                        /* which this eventfd ends */
    struct closers closers;          /* threads that close what has ended */
    struct list spare_ops;           /* struct op, for the next operations, */
    int spare_op_count;              /* at most SPARE_OPS_MOST */
    uint8_t scratch[ZCRP_COPY_MOST]; /* an eager message before it is sent */
};

int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                void *context);

void domain_enter(struct domain *d);
void domain_leave(struct domain *d);

/* Begins a thread of the domain's, which takes none of the program's signals. 0, or a system's
 * error, positive. */
int domain_start(struct domain *d, pthread_t *thread, const char *name, void *(*work)(void *));

/* Handles what has happened. Never blocks. Within the mutex. */
void domain_progress(struct domain *d);

/* A large message was announced. A program that sends many of them in a row reads no queue
 * meanwhile, so after some the first ones, whose grants may be there, leave. Within the mutex. */
void domain_on_announced(struct domain *d);

/* Counts what is opened in the domain, and closed. Within the mutex, or before others know it. */
void domain_use(struct domain *d);
void domain_unuse(struct domain *d);

/* Sleeps until the queue may have something, `also` is readable (-1: nothing), or the time is over
 * (ms; -1: never). Without the mutex. */
void domain_sleep(struct domain *d, int also, int timeout_ms);

#endif
