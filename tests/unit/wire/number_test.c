#include "core/number.h"

#include "../../support/counter_starts.h"
#include "../../support/suite.h"

#define HALF (INT64_C(1) << 31)

TEST(number_expand__table)
{
    static const struct {
        uint64_t near;
        uint32_t wire;
        uint64_t expected;
    } row[] = {
        {0, 0, 0},
        {0, 1, 1},
        {0, UINT32_MAX, UINT32_MAX}, /* nothing negative to be near to */
        {0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
        {0x80000000, 0xFFFFFFFF, 0xFFFFFFFF},
        {0x80000001, 0, 0x100000000}, /* the same distance to both: the window is half open */
        {0x80000000, 0, 0},
        {0xFFFFFFFF, 0, 0x100000000},
        {0x100000000, 0xFFFFFFFF, 0xFFFFFFFF},
        {0x100000005, 0xFFFFFFFD, 0xFFFFFFFD},
        {0xFFFFFFFD, 5, 0x100000005},
        {0x123456789ABCDEF0, 0x9ABCDEF1, 0x123456789ABCDEF1},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        ck_assert_uint_eq(number_expand(row[i].wire, row[i].near), row[i].expected);
}

/* Whatever differs by less than 2^31 survives the wire. */
TEST(number_expand__near_is_exact, .rows = COUNTER_STARTS)
{
    static const int64_t distance[] = {-HALF, 1 - HALF, -65536, -3, -1, 0, 1, 3, 65536, HALF - 1};
    for (uint64_t near = counter_start(_i); near < counter_start(_i) + 6; near++) {
        for (size_t i = 0; i < sizeof(distance) / sizeof(distance[0]); i++) {
            if ((int64_t)near + distance[i] < 0)
                continue;
            uint64_t number = near + (uint64_t)distance[i];
            ck_assert_uint_eq(number_expand((uint32_t)number, near), number);
        }
    }
}
