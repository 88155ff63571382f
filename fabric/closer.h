/* Threads that close connections. To close one may take seconds, because what was sent has to be
 * acknowledged, and the program's thread that finds that a peer has gone must not wait for that. An
 * endpoint closes its peers all at once so, too. The threads are made when they are needed.
 *
 * Anybody can call, any number of times, and answer no close. So ways with operations, and those
 * that this end has opened, are closed first, and have some threads for themselves. */
#ifndef FABRIC_CLOSER_H
#define FABRIC_CLOSER_H

#include "list.h"

#include <pthread.h>
#include <stdbool.h>

struct domain;
struct way;

enum {
    CLOSERS_MOST = 64,
    OTHERS_MOST = 48, /* as many of them at once close what nobody waits for */
};

/* Within the domain's mutex. */
struct closers {
    struct list awaited;   /* ways that are to be closed, and that the program waits for; */
    struct list others;    /* those that it does not; */
    int waiting;           /* so many in both */
    int at_others;         /* that are being closed */
    pthread_cond_t added;  /* one more, or it is the end */
    pthread_cond_t closed; /* one less */
    pthread_t threads[CLOSERS_MOST];
    int count;
    int idle; /* threads that had nothing to close when they last looked */
    bool is_over;
};

void closers_init(struct closers *c);
void closers_fini(struct closers *c);

/* Joins the threads. Without the mutex; nothing is added any more. */
void closers_stop(struct domain *d);

/* Takes over a way that has ended, and destroys it in the end. */
void closer_add(struct way *w);

/* Waits, and helps, until `*count` is 0: the ways of one endpoint. Within the mutex, which it
 * leaves meanwhile. */
void closer_await(struct domain *d, const int *count);

#endif
