#include "zcrp-bench/ends/trips.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"

/* Of message n, where there is one. */
static int post(struct transport *in, const struct job *job, uint64_t n, uint64_t slot)
{
    if (in->kind->post == NULL || n >= job->count)
        return 0;
    return in->kind->post(in, job, n, slot);
}

static int settle(struct transport *out, const struct job *job, uint64_t n)
{
    return out->kind->settle != NULL ? out->kind->settle(out, job, n) : 0;
}

/* Where message n lies: the question, at both ends, or the answer, at the end that asks. */
static uint64_t question(uint64_t n)
{
    return 2 * n;
}

static uint64_t answer(uint64_t n)
{
    return 2 * n + 1;
}

static int ask(struct transport *there, const struct job *job, uint64_t n)
{
    return there->kind->put(there, job, n, question(n));
}

/* Waits until message n is back, says when that was, and makes room for a later one. */
static int hear(struct transport *there, struct transport *back, const struct job *job, uint64_t n,
                int64_t *at_ns)
{
    if (back->kind->take(back, job, n, answer(n)) < 0)
        return -1;
    *at_ns = clock_now_ns();
    return settle(there, job, n) < 0 ? -1 : post(back, job, n + job->depth, answer(n + job->depth));
}

/* ---- by a schedule ---- */

/* So long before a message is due this end begins to wait for it to come back: then no time limit
 * of the transport's ends the wait for a message that was not sent yet. */
static const int64_t early_ns = 1000000000;

static const int64_t pause_ns = 20000; /* between two looks for room */

struct schedule {
    struct transport *there, *back;
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
        watch_sleep_until(clock_now_ns() + pause_ns);
    }
    return false;
}

static void *ask_all(void *argument)
{
    struct schedule *schedule = argument;

    schedule->status = transport_begin(schedule->there);
    for (uint64_t n = 0; n < schedule->job->count && schedule->status == 0; n++) {
        watch_sleep_until(due_ns(schedule, n));
        if (!wait_for_room(schedule, n))
            break;
        schedule->status = ask(schedule->there, schedule->job, n);
    }
    transport_end(schedule->there);
    return NULL;
}

static int hear_all(struct schedule *schedule, struct histogram *trips)
{
    int64_t at_ns;

    for (uint64_t n = 0; n < schedule->job->count; n++) {
        int64_t due = due_ns(schedule, n);

        watch_sleep_until(due - early_ns);
        if (hear(schedule->there, schedule->back, schedule->job, n, &at_ns) < 0)
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
        .back = back,
        .job = job,
        .start_ns = clock_now_ns(),
        .interval_ns = job->course.interval_ns,
    };
    pthread_t thread;
    int error = pthread_create(&thread, NULL, ask_all, &schedule);

    if (error != 0)
        return complain("cannot start a thread: %s", strerror(error));
    int status = hear_all(&schedule, trips);
    if (status < 0)
        atomic_store(&schedule.is_over, true);
    pthread_join(thread, NULL);
    return schedule.status < 0 ? -1 : status;
}

/* ---- at either end ---- */

static int one_by_one(struct transport *there, struct transport *back, const struct job *job,
                      struct histogram *trips)
{
    int64_t at_ns;

    for (uint64_t n = 0; n < job->count; n++) {
        int64_t start_ns = clock_now_ns();

        if (ask(there, job, n) < 0 || hear(there, back, job, n, &at_ns) < 0)
            return -1;
        histogram_add(trips, (uint64_t)(at_ns - start_ns));
    }
    return 0;
}

int trips_ask(struct transport *there, struct transport *back, const struct job *job,
              struct histogram *trips)
{
    int status = transport_begin(there);

    for (uint64_t n = 0; status == 0 && n < job->depth; n++)
        status = post(back, job, n, answer(n));
    if (status == 0)
        status = job->course.interval_ns > 0 ? by_schedule(there, back, job, trips)
                                             : one_by_one(there, back, job, trips);
    transport_end(there);
    return status;
}

int trips_expect(struct transport *there, const struct job *job)
{
    for (uint64_t n = 0; n < job->depth; n++) {
        if (post(there, job, n, question(n)) < 0)
            return -1;
    }
    return 0;
}

/* Answers with the question itself; all that can wait is done behind the answer. */
static int answer_all(struct transport *there, struct transport *back, const struct job *job)
{
    for (uint64_t n = 0; n < job->count; n++) {
        uint64_t later = n - 1 + job->depth;

        if (there->kind->take(there, job, n, question(n)) < 0 ||
            back->kind->put(back, job, n, question(n)) < 0)
            return -1;
        if (n > 0 && (settle(back, job, n - 1) < 0 || post(there, job, later, question(later)) < 0))
            return -1;
    }
    return settle(back, job, job->count - 1);
}

int trips_answer(struct transport *there, struct transport *back, const struct job *job)
{
    int status = transport_begin(there) < 0 ? -1 : answer_all(there, back, job);

    transport_end(there);
    return status;
}
