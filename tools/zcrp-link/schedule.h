/* Packets under way, the earliest first; of those due at the same time the one that was added
 * first. A binary heap. */
#ifndef LINK_SCHEDULE_H
#define LINK_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "packets.h"

struct schedule {
    struct packet **heap;
    size_t count, room;
    uint64_t orders; /* given out */
};

/* Makes room for so many packets. 0, or -1 if there is no memory. */
int schedule_init(struct schedule *s, size_t room);
void schedule_fini(struct schedule *s);

/* Adds a packet by its `due`. There has to be room. */
void schedule_add(struct schedule *s, struct packet *packet);

/* The earliest packet, which stays; NULL if there is none. */
struct packet *schedule_first(const struct schedule *s);

/* Removes the earliest packet, which has to exist. */
struct packet *schedule_take(struct schedule *s);

#endif
