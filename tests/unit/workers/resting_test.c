#include "../../support/suite.h"
#include "workers/resting.h"

enum { LEAD = 6 * MILLISECOND, QUIET = SECOND };

static struct resting resting;
static const int one, other; /* deadlines of two members */

static void setup(void)
{
    resting = (struct resting){.at = QUIET};
}

/* A message leaves, and is to be acknowledged; the acknowledgement comes a millisecond later. How
 * often the alarm was set. */
static int message(const void *whose, instant at)
{
    int sets = resting_on_due(&resting, whose, at + LEAD, at);

    return sets + resting_on_later(&resting, at + QUIET, at + MILLISECOND);
}

TEST(resting_on_due__only_if_earlier)
{
    setup();
    ck_assert(resting_on_due(&resting, &one, LEAD, 0));
    ck_assert(resting.at == LEAD);
    ck_assert(!resting_on_due(&resting, &one, LEAD, 0));
    ck_assert(!resting_on_due(&resting, &one, LEAD + 1, 0));
    resting.at = RESTING_AWAKE;
    ck_assert(!resting_on_due(&resting, &one, LEAD, 0));
}

TEST(resting_on_later__now_and_then)
{
    setup();
    resting.at = LEAD;
    ck_assert(!resting_on_later(&resting, LEAD, RESTING_PUT_OFF));
    ck_assert(!resting_on_later(&resting, QUIET, RESTING_PUT_OFF - 1));
    ck_assert(resting_on_later(&resting, QUIET, RESTING_PUT_OFF));
    ck_assert(resting.at == QUIET);
    resting.at = RESTING_AWAKE;
    ck_assert(!resting_on_later(&resting, NEVER, QUIET));
}

/* From the fourth message on its deadline is foreseen, whether it comes a little early or late. */
TEST(resting__foresees_a_steady_stream)
{
    static const duration early[] = {0, MILLISECOND, -MILLISECOND, 0};

    setup();
    for (int i = 1; i < 20; i++) {
        int sets = message(&one, i * 20 * MILLISECOND - early[i % 4]);
        ck_assert_int_le(sets, i < 4 ? 2 : 1);
        ck_assert(i < 4 || resting.at < (i + 1) * 20 * MILLISECOND + LEAD);
    }
}

/* A message that does not come, or much later, costs the thread one wake-up. */
TEST(resting__forgets_a_stream_that_ends)
{
    setup();
    for (int i = 1; i < 5; i++)
        (void)message(&one, i * 20 * MILLISECOND);
    ck_assert(resting.at < 5 * 20 * MILLISECOND + LEAD);
    resting.at = QUIET; /* it woke */
    ck_assert_int_eq(message(&one, 300 * MILLISECOND), 2);
    ck_assert(resting.at == 300 * MILLISECOND + QUIET);
}

/* Those of several members are no stream. */
TEST(resting__foresees_none_of_many)
{
    setup();
    for (int i = 1; i < 20; i++) {
        (void)message(i % 2 ? &one : &other, i * 20 * MILLISECOND);
        ck_assert(resting.at == i * 20 * MILLISECOND + QUIET);
    }
}
