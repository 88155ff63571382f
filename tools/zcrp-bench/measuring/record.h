/* What an end has to show for a job over a transport: the record when it is over, and pulses while
 * it is under way. The listening end tells both over the control connection.
 *
 *      pulse N CPU UNITS IN_PLACE     at each interval, where lines of --interval are wanted
 *      result FIGURES, every count    at the end */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H

#include "zcrp-bench/job/counts.h"
#include "zcrp-bench/job/job.h"
#include "zcrp-bench/job/watch.h"
#include "zcrp-bench/transports/transport.h"

struct record {
    struct watch watch; /* between begin: the start; after end: what passed */
    struct counts counts;
    struct allocations allocations;
};

void record_begin(struct record *record, struct transport *transport);
void record_end(struct record *record, struct transport *transport);

/* Listening end: tells the record, and what verification came to. 0, or -1 with a complaint. */
int record_say(struct control *control, const struct record *record, const struct job *job);

/* Connecting end: reads what the last line that was heard begins. The first difference goes to
 * *job. 0, or -1 with a complaint. */
int record_read(struct control *control, struct record *record, struct job *job,
                enum verdict *verdict);

/* Pulses say how it goes, all since the job began.
 *
 * At the sending end two threads use the control connection meanwhile: one sends the job, and looks
 * for a failure now and then; one shows the lines. They need no lock. A pulse is taken by the
 * second one only, anything else by the first one only; the first letter of the next line tells
 * whose it is. */

/* Receiving end: says it for a job over `transport`, at each of its settings' intervals. */
struct pulse {
    struct ticker ticker;
    struct transport *transport;
    struct counts counts; /* when the job began */
    struct watch watch;
};

/* 0, or -1 with a complaint. Kinds that cannot be looked at say nothing. */
int pulse_begin(struct pulse *pulse, struct transport *transport);

/* Nothing is said any more. */
void pulse_end(struct pulse *pulse);

/* What a pulse says. */
struct beat {
    uint64_t n; /* 0: nothing yet */
    uint64_t cpu_ns;
    uint64_t units, in_place;
};

/* Sending end, while a job is under way: takes what pulses have come, waiting until limit_ns (of
 * watch_now_ns) for one; *beat is the last. Whether any came. */
bool pulse_hear(const struct control *control, int64_t limit_ns, struct beat *beat);

/* Sending end, when no job is under way any more: control_hear, past what pulses are left. */
int pulse_hear_past(struct control *control);

#endif
