#include "digest.h"

#include "words.h"

/* Each step is a bijection of the state for a given word, so one changed word always shows. */
static uint64_t mix(uint64_t state, uint64_t word)
{
    state = (state ^ word) * 0x9fb21c651e98df25u;
    return state ^ state >> 32;
}

uint64_t digest(const uint8_t *bytes, size_t size)
{
    uint64_t state = mix(0, size);
    uint64_t tail = 0;
    size_t at = 0;

    for (; size - at >= WORD_BYTES; at += WORD_BYTES)
        state = mix(state, word_load(bytes + at));
    for (size_t shift = 0; at < size; at++, shift += 8)
        tail |= (uint64_t)bytes[at] << shift;
    return mix(state, tail);
}
