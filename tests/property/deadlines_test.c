/* deadlines against a table in which the earliest is looked for. */
#include "../support/random.h"
#include "../support/suite.h"
#include "workers/deadlines.h"

enum { ITEMS = 64, OPERATIONS = 100000 };

static struct deadline items[ITEMS];

static instant earliest(void)
{
    instant at = NEVER;
    for (int i = 0; i < ITEMS; i++)
        if (items[i].place != 0)
            at = instant_earlier(at, items[i].at);
    return at;
}

TEST(deadlines__random, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    struct deadlines d = {.heap = NULL};
    memset(items, 0, sizeof items);
    ck_assert(deadlines_reserve(&d, ITEMS));
    for (int n = 0; n < OPERATIONS; n++) {
        struct deadline *item = &items[random_below(&random, ITEMS)];
        struct deadline *first = deadlines_first(&d);
        ck_assert_int_eq(first == NULL ? NEVER : first->at, earliest());
        switch (random_below(&random, 4)) {
        case 0:
            deadlines_remove(&d, item);
            ck_assert_uint_eq(item->place, 0);
            break;
        case 1:
            if (first != NULL)
                deadlines_remove(&d, first);
            break;
        default:
            deadlines_set(&d, item, (instant)random_below(&random, 100));
            break;
        }
        deadlines_check(&d);
    }
    deadlines_fini(&d);
}
