#include "core/path/ecn_path.h"

#include "../../support/suite.h"

static struct ecn_path p;

static void setup(void)
{
    ecn_path_init(&p);
}

FIXTURE(setup, NULL)

TEST(ecn_path__seen_once_is_enough)
{
    ecn_path_on_arrived(&p, ECN_PATH_UNITS - 1, false);
    ck_assert_int_eq(p.state, ECN_PATH_TESTING);
    ecn_path_on_arrived(&p, 100, true);
    ck_assert_int_eq(p.state, ECN_PATH_CAPABLE);
    ecn_path_on_arrived(&p, 100, false);
    for (int i = 0; i < 2 * ECN_PATH_TIMEOUTS; i++)
        ecn_path_on_timeout(&p);
    ck_assert_int_eq(p.state, ECN_PATH_CAPABLE);
}

TEST(ecn_path__erased)
{
    for (int i = 1; i < ECN_PATH_UNITS; i++)
        ecn_path_on_arrived(&p, 1, false);
    ck_assert_int_eq(p.state, ECN_PATH_TESTING);
    ecn_path_on_arrived(&p, 1, false);
    ck_assert_int_eq(p.state, ECN_PATH_FAILED);
    ecn_path_on_arrived(&p, 1, true);
    ck_assert_int_eq(p.state, ECN_PATH_FAILED);
}

TEST(ecn_path__swallowed)
{
    for (int i = 1; i < ECN_PATH_TIMEOUTS; i++)
        ecn_path_on_timeout(&p);
    ck_assert_int_eq(p.state, ECN_PATH_TESTING);
    ecn_path_on_timeout(&p);
    ck_assert_int_eq(p.state, ECN_PATH_FAILED);
}

/* What has arrived at all was not dropped for its field. */
TEST(ecn_path__a_timeout_after_something_arrived)
{
    ecn_path_on_arrived(&p, 1, false);
    for (int i = 0; i < 2 * ECN_PATH_TIMEOUTS; i++)
        ecn_path_on_timeout(&p);
    ck_assert_int_eq(p.state, ECN_PATH_TESTING);
}
