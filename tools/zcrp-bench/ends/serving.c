#include "zcrp-bench/ends/serving.h"

#include <inttypes.h>

#include "common/complain.h"
#include "zcrp-bench/job/counts.h"
#include "zcrp-bench/job/watch.h"
#include "zcrp-bench/measuring/pulse.h"

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

/* The job that the figures "SIZE COUNT TOTAL SLOTS DEPTH CONTENT SEED LOOK" mean. */
static int make_job(struct receiving_end *end, const uint64_t figures[8], struct job *job)
{
    *job = (struct job){
        .size = figures[0],
        .count = figures[1],
        .total = figures[2],
        .depth = figures[4],
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

/* What this end has to show for a job. */
struct record {
    struct watch watch; /* the start's, then what passed since */
    struct counts counts;
    struct allocations allocations;
};

static void begin_record(struct record *record, struct transport *transport)
{
    transport->kind->count(transport, &record->counts);
    allocations_begin();
    record->watch = watch_read();
}

static void end_record(struct record *record, struct transport *transport)
{
    struct counts after;

    record->watch = watch_since(record->watch);
    record->allocations = allocations_read();
    transport->kind->count(transport, &after);
    record->counts = counts_since(&after, &record->counts);
}

/* "result WALL CPU ALLOCATIONS PEAK COUNTED VERDICT MESSAGE OFFSET", and the counts */
static int report(struct receiving_end *end, const struct job *job, const struct record *record)
{
    const struct allocations *allocations = &record->allocations;

    if (control_say(&end->control,
                    "result %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %d %d %" PRIu64
                    " %" PRIu64,
                    record->watch.wall_ns, record->watch.cpu_ns, allocations->calls,
                    allocations->peak_bytes, record->counts.is_known, (int)job_verdict(job),
                    job->message, job->offset) < 0)
        return -1;
    return control_say_numbers(&end->control, record->counts.value, COUNTS);
}

static int receive(struct transport *transport, struct job *job)
{
    struct pulse pulse;
    int status;

    if (pulse_begin(&pulse, transport) < 0)
        return -1;
    status = transport->kind->receive(transport, job);
    pulse_end(&pulse);
    return status;
}

static int measure(struct receiving_end *end, struct transport *transport, struct job *job)
{
    struct record record;

    if (transport->kind->prepare(transport, job) < 0)
        return -1;
    begin_record(&record, transport);
    if (control_say(&end->control, "ready") < 0 || receive(transport, job) < 0)
        return -1;
    end_record(&record, transport);
    if (job->is_different) {
        end->is_different = true;
        job_complain(job, transport->kind->name);
    }
    return report(end, job, &record);
}

int serving_measure(struct receiving_end *end, const char *arguments)
{
    uint64_t figures[9];
    struct job job;

    if (control_figures(arguments, figures, 9) < 0 || figures[0] >= end->transport_count)
        return serving_malformed(end);
    if (make_job(end, &figures[1], &job) < 0)
        return -1;
    return measure(end, &end->transports[figures[0]], &job);
}

/* "answered CPU ALLOCATIONS PEAK COUNTED", and the counts */
static int report_answered(struct receiving_end *end, const struct record *record)
{
    const struct allocations *allocations = &record->allocations;

    if (control_say(&end->control, "answered %" PRId64 " %" PRIu64 " %" PRIu64 " %d",
                    record->watch.cpu_ns, allocations->calls, allocations->peak_bytes,
                    record->counts.is_known) < 0)
        return -1;
    return control_say_numbers(&end->control, record->counts.value, COUNTS);
}

static int pong(struct receiving_end *end, size_t number, const struct job *job)
{
    struct transport *there = &end->transports[number];
    struct transport *back = there->kind->is_simplex ? there + 1 : NULL;
    struct record record;

    if (there->kind->prepare(there, job) < 0 ||
        (back != NULL && back->kind->prepare(back, job) < 0))
        return -1;
    begin_record(&record, there);
    if (there->kind->pong(there, back, job) < 0)
        return -1;
    end_record(&record, there);
    return report_answered(end, &record);
}

/* Whether channel `number`, and the one back, can be used for round trips. */
static bool has_way_back(const struct receiving_end *end, uint64_t number)
{
    const struct transport *there = &end->transports[number];

    if (number >= end->transport_count || there->kind->pong == NULL)
        return false;
    return !there->kind->is_simplex ||
           (number + 1 < end->transport_count && there[1].kind == there->kind && there[1].is_back);
}

int serving_ping(struct receiving_end *end, const char *arguments)
{
    uint64_t figures[4];
    struct job job;

    if (control_figures(arguments, figures, 4) < 0 || !has_way_back(end, figures[0]) ||
        figures[1] == 0 || figures[3] == 0 || figures[3] > end->settings.depth)
        return serving_malformed(end);
    if (memory_refit(&end->memory, 2 * figures[3], figures[1]) < 0)
        return -1;
    job = (struct job){
        .size = figures[1],
        .count = figures[2],
        .total = figures[1] * figures[2],
        .depth = figures[3],
        .memory = end->memory,
        .output = -1,
    };
    return job_is_sane(&job) ? pong(end, figures[0], &job) : serving_malformed(end);
}
