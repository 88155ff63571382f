#include "peers.h"

#include "platform/thread.h"

#include <stdatomic.h>
#include <stdlib.h>

struct peers {
    struct mutex mutex;
    uint32_t most;            /* (c) */
    _Atomic uint32_t holders; /* (a) */
    uint32_t count;           /* (m) */
    struct peer {
        uint64_t number; /* (m) of its address */
        uint64_t host;   /* (m) of its host */
    } peer[];            /* in any order */
};

struct peers *peers_create(uint32_t most)
{
    struct peers *p = malloc(sizeof(*p) + most * sizeof(p->peer[0]));

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

    while (i < p->count && p->peer[i].number != number)
        i++;
    return i;
}

/* Under the mutex. */
static uint32_t count_of_host(const struct peers *p, uint64_t host)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < p->count; i++)
        count += p->peer[i].host == host;
    return count;
}

enum peers_verdict peers_add(struct peers *p, const union address *peer)
{
    uint64_t number = address_number(peer), host = address_host_number(peer);
    enum peers_verdict verdict = PEERS_ADDED;

    mutex_lock(&p->mutex);
    if (find(p, number) < p->count)
        verdict = PEERS_KNOWN;
    else if (!peers_may_share(count_of_host(p, host), p->most - p->count))
        verdict = PEERS_FULL;
    else
        p->peer[p->count++] = (struct peer){number, host};
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
        p->peer[i] = p->peer[--p->count];
    mutex_unlock(&p->mutex);
}
