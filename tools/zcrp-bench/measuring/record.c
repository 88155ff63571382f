#include "zcrp-bench/measuring/record.h"

#include <inttypes.h>

#include "common/complain.h"

static const char result[] = "result";

void record_begin(struct record *record, struct transport *transport)
{
    record->counts = transport_count(transport);
    allocations_begin();
    record->watch = watch_read();
}

void record_end(struct record *record, struct transport *transport)
{
    record->watch = watch_since(record->watch);
    record->allocations = allocations_read();
    struct counts after = transport_count(transport);
    record->counts = counts_since(&after, &record->counts);
}

int record_say(struct control *control, const struct record *record, const struct job *job)
{
    const struct allocations *allocations = &record->allocations;

    if (control_say(control,
                    "%s %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %d %d %" PRIu64 " %" PRIu64,
                    result, record->watch.wall_ns, record->watch.cpu_ns, allocations->calls,
                    allocations->peak_bytes, record->counts.is_known, (int)job_verdict(job),
                    job->message, job->offset) < 0)
        return -1;
    return control_say_numbers(control, record->counts.value, COUNTS);
}

int record_read(struct control *control, struct record *record, struct job *job,
                enum verdict *verdict)
{
    const char *arguments = control_arguments(control, result);
    uint64_t figures[8];

    if (arguments == NULL || control_figures(arguments, figures, 8) < 0 || figures[5] >= VERDICTS)
        return complain("the listening end says nonsense: '%.80s'", control->line);
    *record = (struct record){
        .watch = {.wall_ns = (int64_t)figures[0], .cpu_ns = (int64_t)figures[1]},
        .allocations = {.calls = figures[2], .peak_bytes = figures[3]},
        .counts = {.is_known = figures[4] != 0},
    };
    *verdict = (enum verdict)figures[5];
    job->message = figures[6];
    job->offset = figures[7];
    return control_hear_numbers(control, record->counts.value, COUNTS);
}
