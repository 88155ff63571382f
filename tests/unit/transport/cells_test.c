#include "transport/shm/cells.h"

#include "platform/thread.h"

#include "../../support/suite.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

enum { MANY = 200, ROUNDS = 2000 };

static bool is_zero(const uint8_t *cell)
{
    for (size_t i = 0; i < CELL_BYTES; i++)
        if (cell[i] != 0)
            return false;
    return true;
}

/* More than a row has; each is its taker's alone, and zero, also when it was used before. */
TEST(cells_take__many)
{
    static uint8_t *cell[MANY];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            cell[i] = cells_take();
            ck_assert_ptr_nonnull(cell[i]);
            ck_assert_uint_eq((uintptr_t)cell[i] % 64, 0);
            ck_assert(is_zero(cell[i]));
            memset(cell[i], i + 1, CELL_BYTES);
        }
        for (int i = 0; i < MANY; i++) {
            ck_assert_int_eq(cell[i][0], i + 1);
            ck_assert_int_eq(cell[i][CELL_BYTES - 1], i + 1);
            cells_give(cell[i]);
        }
    }
}

static void take_and_give(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        uint8_t *cell = cells_take();
        ck_assert_ptr_nonnull(cell);
        ck_assert_uint_eq(cell[0], 0);
        cell[0] = 1;
        cells_give(cell);
    }
}

TEST(cells_take__threads)
{
    struct thread other;

    ck_assert_int_eq(thread_start(&other, "zcrp-test", take_and_give, NULL), 0);
    take_and_give(NULL);
    thread_join(&other);
}

TEST(cells_give__what_is_none, .signal = SIGABRT)
{
    uint8_t byte;

    cells_give(&byte);
}

TEST(cells_give__twice, .signal = SIGABRT)
{
    void *cell = cells_take();

    cells_give(cell);
    cells_give(cell);
}
