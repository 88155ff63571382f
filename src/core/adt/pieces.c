#include "pieces.h"

#include "core/check.h"
#include "core/number.h"

#include <string.h>

size_t pieces_room(uint32_t count)
{
    return sizeof(struct pieces) + (count + (size_t)1) * sizeof(struct piece);
}

/* ---- making ---- */

/* Pieces may lie in different objects, so their addresses are compared as numbers. */
static uintptr_t address(const struct pieces *p, uint32_t i)
{
    return (uintptr_t)p->piece[i].at;
}

static uint64_t size_of(const struct pieces *p, uint32_t i)
{
    return p->piece[i + 1].first - p->piece[i].first;
}

static uintptr_t end_of(const struct pieces *p, uint32_t i)
{
    return address(p, i) + size_of(p, i);
}

/* Appends it; `bytes` is where it begins in the message. */
static void add(struct pieces *p, struct iovec piece)
{
    uint64_t last_size = p->count > 0 ? p->bytes - p->piece[p->count - 1].first : 0;
    bool is_joined =
        p->count > 0 && address(p, p->count - 1) + last_size == (uintptr_t)piece.iov_base;

    if (piece.iov_len == 0)
        return;
    if (!is_joined)
        p->piece[p->count++] = (struct piece){.at = piece.iov_base, .first = p->bytes};
    p->bytes += piece.iov_len;
}

/* Shell's sort with Ciura's gaps, of `lower`: few steps if the pieces lie in the order of the
 * message, as they often do. */
static void sort_by_address(struct pieces *p)
{
    static const uint32_t gaps[] = {301, 132, 57, 23, 10, 4, 1};
    struct piece *piece = p->piece;

    for (uint32_t i = 0; i < p->count; i++)
        piece[i].lower = i;
    for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
        uint32_t gap = gaps[g];
        for (uint32_t i = gap; i < p->count; i++) {
            uint32_t moved = piece[i].lower;
            uint32_t at = i;
            for (; at >= gap && address(p, moved) < address(p, piece[at - gap].lower); at -= gap)
                piece[at].lower = piece[at - gap].lower;
            piece[at].lower = moved;
        }
    }
}

/* Of two pieces that share a byte, one that is next to another by address does, too. */
static bool has_overlap(const struct pieces *p)
{
    for (uint32_t i = 1; i < p->count; i++)
        if (end_of(p, p->piece[i - 1].lower) > address(p, p->piece[i].lower))
            return true;
    return false;
}

struct pieces *pieces_init(void *memory, const struct iovec *piece, uint32_t count)
{
    struct pieces *p = memory;

    CHECK(count <= PIECES_MOST);
    p->bytes = p->count = 0;
    for (uint32_t i = 0; i < count; i++)
        add(p, piece[i]);
    p->piece[p->count] = (struct piece){.first = p->bytes};
    sort_by_address(p);
    p->overlaps = has_overlap(p);
    return p;
}

/* ---- by place ---- */

/* The piece that has byte `offset`, which there is. */
static uint32_t piece_of(const struct pieces *p, uint64_t offset)
{
    uint32_t low = 0, high = p->count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (p->piece[middle].first <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint8_t *pieces_at(const struct pieces *p, uint64_t offset, uint64_t *run)
{
    *run = 0;
    if (offset >= p->bytes)
        return NULL;
    uint32_t i = piece_of(p, offset);
    *run = p->piece[i + 1].first - offset;
    return p->piece[i].at + (offset - p->piece[i].first);
}

uint32_t pieces_span(const struct pieces *p, uint64_t first, uint64_t last)
{
    CHECK(first < last && last <= p->bytes);
    return piece_of(p, last - 1) - piece_of(p, first) + 1;
}

uint64_t pieces_reach(const struct pieces *p, uint64_t offset, uint32_t pieces)
{
    if (p->count <= pieces || offset >= p->bytes)
        return p->bytes - offset;
    return p->piece[lesser(piece_of(p, offset) + (uint64_t)pieces, p->count)].first - offset;
}

uint32_t pieces_list(const struct pieces *p, uint64_t first, uint64_t last, struct iovec *out,
                     uint32_t most)
{
    uint32_t count = first < last ? pieces_span(p, first, last) : 0;

    if (count > most)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t run;
        uint8_t *at = pieces_at(p, first, &run);
        out[i] = (struct iovec){.iov_base = at, .iov_len = lesser(run, last - first)};
        first += out[i].iov_len;
    }
    return count;
}

void pieces_write(const struct pieces *p, uint64_t offset, const uint8_t *from, uint64_t length)
{
    while (length > 0) {
        uint64_t run;
        uint8_t *at = pieces_at(p, offset, &run);
        CHECK(at != NULL);
        run = lesser(run, length);
        memcpy(at, from, run);
        offset += run;
        from += run;
        length -= run;
    }
}

void pieces_clear(const struct pieces *p, uint8_t *buffer, uint64_t first, uint64_t last)
{
    while (first < last) {
        uint64_t run = last - first;
        uint8_t *at = p == NULL ? buffer + first : pieces_at(p, first, &run);
        CHECK(at != NULL);
        run = lesser(run, last - first);
        memset(at, 0, run);
        first += run;
    }
}

bool pieces_of_memory(const struct pieces *p, const uint8_t *buffer, uint64_t size, uint32_t i,
                      struct iovec *piece)
{
    uint64_t first = p == NULL ? 0 : i < p->count ? p->piece[i].first : size;

    if (first >= size || (p == NULL && i > 0))
        return false;
    if (p == NULL)
        *piece = (struct iovec){.iov_base = (void *)buffer, .iov_len = size};
    else
        *piece = (struct iovec){.iov_base = p->piece[i].at,
                                .iov_len = lesser(p->piece[i + 1].first, size) - first};
    return true;
}

/* ---- by address ---- */

bool pieces_find(const struct pieces *p, const uint8_t *at, uint64_t *offset)
{
    uint32_t low = 0, high = p->count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (address(p, p->piece[middle].lower) <= (uintptr_t)at)
            low = middle;
        else
            high = middle;
    }
    uint32_t i = p->count > 0 ? p->piece[low].lower : 0;
    uintptr_t within = (uintptr_t)at - address(p, i);
    if (p->count == 0 || within >= size_of(p, i))
        return false;
    *offset = p->piece[i].first + within;
    return true;
}

/* ---- check ---- */

static void check_order(const struct pieces *p)
{
    bool is_named[PIECES_MOST] = {false};

    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t named = p->piece[i].lower;
        CHECK(named < p->count);
        CHECK(!is_named[named]);
        is_named[named] = true;
        CHECK(i == 0 || address(p, p->piece[i - 1].lower) <= address(p, named));
    }
}

void pieces_check(const struct pieces *p)
{
    CHECK(p->count <= PIECES_MOST);
    for (uint32_t i = 0; i < p->count; i++) {
        CHECK(p->piece[i].first < p->piece[i + 1].first);
        CHECK(i == 0 || end_of(p, i - 1) != address(p, i));
    }
    CHECK(p->count == 0 || p->piece[0].first == 0);
    CHECK(p->piece[p->count].first == p->bytes);
    check_order(p);
    CHECK(p->overlaps == has_overlap(p));
}
