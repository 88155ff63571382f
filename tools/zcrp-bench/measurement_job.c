/* The jobs that measurements are made of. */
#include "measurement.h"

#include "common/complain.h"

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
    set_course(end, contender, job, end->options->bits_per_s, end->options->duration_ns);
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
