#include "zcrp-bench/job/pattern.h"

#include "zcrp-bench/control/control.h"

static const uint64_t golden = 0x9e3779b97f4a7c15u;

/* Where the words of a message start; far apart for neighbours. */
static uint64_t first_word(uint64_t seed, uint64_t message)
{
    uint64_t key = (seed + message * golden) * 0xbf58476d1ce4e5b9u;

    return key ^ key >> 32;
}

static uint64_t scramble(uint64_t word)
{
    return word ^ word >> 29;
}

void pattern_fill(uint8_t *bytes, size_t size, uint64_t seed, uint64_t message)
{
    uint64_t word = first_word(seed, message);
    uint8_t tail[WORD_BYTES];
    size_t at = 0;

    for (; size - at >= WORD_BYTES; at += WORD_BYTES, word += golden)
        word_store(bytes + at, scramble(word));
    word_store(tail, scramble(word));
    for (size_t i = 0; at + i < size; i++)
        bytes[at + i] = tail[i];
}

/* The first byte from `at` on, within one word, that differs. */
static size_t difference_within(const uint8_t *bytes, size_t at, size_t size, uint64_t word)
{
    uint8_t expected[WORD_BYTES];

    word_store(expected, word);
    for (size_t i = 0; i < WORD_BYTES && at + i < size; i++) {
        if (bytes[at + i] != expected[i])
            return at + i;
    }
    return PATTERN_SAME;
}

size_t pattern_difference(const uint8_t *bytes, size_t size, uint64_t seed, uint64_t message)
{
    uint64_t word = first_word(seed, message);
    size_t at = 0;

    for (; size - at >= WORD_BYTES; at += WORD_BYTES, word += golden) {
        if (word_load(bytes + at) != scramble(word))
            return difference_within(bytes, at, size, scramble(word));
    }
    return difference_within(bytes, at, size, scramble(word));
}
