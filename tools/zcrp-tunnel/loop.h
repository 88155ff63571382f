/* The one thread: an epoll over TCP sockets, and the completion queue of all connections. */
#ifndef ZCRP_TUNNEL_LOOP_H
#define ZCRP_TUNNEL_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/crew.h"
#include "zcrp.h"

/* A descriptor that is polled. */
struct watch {
    int fd; /* -1: none */
    void (*on_event)(struct watch *watch, uint32_t events);
    void *context;
};

/* Work for the end of this round. All zero is none. */
struct turn {
    struct turn *next;
    bool is_due;
    void (*run)(struct turn *turn);
};

/* What may take long: crew.work in a thread, then `finish` in the loop, at the end of a round. Each
 * kind has threads of its own: a peer that lets closes wait keeps no other peer's name waiting. And
 * an asker whose jobs take long leaves threads of the kind to the other askers. */
enum job_kind { JOB_RESOLVE, JOB_CLOSE, JOB_KINDS };

struct job {
    struct crew_job crew;
    void (*finish)(struct job *job);
    enum job_kind kind;
    unsigned share;            /* of its asker */
    bool waits;                /* for a thread */
    struct job *before, *next; /* of its share, that wait */
};

/* What the loop calls. */
struct loop_calls {
    void (*on_completion)(const struct zcrp_completion *completion);
    void (*on_tick)(int64_t now_ns); /* every quarter of a second */
    void (*on_usr1)(void);           /* a SIGUSR1 came */
    void (*on_end)(void);            /* the loop is over: closes that this starts are waited for */
};

/* From now on signals end the loop, and a system call that waits. 0, or -1 with a complaint. */
int loop_open(const struct loop_calls *calls);

/* The queue to which connections and listeners are added. */
struct zcrp_queue *loop_queue(void);

/* Polls with these events of epoll, or changes them. False: errno. */
bool loop_watch(struct watch *watch, uint32_t events);
/* Polls it no more. */
void loop_leave(struct watch *watch);
/* And hands it over to the caller, or closes it, if it is not -1. */
int loop_release(struct watch *watch);
void loop_close(struct watch *watch);

void loop_soon(struct turn *turn);

/* `asker`: the host of the peer for which the job is, without a port. */
void loop_job(struct job *job, enum job_kind kind, const char *asker);

/* True: it waited for a thread, and never begins. */
bool loop_withdraw(struct job *job);

/* Runs until loop_stop, whose first status it returns, or a signal: 128 and its number. Then until
 * all closes have finished, for 2 s at most. */
int loop_run(void);
void loop_stop(int status);
bool loop_has_ended(void);

#endif
