/* How a sender pushes bytes to its receiver, which has opened slots for them. */
#include "ends.h"

#include <sys/uio.h>

/* ---- claiming ---- */

/* Claims one slot more, and adds its bytes to `*bytes`. Only bytes of a message that is held are
 * pushed; another claim is given up. False: there is no slot. */
static bool claim_one(struct shm *n, struct push *push, uint64_t *bytes)
{
    struct ring_writer *ring = &n->out->ring;
    uint64_t number, at;

    if (!push_slots_claim(&n->page->slots, atomic_load(&ring->reaped), atomic_load(&ring->head),
                          &number, &at))
        return false;
    const struct ring_record *record = ring_pin(ring, number);
    if (record == NULL) {
        push_slots_settle(&n->page->slots, number, false);
        return true;
    }
    size_t size = record->data.iov_len;
    push->number[push->notes] = number;
    push->from[push->notes] = record->data;
    push->to[push->notes++] = (struct iovec){(void *)(uintptr_t)at, size}; /* NOLINT */
    *bytes += size;
    return true;
}

bool shm_claim(struct shm *n)
{
    struct push *push = &n->out->push;
    uint64_t bytes = 0;

    push->notes = 0;
    if (!shm_is_here(n) || !atomic_load_explicit(&n->out->may_push, memory_order_relaxed))
        return false;
    for (uint32_t i = 0; i < PUSH_NOTES && bytes < PUSH_BYTES && claim_one(n, push, &bytes); i++)
        continue;
    return push->notes > 0;
}

/* ---- pushing ---- */

/* A receiver that has ended, or become another program, is written to no more. */
void shm_push(struct shm *n)
{
    struct push *push = &n->out->push;
    bool is_there = peer_process_look(&n->peer) == PEER_SAME;
    ssize_t left =
        is_there ? process_vm_writev(n->peer.pid, push->from, push->notes, push->to, push->notes, 0)
                 : 0;

    if (!is_there)
        atomic_store(&n->out->may_push, false);
    for (uint32_t i = 0; i < push->notes; i++) {
        left -= (ssize_t)push->from[i].iov_len;
        push_slots_settle(&n->page->slots, push->number[i], left >= 0);
    }
}

bool shm_let_go(struct shm *n, uint64_t *message)
{
    struct push *push = &n->out->push;

    if (push->notes == 0)
        return false;
    *message = ring_unpin(&n->out->ring, push->number[--push->notes]);
    return true;
}
