#include "core/path/refusals.h"

#include "../../support/suite.h"

enum { QUESTIONS = 20, REFUSED = 4 }; /* as the header says */

static const duration every = 200 * MILLISECOND, silent = 5 * SECOND, short_trip = MILLISECOND;

static struct refusals r;
static instant now;

static void setup(void)
{
    r = (struct refusals){.asked = 0};
    now = SECOND;
}

FIXTURE(setup, NULL)

static void ask(void)
{
    refusals_on_asked(&r, now, short_trip);
}

/* It is asked, refused, and nothing is there. */
static void refuse(void)
{
    ask();
    refusals_on_refused(&r, now);
    ck_assert(refusals_on_listened(&r));
}

TEST(refusals_ask_at__only_in_doubt)
{
    ck_assert_int_eq(refusals_ask_at(&r, now, short_trip), NEVER);
    refusals_on_refused(&r, now);
    ck_assert_int_eq(refusals_ask_at(&r, now, short_trip), now + every);
    refusals_on_heard(&r);
    ck_assert_int_eq(refusals_ask_at(&r, now, short_trip), NEVER);
}

/* Five times a second, or four times a round trip, since the peer was heard of, or asked. */
TEST(refusals_ask_at__spaced)
{
    refusals_on_refused(&r, now);
    ck_assert_int_eq(refusals_ask_at(&r, 0, 2 * SECOND), SECOND / 2);
    ask();
    ck_assert_int_eq(refusals_ask_at(&r, 0, short_trip), now + every);
    now += every / 2;
    ask(); /* too soon: it is the same question */
    ck_assert_int_eq(refusals_ask_at(&r, 0, short_trip), now + every / 2);
    ck_assert_uint_eq(r.questions, 1);
    now += every / 2;
    ask();
    ck_assert_uint_eq(r.questions, 2);
}

/* A question, a refusal, and a look behind the question; a refusal counts once. */
TEST(refusals__what_counts)
{
    refusals_on_refused(&r, now);
    ck_assert(!refusals_on_listened(&r));
    ask();
    ck_assert(!refusals_on_listened(&r));
    refusals_on_refused(&r, now);
    ck_assert_uint_eq(r.count, 1);
    for (int i = 0; i < 100; i++) {
        refusals_on_refused(&r, now);
        ck_assert(!refusals_on_listened(&r));
    }
    ask();
    refusals_on_refused(&r, now);
    ask(); /* the look has to be behind this one */
    ck_assert_uint_eq(r.count, 1);
    ck_assert(refusals_on_listened(&r));
    ck_assert_uint_eq(r.count, 2);
}

TEST(refusals_mean_nobody__for_so_long)
{
    refuse();
    now += SECOND;
    refuse();
    ck_assert(!refusals_mean_nobody(&r, SECOND));
    refuse();
    ck_assert(refusals_mean_nobody(&r, SECOND));
    ck_assert(!refusals_mean_nobody(&r, SECOND + 1));
    refusals_on_heard(&r);
    ck_assert(!refusals_mean_nobody(&r, 0));
}

/* So many questions and refusals, the last of these when the peer was silent for so long. */
static const struct row {
    int questions, refused;
    duration quiet;
    bool is_gone;
} row[] = {
    {QUESTIONS, REFUSED, 5 * SECOND, true},
    {QUESTIONS, QUESTIONS, 5 * SECOND, true},
    {QUESTIONS - 1, QUESTIONS - 1, 5 * SECOND, false},
    {QUESTIONS, REFUSED - 1, 5 * SECOND, false},
    {QUESTIONS, QUESTIONS, 5 * SECOND - 1, false},
};

TEST(refusals_mean_gone__table, .rows = sizeof(row) / sizeof(row[0]))
{
    instant heard = now + (QUESTIONS - 1) * every - row[_i].quiet;
    now += (QUESTIONS - row[_i].questions) * every;
    for (int i = row[_i].questions; i > 0; i--, now += every)
        if (i <= row[_i].refused)
            refuse();
        else
            ask();
    ck_assert_int_eq(refusals_mean_gone(&r, heard, silent), row[_i].is_gone);
    refusals_on_heard(&r);
    ck_assert(!refusals_mean_gone(&r, heard, silent));
}
