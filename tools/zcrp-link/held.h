/* Packets that are held back until others have come after them; each for the same number of others,
 * so they leave in the order in which they came. */
#ifndef LINK_HELD_H
#define LINK_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "packets.h"

enum { HELD_ROOM = 64, HELD_MOST = HELD_ROOM - 1 };

/* Who is not overtaken comes so long after it was due. */
#define HELD_LONGEST (20 * MILLISECOND)

struct held {
    struct packet *ring[HELD_ROOM];
    unsigned first, count;
    uint64_t entered; /* packets that have come, held back or not */
    unsigned by;      /* others that have to come, 1 to HELD_MOST */
};

void held_init(struct held *h, unsigned by);

/* A packet comes. If `is_held` it stays, and is the caller's no more. Before the next one comes,
 * held_take is asked until there is none. */
void held_enter(struct held *h, struct packet *packet, bool is_held);

/* When the next one has been held back long enough; NEVER if there is none. */
instant held_until(const struct held *h);

/* Lets one go that enough others have come after, or whose time is over; NULL if there is none. */
struct packet *held_take(struct held *h, instant now);

#endif
