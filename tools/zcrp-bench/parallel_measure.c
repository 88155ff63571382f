/* One measurement in all flows. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "interval.h"
#include "parallel.h"
#include "trace.h"

/* A flow's part of a measurement. */
struct part {
    struct sending_end *end;
    size_t which;
    uint64_t size;
    struct run *run;
    pthread_t thread;
    int status;
};

/* One measurement of messages of this size. */
static int measure(struct sending_end *end, size_t which, uint64_t size, struct run *run)
{
    struct contender *contender = &end->contenders[which];
    struct job job;

    if (end->options->is_ping)
        return measurement_ping_job(end, size, &job) < 0
                   ? -1
                   : measurement_ping(end, contender, &job, run);
    return measurement_job(end, contender, size, &job) < 0
               ? -1
               : measurement_run(end, contender, &job, run);
}

static void *run_part(void *argument)
{
    struct part *part = argument;

    part->status = measure(part->end, part->which, part->size, part->run);
    return NULL;
}

/* All parts at once, the first in this thread. */
static int run_parts(struct part *parts, size_t count)
{
    size_t started = 1;
    int error = 0;
    int status;

    while (started < count && error == 0) {
        error = pthread_create(&parts[started].thread, NULL, run_part, &parts[started]);
        started += error == 0;
    }
    run_part(&parts[0]);
    status = error == 0 ? parts[0].status : complain("cannot start a thread: %s", strerror(error));
    for (size_t i = 1; i < started; i++) {
        pthread_join(parts[i].thread, NULL);
        if (parts[i].status < 0)
            status = -1;
    }
    return status;
}

static int measure_all(struct sending_end *ends, size_t which, uint64_t size, struct part *parts,
                       struct run *runs)
{
    size_t count = ends->options->parallel;
    struct interval interval;
    int status;

    for (size_t i = 0; i < count; i++)
        parts[i] = (struct part){.end = &ends[i], .which = which, .size = size, .run = &runs[i]};
    if (interval_begin(&interval, ends, count, which, size) < 0)
        return -1;
    if (ends->contenders[which].lanes[0].kind == &transport_zcrp)
        trace_begin(size, count);
    status = run_parts(parts, count);
    trace_end();
    interval_end(&interval);
    for (size_t i = 0; i < count; i++)
        ends->is_different = ends->is_different || ends[i].is_different;
    return status;
}

int parallel_measure(struct sending_end *ends, size_t which, uint64_t size, struct run *run)
{
    size_t count = ends->options->parallel;
    struct part *parts = calloc(count, sizeof *parts);
    struct run *runs = calloc(count, sizeof *runs);
    int status = -1;

    if (parts == NULL || runs == NULL)
        complain("no memory for flows: %s", strerror(ENOMEM));
    else
        status = measure_all(ends, which, size, parts, runs);
    if (status == 0)
        *run = parallel_sum(runs, count);
    free(parts);
    free(runs);
    return status;
}

void parallel_follow(struct sending_end *ends)
{
    for (size_t i = 1; i < ends->options->parallel; i++) {
        for (size_t which = 0; which < ends->options->transport_count; which++)
            ends[i].contenders[which].lane = ends->contenders[which].lane;
    }
}
