#include "push_slots.h"

static struct push_slot *slot_at(struct push_slots *t, uint64_t number)
{
    return &t->slot[number % RING_NOTES];
}

/* ---- writing ---- */

bool push_slots_claim(struct push_slots *t, uint64_t first, uint64_t end, uint64_t *number,
                      uint64_t *at)
{
    uint64_t shown = atomic_load_explicit(&t->end, memory_order_acquire);

    if (shown < first || shown > end)
        return false;
    if (shown - first > PUSH_SLOTS_ROW)
        first = shown - PUSH_SLOTS_ROW;
    for (*number = shown; (*number)-- > first;) {
        struct push_slot *slot = slot_at(t, *number);
        uint32_t state = PUSH_SLOT_OPEN;
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == PUSH_SLOT_OPEN &&
            /* a look takes the reader's line less */
            atomic_compare_exchange_strong(&slot->state, &state, PUSH_SLOT_CLAIMED)) {
            *at = atomic_load_explicit(&slot->at, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

void push_slots_settle(struct push_slots *t, uint64_t number, bool is_pushed)
{
    atomic_store_explicit(&slot_at(t, number)->state,
                          is_pushed ? PUSH_SLOT_PUSHED : PUSH_SLOT_FAILED, memory_order_release);
}

/* ---- reading ---- */

bool push_slots_open(struct push_slots *t, uint64_t number, void *at)
{
    struct push_slot *slot = slot_at(t, number);

    if (atomic_load_explicit(&slot->state, memory_order_relaxed) != PUSH_SLOT_NONE)
        return false;
    atomic_store_explicit(&slot->at, (uintptr_t)at, memory_order_relaxed);
    atomic_store_explicit(&slot->state, PUSH_SLOT_OPEN, memory_order_release);
    return true;
}

void push_slots_show(struct push_slots *t, uint64_t end)
{
    atomic_store_explicit(&t->end, end, memory_order_release);
}

bool push_slots_withdraw(struct push_slots *t, uint64_t number)
{
    uint32_t state = PUSH_SLOT_OPEN;

    return atomic_compare_exchange_strong(&slot_at(t, number)->state, &state, PUSH_SLOT_NONE);
}

enum push_slot_state push_slots_take(struct push_slots *t, uint64_t number)
{
    struct push_slot *slot = slot_at(t, number);
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

    if (state == PUSH_SLOT_CLAIMED)
        return PUSH_SLOT_CLAIMED;
    atomic_store_explicit(&slot->state, PUSH_SLOT_NONE, memory_order_relaxed);
    return state == PUSH_SLOT_PUSHED ? PUSH_SLOT_PUSHED : PUSH_SLOT_FAILED;
}
