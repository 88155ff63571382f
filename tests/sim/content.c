#include "content.h"

#include "chance.h"

#include <string.h>

enum { WORD = sizeof(uint64_t) };

static uint64_t word_at(uint64_t index, size_t offset)
{
    return chance_of(index + 1, offset + 1);
}

static size_t part_at(size_t size, size_t offset)
{
    return size - offset < WORD ? size - offset : WORD;
}

void content_fill(uint8_t *bytes, size_t size, uint64_t index)
{
    for (size_t offset = 0; offset < size; offset += WORD) {
        uint64_t word = word_at(index, offset);
        memcpy(bytes + offset, &word, part_at(size, offset));
    }
}

bool content_is(const uint8_t *bytes, size_t size, uint64_t index)
{
    for (size_t offset = 0; offset < size; offset += WORD) {
        uint64_t word = word_at(index, offset);
        if (memcmp(bytes + offset, &word, part_at(size, offset)) != 0)
            return false;
    }
    return true;
}
