/* Memory for packets under way: allocated when first needed, then used again and again. */
#ifndef LINK_PACKETS_H
#define LINK_PACKETS_H

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

#endif
