/* Push slots (push_slots.h), each side against a hostile other side: a writer claims only slots of
 * notes that it has offered, in a bounded number of looks; a reader has a slot back only by an
 * exchange, or if the writer said that it is done.
 *
 * bound: any words at any look, any numbers below 2^62; a ring of 8 notes, rows of 4
 * sources: transport/shm/push_slots.c
 * smaller: transport/shm/ring.h RING_NOTES 8
 * smaller: transport/shm/push_slots.h PUSH_SLOTS_ROW 4
 * unwind: 6
 */
#include "proof.h"

#include "transport/shm/push_slots.h"

static struct push_slots t;

static void show_writer(void)
{
    uint64_t first = nondet_u64(), end = nondet_u64(), number, at;

    ASSUME(end < UINT64_C(1) << 62 && first <= end && end - first <= RING_NOTES); /* ring.h, I1 */
    if (!push_slots_claim(&t, first, end, &number, &at))
        return;
    SHOW(first <= number && number < end);
    push_slots_settle(&t, number, nondet_bool());
}

static void show_reader(void)
{
    uint64_t number = nondet_u64();
    uint8_t memory;

    (void)push_slots_open(&t, number, &memory);
    push_slots_show(&t, number);
    (void)push_slots_withdraw(&t, number);
    enum push_slot_state state = push_slots_take(&t, number);
    SHOW(state == PUSH_SLOT_CLAIMED || state == PUSH_SLOT_PUSHED || state == PUSH_SLOT_FAILED);
}

/* Both, one after the other: what one opens the other claims, and nobody has it twice. */
static void show_both(void)
{
    uint64_t note = nondet_u64(), number, at;
    uint8_t memory;

    ASSUME(note < UINT64_C(1) << 61);
    if (!push_slots_open(&t, note, &memory))
        return;
    push_slots_show(&t, note + 1);
    bool is_claimed = nondet_bool() && push_slots_claim(&t, note, note + 1, &number, &at);
    if (is_claimed) {
        SHOW(number == note && at == (uintptr_t)&memory);
        SHOW(!push_slots_withdraw(&t, note) && !push_slots_open(&t, note, &memory));
        SHOW(push_slots_take(&t, note) == PUSH_SLOT_CLAIMED);
        push_slots_settle(&t, note, true);
        SHOW(push_slots_take(&t, note) == PUSH_SLOT_PUSHED);
    } else {
        SHOW(push_slots_withdraw(&t, note));
        SHOW(!push_slots_claim(&t, note, note + 1, &number, &at));
    }
    SHOW(push_slots_open(&t, note, &memory));
    REACHED();
}

int main(void)
{
    struct push_slots any;

    t = any;
    proof_hostile = &t;
    if (nondet_bool())
        show_writer();
    else
        show_reader();
    REACHED();
    t = any;
    proof_hostile = NULL;
    show_both();
}
