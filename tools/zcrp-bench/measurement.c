#include "measurement.h"

#include <inttypes.h>
#include <string.h>

#include "common/complain.h"
#include "progress.h"
#include "pulse.h"
#include "watch.h"

/* Tells the other end what comes, until it is ready to receive. */
static int announce(struct sending_end *end, size_t transport, const struct job *job)
{
    struct control *control = &end->control;

    if (control_say(control,
                    "measure %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                    " %d %" PRIu64 " %" PRIu64,
                    transport, job->size, job->count, job->total, job->memory.slots, job->depth,
                    (int)job->content, job->seed, job->course.look) < 0)
        return -1;
    return control_expect(control, "ready") != NULL ? 0 : -1;
}

static int hear_counts(struct control *control, struct counts *counts)
{
    return control_hear_numbers(control, counts->value, COUNTS);
}

/* Hears what the other end measured, into *run and *job. */
static int hear_result(struct sending_end *end, struct run *run, struct job *job)
{
    const char *arguments;
    uint64_t figures[8];

    if (pulse_hear_past(&end->control) < 0)
        return -1;
    arguments = control_arguments(&end->control, "result");
    if (arguments == NULL || control_figures(arguments, figures, 8) < 0)
        return complain("the receiving end says nonsense: '%.80s'", end->control.line);
    run->seconds = (double)figures[0] / 1e9;
    run->receiver_cpu_s = (double)figures[1] / 1e9;
    run->receiver_allocations = (struct allocations){figures[2], figures[3]};
    run->receiver_counts.is_known = figures[4] != 0;
    run->verdict = figures[5] < VERDICTS ? (enum verdict)figures[5] : VERDICT_NONE;
    job->message = figures[6];
    job->offset = figures[7];
    return hear_counts(&end->control, &run->receiver_counts);
}

/* Sends; on failure the other end's reason, if it gave one, is heard too. */
static int send_job(struct sending_end *end, struct transport *transport, struct job *job)
{
    course_begin(&job->course);
    if (transport->kind->send(transport, job) == 0)
        return 0;
    if (control_is_broken(&end->control))
        control_hear(&end->control);
    return -1;
}

/* Content that differs is complained of, but does not end the run. */
static void check_verdict(struct sending_end *end, const struct run *run, const struct job *job,
                          const struct transport *transport)
{
    if (run->verdict != VERDICT_DIFFERENT)
        return;
    progress_clear();
    job_complain(job, transport->kind->name);
    end->is_different = true;
}

static void begin_run(struct run *run, const struct contender *contender, const struct job *job)
{
    *run = (struct run){
        .transport = contender->name,
        .size = job->size,
    };
    memcpy(run->channel, contender->lanes[contender->lane].channel, sizeof run->channel);
}

/* What the job was, that started with `start` and `before`, and what this end has to show for it.
 */
static void end_run(struct run *run, struct transport *transport, const struct job *job,
                    struct watch start, const struct counts *before)
{
    struct counts after;

    run->count = job->count;
    run->bytes = job->total;
    run->depth = job->depth;
    run->sender_cpu_s = (double)watch_since(start).cpu_ns / 1e9;
    run->sender_allocations = allocations_read();
    transport->kind->count(transport, &after);
    run->sender_counts = counts_since(&after, before);
}

int measurement_run(struct sending_end *end, struct contender *contender, struct job *job,
                    struct run *run)
{
    struct transport *transport = contender_transport(contender);
    struct counts before;
    struct watch start;

    begin_run(run, contender, job);
    if (transport->kind->prepare(transport, job) < 0 ||
        announce(end, contender_number(contender), job) < 0)
        return -1;
    transport->kind->count(transport, &before);
    allocations_begin();
    start = watch_read();
    if (send_job(end, transport, job) < 0 || hear_result(end, run, job) < 0)
        return -1;
    end_run(run, transport, job, start, &before);
    check_verdict(end, run, job, transport);
    return 0;
}

static struct round_trips trips_of(const struct histogram *histogram)
{
    return (struct round_trips){
        .count = histogram->count,
        .least_us = (double)histogram->least / 1e3,
        .median_us = (double)histogram_quantile(histogram, 0.5) / 1e3,
        .p99_us = (double)histogram_quantile(histogram, 0.99) / 1e3,
    };
}

static int announce_ping(struct sending_end *end, const struct contender *contender,
                         const struct job *job)
{
    if (control_say(&end->control, "ping %zu %" PRIu64 " %" PRIu64 " %" PRIu64,
                    contender->first_number, job->size, job->count, job->depth) < 0)
        return -1;
    return control_expect(&end->control, "ready") != NULL ? 0 : -1;
}

static int hear_answered(struct sending_end *end, struct run *run)
{
    uint64_t figures[4];

    if (control_expect_figures(&end->control, "answered", figures, 4) < 0)
        return -1;
    run->receiver_cpu_s = (double)figures[0] / 1e9;
    run->receiver_allocations = (struct allocations){figures[1], figures[2]};
    run->receiver_counts.is_known = figures[3] != 0;
    return hear_counts(&end->control, &run->receiver_counts);
}

/* Both ways, at this end. */
static int prepare_ping(struct contender *contender, const struct job *job)
{
    struct transport *there = contender_transport(contender);
    struct transport *back = &contender->back;

    if (there->kind->prepare(there, job) < 0)
        return -1;
    return back->kind == NULL ? 0 : back->kind->prepare(back, job);
}

int measurement_ping(struct sending_end *end, struct contender *contender, struct job *job,
                     struct run *run)
{
    struct transport *there = contender_transport(contender);
    struct histogram trips;
    struct counts before;
    struct watch start;

    begin_run(run, contender, job);
    histogram_init(&trips);
    if (prepare_ping(contender, job) < 0 || announce_ping(end, contender, job) < 0)
        return -1;
    there->kind->count(there, &before);
    allocations_begin();
    start = watch_read();
    if (there->kind->ping(there, &contender->back, job, &trips) < 0)
        return -1;
    run->seconds = (double)watch_since(start).wall_ns / 1e9;
    end_run(run, there, job, start, &before);
    run->trips = trips_of(&trips);
    return hear_answered(end, run);
}
