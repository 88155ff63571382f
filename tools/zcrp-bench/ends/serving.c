#include "zcrp-bench/ends/ends.h"

#include "common/complain.h"
#include "zcrp-bench/job/record.h"

int serving_malformed(const struct receiving_end *end)
{
    return complain("the sending end says nonsense: '%.80s'", end->control.line);
}

/* What to verify a file's bytes against: this end's copy. Without one nothing is verified. */
static int find_file(struct receiving_end *end, struct job *job)
{
    if (end->input.bytes == NULL) {
        job->content = JOB_ANY;
        return 0;
    }
    job->input = &end->input;
    if (end->input.size != job->total)
        return complain("the file has %llu bytes here, and %llu at the sending end",
                        (unsigned long long)end->input.size, (unsigned long long)job->total);
    return 0;
}

/* The job that the figures behind the transport mean. */
static int make_job(struct receiving_end *end, const uint64_t figures[11], struct job *job)
{
    *job = (struct job){
        .size = figures[0],
        .count = figures[1],
        .total = figures[2],
        .depth = figures[4],
        .are_trips = figures[10] != 0,
        .content = (enum job_content)figures[5],
        .seed = figures[6],
        .course = {.control = &end->control, .look = figures[7]},
        .output = figures[5] == JOB_FILE ? end->output : -1,
    };
    if (figures[0] == 0 || figures[3] == 0 || figures[5] > JOB_FILE)
        return serving_malformed(end);
    if (memory_refit(&end->memory, figures[3], job->size) < 0)
        return -1;
    job->memory = end->memory;
    if (!job_is_sane(job) || job->depth > end->settings.depth)
        return serving_malformed(end);
    return job->content == JOB_FILE ? find_file(end, job) : 0;
}

/* This end receives. */
static int measure_there(struct receiving_end *end, struct transport *transport, struct job *job)
{
    struct record record;

    record_begin(&record, transport);
    if (control_say(&end->control, "ready") < 0 || transport->kind->receive(transport, job) < 0)
        return -1;
    record_end(&record, transport);
    if (job->is_different) {
        end->is_different = true;
        job_complain(job, transport->kind->name);
    }
    return record_say(&end->control, &record, job);
}

/* This end sends, when the other end says so. */
static int measure_back(struct receiving_end *end, struct transport *transport, struct job *job)
{
    struct record record;

    if (control_say(&end->control, "ready") < 0 || control_expect(&end->control, "go") == NULL)
        return -1;
    record_begin(&record, transport);
    course_begin(&job->course);
    if (transport->kind->send(transport, job) < 0)
        return -1;
    record_end(&record, transport);
    return record_say(&end->control, &record, job);
}

/* A job that this end sends has a course of its own. */
static int turn_job(struct receiving_end *end, const uint64_t figures[12], struct job *job)
{
    if (job->content == JOB_FILE || figures[10] > INT64_MAX)
        return serving_malformed(end);
    job->course = course_make(&end->control, job->size, (double)figures[9], (int64_t)figures[10]);
    return 0;
}

/* Whether channel `number`, and the one back, can be used for round trips. */
static bool has_way_back(const struct receiving_end *end, uint64_t number)
{
    const struct transport *there = &end->transports[number];

    if (there->kind->pong == NULL || there->is_back)
        return false;
    return !there->kind->is_simplex ||
           (number + 1 < end->transport_count && there[1].kind == there->kind && there[1].is_back);
}

/* Each message goes back. */
static int pong(struct receiving_end *end, size_t number, const struct job *job)
{
    struct transport *there = &end->transports[number];
    struct transport *back = there->kind->is_simplex ? there + 1 : NULL;
    struct record record;

    if (!has_way_back(end, number))
        return serving_malformed(end);
    if (back != NULL && transport_prepare(back, job) < 0)
        return -1;
    record_begin(&record, there);
    if (there->kind->pong(there, back, job) < 0)
        return -1;
    record_end(&record, there);
    return record_say(&end->control, &record, job);
}

int serving_measure(struct receiving_end *end, const char *arguments)
{
    uint64_t figures[12];
    struct job job;

    if (control_figures(arguments, figures, 12) < 0 || figures[0] >= end->transport_count)
        return serving_malformed(end);
    struct transport *transport = &end->transports[figures[0]];
    if (make_job(end, &figures[1], &job) < 0 ||
        (transport->is_back && turn_job(end, figures, &job) < 0) ||
        transport_prepare(transport, &job) < 0)
        return -1;
    if (job.are_trips)
        return pong(end, figures[0], &job);
    return transport->is_back ? measure_back(end, transport, &job)
                              : measure_there(end, transport, &job);
}
