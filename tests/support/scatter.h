/* What the kernel does with a landing: fills the pieces of an opening in order. */
#ifndef ZCRP_TESTS_SUPPORT_SCATTER_H
#define ZCRP_TESTS_SUPPORT_SCATTER_H

#include "core/receiver/landing.h"

#include <string.h>

/* Receives `count` bytes into the next opening; `segment` as in struct landing. */
static inline void scatter(struct landing *l, const uint8_t *bytes, uint32_t count,
                           uint32_t segment)
{
    uint32_t opening = l->received++;
    l->bytes[opening] = count;
    l->segment[opening] = segment;
    for (uint32_t i = l->first[opening]; count > 0; i++) {
        uint32_t part = l->iov[i].iov_len < count ? (uint32_t)l->iov[i].iov_len : count;
        memcpy(l->iov[i].iov_base, bytes, part);
        bytes += part;
        count -= part;
    }
}

#endif
