/* One measurement, as the sending end conducts it. */
#ifndef BENCH_MEASUREMENT_H
#define BENCH_MEASUREMENT_H

#include <stdatomic.h>

#include "zcrp-bench/command/options.h"
#include "zcrp-bench/results/results.h"

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
