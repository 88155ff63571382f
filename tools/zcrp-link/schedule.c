#include "schedule.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

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
