#include "shadow.h"

#include "core/wire/datagram.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 1024, GUARD_BYTE = 0xA5, EMPTY_BYTE = 0x3C, POISON_BYTE = 0xEE };

static uint64_t grains(uint64_t size)
{
    return (size + GRAIN - 1) / GRAIN;
}

void shadow_init(struct shadow *shadow, uint64_t size, bool is_written)
{
    *shadow = (struct shadow){.block = malloc(size + 2 * (size_t)GUARD), .size = size, .end = size};
    shadow->bytes = shadow->block + GUARD;
    memset(shadow->block, GUARD_BYTE, size + 2 * (size_t)GUARD);
    memset(shadow->bytes, EMPTY_BYTE, size);
    if (!is_written)
        return;
    shadow->expected = malloc(size + 1);
    shadow->has_arrived = calloc(grains(size) + 1, sizeof(bool));
}

void shadow_fini(struct shadow *shadow)
{
    free(shadow->block);
    free(shadow->expected);
    free(shadow->has_arrived);
    *shadow = (struct shadow){.block = NULL};
}

bool shadow_meets(const struct shadow *shadow, const uint8_t *at, size_t length)
{
    uintptr_t first = (uintptr_t)shadow->block;
    uintptr_t last = first + shadow->size + 2 * (uintptr_t)GUARD;
    return shadow->block != NULL && (uintptr_t)at < last && (uintptr_t)at + length > first;
}

bool shadow_misses(const struct shadow *shadow, const uint8_t *at, size_t length)
{
    uintptr_t first = (uintptr_t)shadow->bytes;
    if ((uintptr_t)at < first || (uintptr_t)at + length > first + shadow->size)
        return false;
    if (shadow->is_poisoned || shadow->has_arrived == NULL)
        return false;
    uint64_t offset = (uintptr_t)at - first;
    for (uint64_t grain = offset / GRAIN; grain < grains(offset + length); grain++)
        if (shadow->has_arrived[grain])
            return false;
    return true;
}

void shadow_on_arrived(struct shadow *shadow, uint64_t offset, uint64_t length)
{
    memcpy(shadow->expected + offset, shadow->bytes + offset, length);
    for (uint64_t grain = offset / GRAIN; grain < grains(offset + length); grain++)
        shadow->has_arrived[grain] = true;
    if (length % GRAIN != 0)
        shadow->end = offset + length;
}

void shadow_poison(struct shadow *shadow)
{
    memset(shadow->bytes, POISON_BYTE, shadow->size);
    shadow->is_poisoned = true;
}

static bool is_filled(const uint8_t *bytes, size_t size, uint8_t value)
{
    return size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static bool is_as_arrived(const struct shadow *shadow)
{
    for (uint64_t grain = 0; grain < grains(shadow->size); grain++) {
        uint64_t offset = grain * GRAIN;
        uint64_t left = shadow->end - offset;
        if (shadow->has_arrived[grain] &&
            memcmp(shadow->bytes + offset, shadow->expected + offset, left < GRAIN ? left : GRAIN))
            return false;
    }
    return true;
}

bool shadow_is_clean_behind(const struct shadow *shadow, uint64_t length)
{
    for (uint64_t i = length; i < shadow->size; i++)
        if (shadow->bytes[i] != EMPTY_BYTE && shadow->bytes[i] != 0)
            return false;
    return true;
}

bool shadow_is_intact(const struct shadow *shadow)
{
    if (shadow->block == NULL)
        return true;
    if (!is_filled(shadow->block, GUARD, GUARD_BYTE) ||
        !is_filled(shadow->bytes + shadow->size, GUARD, GUARD_BYTE))
        return false;
    if (shadow->is_poisoned)
        return is_filled(shadow->bytes, shadow->size, POISON_BYTE);
    return shadow->has_arrived == NULL || is_as_arrived(shadow);
}
