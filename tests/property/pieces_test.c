/* pieces against a map that knows of each byte of the message where it lies. */
#include "../support/random.h"
#include "../support/suite.h"
#include "core/adt/pieces.h"

#include "../support/asserts.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3000, QUESTIONS = 40, MEMORY_BYTES = 8192, FEW = 12 };

static uint64_t state;
static uint8_t memory[MEMORY_BYTES];
static uint8_t expected[MEMORY_BYTES];
static struct iovec named[PIECES_MOST]; /* what the user names, */
static uint32_t named_count;
static uint8_t *byte_at[PIECES_MOST * 32]; /* and where each byte of it lies */
static uint64_t bytes;
static struct pieces *pieces;

static uint32_t below(uint32_t n)
{
    return (uint32_t)random_below(&state, n);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void name(uint32_t at, uint32_t length)
{
    named[named_count++] = (struct iovec){.iov_base = memory + at, .iov_len = length};
    for (uint32_t i = 0; i < length; i++)
        byte_at[bytes++] = memory + at + i;
}

/* Pieces one behind the other, with gaps and without, in any order, so that none overlaps. */
static void name_apart(uint32_t count)
{
    static const uint32_t sizes[] = {2, 5, 17};
    uint32_t most = sizes[below(3)];

    for (uint32_t at = 0, i = 0; i < count && at + 2 * most < MEMORY_BYTES; i++) {
        uint32_t length = below(most);
        name(at, length);
        at += length + (below(2) == 0 ? 0 : below(most));
    }
}

static void shuffle(void)
{
    for (uint32_t i = named_count; i > 1; i--) {
        uint32_t other = below(i);
        struct iovec swapped = named[i - 1];
        named[i - 1] = named[other];
        named[other] = swapped;
    }
    bytes = 0;
    for (uint32_t i = 0; i < named_count; i++)
        for (size_t k = 0; k < named[i].iov_len; k++)
            byte_at[bytes++] = (uint8_t *)named[i].iov_base + k;
}

static void name_anywhere(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        name(below(MEMORY_BYTES - 32), below(32));
}

static bool overlaps(void)
{
    static bool is_named[MEMORY_BYTES];

    memset(is_named, 0, sizeof is_named);
    for (uint64_t i = 0; i < bytes; i++) {
        if (is_named[byte_at[i] - memory])
            return true;
        is_named[byte_at[i] - memory] = true;
    }
    return false;
}

static void begin_round(void)
{
    uint32_t count = below(4) == 0 ? below(PIECES_MOST + 1) : below(FEW);

    named_count = 0;
    bytes = 0;
    if (below(5) == 0)
        name_anywhere(count);
    else
        name_apart(count);
    if (below(2) == 0)
        shuffle();
    pieces = pieces_init(malloc(pieces_room(named_count)), named, named_count);
    pieces_check(pieces);
    ck_assert_uint_eq(pieces->bytes, bytes);
    ck_assert_int_eq(pieces->overlaps, overlaps());
}

/* Bytes from `offset` on that lie one behind the other. */
static uint64_t run_at(uint64_t offset)
{
    uint64_t last = offset + 1;

    while (last < bytes && byte_at[last] == byte_at[last - 1] + 1)
        last++;
    return offset < bytes ? last - offset : 0;
}

static void ask_at(uint64_t offset)
{
    uint64_t run;

    ck_assert_ptr_eq(pieces_at(pieces, offset, &run), offset < bytes ? byte_at[offset] : NULL);
    ck_assert_uint_eq(run, run_at(offset));
}

static void ask_list(uint64_t first, uint64_t last)
{
    static struct iovec list[PIECES_MOST];
    uint32_t most = below(3) == 0 ? below(FEW) : PIECES_MOST;
    uint32_t count = pieces_list(pieces, first, last, list, most);
    uint32_t span = first < last ? pieces_span(pieces, first, last) : 0;

    ck_assert_uint_eq(count, span <= most ? span : 0);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_ptr_eq(list[i].iov_base, byte_at[first]);
        ck_assert_uint_eq(list[i].iov_len, least(run_at(first), last - first));
        first += list[i].iov_len;
    }
    if (count > 0)
        ck_assert_uint_eq(first, last);
}

static void ask_reach(uint64_t offset, uint32_t most)
{
    uint64_t reach = 0;

    for (uint32_t i = 0; i < most; i++)
        reach += run_at(offset + reach);
    ck_assert_uint_eq(pieces_reach(pieces, offset, most), reach);
}

static void ask_find(const uint8_t *at)
{
    uint64_t offset = bytes, found = bytes;

    for (uint64_t i = 0; i < bytes && offset == bytes; i++)
        if (byte_at[i] == at)
            offset = i;
    bool is_found = pieces_find(pieces, at, &found);
    if (pieces->overlaps) {
        ck_assert(!is_found || byte_at[found] == at);
        return;
    }
    ck_assert_int_eq(is_found, offset < bytes);
    ck_assert_uint_eq(found, offset);
}

/* Nothing changes but the bytes of the message that are named. */
static void change(uint64_t first, uint64_t last)
{
    static uint8_t from[PIECES_MOST * 32];
    bool clears = below(2) == 0;

    for (uint64_t i = first; i < last; i++)
        from[i - first] = clears ? 0 : (uint8_t)random_next(&state);
    for (uint64_t i = first; i < last; i++)
        *(expected + (byte_at[i] - memory)) = from[i - first];
    if (clears)
        pieces_clear(pieces, NULL, first, last);
    else
        pieces_write(pieces, first, from, last - first);
    ck_assert_mem_eq(memory, expected, MEMORY_BYTES);
}

static void play_round(void)
{
    begin_round();
    for (int i = 0; i < QUESTIONS; i++) {
        uint64_t first = random_below(&state, bytes + 1);
        uint64_t last = first + random_below(&state, bytes - first + 1);
        ask_at(first);
        ask_list(first, last);
        ask_reach(first, 1 + below(FEW));
        ask_find(memory + below(MEMORY_BYTES));
    }
    uint64_t first = random_below(&state, bytes + 1);
    change(first, first + random_below(&state, bytes - first + 1));
    free(pieces);
}

TEST(pieces__any_table_any_question, .is_random = true)
{
    state = suite_seed(_i);
    memset(memory, 0x11, MEMORY_BYTES);
    memcpy(expected, memory, MEMORY_BYTES);
    for (int i = 0; i < ROUNDS; i++)
        play_round();
}
