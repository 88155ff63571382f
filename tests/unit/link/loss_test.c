#include "zcrp-link/path.h"

#include "../../support/suite.h"

#include <math.h>

enum { PACKETS = 1000000 };

struct tally {
    unsigned lost, rows;
};

static struct tally lose(double share, double burst)
{
    struct loss loss;
    struct tally tally = {0};
    bool was_lost = false;
    loss_init(&loss, share, burst, 1998);
    for (unsigned i = 0; i < PACKETS; i++) {
        bool is_lost = loss_next(&loss);
        tally.lost += is_lost;
        tally.rows += is_lost && !was_lost;
        was_lost = is_lost;
    }
    return tally;
}

TEST(loss_next__none_and_all)
{
    ck_assert_uint_eq(lose(0, 0).lost, 0);
    ck_assert_uint_eq(lose(0, 5).lost, 0);
    ck_assert_uint_eq(lose(1, 0).lost, PACKETS);
}

static const double shares[] = {0.0001, 0.01, 0.25, 0.5};

/* Five standard deviations. */
TEST(loss_next__each_on_its_own, .rows = 4)
{
    double expected = (double)PACKETS * shares[_i];
    double most = 5 * sqrt(expected * (1 - shares[_i]));
    ck_assert_double_eq_tol(lose(shares[_i], 0).lost, expected, most);
}

/* Rows vary by about their length, so there are fewer of them to average over. */
TEST(loss_next__in_rows, .rows = 4)
{
    static const double bursts[] = {1, 2, 5, 20};
    double expected = (double)PACKETS * shares[_i];
    for (int i = 0; i < 4; i++) {
        struct tally tally = lose(shares[_i], bursts[i]);
        double rows = expected / bursts[i];
        double tolerance = 5 * bursts[i] * sqrt(2 * rows);
        ck_assert_double_eq_tol(tally.lost, expected, tolerance);
        ck_assert_double_eq_tol(tally.lost, tally.rows * bursts[i],
                                5 * bursts[i] * sqrt(tally.rows) + 1);
    }
}

TEST(loss_is_possible__table)
{
    ck_assert(loss_is_possible(0, 0));
    ck_assert(loss_is_possible(1, 0));
    ck_assert(loss_is_possible(0.5, 1));
    ck_assert(!loss_is_possible(0.51, 1));
    ck_assert(loss_is_possible(0.8, 4));
    ck_assert(!loss_is_possible(0.81, 4));
    ck_assert(!loss_is_possible(0.1, 0.5));
    ck_assert(!loss_is_possible(1.1, 0));
}

TEST(loss_next__the_seed_decides)
{
    struct loss a, b;
    loss_init(&a, 0.3, 3, 7);
    loss_init(&b, 0.3, 3, 7);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(loss_next(&a), loss_next(&b));
}
