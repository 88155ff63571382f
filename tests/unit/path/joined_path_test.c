#include "core/path/joined_path.h"

#include "../../support/suite.h"

static struct joined_path p;

static void setup(void)
{
    p = (struct joined_path){.wrong = 0};
}

FIXTURE(setup, NULL)

static void fail_at(instant now)
{
    for (int i = 1; i < JOINED_PATH_WRONG; i++)
        ck_assert(!joined_path_on_wrong(&p, now));
    ck_assert(!p.is_left);
    ck_assert(joined_path_on_wrong(&p, now));
    ck_assert(p.is_left);
}

TEST(joined_path__all_wrong)
{
    fail_at(SECOND);
    ck_assert(!joined_path_on_wrong(&p, SECOND)); /* once */
}

TEST(joined_path__one_was_right)
{
    for (int i = 0; i < 10; i++) {
        ck_assert(!joined_path_on_wrong(&p, SECOND));
        ck_assert(!joined_path_on_wrong(&p, SECOND));
        joined_path_on_right(&p);
    }
    ck_assert(!p.is_left);
}

TEST(joined_path__tried_again)
{
    fail_at(SECOND);
    joined_path_expire(&p, SECOND + JOINED_PATH_RETRY - 1);
    ck_assert(p.is_left);
    joined_path_expire(&p, SECOND + JOINED_PATH_RETRY);
    ck_assert(!p.is_left);
    fail_at(2000 * SECOND);
}
