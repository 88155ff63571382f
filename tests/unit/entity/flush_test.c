#include "../../support/suite.h"
#include "link/flush.h"

TEST(flush__begins_and_ends)
{
    struct flush f = {.messages = 0};

    ck_assert(flush_is_for(&f, FLUSH_NOTHING));
    ck_assert(flush_at(&f) == NEVER);
    ck_assert(flush_add(&f, 1000, 64));
    ck_assert(flush_is_for(&f, FLUSH_MORE));
    ck_assert(flush_at(&f) == 1000 + FLUSH_MOST);
    flush_end(&f);
    ck_assert(flush_is_for(&f, FLUSH_NOTHING));
    ck_assert(flush_at(&f) == NEVER);
}

/* The limit is the first message's. */
TEST(flush_add__keeps_limit)
{
    struct flush f = {.messages = 0};

    ck_assert(flush_add(&f, 1000, 64));
    ck_assert(flush_add(&f, 500000, 64));
    ck_assert(flush_at(&f) == 1000 + FLUSH_MOST);
    flush_end(&f);
    ck_assert(flush_add(&f, 500000, 64));
    ck_assert(flush_at(&f) == 500000 + FLUSH_MOST);
}

/* An acknowledgement that waits for an answer waits no longer because messages gather, too. */
TEST(flush_add__behind_what_is_held)
{
    struct flush f = {.messages = 0};

    flush_begin(&f, 1000, FLUSH_ANSWER);
    ck_assert(flush_is_for(&f, FLUSH_ANSWER));
    ck_assert(flush_add(&f, 500000, 64));
    ck_assert(flush_is_for(&f, FLUSH_MORE));
    ck_assert(flush_at(&f) == 1000 + FLUSH_MOST);
}

/* What is worth a call does not wait; what was counted before the end does not count again. */
TEST(flush_add__enough)
{
    struct flush f = {.messages = 0};

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i + 1 < FLUSH_MESSAGES; i++)
            ck_assert(flush_add(&f, 0, 1));
        ck_assert(!flush_add(&f, 0, 1));
        flush_end(&f);
    }
    ck_assert(!flush_add(&f, 0, FLUSH_BYTES));
    flush_end(&f);
    ck_assert(flush_add(&f, 0, FLUSH_BYTES - 1));
    ck_assert(!flush_add(&f, 0, 1));
}
