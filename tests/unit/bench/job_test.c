/* What verification finds: the first byte of the first message that is not what was sent; and what
 * is heard of jobs that last for a time. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../support/suite.h"
#include "common/complain.h"
#include "zcrp-bench/job/job.h"

enum { SIZE = 1003, SLOTS = 3, COUNT = 5 };

static struct job job;

static void setup(void)
{
    complain_silently();
    job = (struct job){.size = SIZE,
                       .count = COUNT,
                       .depth = SLOTS,
                       .course = {.look = COURSE_FIXED},
                       .is_verified = true,
                       .seed = 7};
    ck_assert_int_eq(memory_refit(&job.memory, SLOTS, SIZE), 0);
}

static void teardown(void)
{
    memory_fini(&job.memory);
}

FIXTURE(setup, teardown)

TEST(job_incoming__what_was_sent)
{
    for (uint64_t n = 0; n < COUNT; n++)
        ck_assert_int_eq(job_incoming(&job, n, job_outgoing(&job, n)), 0);
    ck_assert_int_eq(job_verdict(&job), VERDICT_SAME);
}

static const uint64_t places[] = {0, 7, 8, 500, SIZE - 1};

TEST(job_incoming__a_byte_that_differs, .rows = ROWS(places))
{
    for (uint64_t n = 0; n < COUNT; n++) {
        uint8_t *bytes = job_outgoing(&job, n);
        if (n >= 2)
            bytes[places[_i]] ^= 1;
        ck_assert_int_eq(job_incoming(&job, n, bytes), 0);
    }
    ck_assert_int_eq(job_verdict(&job), VERDICT_DIFFERENT);
    ck_assert_uint_eq(job.message, 2);
    ck_assert_uint_eq(job.offset, places[_i]);
    job_complain(&job, "tcp");
    ck_assert_ptr_nonnull(strstr(complain_last(), "tcp: message 2 arrived wrong, first at byte "));
}

TEST(job_incoming__another_message)
{
    ck_assert_int_eq(job_incoming(&job, 1, job_outgoing(&job, 0)), 0);
    ck_assert_int_eq(job_verdict(&job), VERDICT_DIFFERENT);
}

/* Two flows of a channel, the count of both of which may change with message 1. */
static struct news news;
static struct control near, far;
static struct job flows[2];

static void open_flows(void)
{
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    near = (struct control){.fd = ends[0]};
    far = (struct control){.fd = ends[1]};
    news = (struct news){.mutex = PTHREAD_MUTEX_INITIALIZER};
    for (size_t i = 0; i < 2; i++) {
        const struct course course = {.control = &far, .news = &news, .flow = i, .look = 1};
        flows[i] = (struct job){.size = SIZE, .count = 2, .course = course};
    }
}

static void close_flows(void)
{
    close(near.fd);
    close(far.fd);
}

static void say_more(const uint64_t said[3])
{
    ck_assert_int_eq(control_say_numbers(&near, "more", said, 3 * sizeof said[0]), 0);
}

/* What is heard of the other one waits for it, and its latest is enough. */
TEST(job_arrived__each_flow_has_its_own_count)
{
    static const uint64_t said[][3] = {{1, 5, 3}, {1, 9, 7}, {0, 4, COURSE_FIXED}};

    open_flows();
    for (size_t i = 0; i < ROWS(said); i++)
        say_more(said[i]);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(job_arrived(&flows[i], 0), 0);
        ck_assert_uint_eq(flows[i].count, 2);
        ck_assert_int_eq(job_arrived(&flows[i], 1), 0);
    }
    ck_assert_uint_eq(flows[0].count, 4);
    ck_assert_uint_eq(flows[0].course.look, COURSE_FIXED);
    ck_assert_uint_eq(flows[1].count, 9);
    ck_assert_uint_eq(flows[1].course.look, 7);
    close_flows();
}

/* No such flow, fewer messages, a look that is over or beyond the end. */
static const uint64_t nonsense[][3] = {{FLOWS_MAX, 5, 3}, {0, 1, 3}, {0, 5, 0},
                                       {0, 5, 1},         {0, 5, 5}, {0, UINT64_MAX, 3}};

TEST(job_arrived__nonsense, .rows = ROWS(nonsense))
{
    open_flows();
    say_more(nonsense[_i]);
    ck_assert_int_eq(job_arrived(&flows[0], 1), -1);
    close_flows();
}
