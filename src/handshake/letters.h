/* Datagrams of a peer whose handshake is under way, in the order in which they came: the thread
 * that receives adds them, and the one that does the handshake takes them all.
 *
 * More than LETTERS_MOST are dropped, and repeated by the peer. The owner's mutex guards them. */
#ifndef ZCRP_HANDSHAKE_LETTERS_H
#define ZCRP_HANDSHAKE_LETTERS_H

#include "core/keys/handshake.h"

#include <stddef.h>
#include <string.h>

enum { LETTERS_MOST = 16 };

struct letter {
    uint16_t size; /* 0: none */
    uint8_t bytes[HANDSHAKE_BYTES];
};

/* All zero: empty. */
struct letters {
    uint32_t count;
    struct letter letter[LETTERS_MOST];
};

/* A copy of the datagram; none if that is larger than any of a handshake. */
static inline void letter_set(struct letter *l, const uint8_t *datagram, size_t size)
{
    l->size = size <= HANDSHAKE_BYTES ? (uint16_t)size : 0;
    memcpy(l->bytes, datagram, l->size);
}

/* Dropped if there is no room, or it is larger than any of a handshake. */
static inline void letters_add(struct letters *l, const uint8_t *datagram, size_t size)
{
    if (l->count < LETTERS_MOST && size <= HANDSHAKE_BYTES)
        letter_set(&l->letter[l->count++], datagram, size);
}

/* Copies any of them, which goes; its bytes, 0 if there is none. */
static inline size_t letters_take_one(struct letters *l, uint8_t *datagram)
{
    if (l->count == 0)
        return 0;
    const struct letter *last = &l->letter[--l->count];
    memcpy(datagram, last->bytes, last->size);
    return last->size;
}

/* All that there are move to `to`. */
static inline void letters_take(struct letters *l, struct letters *to)
{
    to->count = l->count;
    memcpy(to->letter, l->letter, l->count * sizeof(l->letter[0]));
    l->count = 0;
}

#endif
