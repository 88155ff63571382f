#include "shadow.h"

#include "chance.h"
#include "core/number.h"
#include "core/wire/datagram.h"

#include <stdlib.h>
#include <string.h>

enum {
    GUARD = 1024,
    GAP_MOST = 100, /* between two pieces */
    GUARD_BYTE = 0xA5,
    EMPTY_BYTE = 0x3C,
    POISON_BYTE = 0xEE,
};

static uint64_t grains(uint64_t size)
{
    return (size + GRAIN - 1) / GRAIN;
}

/* ---- making ---- */

/* The sizes of pieces: few, many, or of a byte each. How many there are. */
static uint32_t cut_sizes(struct iovec *piece, uint64_t size, uint64_t *random)
{
    static const uint32_t counts[] = {2, 5, 30, 300, PIECES_MOST};
    uint32_t most = counts[chance_below(random, 5)], count = 0;
    uint64_t mean = chance_one_in(random, 3) ? 1 : 2 * size / most + 1;

    for (; count + 1 < most && size > 0; count++) {
        piece[count].iov_len = lesser(chance_below(random, mean + 1), size);
        size -= piece[count].iov_len;
    }
    piece[count++].iov_len = size;
    return count;
}

/* Their places in the block: with a guard before each, backwards or forwards or shuffled. */
static void place(struct shadow *shadow, struct iovec *piece, uint32_t count, uint64_t *random)
{
    uint32_t order[PIECES_MOST];
    bool is_shuffled = chance_one_in(random, 2);
    uint8_t *at = shadow->block + GUARD;

    for (uint32_t i = 0; i < count; i++)
        order[i] = count - 1 - i;
    for (uint32_t i = count; i > 1 && is_shuffled; i--) {
        uint32_t other = (uint32_t)chance_below(random, i), moved = order[i - 1];
        order[i - 1] = order[other];
        order[other] = moved;
    }
    for (uint32_t i = 0; i < count; i++) {
        at += 1 + chance_below(random, GAP_MOST);
        piece[order[i]].iov_base = at;
        at += piece[order[i]].iov_len;
    }
}

static void cut(struct shadow *shadow, uint64_t random)
{
    struct iovec piece[PIECES_MOST];
    uint32_t count = cut_sizes(piece, shadow->size, &random);

    shadow->block_size += count * (size_t)(GAP_MOST + 1);
    shadow->block = malloc(shadow->block_size);
    place(shadow, piece, count, &random);
    shadow->pieces = pieces_init(malloc(pieces_room(count)), piece, count);
    shadow->bytes = NULL;
}

/* The buffer's bytes are one value. */
static void fill(struct shadow *shadow, uint8_t value)
{
    struct iovec piece;

    for (uint32_t i = 0; pieces_of_memory(shadow->pieces, shadow->bytes, shadow->size, i, &piece);
         i++)
        memset(piece.iov_base, value, piece.iov_len);
}

void shadow_init(struct shadow *shadow, uint64_t size, bool is_written, uint64_t how)
{
    *shadow = (struct shadow){.block_size = size + 2 * (size_t)GUARD, .size = size, .end = size};
    if (how != 0)
        cut(shadow, how);
    else
        shadow->block = malloc(shadow->block_size);
    if (how == 0)
        shadow->bytes = shadow->block + GUARD;
    memset(shadow->block, GUARD_BYTE, shadow->block_size);
    fill(shadow, EMPTY_BYTE);
    if (!is_written)
        return;
    shadow->expected = malloc(size + 1);
    shadow->has_arrived = calloc(grains(size) + 1, sizeof(bool));
}

void shadow_fini(struct shadow *shadow)
{
    free(shadow->block);
    free(shadow->pieces);
    free(shadow->expected);
    free(shadow->has_arrived);
    *shadow = (struct shadow){.block = NULL};
}

/* ---- its bytes ---- */

void shadow_write(struct shadow *shadow, uint64_t offset, const uint8_t *from, uint64_t length)
{
    if (shadow->pieces != NULL)
        pieces_write(shadow->pieces, offset, from, length);
    else if (length > 0)
        memcpy(shadow->bytes + offset, from, length);
}

/* Where byte `offset` is, and how many follow on it. */
static const uint8_t *bytes_at(const struct shadow *shadow, uint64_t offset, uint64_t *run)
{
    if (shadow->pieces != NULL)
        return pieces_at(shadow->pieces, offset, run);
    *run = shadow->size - offset;
    return shadow->bytes + offset;
}

void shadow_read(const struct shadow *shadow, uint64_t offset, uint8_t *to, uint64_t length)
{
    for (uint64_t run; length > 0; offset += run, to += run, length -= run) {
        const uint8_t *at = bytes_at(shadow, offset, &run);
        run = lesser(run, length);
        memcpy(to, at, run);
    }
}

bool shadow_has(const struct shadow *shadow, uint64_t offset, const uint8_t *bytes, uint64_t length)
{
    for (uint64_t run; length > 0; offset += run, bytes += run, length -= run) {
        const uint8_t *at = bytes_at(shadow, offset, &run);
        run = lesser(run, length);
        if (memcmp(at, bytes, run) != 0)
            return false;
    }
    return true;
}

bool shadow_meets(const struct shadow *shadow, const uint8_t *at, size_t length)
{
    uintptr_t first = (uintptr_t)shadow->block;
    uintptr_t last = first + shadow->block_size;
    return shadow->block != NULL && (uintptr_t)at < last && (uintptr_t)at + length > first;
}

/* Which byte of the buffer lies there, and how many follow on it; false: none. */
static bool find(const struct shadow *shadow, const uint8_t *at, uint64_t *offset, uint64_t *run)
{
    if (shadow->pieces != NULL && !pieces_find(shadow->pieces, at, offset))
        return false;
    if (shadow->pieces == NULL)
        *offset = (uintptr_t)at - (uintptr_t)shadow->bytes;
    if (*offset >= shadow->size)
        return false;
    (void)bytes_at(shadow, *offset, run);
    return true;
}

bool shadow_misses(const struct shadow *shadow, const uint8_t *at, size_t length)
{
    uint64_t offset, run;
    if (!find(shadow, at, &offset, &run) || length > run)
        return false;
    if (shadow->is_poisoned || shadow->has_arrived == NULL)
        return false;
    for (uint64_t grain = offset / GRAIN; grain < grains(offset + length); grain++)
        if (shadow->has_arrived[grain])
            return false;
    return true;
}

/* ---- what happens to it ---- */

void shadow_on_arrived(struct shadow *shadow, uint64_t offset, uint64_t length)
{
    shadow_read(shadow, offset, shadow->expected + offset, length);
    for (uint64_t grain = offset / GRAIN; grain < grains(offset + length); grain++)
        shadow->has_arrived[grain] = true;
    if (length % GRAIN != 0)
        shadow->end = offset + length;
}

void shadow_poison(struct shadow *shadow)
{
    fill(shadow, POISON_BYTE);
    shadow->is_poisoned = true;
}

/* ---- looking ---- */

static bool is_filled(const uint8_t *bytes, size_t size, uint8_t value)
{
    return size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static bool is_as_arrived(const struct shadow *shadow)
{
    for (uint64_t grain = 0; grain < grains(shadow->size); grain++) {
        uint64_t offset = grain * GRAIN;
        if (shadow->has_arrived[grain] && !shadow_has(shadow, offset, shadow->expected + offset,
                                                      lesser(shadow->end - offset, GRAIN)))
            return false;
    }
    return true;
}

bool shadow_is_clean_behind(const struct shadow *shadow, uint64_t length)
{
    for (uint64_t i = length; i < shadow->size; i++) {
        uint8_t byte;
        shadow_read(shadow, i, &byte, 1);
        if (byte != EMPTY_BYTE && byte != 0)
            return false;
    }
    return true;
}

/* All that is no piece of the buffer, from the lowest address on. */
static bool is_guarded(const struct shadow *shadow)
{
    const struct pieces *p = shadow->pieces;
    uint32_t count = p != NULL ? p->count : 1;
    const uint8_t *at = shadow->block;

    for (uint32_t i = 0; i < count; i++) {
        struct iovec piece;
        if (!pieces_of_memory(p, shadow->bytes, shadow->size, p != NULL ? p->piece[i].lower : 0,
                              &piece))
            continue;
        if (!is_filled(at, (size_t)((uint8_t *)piece.iov_base - at), GUARD_BYTE))
            return false;
        at = (uint8_t *)piece.iov_base + piece.iov_len;
    }
    return is_filled(at, (size_t)(shadow->block + shadow->block_size - at), GUARD_BYTE);
}

static bool is_poison(const struct shadow *shadow)
{
    struct iovec piece;

    for (uint32_t i = 0; pieces_of_memory(shadow->pieces, shadow->bytes, shadow->size, i, &piece);
         i++)
        if (!is_filled(piece.iov_base, piece.iov_len, POISON_BYTE))
            return false;
    return true;
}

bool shadow_is_intact(const struct shadow *shadow)
{
    if (shadow->block == NULL)
        return true;
    if (!is_guarded(shadow))
        return false;
    if (shadow->is_poisoned)
        return is_poison(shadow);
    return shadow->has_arrived == NULL || is_as_arrived(shadow);
}
