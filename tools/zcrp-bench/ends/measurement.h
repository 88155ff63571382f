/* What the sending end measures, and one measurement, as it conducts it. */
#ifndef BENCH_MEASUREMENT_H
#define BENCH_MEASUREMENT_H

#include <stdatomic.h>

#include "zcrp-bench/command/options.h"
#include "zcrp-bench/results/results.h"

/* One entry of --transport, with a channel for each manner in which it may be used. For each size
 * of messages, the fastest manner is found before anything is measured. Only TCP, and TLS over it,
 * have manners, of congestion control and of writes; which is best depends on the machine and on
 * the message. */
struct contender {
    const char *name;
    struct transport lanes[MANNERS_MAX][FLOWS_MAX];
    size_t lane_count;
    size_t lane;           /* the chosen one */
    struct transport back; /* for ping, where the kind needs it: all zero else */
};

static inline struct transport *contender_transport(struct contender *contender)
{
    return contender->lanes[contender->lane];
}

/* The channel by which round trips come back. */
static inline struct transport *contender_back(struct contender *contender)
{
    return contender->back.kind != NULL ? &contender->back : contender_transport(contender);
}

/* The sending end and all that is open while it runs. */
struct sending_end {
    const struct options *options;
    struct control control;
    struct contender contenders[OPTIONS_MAX_TRANSPORTS];
    struct memory memory;
    uint64_t seed;           /* of the last pattern */
    _Atomic uint64_t passed; /* bytes of messages that were handed to a channel */
    int64_t start_ns;        /* of the first measurement */
};

/* Each returns 0, or -1 with a complaint. A job is good until the next one is made. */

/* Opens all channels that the options ask for. `number` counts the run's, and is moved on. Where
 * the listening end sends, TCP is the machine's, with whole writes; round trips have one manner,
 * and a channel back where one is needed. After a failure contender_close is left. */
int contender_open(struct contender *contender, const struct choice *choice,
                   const struct options *options, struct control *control, size_t *number);
void contender_close(struct contender *contender);

/* Tries each manner several times with messages of `size`, in turns, and stays with the one of the
 * least median. */
int contender_choose(struct contender *contender, struct sending_end *end, uint64_t size);

/* A job too small to be worth a figure. */
int measurement_warm_up(struct sending_end *end, struct job *job);

/* The job that the options ask for, with messages of this size over the contender's chosen channel:
 * one way or round trips. */
int measurement_job(struct sending_end *end, struct contender *contender, uint64_t size,
                    struct job *job);

/* The same, but small and not verified: to find out what is fastest. */
int measurement_trial(struct sending_end *end, struct contender *contender, uint64_t size,
                      struct job *job);

/* Makes such a job, and does it. */
int measurement_try(struct sending_end *end, struct contender *contender, uint64_t size,
                    struct run *run);

/* Does the job over the contender's chosen channel, into *run. What arrived wrong is complained of,
 * but is no failure: see run->verdict. */
int measurement_run(struct sending_end *end, struct contender *contender, struct job *job,
                    struct run *run);

#endif
