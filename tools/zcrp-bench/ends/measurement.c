#include "zcrp-bench/ends/measurement.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/ends/trips.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/results/report.h"
#include "zcrp-bench/transports/carrier.h"

/* Tells the other end what comes, until it is ready. */
static int announce(struct sending_end *end, size_t transport, const struct job *job)
{
    const struct course *course = &job->course;
    const struct order order = {
        .transport = transport,
        .size = job->size,
        .count = job->count,
        .slots = job->memory.slots,
        .depth = job->depth,
        .is_verified = job->is_verified,
        .seed = job->seed,
        .look = course->look,
        .bits_per_s = course->interval_ns > 0 ? end->options->bits_per_s : 0,
        .duration_ns = (uint64_t)course->duration_ns,
        .are_trips = job->are_trips,
    };

    if (control_say_numbers(&end->control, "measure", &order, sizeof order) < 0)
        return -1;
    return control_expect(&end->control, "ready") != NULL ? 0 : -1;
}

/* A job has failed: the other end's reason, if it gave one, is heard, too. */
static int job_failed(struct sending_end *end)
{
    if (control_is_broken(&end->control))
        control_hear(&end->control);
    return -1;
}

/* What verification came to, at the end that has received (of round trips nothing is verified).
 * Content that differs is complained of, but does not end the run. */
static void note_verdict(struct run *run, struct job *job, const struct transport *transport)
{
    const struct record *end = &run->receiver;

    run->verdict = (enum verdict)end->verdict;
    if (run->verdict != VERDICT_DIFFERENT)
        return;
    job->message = end->message;
    job->offset = end->offset;
    progress_clear();
    job_complain(job, transport->kind->name);
}

/* Whether ZCRP found its peer's memory shows in what it counted. The warm-up shows it for those
 * runs after it that do not tell: of small messages, each of which wakes its peer. */
static void name_channel(struct run *run, struct transport *transport)
{
    const struct counts *sender = &run->sender.counts;
    bool is_open = transport->kind->is_zcrp && transport->settings->channel == CARRIER_AUTO;
    bool was_memory = carrier_was_memory(sender, run->bytes);

    if (is_open && (was_memory || sender->value[COUNT_memory_refused] != 0 ||
                    sender->value[COUNT_bytes_copied_once] > 0))
        snprintf(transport->channel, sizeof transport->channel, "%s",
                 carrier_names[was_memory ? CARRIER_MEMORY : CARRIER_UDP]);
    memcpy(run->channel, transport->channel, sizeof run->channel);
}

/* This end's part of the job, and what the other end has to show for its own. An end that only
 * sends is done when the other one is. */
static int do_part(struct sending_end *end, struct contender *contender, struct job *job,
                   struct run *run)
{
    struct transport *transport = contender_transport(contender);
    bool is_back = transport->is_back, is_sending = !is_back && !job->are_trips;
    struct record *here = is_back ? &run->receiver : &run->sender;
    struct record *there = is_back ? &run->sender : &run->receiver;
    int status;

    record_begin(here, transport);
    if (is_back && control_say(&end->control, "go") < 0)
        return -1;
    job->course.start_ns = clock_now_ns();
    if (job->are_trips)
        status = trips_ask(transport, contender_back(contender), job, run->histogram);
    else
        status = flows_move(transport, job, is_sending, &here->fairness);
    if (status < 0)
        return job_failed(end);
    if (is_sending && record_hear(&end->control, there) < 0)
        return -1;
    record_end(here, transport, job);
    return is_sending ? 0 : record_hear(&end->control, there);
}

/* Of the crowd's connections: of both directions if messages go both ways. */
static double fairness_of(const struct run *run)
{
    double there = run->receiver.fairness, back = run->sender.fairness;

    if (there > 0 && back > 0)
        return 2 / (1 / there + 1 / back);
    return there > 0 ? there : 1;
}

int measurement_run(struct sending_end *end, struct contender *contender, struct job *job,
                    struct run *run)
{
    struct transport *transport = contender_transport(contender);
    struct transport *back = contender_back(contender);

    *run = (struct run){
        .transport = contender->name,
        .size = job->size,
        .histogram = job->are_trips ? calloc(1, sizeof *run->histogram) : NULL,
    };
    if (job->are_trips && run->histogram == NULL)
        return complain("no memory for a histogram: %s", strerror(ENOMEM));
    int status = flows_prepare(transport, job);
    if (status == 0 && back != transport && job->are_trips)
        status = flows_prepare(back, job);
    if (status == 0)
        status = announce(end, transport->number, job);
    if (status == 0)
        status = do_part(end, contender, job, run);
    if (status < 0) {
        run_fini(run);
        return -1;
    }
    run->seconds = (double)(job->are_trips ? run->sender : run->receiver).watch.wall_ns / 1e9;
    run->count = job->count;
    run->bytes = run->count * job->size;
    run->depth = job->depth;
    run->flows = job->ways;
    run->fairness = fairness_of(run);
    name_channel(run, transport);
    note_verdict(run, job, transport);
    return 0;
}

enum {
    WARM_UP_SIZE = 16384,
    WARM_UP_COUNT = 64,
    TRIAL_PART = 4,     /* of a measurement */
    UNDER_WAY_PART = 4, /* of a measurement's time */
    PING_DEPTH = 16,
    PING_COUNT = 10000,
};

/* A job of `count` messages of `size` bytes, at least one, as fast as it goes. */
static int make_job(struct sending_end *end, uint64_t size, uint64_t count, struct job *job)
{
    const struct options *options = end->options;
    uint64_t depth = options->settings.depth;

    *job = (struct job){.size = size, .count = count > 0 ? count : 1};
    uint64_t slots = options_slots(options, size, job->count);
    job->ways = options->settings.flows;
    if (options->peers > 0) {
        job->ways = options->peers;
        slots = options_slots(options, job->ways * size, UINT64_MAX);
    }
    if (memory_refit(&end->memory, job->ways * slots, size) < 0)
        return -1;
    job->memory = end->memory;
    job->passed = &end->passed;
    job->depth = slots < depth ? slots : depth;
    job->course = course_make(&end->control, size, 0, 0);
    return job_is_sane(job) ? 0 : complain("more bytes than there are");
}

/* What is under way over this channel at the end of the time takes no more than a part of it. */
static void limit_depth(struct job *job, const struct transport *transport, int64_t duration_ns)
{
    double most = transport->bytes_per_s * (double)duration_ns / UNDER_WAY_PART / 1e9;

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
    if (end->options->peers == 0)
        limit_depth(job, contender_transport(contender), duration_ns);
}

int measurement_warm_up(struct sending_end *end, struct job *job)
{
    return make_job(end, WARM_UP_SIZE, WARM_UP_COUNT, job);
}

int measurement_trial(struct sending_end *end, struct contender *contender, uint64_t size,
                      struct job *job)
{
    if (make_job(end, size, options_count(end->options, size) / TRIAL_PART, job) < 0)
        return -1;
    set_course(end, contender, job, 0, end->options->duration_ns / TRIAL_PART);
    return 0;
}

int measurement_try(struct sending_end *end, struct contender *contender, uint64_t size,
                    struct run *run)
{
    struct job job;

    if (measurement_trial(end, contender, size, &job) < 0)
        return -1;
    return measurement_run(end, contender, &job, run);
}

/* Messages of a run of round trips. By a schedule, as many as are due in the time. */
static uint64_t ping_count(const struct options *options, uint64_t size)
{
    double seconds = (double)options->duration_ns / 1e9;
    double due = (double)options->bits_per_s / 8 / (double)size * seconds;

    if (options->count != 0)
        return options->count;
    if (options->duration_ns == 0)
        return PING_COUNT;
    return due > 1 ? (uint64_t)due : 1;
}

/* Round trips under way at once. One after the other, a few slots are enough. */
static uint64_t ping_depth(const struct options *options, uint64_t size)
{
    uint64_t most = options->settings.depth;
    uint64_t room = options->memory_bytes / 2 / size;

    if (options->bits_per_s == 0)
        return most < PING_DEPTH ? most : PING_DEPTH;
    if (room < 1)
        return 1;
    return most < room ? most : room;
}

static int ping_job(struct sending_end *end, uint64_t size, struct job *job)
{
    uint64_t count = ping_count(end->options, size);
    uint64_t depth = ping_depth(end->options, size);

    if (memory_refit(&end->memory, 2 * depth, size) < 0)
        return -1;
    *job = (struct job){
        .size = size,
        .count = count,
        .ways = 1,
        .depth = depth,
        .are_trips = true,
        .memory = end->memory,
        .course = course_make(&end->control, size, (double)end->options->bits_per_s, 0),
    };
    return job_is_sane(job) ? 0 : complain("more bytes than there are");
}

int measurement_job(struct sending_end *end, struct contender *contender, uint64_t size,
                    struct job *job)
{
    if (end->options->is_ping)
        return ping_job(end, size, job);
    if (make_job(end, size, options_count(end->options, size), job) < 0)
        return -1;
    job->is_verified = end->options->is_verified;
    job->seed = ++end->seed;
    set_course(end, contender, job, (double)end->options->bits_per_s, end->options->duration_ns);
    return 0;
}
