#include "core/congestion/pacing.h"

#include "../../support/suite.h"
#include "core/adt/random.h"

enum { UNIT = 1472 };

static struct pacing p;

static void setup(void)
{
    pacing_init(&p, 0);
}

FIXTURE(setup, NULL)

TEST(pacing_init__does_not_wait)
{
    for (int i = 0; i < 100; i++) {
        ck_assert(pacing_allows(&p, 0));
        pacing_on_sent(&p, 0, 1 << 16);
    }
    ck_assert_int_eq(pacing_deadline(&p), NEVER);
}

TEST(pacing_set__burst_by_rate)
{
    static const struct {
        uint64_t rate, burst;
        duration lowest;
        bool is_paced;
    } row[] = {
        {0, UINT64_MAX, 0, false},
        {1, 2 * UNIT, 0, true},
        {1250000, 2 * UNIT, 0, true}, /* 10 Mb/s */
        {1250000, 2 * UNIT, 40 * MILLISECOND, true},
        {12500000, 12500, MILLISECOND, true},
        {12500000, UINT64_MAX, 0, false},
        {125000000, 125000, MILLISECOND, true},
        {12500000, 12500, 8 * MILLISECOND, true},
        {12500000, 18750, 12 * MILLISECOND, true},
        {12500000, 25000, 16 * MILLISECOND, true},
        {12500000, 25000, SECOND, true},
        {12500000, 12500, NEVER, true},
        {125000000, UINT64_MAX, MILLISECOND - 1, false},
        {8191999, 8191, 0, true},
        {8192000, UINT64_MAX, 0, false},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        pacing_set(&p, row[i].rate, UNIT, row[i].lowest, PACING_BURST_MOST);
        ck_assert_uint_eq(p.burst, row[i].burst);
        ck_assert_int_eq(p.rate != 0, row[i].is_paced);
    }
}

TEST(pacing_set__longest_burst)
{
    pacing_set(&p, 12500000, UNIT, SECOND, PACING_BURST_TIME);
    ck_assert_uint_eq(p.burst, 12500);
}

TEST(pacing_allows__waits_for_the_rate)
{
    pacing_set(&p, 1000000, UNIT, 0, PACING_BURST_MOST); /* a byte a microsecond */
    pacing_on_sent(&p, 0, 5000);
    ck_assert(!pacing_allows(&p, 0));
    ck_assert_int_eq(pacing_deadline(&p), 5 * MILLISECOND);
    pacing_expire(&p, 5 * MILLISECOND - 1);
    ck_assert(p.waits);
    pacing_expire(&p, 5 * MILLISECOND);
    ck_assert(!p.waits);
    ck_assert(pacing_allows(&p, 5 * MILLISECOND));
}

/* Who is awake does not sleep for a moment. */
TEST(pacing_allows__a_little_ahead)
{
    pacing_set(&p, 1000000, UNIT, 0, PACING_BURST_MOST);
    pacing_on_sent(&p, 0, 100);
    ck_assert(pacing_allows(&p, 0));
    pacing_on_sent(&p, 0, 1);
    ck_assert(!pacing_allows(&p, 0));
}

static uint64_t leaves_at(instant now)
{
    uint64_t bytes = 0;
    while (pacing_allows(&p, now)) {
        pacing_on_sent(&p, now, 500);
        bytes += 500;
    }
    return bytes;
}

/* Who overslept makes up for it, once: so does the timer that wakes it. */
TEST(pacing_allows__makes_up_for_sleep, .rows = 2)
{
    pacing_set(&p, 1000000, UNIT, 40 * MILLISECOND, PACING_BURST_MOST);
    pacing_on_sent(&p, 0, 1000);
    ck_assert(!pacing_allows(&p, 0));
    if (_i == 1)
        pacing_expire(&p, 51 * MILLISECOND);
    ck_assert_uint_eq(leaves_at(51 * MILLISECOND), 50500);
    ck_assert_uint_eq(leaves_at(52 * MILLISECOND), 1000);
    ck_assert_uint_eq(leaves_at(53 * MILLISECOND), 1000);
}

/* The longest sleep that is made up for. */
TEST(pacing_allows__longest_sleep)
{
    pacing_set(&p, 1000000, UNIT, 40 * MILLISECOND, PACING_BURST_MOST);
    pacing_on_sent(&p, 0, 1000);
    ck_assert(!pacing_allows(&p, 0));
    ck_assert_uint_eq(leaves_at(MILLISECOND + PACING_OVERSLEPT), 100500);
}

/* Too long is a pause, and who did not wait had nothing to send. */
TEST(pacing_allows__pause_is_not_made_up)
{
    pacing_set(&p, 1000000, UNIT, 40 * MILLISECOND, PACING_BURST_MOST);
    ck_assert_uint_eq(leaves_at(0), 500);
    ck_assert_uint_eq(leaves_at(1 + PACING_OVERSLEPT + MILLISECOND / 2), 1500);
    pacing_init(&p, 0);
    pacing_set(&p, 1000000, UNIT, 40 * MILLISECOND, PACING_BURST_MOST);
    pacing_on_sent(&p, 0, 1000);
    ck_assert_uint_eq(leaves_at(51 * MILLISECOND), 1500);
}

/* Who overslept, and then sent less than that, makes up for it later, but not after a pause. */
TEST(pacing_allows__pause_ends_what_is_made_up, .rows = 2)
{
    instant pause = 51 * MILLISECOND + PACING_LATE + PACING_OVERSLEPT;
    pacing_set(&p, 1000000, UNIT, 40 * MILLISECOND, PACING_BURST_MOST);
    pacing_on_sent(&p, 0, 1000);
    ck_assert(!pacing_allows(&p, 0));
    ck_assert(pacing_allows(&p, 51 * MILLISECOND));
    pacing_on_sent(&p, 51 * MILLISECOND, 500);
    ck_assert_uint_eq(leaves_at(pause + _i), _i == 0 ? 51000 : 1500);
}

TEST(pacing_set__free_does_not_wait_any_more)
{
    pacing_set(&p, 1000, UNIT, 0, PACING_BURST_MOST);
    pacing_on_sent(&p, 0, 1000);
    ck_assert(!pacing_allows(&p, 0));
    pacing_set(&p, 0, UNIT, 0, PACING_BURST_MOST);
    ck_assert_int_eq(pacing_deadline(&p), NEVER);
    ck_assert(pacing_allows(&p, 0));
}

/* I1, for a sender that wakes at random times and always has more, over all intervals. */
TEST(pacing_on_sent__bound, .rows = 8)
{
    enum { BURSTS = 400 };
    static instant at[BURSTS];
    static duration late[BURSTS];
    static uint64_t sum[BURSTS + 1];
    uint64_t random = 1998 + (uint64_t)_i;
    uint64_t rate = UINT64_C(1000000) << _i;
    instant now = 0;
    pacing_set(&p, rate, UNIT, 40 * MILLISECOND, PACING_BURST_MOST);
    for (int i = 0; i < BURSTS; i++) {
        while (!pacing_allows(&p, now))
            now += (duration)(random_next(&random) % (uint64_t)(3 * MILLISECOND));
        at[i] = now;
        late[i] = p.late;
        sum[i + 1] = sum[i] + 1 + random_next(&random) % p.burst;
        pacing_on_sent(&p, now, sum[i + 1] - sum[i]);
    }
    for (int i = 0; i < BURSTS; i++)
        for (int j = i; j < BURSTS; j++) {
            duration time = at[j] - at[i] + late[i] + PACING_LATE + PACING_AHEAD;
            uint64_t most = (uint64_t)time * rate / (uint64_t)SECOND + p.burst;
            ck_assert_uint_le(sum[j + 1] - sum[i], most);
        }
}
