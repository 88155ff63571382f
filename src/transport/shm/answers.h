/* Answers: control datagrams from a receiver to its sender, in memory that both share. Most are
 * short and take one slot; a longer one takes as many as it needs, one behind the other. Each is
 * copied in and out.
 *
 * One that finds no room takes the socket. Then later ones may overtake it, and a request that
 * comes before its time is not understood: the receiver repeats it after 20 ms. So there is room
 * for the answers to all that may be in the ring.
 *
 * As in ring.h, neither side believes what the other may write. */
#ifndef ZCRP_TRANSPORT_SHM_ANSWERS_H
#define ZCRP_TRANSPORT_SHM_ANSWERS_H

#include "core/wire/burst.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ANSWER_SLOTS = 256,
    ANSWER_PART = 60, /* bytes of a datagram in a slot */
};

struct answer_slot {
    _Alignas(64) _Atomic uint32_t bytes; /* of the datagram that begins here; 0: the slot is free */
    uint8_t part[ANSWER_PART];
};

/* In the shared memory. */
struct answers {
    _Alignas(64) _Atomic uint32_t is_asleep; /* the reader: it wants to be called */
    struct answer_slot slot[ANSWER_SLOTS];
};

/* One side's place, private to it; 0 at first. */
struct answers_place {
    struct answers *answers;
    uint32_t next;
};

/* Writes an answer of at most CONTROL_BYTES; false if there is no room. `*calls`: the reader sleeps
 * and is to be called. */
bool answers_put(struct answers_place *p, const uint8_t *datagram, size_t bytes, bool *calls);

/* Is there one to be read? */
bool answers_has(const struct answers_place *p);

/* Copies the next answer to `buffer`, which has room for CONTROL_BYTES. Its bytes; 0: none. */
size_t answers_take(struct answers_place *p, uint8_t *buffer);

/* The reader goes to sleep: false if there is something to read, then it is awake. */
bool answers_sleep(struct answers_place *p);
void answers_wake(struct answers_place *p);

#endif
