#include "zcrp-bench/ends/measurement.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"

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

int ping_run(struct transport *there, struct transport *back, const struct job *job,
             struct histogram *trips)
{
    if (there->kind->expect != NULL && there->kind->expect(back, job) < 0)
        return -1;
    if (job->course.interval_ns > 0)
        return by_schedule(there, back, job, trips);
    return one_by_one(there, back, job, trips);
}
