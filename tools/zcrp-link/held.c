#include "held.h"

#include <stddef.h>

void held_init(struct held *h, unsigned by)
{
    *h = (struct held){.by = by};
}

void held_enter(struct held *h, struct packet *packet, bool is_held)
{
    h->entered++;
    if (!is_held)
        return;
    packet->overtake = h->entered + h->by;
    h->ring[(h->first + h->count++) % HELD_ROOM] = packet;
}

instant held_until(const struct held *h)
{
    return h->count == 0 ? NEVER : h->ring[h->first]->due + HELD_LONGEST;
}

struct packet *held_take(struct held *h, instant now)
{
    struct packet *packet = h->ring[h->first];

    if (h->count == 0 || (h->entered < packet->overtake && now < held_until(h)))
        return NULL;
    h->first = (h->first + 1) % HELD_ROOM;
    h->count--;
    return packet;
}
