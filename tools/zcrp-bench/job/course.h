/* How a job goes on over time: by the schedule of a rate, and for so long.
 *
 *      message     0 ....... n ............... look ....... count
 *                            due at start + (n + 1) x interval
 *
 * A job that lasts for a time has no count when it begins. With message `look` the sending end
 * decides whether there will be more than `count`, and says so over the control connection; the
 * receiving end hears it when that message has arrived, so that it never waits. The messages in
 * between are those that it has already made room for. */
#ifndef BENCH_COURSE_H
#define BENCH_COURSE_H

#include <stdint.h>

#include "zcrp-bench/control/control.h"

struct job;

struct course {
    struct control *control;
    double interval_ns;  /* sending end: between one message and the next; 0: as soon as possible */
    int64_t duration_ns; /* sending end: of a job that lasts for a time, else 0 */
    int64_t start_ns;
    uint64_t look; /* with this message the count may change; COURSE_FIXED: not any more */
};

#define COURSE_FIXED UINT64_MAX

/* The count to begin with of a job that lasts for a time. */
enum { COURSE_FIRST_COUNT = 2 };

/* The course of a job of messages of `size` bytes, sent at `bits_per_s` (0: as fast as it goes) for
 * duration_ns (0: its count is fixed). */
struct course course_make(struct control *control, uint64_t size, double bits_per_s,
                          int64_t duration_ns);

/* The job begins now. */
void course_begin(struct course *course);

/* Sending end, before message n: waits until it is due, and decides. */
void course_before(struct course *course, struct job *job, uint64_t n);

/* Receiving end, after message n: hears what was decided. 0, or -1 with a complaint. */
int course_after(struct course *course, struct job *job, uint64_t n);

#endif
