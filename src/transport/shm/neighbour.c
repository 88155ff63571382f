/* One end's life. */
#include "ends.h"
#include "platform/system.h"
#include "shared_file.h"

#include <sodium/utils.h>

static size_t bytes_of(bool is_sender)
{
    return sizeof(struct neighbour) + sizeof(struct shm_meeting) +
           (is_sender ? sizeof(struct shm_writer) : sizeof(struct shm_reader));
}

/* In one piece, by a thread that has no heap yet. */
struct neighbour *neighbour_create(bool is_sender, struct channel *units,
                                   const struct neighbour_terms *terms)
{
    struct neighbour *n = memory_reserve(bytes_of(is_sender));

    if (n == NULL)
        return NULL;
    n->meeting = (struct shm_meeting *)(n + 1);
    if (is_sender)
        n->out = (struct shm_writer *)(n->meeting + 1);
    else
        n->in = (struct shm_reader *)(n->meeting + 1);
    n->pairing = terms->pairing;
    n->units = units;
    n->own = shared_arena_hold(terms->own);
    entropy_fill(n->nonce, sizeof(n->nonce));
    return n;
}

void neighbour_free(struct neighbour *n)
{
    meeting_end(n->meeting);
    sodium_memzero(n->nonce, sizeof(n->nonce));
    shared_file_unmap(n->page, sizeof(*n->page));
    if (n->in != NULL)
        shared_file_unmap(n->in->arena, n->in->arena_bytes);
    shared_arena_let_go(n->own);
    memory_release(n, bytes_of(n->out != NULL));
}

/* The child has the descriptor, and not what was mapped. */
void neighbour_abandon(struct neighbour *n)
{
    n->page = NULL;
    if (n->in != NULL)
        n->in->arena = NULL;
    neighbour_free(n);
}

/* ---- how it stands ---- */

enum neighbour_refusal neighbour_why(const struct neighbour *n)
{
    return n->why;
}

bool neighbour_is_of(const struct neighbour *n, struct pairing pairing)
{
    return n->pairing.session == pairing.session && n->pairing.tag == pairing.tag;
}

uint64_t neighbour_bytes(const struct neighbour *n)
{
    return atomic_load_explicit(&n->bytes, memory_order_relaxed);
}

bool neighbour_sleep(struct neighbour *n)
{
    if (!neighbour_is_here(n))
        return true;
    return n->out != NULL ? control_ring_sleep(&n->out->control) : ring_sleep(&n->in->ring);
}

void neighbour_wake(struct neighbour *n)
{
    if (!neighbour_is_here(n))
        return;
    if (n->out != NULL)
        control_ring_wake(&n->out->control);
    else
        ring_wake(&n->in->ring);
}
