/* One end's life. */
#include "cells.h"
#include "ends.h"
#include "platform/system.h"
#include "shared_file.h"

#include <sodium/utils.h>
#include <sys/resource.h>
#include <unistd.h>

_Static_assert(sizeof(struct shm) + sizeof(struct shm_meeting) + sizeof(struct shm_writer) <=
                       CELL_BYTES &&
                   sizeof(struct shm_reader) <= sizeof(struct shm_writer),
               "an end has room in a cell");

static const size_t records_bytes = RING_FAR * sizeof(struct ring_record);

static bool reserve_records(struct shm_writer *out)
{
    out->records = memory_reserve(records_bytes);
    return out->records != NULL;
}

/* In one piece, which lies beside those of others: idle ones share pages. */
struct shm *shm_create(bool is_sender, struct channel *units, const struct shm_terms *terms)
{
    struct shm *n = cells_take();

    if (n == NULL)
        return NULL;
    n->meeting = (struct shm_meeting *)(n + 1);
    if (is_sender)
        n->out = (struct shm_writer *)(n->meeting + 1);
    else
        n->in = (struct shm_reader *)(n->meeting + 1);
    if (is_sender && !reserve_records(n->out)) {
        cells_give(n);
        return NULL;
    }
    n->pairing = terms->pairing;
    n->units = units;
    n->own = shared_arena_hold(terms->own);
    entropy_fill(n->nonce, sizeof(n->nonce));
    return n;
}

void shm_free(struct shm *n)
{
    meeting_end(n->meeting);
    sodium_memzero(n->nonce, sizeof(n->nonce));
    shared_file_unmap(n->page, sizeof(*n->page));
    if (n->in != NULL)
        shared_file_unmap(n->in->arena, n->in->arena_bytes);
    shared_arena_let_go(n->own);
    if (n->out != NULL)
        memory_release(n->out->records, records_bytes);
    cells_give(n);
}

/* The child has the descriptor, and not what was mapped. */
void shm_abandon(struct shm *n)
{
    n->page = NULL;
    if (n->in != NULL)
        n->in->arena = NULL;
    shm_free(n);
}

/* ---- how it stands ---- */

enum shm_refusal shm_why(const struct shm *n)
{
    return n->why;
}

bool shm_is_of(const struct shm *n, struct pairing pairing)
{
    return n->pairing.session == pairing.session && n->pairing.tag == pairing.tag;
}

static bool is_plenty(int fd)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd >= limit.rlim_cur / 2;
}

/* The number may be another process's by now: but one that is seen behind this is the peer. */
int shm_open_peer(const struct shm *n)
{
    int file = process_file(n->peer.pid);

    if (file < 0 || (!is_plenty(file) && peer_process_look(&n->peer) == PEER_SAME))
        return file;
    (void)close(file);
    return -1;
}

/* A receiver that offers no push slots has shown its sender no nonce. */
bool shm_has_lost_peer(const struct shm *n)
{
    return shm_is_here(n) && n->peer.nonce_at != 0 && peer_process_look(&n->peer) != PEER_SAME;
}

uint64_t shm_bytes(const struct shm *n)
{
    return atomic_load_explicit(&n->bytes, memory_order_relaxed);
}

bool shm_has_moved(const struct shm *n)
{
    if (!shm_is_here(n))
        return true;
    if (n->in != NULL)
        return ring_has_any(&n->in->ring);
    return control_ring_has(&n->out->control) || ring_has_whole_to_reap(&n->out->ring);
}

bool shm_say_asleep(struct shm *n)
{
    if (!shm_is_here(n))
        return true;
    if (n->in != NULL)
        return ring_say_asleep(&n->in->ring);
    if (!control_ring_say_asleep(&n->out->control))
        return false;
    if (!ring_has_whole_to_reap(&n->out->ring))
        return true;
    control_ring_say_awake(&n->out->control);
    return false;
}

bool shm_say_idle(struct shm *n)
{
    return !shm_is_here(n) || control_ring_say_idle(&n->out->control);
}

void shm_say_awaited(struct shm *n)
{
    if (shm_is_here(n))
        control_ring_say_awaited(&n->out->control);
}

void shm_say_awake(struct shm *n)
{
    if (!shm_is_here(n))
        return;
    if (n->out != NULL)
        control_ring_say_awake(&n->out->control);
    else
        ring_say_awake(&n->in->ring);
}
