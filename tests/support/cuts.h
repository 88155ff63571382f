/* Messages that lie in several pieces, for end-to-end tests: cut in many ways, in memory whose
 * other bytes nobody may touch. */
#ifndef ZCRP_TESTS_SUPPORT_CUTS_H
#define ZCRP_TESTS_SUPPORT_CUTS_H

#include "pattern.h"
#include "random.h"
#include "zcrp.h"

#include "asserts.h"
#include <stdlib.h>
#include <string.h>

enum cut_kind {
    CUT_NOT,     /* one place, of zcrp_alloc_msg */
    CUT_HEADER,  /* 40 bytes, and the rest */
    CUT_GRAINS,  /* at multiples of 4,096 bytes and of 32, the pieces backwards in memory */
    CUT_RANDOM,  /* up to 60 pieces, some of 0 bytes, anywhere in memory */
    CUT_CRUMBS,  /* 1,000 pieces of one byte, some of 0 bytes, and the rest */
    CUT_AS_MANY, /* as many pieces as there may be, of sizes as equal as possible */
    CUT_KINDS,
};

enum { CUT_GUARD = 0xA5, CUT_GAP_MOST = 40 };

struct cut {
    struct zcrp_msg *message;
    nlong size;
    struct iovec piece[ZCRP_PIECES_MOST];
    int count;
    uint8_t *memory; /* where they lie, and guards between them; NULL: one place */
    size_t bytes;
};

/* Adds a piece of that many bytes, or of what is left. */
static inline nlong cut_add(struct cut *c, nlong left, nlong bytes)
{
    bytes = bytes < left ? bytes : left;
    c->piece[c->count++].iov_len = bytes;
    return left - bytes;
}

/* The sizes of the pieces. */
static inline void cut_size(struct cut *c, enum cut_kind kind, uint64_t *state)
{
    nlong left = c->size;

    if (kind == CUT_HEADER)
        left = cut_add(c, left, 40);
    for (int i = 0; kind == CUT_GRAINS && i < 40; i++)
        left = cut_add(c, left, i % 2 == 0 ? 4096 : 32);
    for (uint64_t i = random_below(state, 60); kind == CUT_RANDOM && i > 0; i--)
        left = cut_add(c, left, random_below(state, 5) * random_below(state, c->size / 50 + 30));
    for (int i = 0; kind == CUT_CRUMBS && i < 1020; i++)
        left = cut_add(c, left, i % 50 == 7 ? 0 : 1);
    for (int i = 1; kind == CUT_AS_MANY && i < ZCRP_PIECES_MOST; i++)
        left =
            cut_add(c, left, c->size / ZCRP_PIECES_MOST + (c->size % ZCRP_PIECES_MOST >= (nlong)i));
    (void)cut_add(c, left, left);
}

/* The places of the pieces: with a gap in front of each, in any order but that of the message. */
static inline void cut_place(struct cut *c, enum cut_kind kind, uint64_t *state)
{
    int order[ZCRP_PIECES_MOST];

    for (int i = 0; i < c->count; i++)
        order[i] = c->count - 1 - i;
    for (int i = c->count - 1; kind != CUT_GRAINS && i > 0; i--) {
        int other = (int)random_below(state, (uint64_t)i + 1), moved = order[i];
        order[i] = order[other];
        order[other] = moved;
    }
    c->bytes = c->size + (size_t)(c->count + 1) * (CUT_GAP_MOST + 1);
    c->memory = malloc(c->bytes);
    ck_assert_ptr_nonnull(c->memory);
    memset(c->memory, CUT_GUARD, c->bytes);
    size_t at = 0;
    for (int i = 0; i < c->count; i++) {
        at += 1 + random_below(state, CUT_GAP_MOST);
        c->piece[order[i]].iov_base = c->memory + at;
        at += c->piece[order[i]].iov_len;
    }
}

/* A message of `size` bytes, cut so; its memory holds nothing of it. */
static inline struct cut *cut_make(nlong size, enum cut_kind kind, uint64_t seed)
{
    struct cut *c = calloc(1, sizeof(*c));
    uint64_t state = seed + 1;

    ck_assert_ptr_nonnull(c);
    c->size = size;
    if (kind == CUT_NOT) {
        c->message = zcrp_alloc_msg(size);
        ck_assert_ptr_nonnull(c->message);
        c->piece[c->count++] = (struct iovec){c->message->buffer, size};
    } else {
        cut_size(c, kind, &state);
        cut_place(c, kind, &state);
        c->message = zcrp_wrap_iov(c->piece, c->count);
        ck_assert_ptr_nonnull(c->message);
    }
    ck_assert_uint_eq(c->message->message_size, size);
    for (int i = 0; i < c->count; i++)
        memset(c->piece[i].iov_base, 0xEE, c->piece[i].iov_len);
    return c;
}

/* Fills it with the seed's pattern. */
static inline void cut_fill(struct cut *c, uint64_t seed)
{
    uint8_t *bytes = malloc(c->size + 1), *from = bytes;

    pattern_fill(bytes, c->size, seed);
    for (int i = 0; i < c->count; from += c->piece[i++].iov_len)
        memcpy(c->piece[i].iov_base, from, c->piece[i].iov_len);
    free(bytes);
}

/* Its bytes in one place, the caller's to free. */
static inline uint8_t *cut_gather(const struct cut *c)
{
    uint8_t *bytes = malloc(c->size + 1), *to = bytes;

    for (int i = 0; i < c->count; to += c->piece[i++].iov_len)
        memcpy(to, c->piece[i].iov_base, c->piece[i].iov_len);
    return bytes;
}

/* Do its first `size` bytes have the pattern, and those behind them nothing, or 0? */
static inline bool cut_holds(const struct cut *c, nlong size, uint64_t seed)
{
    uint8_t *bytes = cut_gather(c);
    bool holds = pattern_holds(bytes, size, seed);

    for (nlong i = size; i < c->size; i++)
        holds = holds && (bytes[i] == 0xEE || bytes[i] == 0);
    free(bytes);
    return holds;
}

/* Has nobody touched the memory between the pieces? Overwrites the pieces. */
static inline bool cut_is_guarded(struct cut *c)
{
    for (int i = 0; i < c->count && c->memory != NULL; i++)
        memset(c->piece[i].iov_base, CUT_GUARD, c->piece[i].iov_len);
    return c->memory == NULL || pattern_is_even(c->memory, c->bytes, CUT_GUARD);
}

static inline void cut_free(struct cut *c)
{
    ck_assert(cut_is_guarded(c));
    zcrp_free_msg(c->message);
    free(c->memory);
    free(c);
}

#endif
