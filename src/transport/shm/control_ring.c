#include "control_ring.h"

#include "core/number.h"

#include <string.h>

static struct control_slot *slot_of(const struct control_ring_place *p, uint32_t ahead)
{
    uint32_t i = (p->next + ahead) % CONTROL_SLOTS;

    return i < CONTROL_NEAR ? &p->ring->near[i] : &p->far->slot[i - CONTROL_NEAR];
}

static uint32_t slots_for(uint32_t bytes)
{
    return (bytes + CONTROL_PART - 1) / CONTROL_PART;
}

static size_t part_of(uint32_t bytes, uint32_t slot)
{
    return lesser(CONTROL_PART, bytes - slot * CONTROL_PART);
}

static bool has_room(const struct control_ring_place *p, uint32_t slots)
{
    for (uint32_t i = 0; i < slots; i++)
        if (atomic_load_explicit(&slot_of(p, i)->bytes, memory_order_acquire) != 0)
            return false;
    return true;
}

bool control_ring_put(struct control_ring_place *p, const uint8_t *datagram, size_t bytes,
                      bool *wakes)
{
    uint32_t slots = slots_for((uint32_t)bytes);

    if (bytes == 0 || bytes > CONTROL_BYTES || !has_room(p, slots))
        return false;
    for (uint32_t i = 0; i < slots; i++) {
        memcpy(slot_of(p, i)->part, datagram + i * CONTROL_PART, part_of((uint32_t)bytes, i));
        if (i > 0)
            atomic_store_explicit(&slot_of(p, i)->bytes, (uint32_t)bytes, memory_order_relaxed);
    }
    atomic_store(&slot_of(p, 0)->bytes, (uint32_t)bytes); /* then all can be read */
    p->next += slots;
    *wakes = control_ring_take_sleep(p);
    return true;
}

bool control_ring_has_sleeper(const struct control_ring_place *p)
{
    return atomic_load(&p->ring->is_asleep) != 0;
}

bool control_ring_take_sleep(struct control_ring_place *p)
{
    return control_ring_has_sleeper(p) && atomic_exchange(&p->ring->is_asleep, 0) != 0;
}

bool control_ring_take_waiter(struct control_ring_place *p)
{
    return atomic_load(&p->ring->is_asleep) == CONTROL_ASLEEP && control_ring_take_sleep(p);
}

bool control_ring_has(const struct control_ring_place *p)
{
    return atomic_load(&slot_of(p, 0)->bytes) != 0;
}

size_t control_ring_take(struct control_ring_place *p, uint8_t *buffer)
{
    uint32_t bytes = (uint32_t)lesser(atomic_load(&slot_of(p, 0)->bytes), CONTROL_BYTES);
    uint32_t slots = slots_for(bytes);

    for (uint32_t i = 0; i < slots; i++) {
        memcpy(buffer + i * CONTROL_PART, slot_of(p, i)->part, part_of(bytes, i));
        atomic_store_explicit(&slot_of(p, i)->bytes, 0, memory_order_release);
    }
    p->next += slots;
    return bytes;
}

static bool say(struct control_ring_place *p, enum control_sleep how)
{
    atomic_store(&p->ring->is_asleep, how);
    if (!control_ring_has(p))
        return true;
    control_ring_say_awake(p);
    return false;
}

bool control_ring_say_asleep(struct control_ring_place *p)
{
    return say(p, CONTROL_ASLEEP);
}

bool control_ring_say_idle(struct control_ring_place *p)
{
    return say(p, CONTROL_IDLE);
}

void control_ring_say_awaited(struct control_ring_place *p)
{
    uint32_t idle = CONTROL_IDLE;

    (void)atomic_compare_exchange_strong(&p->ring->is_asleep, &idle, CONTROL_ASLEEP);
}

void control_ring_say_awake(struct control_ring_place *p)
{
    if (atomic_load_explicit(&p->ring->is_asleep, memory_order_relaxed) != 0)
        atomic_store(&p->ring->is_asleep, 0);
}
