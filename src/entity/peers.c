#include "peers.h"

#include "platform/thread.h"

#include <stdatomic.h>
#include <stdlib.h>

struct peers {
    struct mutex mutex;
    uint32_t most;            /* (c) */
    _Atomic uint32_t holders; /* (a) */
    uint32_t count;           /* (m) */
    uint64_t number[];        /* (m) of their addresses, in any order */
};

struct peers *peers_create(uint32_t most)
{
    struct peers *p = malloc(sizeof(*p) + most * sizeof(p->number[0]));

    if (p == NULL)
        return NULL;
    *p = (struct peers){.most = most, .holders = 1};
    mutex_init(&p->mutex);
    return p;
}

struct peers *peers_hold(struct peers *p)
{
    atomic_fetch_add(&p->holders, 1);
    return p;
}

void peers_release(struct peers *p)
{
    if (p == NULL || atomic_fetch_sub(&p->holders, 1) > 1)
        return;
    mutex_fini(&p->mutex);
    free(p);
}

void peers_abandon(struct peers *p)
{
    if (p != NULL && atomic_fetch_sub(&p->holders, 1) == 1)
        free(p);
}

/* Its place, or the count if it is not there. Under the mutex. */
static uint32_t find(const struct peers *p, uint64_t number)
{
    uint32_t i = 0;

    while (i < p->count && p->number[i] != number)
        i++;
    return i;
}

enum peers_verdict peers_add(struct peers *p, const union address *peer)
{
    uint64_t number = address_number(peer);
    enum peers_verdict verdict = PEERS_ADDED;

    mutex_lock(&p->mutex);
    if (find(p, number) < p->count)
        verdict = PEERS_KNOWN;
    else if (p->count == p->most)
        verdict = PEERS_FULL;
    else
        p->number[p->count++] = number;
    mutex_unlock(&p->mutex);
    return verdict;
}

uint32_t peers_count(struct peers *p)
{
    mutex_lock(&p->mutex);
    uint32_t count = p->count;
    mutex_unlock(&p->mutex);
    return count;
}

void peers_remove(struct peers *p, const union address *peer)
{
    mutex_lock(&p->mutex);
    uint32_t i = find(p, address_number(peer));
    if (i < p->count)
        p->number[i] = p->number[--p->count];
    mutex_unlock(&p->mutex);
}
