#include "answers.h"

#include <string.h>

static struct answer_slot *slot_of(const struct answers_place *p)
{
    return &p->answers->slot[p->next % ANSWER_SLOTS];
}

bool answers_put(struct answers_place *p, const uint8_t *datagram, size_t bytes, bool *calls)
{
    struct answer_slot *slot = slot_of(p);

    if (bytes == 0 || bytes > CONTROL_BYTES || atomic_load(&slot->bytes) != 0)
        return false;
    memcpy(slot->datagram, datagram, bytes);
    atomic_store(&slot->bytes, (uint32_t)bytes);
    p->next++;
    *calls =
        atomic_load(&p->answers->is_asleep) != 0 && atomic_exchange(&p->answers->is_asleep, 0) != 0;
    return true;
}

size_t answers_take(struct answers_place *p, uint8_t *buffer)
{
    struct answer_slot *slot = slot_of(p);
    uint32_t bytes = atomic_load(&slot->bytes);

    if (bytes == 0)
        return 0;
    if (bytes > CONTROL_BYTES)
        bytes = CONTROL_BYTES;
    memcpy(buffer, slot->datagram, bytes);
    atomic_store(&slot->bytes, 0);
    p->next++;
    return bytes;
}

bool answers_sleep(struct answers_place *p)
{
    atomic_store(&p->answers->is_asleep, 1);
    if (atomic_load(&slot_of(p)->bytes) == 0)
        return true;
    answers_wake(p);
    return false;
}

void answers_wake(struct answers_place *p)
{
    if (atomic_load_explicit(&p->answers->is_asleep, memory_order_relaxed) != 0)
        atomic_store(&p->answers->is_asleep, 0);
}
