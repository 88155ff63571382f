#include "packets.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
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

int schedule_init(struct schedule *s, size_t room)
{
    *s = (struct schedule){.heap = malloc(room * sizeof(struct packet *)), .room = room};
    return s->heap == NULL ? -1 : 0;
}

void schedule_fini(struct schedule *s)
{
    free(s->heap);
    *s = (struct schedule){0};
}

static bool is_before(const struct packet *a, const struct packet *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

void schedule_add(struct schedule *s, struct packet *packet)
{
    size_t hole = s->count++;

    assert(hole < s->room);
    packet->order = s->orders++;
    for (; hole > 0 && is_before(packet, s->heap[(hole - 1) / 2]); hole = (hole - 1) / 2)
        s->heap[hole] = s->heap[(hole - 1) / 2];
    s->heap[hole] = packet;
}

struct packet *schedule_first(const struct schedule *s)
{
    return s->count == 0 ? NULL : s->heap[0];
}

struct packet *schedule_take(struct schedule *s)
{
    struct packet *first = s->heap[0];
    struct packet *last = s->heap[--s->count];
    size_t hole = 0;

    for (;;) {
        size_t child = 2 * hole + 1;
        if (child + 1 < s->count && is_before(s->heap[child + 1], s->heap[child]))
            child++;
        if (child >= s->count || is_before(last, s->heap[child]))
            break;
        s->heap[hole] = s->heap[child];
        hole = child;
    }
    s->heap[hole] = last;
    return first;
}

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
