#include "zcrp-bench/measuring/measurement.h"

#include <inttypes.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/job/watch.h"
#include "zcrp-bench/measuring/pulse.h"
#include "zcrp-bench/results/report.h"

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

enum {
    WARM_UP_SIZE = 16384,
    WARM_UP_COUNT = 64,
    TRIAL_PART = 4,     /* of a measurement */
    UNDER_WAY_PART = 4, /* of a measurement's time */
    PING_DEPTH = 16,
    PING_COUNT = 10000,
};

static int fit_memory(struct sending_end *end, struct job *job)
{
    uint64_t slots = options_slots(end->options, job->size, job->count);
    uint64_t depth = end->options->settings.depth;

    if (memory_refit(&end->memory, slots, job->size) < 0)
        return -1;
    job->memory = end->memory;
    job->passed = &end->passed;
    job->depth = slots < depth ? slots : depth;
    job->course = course_make(&end->control, job->size, 0, 0);
    return job_is_sane(job) ? 0 : complain("more bytes than there are");
}

/* What is under way over this channel at the end of the time takes no more than a part of it. */
static void limit_depth(struct job *job, const struct transport *transport, int64_t duration_ns)
{
    double most = transport->bytes_per_s * (double)(duration_ns / UNDER_WAY_PART) / 1e9;

    if (most < 2 * (double)job->size)
        most = 2 * (double)job->size;
    if (most < (double)job->depth * (double)job->size)
        job->depth = (uint64_t)(most / (double)job->size);
}

/* Makes a job of the right memory one that is paced, and that lasts for a time. */
static void set_course(struct sending_end *end, struct contender *contender, struct job *job,
                       double bits_per_s, int64_t duration_ns)
{
    job->course = course_make(&end->control, job->size, bits_per_s, duration_ns);
    if (duration_ns == 0)
        return;
    job->count = COURSE_FIRST_COUNT;
    job->total = job->count * job->size;
    limit_depth(job, contender_transport(contender), duration_ns);
}

int measurement_warm_up(struct sending_end *end, struct job *job)
{
    *job = (struct job){
        .size = WARM_UP_SIZE,
        .count = WARM_UP_COUNT,
        .total = WARM_UP_SIZE * WARM_UP_COUNT,
        .output = -1,
    };
    return fit_memory(end, job);
}

int measurement_job(struct sending_end *end, struct contender *contender, uint64_t size,
                    struct job *job)
{
    uint64_t count = options_count(end->options, size);

    *job = (struct job){
        .size = size,
        .count = count,
        .total = size * count,
        .content = end->options->is_verified ? JOB_PATTERN : JOB_ANY,
        .seed = ++end->seed,
        .output = -1,
    };
    if (end->input.bytes != NULL) {
        job->content = JOB_FILE;
        job->input = &end->input;
        job->total = end->input.size;
        job->count = (job->total - 1) / size + 1;
    }
    if (fit_memory(end, job) < 0)
        return -1;
    set_course(end, contender, job, (double)end->options->bits_per_s, end->options->duration_ns);
    return 0;
}

int measurement_trial(struct sending_end *end, struct contender *contender, uint64_t size,
                      struct job *job)
{
    uint64_t count = options_count(end->options, size) / TRIAL_PART;

    *job = (struct job){
        .size = size,
        .count = count > 0 ? count : 1,
        .total = count > 0 ? count * size : size,
        .output = -1,
    };
    if (fit_memory(end, job) < 0)
        return -1;
    set_course(end, contender, job, 0, end->options->duration_ns / TRIAL_PART);
    return 0;
}

int measurement_ping_job(struct sending_end *end, uint64_t size, struct job *job)
{
    uint64_t count = end->options->count != 0 ? end->options->count : PING_COUNT;
    uint64_t most = end->options->settings.depth;
    uint64_t depth = most < PING_DEPTH ? most : PING_DEPTH;

    if (memory_refit(&end->memory, 2 * depth, size) < 0)
        return -1;
    *job = (struct job){
        .size = size,
        .count = count,
        .total = count * size,
        .depth = depth,
        .memory = end->memory,
        .course = course_make(&end->control, size, 0, 0),
        .output = -1,
    };
    return job_is_sane(job) ? 0 : complain("more bytes than there are");
}
