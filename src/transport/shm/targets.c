#include "targets.h"

static struct target *target_at(struct targets *t, uint64_t number)
{
    return &t->target[number % RING_NOTES];
}

/* ---- writing ---- */

bool targets_claim(struct targets *t, uint64_t first, uint64_t end, uint64_t *number, uint64_t *at)
{
    uint64_t shown = atomic_load(&t->end);

    if (shown < first || shown > end)
        return false;
    if (shown - first > TARGETS_ROW)
        first = shown - TARGETS_ROW;
    for (*number = shown; (*number)-- > first;) {
        struct target *target = target_at(t, *number);
        uint32_t state = TARGET_OPEN;
        if (atomic_load(&target->state) == TARGET_OPEN && /* a look takes the reader's line less */
            atomic_compare_exchange_strong(&target->state, &state, TARGET_CLAIMED)) {
            *at = atomic_load_explicit(&target->at, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

void targets_settle(struct targets *t, uint64_t number, bool is_pushed)
{
    atomic_store(&target_at(t, number)->state, is_pushed ? TARGET_PUSHED : TARGET_FAILED);
}

/* ---- reading ---- */

bool targets_open(struct targets *t, uint64_t number, void *at)
{
    struct target *target = target_at(t, number);

    if (atomic_load(&target->state) != TARGET_NONE)
        return false;
    atomic_store_explicit(&target->at, (uintptr_t)at, memory_order_relaxed);
    atomic_store(&target->state, TARGET_OPEN);
    return true;
}

void targets_show(struct targets *t, uint64_t end)
{
    atomic_store(&t->end, end);
}

bool targets_withdraw(struct targets *t, uint64_t number)
{
    uint32_t state = TARGET_OPEN;

    return atomic_compare_exchange_strong(&target_at(t, number)->state, &state, TARGET_NONE);
}

enum target_state targets_take(struct targets *t, uint64_t number)
{
    struct target *target = target_at(t, number);
    uint32_t state = atomic_load(&target->state);

    if (state == TARGET_CLAIMED)
        return TARGET_CLAIMED;
    atomic_store(&target->state, TARGET_NONE);
    return state == TARGET_PUSHED ? TARGET_PUSHED : TARGET_FAILED;
}
