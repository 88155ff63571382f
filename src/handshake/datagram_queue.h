/* Datagrams between two threads: the peer's, on their way to the thread that runs the handshake
 * (take_all, in their order), and that thread's answers, on their way to the socket (take, the
 * newest first, because a handshake puts its bytes in order).
 *
 * It has room for DATAGRAM_QUEUE_MOST. A datagram that finds no room is dropped, and its sender
 * repeats it. The owner's mutex guards the queue. */
#ifndef ZCRP_HANDSHAKE_DATAGRAM_QUEUE_H
#define ZCRP_HANDSHAKE_DATAGRAM_QUEUE_H

#include "core/keys/handshake.h"

#include <stddef.h>
#include <string.h>

enum { DATAGRAM_QUEUE_MOST = 16 };

struct datagram_copy {
    uint16_t size; /* 0: none */
    uint8_t bytes[HANDSHAKE_BYTES];
};

/* All zero: empty. */
struct datagram_queue {
    uint32_t count;
    struct datagram_copy datagram[DATAGRAM_QUEUE_MOST];
};

/* A copy of the datagram; none if it is larger than any datagram of a handshake. */
static inline void datagram_copy_set(struct datagram_copy *c, const uint8_t *datagram, size_t size)
{
    c->size = size <= HANDSHAKE_BYTES ? (uint16_t)size : 0;
    memcpy(c->bytes, datagram, c->size);
}

/* Adds a copy; none if there is no room, or if it is larger than any datagram of a handshake. */
static inline void datagram_queue_add(struct datagram_queue *q, const uint8_t *datagram,
                                      size_t size)
{
    if (q->count < DATAGRAM_QUEUE_MOST && size <= HANDSHAKE_BYTES)
        datagram_copy_set(&q->datagram[q->count++], datagram, size);
}

/* Takes the newest one; its bytes, or 0 if there is none. */
static inline size_t datagram_queue_take(struct datagram_queue *q, uint8_t *datagram)
{
    if (q->count == 0)
        return 0;
    const struct datagram_copy *last = &q->datagram[--q->count];
    memcpy(datagram, last->bytes, last->size);
    return last->size;
}

/* Takes all. */
static inline void datagram_queue_take_all(struct datagram_queue *q, struct datagram_queue *to)
{
    to->count = q->count;
    memcpy(to->datagram, q->datagram, q->count * sizeof(q->datagram[0]));
    q->count = 0;
}

#endif
