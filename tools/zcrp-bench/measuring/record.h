/* What an end has to show for a job over a transport. The listening end tells it over the control
 * connection when the job is over: "result" with figures, and every count. */
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

#endif
