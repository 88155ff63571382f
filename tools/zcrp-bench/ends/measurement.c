#include "zcrp-bench/ends/measurement.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/results/report.h"
#include "zcrp-bench/transports/carrier.h"

/* Round trips, at the end that asks: one after the other, or by a schedule.
 *
 *      one after the other    ask 0 ... hear 0, ask 1 ... hear 1, ...
 *      by a schedule          ask 0     ask 1     ask 2 ...   a thread; n is due at n x interval
 *                                  hear 0    hear 1 ...       this thread
 *
 * By a schedule a round trip counts from when its message was due, so a message that had to wait
 * for others ahead of it shows what they cost. No more messages are under way than the job's depth.
 */

/* So long before a message is due this end begins to wait for it to come back: then no time limit
 * of the transport's ends the wait for a message that was not sent yet. */
static const int64_t early_ns = 1000000000;

static const int64_t pause_ns = 20000; /* between two looks for room */

struct schedule {
    struct transport *there;
    const struct job *job;
    int64_t start_ns;
    double interval_ns;
    _Atomic uint64_t heard; /* messages that are back */
    _Atomic bool is_over;   /* the other thread has failed */
    int status;             /* of the thread, once it has ended */
};

static int64_t due_ns(const struct schedule *schedule, uint64_t n)
{
    return schedule->start_ns + (int64_t)((double)n * schedule->interval_ns);
}

/* Waits while as many messages are under way as may be. False if the run is over. */
static bool wait_for_room(struct schedule *schedule, uint64_t n)
{
    while (!atomic_load(&schedule->is_over)) {
        if (n - atomic_load(&schedule->heard) < schedule->job->depth)
            return true;
        watch_sleep_until(watch_now_ns() + pause_ns);
    }
    return false;
}

static void *ask_all(void *argument)
{
    struct schedule *schedule = argument;
    struct transport *there = schedule->there;

    for (uint64_t n = 0; n < schedule->job->count && schedule->status == 0; n++) {
        watch_sleep_until(due_ns(schedule, n));
        if (!wait_for_room(schedule, n))
            break;
        schedule->status = there->kind->ask(there, schedule->job, n);
    }
    return NULL;
}

static int hear_all(struct schedule *schedule, struct transport *back, struct histogram *trips)
{
    struct transport *there = schedule->there;
    int64_t at_ns;

    for (uint64_t n = 0; n < schedule->job->count; n++) {
        int64_t due = due_ns(schedule, n);

        watch_sleep_until(due - early_ns);
        if (there->kind->hear(there, back, schedule->job, n, &at_ns) < 0)
            return -1;
        atomic_store(&schedule->heard, n + 1);
        histogram_add(trips, (uint64_t)(at_ns > due ? at_ns - due : 0));
    }
    return 0;
}

static int by_schedule(struct transport *there, struct transport *back, const struct job *job,
                       struct histogram *trips)
{
    struct schedule schedule = {
        .there = there,
        .job = job,
        .start_ns = watch_now_ns(),
        .interval_ns = job->course.interval_ns,
    };
    pthread_t thread;
    int error = pthread_create(&thread, NULL, ask_all, &schedule);

    if (error != 0)
        return complain("cannot start a thread: %s", strerror(error));
    int status = hear_all(&schedule, back, trips);
    if (status < 0)
        atomic_store(&schedule.is_over, true);
    pthread_join(thread, NULL);
    return schedule.status < 0 ? -1 : status;
}

static int one_by_one(struct transport *there, struct transport *back, const struct job *job,
                      struct histogram *trips)
{
    int64_t at_ns;

    for (uint64_t n = 0; n < job->count; n++) {
        int64_t start_ns = watch_now_ns();

        if (there->kind->ask(there, job, n) < 0 ||
            there->kind->hear(there, back, job, n, &at_ns) < 0)
            return -1;
        histogram_add(trips, (uint64_t)(at_ns - start_ns));
    }
    return 0;
}

/* Does the job over a channel there and, if the kind is simplex, one back; all is prepared, and the
 * other end answers. Adds each round trip to *trips. */
static int ping_run(struct transport *there, struct transport *back, const struct job *job,
                    struct histogram *trips)
{
    if (there->kind->expect != NULL && there->kind->expect(back, job) < 0)
        return -1;
    if (job->course.interval_ns > 0)
        return by_schedule(there, back, job, trips);
    return one_by_one(there, back, job, trips);
}

/* ---- a measurement ---- */

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

static void begin_run(struct run *run, const struct contender *contender, const struct job *job)
{
    *run = (struct run){
        .transport = contender->name,
        .size = job->size,
    };
    memcpy(run->channel, contender->lanes[contender->lane].channel, sizeof run->channel);
}

/* Whether ZCRP found its peer's memory shows in what it counted. The warm-up shows it for those
 * runs after it that do not tell: of small messages, each of which wakes its peer. */
static void name_channel(struct run *run, struct transport *transport)
{
    const struct counts *sender = &run->sender.counts;
    enum carrier found = CARRIER_AUTO;

    if (!transport->kind->is_zcrp || transport->settings->channel != CARRIER_AUTO)
        return;
    if (carrier_was_memory(sender, run->bytes))
        found = CARRIER_MEMORY;
    else if (sender->value[COUNT_memory_refused] != 0 || sender->value[COUNT_bytes_copied_once] > 0)
        found = CARRIER_UDP;
    if (found != CARRIER_AUTO)
        snprintf(transport->channel, sizeof transport->channel, "%s", carrier_names[found]);
    memcpy(run->channel, transport->channel, sizeof run->channel);
}

static double wall_s(const struct record *end)
{
    return (double)end->watch.wall_ns / 1e9;
}

/* This end sends. */
static int run_there(struct sending_end *end, struct transport *transport, struct job *job,
                     struct run *run)
{
    record_begin(&run->sender, transport);
    course_begin(&job->course);
    if (transport->kind->send(transport, job) < 0)
        return job_failed(end);
    if (record_hear(&end->control, &run->receiver) < 0)
        return -1;
    record_end(&run->sender, transport, job);
    run->seconds = wall_s(&run->receiver);
    return 0;
}

/* --reverse: the other end sends, once it is told that the watch runs. */
static int run_back(struct sending_end *end, struct transport *transport, struct job *job,
                    struct run *run)
{
    record_begin(&run->receiver, transport);
    if (control_say(&end->control, "go") < 0)
        return -1;
    if (transport->kind->receive(transport, job) < 0)
        return job_failed(end);
    record_end(&run->receiver, transport, job);
    run->seconds = wall_s(&run->receiver);
    return record_hear(&end->control, &run->sender);
}

/* There and back. */
static int run_trips(struct sending_end *end, struct contender *contender, struct job *job,
                     struct run *run)
{
    struct transport *there = contender_transport(contender);

    run->histogram = calloc(1, sizeof *run->histogram);
    if (run->histogram == NULL)
        return complain("no memory for a histogram: %s", strerror(ENOMEM));
    record_begin(&run->sender, there);
    if (ping_run(there, &contender->back, job, run->histogram) < 0)
        return job_failed(end);
    record_end(&run->sender, there, job);
    run->seconds = wall_s(&run->sender);
    return record_hear(&end->control, &run->receiver);
}

/* Of the crowd's connections: of both directions if messages go both ways. */
static double fairness_of(const struct run *run)
{
    double there = run->receiver.fairness, back = run->sender.fairness;

    if (there > 0 && back > 0)
        return 2 / (1 / there + 1 / back);
    return there > 0 ? there : 1;
}

/* At this end; the way back, too, where it is a channel of its own. */
static int prepare(struct contender *contender, const struct job *job)
{
    struct transport *back = &contender->back;

    if (transport_prepare(contender_transport(contender), job) < 0)
        return -1;
    return job->are_trips && back->kind != NULL ? transport_prepare(back, job) : 0;
}

int measurement_run(struct sending_end *end, struct contender *contender, struct job *job,
                    struct run *run)
{
    struct transport *transport = contender_transport(contender);
    int status;

    begin_run(run, contender, job);
    if (prepare(contender, job) < 0 || announce(end, contender_number(contender), job) < 0)
        return -1;
    if (job->are_trips)
        status = run_trips(end, contender, job, run);
    else
        status = transport->is_back ? run_back(end, transport, job, run)
                                    : run_there(end, transport, job, run);
    if (status < 0) {
        run_fini(run);
        return -1;
    }
    run->count = end->options->is_duplex ? 2 * job->count : job->count;
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

static int fit_memory(struct sending_end *end, struct job *job)
{
    const struct options *options = end->options;
    uint64_t depth = options->settings.depth;
    uint64_t slots = options_slots(options, job->size, job->count);
    uint64_t directions = options->is_duplex ? 2 : 1;

    job->ways = 1;
    if (options->peers > 0) {
        job->ways = options->peers;
        slots = options_slots(options, directions * job->ways * job->size, UINT64_MAX);
    }
    if (memory_refit(&end->memory, directions * job->ways * slots, job->size) < 0)
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

/* A job of `count` messages of `size` bytes, at least one, as fast as it goes. */
static int make_job(struct sending_end *end, uint64_t size, uint64_t count, struct job *job)
{
    if (count == 0)
        count = 1;
    *job = (struct job){.size = size, .count = count};
    return fit_memory(end, job);
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
