#include "zcrp-bench/job/course.h"

#include <inttypes.h>
#include <math.h>

#include "common/complain.h"
#include "zcrp-bench/job/job.h"
#include "zcrp-bench/job/watch.h"

/* The messages that the receiving end is told of beforehand take about this long, at most a part of
 * the whole: more than a round trip, for a buffer has to be known to the sending end before it can
 * be filled. Of them, a part passes between two decisions. */
static const double ahead_ns = 200e6;

enum { PARTS = 8 };

struct course course_make(struct control *control, uint64_t size, double bits_per_s,
                          int64_t duration_ns)
{
    return (struct course){
        .control = control,
        .interval_ns = bits_per_s > 0 ? 8e9 * (double)size / bits_per_s : 0,
        .duration_ns = duration_ns,
        .look = duration_ns > 0 ? 0 : COURSE_FIXED,
    };
}

void course_begin(struct course *course)
{
    course->start_ns = watch_now_ns();
}

/* A message is due when its last byte would have been made at the rate. What was slept too long is
 * made up for: the schedule counts from the beginning. */
static void await(const struct course *course, uint64_t n)
{
    watch_sleep_until(course->start_ns + (int64_t)((double)(n + 1) * course->interval_ns));
}

static void set(struct course *course, struct job *job, uint64_t count, uint64_t look)
{
    job->count = count;
    job->total = count * job->size;
    course->look = look;
}

/* How many messages are to be known of beforehand, by the rate so far. */
static uint64_t messages_ahead(const struct course *course, const struct job *job, uint64_t n,
                               int64_t elapsed_ns)
{
    double time_ns = fmin(ahead_ns, (double)course->duration_ns / PARTS);
    double ahead = (double)n * time_ns / (double)(elapsed_ns + 1);
    uint64_t most = job->depth > 1 ? job->depth : 2;

    if (ahead < 2)
        return 2;
    return ahead < (double)most ? (uint64_t)ahead : most;
}

/* More messages; none behind the end of the time. */
static void decide(struct course *course, struct job *job, uint64_t n)
{
    int64_t elapsed_ns = watch_now_ns() - course->start_ns;
    uint64_t ahead = messages_ahead(course, job, n, elapsed_ns);
    uint64_t look = n + (ahead - 1) / PARTS + 1;
    uint64_t count = look + ahead > job->count ? look + ahead : job->count;

    if (elapsed_ns >= course->duration_ns)
        set(course, job, job->count, COURSE_FIXED);
    else
        set(course, job, count, look);
    if (control_say(course->control, "more %" PRIu64 " %" PRIu64, job->count, course->look) < 0)
        course->look = COURSE_FIXED;
}

void course_before(struct course *course, struct job *job, uint64_t n)
{
    if (course->interval_ns > 0)
        await(course, n);
    if (n == course->look)
        decide(course, job, n);
}

int course_after(struct course *course, struct job *job, uint64_t n)
{
    uint64_t figures[2];

    if (n != course->look)
        return 0;
    if (control_expect_figures(course->control, "more", figures, 2) < 0)
        return -1;
    if (figures[0] < job->count || figures[1] <= n ||
        (figures[1] >= figures[0] && figures[1] != COURSE_FIXED) ||
        figures[0] > (uint64_t)INT64_MAX / job->size)
        return complain("the sending end says nonsense: '%.80s'", course->control->line);
    set(course, job, figures[0], figures[1]);
    return 0;
}
