#include "../../support/suite.h"
#include "core/congestion/congestion.h"

enum { UNIT = 1000 };

static struct bbr_train train;
static struct bbr_density density;
static instant sent, back;

static void setup(void)
{
    train = (struct bbr_train){.is_begun = false};
    density = (struct bbr_density){.sent = 0};
    sent = back = SECOND;
}

/* So many units, the newest of which was sent and acknowledged so long after the one before. */
static bool acknowledge(uint64_t units, duration sent_after, duration back_after)
{
    sent += sent_after;
    back += back_after;
    struct congestion_ack ack = {.now = back, .sent = sent, .bytes = units * UNIT};
    return bbr_train_on_acknowledged(&train, &ack, UNIT, &density);
}

FIXTURE(setup, NULL)

TEST(train__as_dense_as_it_was_sent)
{
    ck_assert(!acknowledge(1, 0, 0));
    ck_assert(!acknowledge(10, 3 * MILLISECOND, 3 * MILLISECOND));
    ck_assert(acknowledge(10, 3 * MILLISECOND, 3 * MILLISECOND));
    ck_assert_uint_eq(density.sent, UNIT * 20 * UINT64_C(1000) / 6);
    ck_assert_uint_eq(density.back, density.sent);
}

/* Six milliseconds at one end are enough. */
TEST(train__squeezed)
{
    ck_assert(!acknowledge(1, 0, 0));
    ck_assert(acknowledge(20, 2 * MILLISECOND, 8 * MILLISECOND));
    ck_assert_uint_eq(density.sent, 4 * density.back);
}

/* The next piece begins where the last ended. */
TEST(train__piece_by_piece)
{
    ck_assert(!acknowledge(1, 0, 0));
    for (int i = 0; i < 3; i++) {
        ck_assert(acknowledge(16, 4 * MILLISECOND, 6 * MILLISECOND));
        ck_assert_uint_eq(density.sent, 4 * UNIT * UINT64_C(1000));
    }
}

TEST(train__too_short_tells_nothing)
{
    ck_assert(!acknowledge(1, 0, 0));
    ck_assert(!acknowledge(20, 6 * MILLISECOND - 1, 6 * MILLISECOND - 1));
    ck_assert(acknowledge(1, 1, 0));
}

TEST(train__too_few_units_tell_nothing)
{
    ck_assert(!acknowledge(1, 0, 0));
    ck_assert(!acknowledge(15, 6 * MILLISECOND, 6 * MILLISECOND));
    ck_assert(acknowledge(1, MILLISECOND, MILLISECOND));
}

/* One burst is no train, however long it takes. */
TEST(train__sent_at_once_tells_nothing)
{
    ck_assert(!acknowledge(1, 0, 0));
    ck_assert(!acknowledge(32, MILLISECOND, 20 * MILLISECOND));
}

TEST(train__does_not_reach_over_a_gap)
{
    ck_assert(!acknowledge(1, 0, 0));
    ck_assert(!acknowledge(32, 7 * MILLISECOND, 7 * MILLISECOND));
    ck_assert(acknowledge(32, 6 * MILLISECOND, 6 * MILLISECOND));
}

/* An acknowledgement of what was sent before, and was late. */
TEST(train__begins_anew_out_of_order)
{
    ck_assert(!acknowledge(1, 0, 0));
    ck_assert(!acknowledge(10, 4 * MILLISECOND, 4 * MILLISECOND));
    ck_assert(!acknowledge(10, -MILLISECOND, 4 * MILLISECOND));
    ck_assert_uint_eq(train.bytes, 0);
}

/* All together: no time has passed in which to tell a rate. */
TEST(train__back_at_once_tells_nothing)
{
    ck_assert(!acknowledge(1, 0, 0));
    ck_assert(!acknowledge(32, 6 * MILLISECOND, 0));
}
