/* What verification finds: the first byte of the first message that is not what was sent. */
#include <string.h>

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
