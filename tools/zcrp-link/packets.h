/* Memory for packets under way: allocated when first needed, then used again and again. */
#ifndef LINK_PACKETS_H
#define LINK_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/instant.h"

struct packet {
    instant entered;
    instant due;       /* comes out */
    uint64_t order;    /* settles ties */
    uint64_t overtake; /* while held back: free when so many have entered */
    uint32_t size;
    struct packet *next; /* free */
    uint8_t bytes[];
};

struct packets {
    size_t room;   /* bytes of a packet, at most */
    size_t most;   /* packets there may be */
    size_t made;   /* there are */
    size_t unused; /* of them */
    struct packet *free;
};

void packets_init(struct packets *p, size_t room, size_t most);

/* Gives the memory back. All packets have been put back before. */
void packets_fini(struct packets *p);

/* A packet for the caller to fill and to put back; NULL if there are no more. */
struct packet *packets_take(struct packets *p);
void packets_put(struct packets *p, struct packet *packet);

/* Packets under way, the earliest first; of those due at the same time the one that was added
 * first. A binary heap. */

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

/* Packets that are held back until others have come after them; each for the same number of others,
 * so they leave in the order in which they came. */

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
