#include "../../support/suite.h"
#include "link/gathering.h"

TEST(gathering__begins_and_ends)
{
    struct gathering g = {.messages = 0};

    ck_assert(!gathering_is_on(&g));
    ck_assert(gathering_until(&g) == NEVER);
    ck_assert(gathering_adds(&g, 1000, 64));
    ck_assert(gathering_is_on(&g));
    ck_assert(gathering_until(&g) == 1000 + GATHERING_MOST);
    gathering_end(&g);
    ck_assert(!gathering_is_on(&g));
    ck_assert(gathering_until(&g) == NEVER);
}

/* The limit is the first message's. */
TEST(gathering_adds__keeps_limit)
{
    struct gathering g = {.messages = 0};

    ck_assert(gathering_adds(&g, 1000, 64));
    ck_assert(gathering_adds(&g, 500000, 64));
    ck_assert(gathering_until(&g) == 1000 + GATHERING_MOST);
    gathering_end(&g);
    ck_assert(gathering_adds(&g, 500000, 64));
    ck_assert(gathering_until(&g) == 500000 + GATHERING_MOST);
}

/* What is worth a call does not wait; what was counted before the end does not count again. */
TEST(gathering_adds__enough)
{
    struct gathering g = {.messages = 0};

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i + 1 < GATHERING_MESSAGES; i++)
            ck_assert(gathering_adds(&g, 0, 1));
        ck_assert(!gathering_adds(&g, 0, 1));
        gathering_end(&g);
    }
    ck_assert(!gathering_adds(&g, 0, GATHERING_BYTES));
    gathering_end(&g);
    ck_assert(gathering_adds(&g, 0, GATHERING_BYTES - 1));
    ck_assert(!gathering_adds(&g, 0, 1));
}
