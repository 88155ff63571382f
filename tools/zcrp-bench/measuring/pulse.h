/* While a job is under way and lines of --interval are wanted, the receiving end says over the
 * control connection how it goes: "pulse N CPU UNITS IN_PLACE" at each interval, all since the job
 * began.
 *
 * At the sending end two threads use that connection: one sends the job, and looks for a failure
 * now and then; one shows the lines. They need no lock. A pulse is taken by the second one only,
 * anything else by the first one only, and whose the next line is its first letter tells. */
#ifndef BENCH_PULSE_H
#define BENCH_PULSE_H

#include "zcrp-bench/job/watch.h"
#include "zcrp-bench/transports/transport.h"

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
