#include "packets.h"

#include <assert.h>
#include <stdlib.h>

void packets_init(struct packets *p, size_t room, size_t most)
{
    *p = (struct packets){.room = room, .most = most};
}

void packets_fini(struct packets *p)
{
    assert(p->unused == p->made);
    while (p->free != NULL) {
        struct packet *packet = p->free;
        p->free = packet->next;
        free(packet);
    }
}

static struct packet *make(struct packets *p)
{
    struct packet *packet;

    if (p->made == p->most)
        return NULL;
    packet = malloc(sizeof *packet + p->room);
    if (packet != NULL)
        p->made++;
    return packet;
}

struct packet *packets_take(struct packets *p)
{
    struct packet *packet = p->free;

    if (packet == NULL)
        return make(p);
    p->free = packet->next;
    p->unused--;
    return packet;
}

void packets_put(struct packets *p, struct packet *packet)
{
    packet->next = p->free;
    p->free = packet;
    p->unused++;
}
