/* Bursts whose units lie in several pieces of memory (burst.h). */
#ifndef ZCRP_TESTS_SUPPORT_SPLIT_H
#define ZCRP_TESTS_SUPPORT_SPLIT_H

#include "core/wire/burst.h"

#include <string.h>

/* The data of this unit, one piece so far, are so many pieces from now on, at least 1: one byte
 * each, and the rest. There are as many bytes, and room for the pieces. */
static inline void split_unit(struct burst *b, uint32_t unit, uint32_t pieces)
{
    burst_scatter(b);
    struct iovec *piece = &b->iov[b->first[unit]], whole = *piece;
    uint32_t behind = burst_first(b, b->datagrams) - burst_first(b, unit) - 1;
    memmove(piece + pieces, piece + 1, behind * sizeof(*piece));
    for (uint32_t i = 0; i < pieces; i++)
        piece[i] =
            (struct iovec){(uint8_t *)whole.iov_base + i, i + 1 < pieces ? 1 : whole.iov_len - i};
    for (uint32_t i = unit + 1; i <= b->datagrams; i++)
        b->first[i] = (uint16_t)(b->first[i] + pieces - 1);
}

/* What is left of the burst when the channel has taken `sent` datagrams. */
static inline void split_rest(struct burst *b, uint32_t sent)
{
    uint32_t begin = burst_first(b, sent), end = burst_first(b, b->datagrams);
    memmove(b->iov, &b->iov[begin], (end - begin) * sizeof(b->iov[0]));
    b->datagrams -= sent;
    for (uint32_t i = 0; i <= b->datagrams && b->is_scattered; i++)
        b->first[i] = (uint16_t)(b->first[i + sent] - begin);
}

#endif
