/* The control ring: control datagrams from a receiver to its sender, in memory that both share.
 * Most are short and take one slot; a longer one takes as many as it needs, one behind the other.
 * Each is copied in and out.
 *
 * One that finds no room takes the socket. Then later ones may overtake it, and a request that
 * comes before its time is not understood: the receiver repeats it after 20 ms. So there is room
 * for what answers all notes that may be in the ring (ring.h).
 *
 * As in ring.h, neither side believes what the other may write. tests/model/control.pml has the
 * orders of its words; idle.pml has the sleep of a sender that nobody waits for. */
#ifndef ZCRP_TRANSPORT_SHM_CONTROL_RING_H
#define ZCRP_TRANSPORT_SHM_CONTROL_RING_H

#include "core/wire/burst.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONTROL_SLOTS = 256,
    CONTROL_NEAR = 8,  /* of these, that lie together with what else is used at first (page.h) */
    CONTROL_PART = 60, /* bytes of a datagram in a slot */
};

struct control_slot {
    _Alignas(64) _Atomic uint32_t bytes; /* of the datagram that begins here; 0: the slot is free.
                                            The first slot's is released with all parts by put,
                                            acquired by take, and seq_cst, for is_asleep; the others
                                            are relaxed. 0 is released behind its copy by take,
                                            acquired by put before it writes there */
    uint8_t part[CONTROL_PART];
};

/* How the reader says that it sleeps. */
enum control_sleep {
    CONTROL_AWAKE,
    CONTROL_ASLEEP, /* whatever happens wakes it */
    CONTROL_IDLE, /* the same, but not that messages have ended which went as a whole: nobody waits
                     for them, so their user, who is busy, finds out when it waits */
};

/* In the shared memory. */
struct control_ring {
    _Alignas(64) _Atomic uint32_t is_asleep; /* enum control_sleep. seq_cst: the sender says it, and
                                                then looks at what may wake it (a datagram, a note
                                                that is DONE, credit); the receiver writes that, and
                                                looks here then */
    struct control_slot near[CONTROL_NEAR];
};

struct control_far {
    struct control_slot slot[CONTROL_SLOTS - CONTROL_NEAR];
};

/* One side's place, private to it; 0 at first. */
struct control_ring_place {
    struct control_ring *ring;
    struct control_far *far;
    uint32_t next;
};

/* Writes a datagram of at most CONTROL_BYTES; false if there is no room. `*wakes`: the reader
 * sleeps and is to be woken. */
bool control_ring_put(struct control_ring_place *p, const uint8_t *datagram, size_t bytes,
                      bool *wakes);

/* Does the reader sleep? */
bool control_ring_has_sleeper(const struct control_ring_place *p);

/* Is the reader asleep, and to be woken? Once: it says it anew. */
bool control_ring_take_sleep(struct control_ring_place *p);

/* The same where messages have ended that went as a whole: not if it is IDLE. */
bool control_ring_take_waiter(struct control_ring_place *p);

/* Is there one to be read? */
bool control_ring_has(const struct control_ring_place *p);

/* Copies the next datagram to `buffer`, which has room for CONTROL_BYTES. Its bytes; 0: none. */
size_t control_ring_take(struct control_ring_place *p, uint8_t *buffer);

/* The reader says that it sleeps, and wants to be woken. False if there is something to read: then
 * it says that it is awake. */
bool control_ring_say_asleep(struct control_ring_place *p);
bool control_ring_say_idle(struct control_ring_place *p);

/* If it is IDLE it is ASLEEP from now on, also for what has ended before: so look for that. */
void control_ring_say_awaited(struct control_ring_place *p);
void control_ring_say_awake(struct control_ring_place *p);

#endif
