/* How much a target asks for, where its user wants no more than a rate. */
#include "zcrp-cp/ends/target.h"

#include "../../support/suite.h"

#define SECOND_NS ((int64_t)1000000000)
#define SAVED_NS (SECOND_NS / 10)

static const uint64_t rate = 8000000; /* bits per second: a megabyte takes a second */
static const uint64_t megabyte = 1000000;

TEST(rate__each_byte_has_its_time)
{
    int64_t now = 5 * SECOND_NS;

    ck_assert_int_eq(target_allowed_after(now, now, megabyte, rate), now + SECOND_NS);
    ck_assert_int_eq(target_allowed_after(now + SECOND_NS, now, megabyte / 2, rate),
                     now + SECOND_NS + SECOND_NS / 2);
}

TEST(rate__a_late_request_makes_up_for_that)
{
    int64_t now = 5 * SECOND_NS;
    int64_t late = now - SAVED_NS / 2;

    ck_assert_int_eq(target_allowed_after(late, now, megabyte, rate), late + SECOND_NS);
}

/* As while a large part file is hashed. */
TEST(rate__quiet_time_is_not_saved_up)
{
    int64_t now = 60 * SECOND_NS;

    ck_assert_int_eq(target_allowed_after(SECOND_NS, now, megabyte, rate),
                     now - SAVED_NS + SECOND_NS);
}
