#include "copying.h"

#include "core/number.h"
#include "platform/nofault.h"

#include <errno.h>
#include <string.h>

enum { PIECES = LANDING_IOV + LANDING_OPENINGS + 1 }; /* one may hold data and trailer */

/* What one call copies. */
struct copies {
    uint32_t count;
    size_t bytes;
    struct iovec here[PIECES], there[PIECES];
};

/* What is copied together. */
struct copying {
    const struct shm *n;
    const struct landing *l;
    struct copies far;                  /* in the sender's memory, the nonce first */
    struct copies near;                 /* in this end's, to memory that may be gone */
    size_t far_bytes[LANDING_OPENINGS]; /* of `far`, up to the end of each note */
    size_t near_bytes[LANDING_OPENINGS];
    uint8_t nonce[PEER_NONCE];
};

static void add(struct copies *p, uint64_t from, struct iovec to)
{
    p->there[p->count] = (struct iovec){(void *)(uintptr_t)from, to.iov_len}; /* NOLINT */
    p->here[p->count++] = to;
    p->bytes += to.iov_len;
}

static void copying_begin(struct copying *c, const struct shm *n, const struct landing *l)
{
    c->n = n;
    c->l = l;
    c->far.count = c->near.count = 0;
    c->far.bytes = c->near.bytes = 0;
    add(&c->far, n->peer.nonce_at, (struct iovec){c->nonce, sizeof(c->nonce)});
}

/* ---- what both map ---- */

/* Memory that is there for certain: no call has to copy to it. */
static bool is_certain(const struct copying *c, struct iovec to)
{
    size_t offset = (uintptr_t)to.iov_base - (uintptr_t)c->l->trailer;
    bool is_scratch =
        offset < sizeof(c->l->trailer) && to.iov_len <= sizeof(c->l->trailer) - offset;

    return c->l->cannot_fault || is_scratch || shared_arena_has(c->n->own, to.iov_base, to.iov_len);
}

static void copy_near(struct copying *c, const uint8_t *from, struct iovec to)
{
    if (is_certain(c, to))
        memcpy(to.iov_base, from, to.iov_len);
    else
        add(&c->near, (uintptr_t)from, to);
}

/* Does the note's data lie within what this end maps, if it should? */
static bool is_within(const struct shm *n, const struct ring_note *note)
{
    uint32_t data = note->bytes - copy_tail(note);
    size_t bytes = note->place == RING_STAGING ? sizeof(n->page->staging) : n->in->arena_bytes;
    bool is_mapped = note->place == RING_STAGING || n->in->arena != NULL;

    if (note->place == RING_MEMORY)
        return data == 0 || note->where <= UINTPTR_MAX - data; /* addresses may have 32 bits */
    return is_mapped && note->where <= bytes && data <= bytes - note->where;
}

/* Where this end has the note's data; it is within. */
static const uint8_t *data_of(const struct shm *n, const struct ring_note *note)
{
    return (note->place == RING_STAGING ? n->page->staging : n->in->arena) + note->where;
}

/* ---- gathering ---- */

/* The bytes of note `i` from `at` on go to this piece: those in front of the trailer, then the
 * trailer. */
static void gather_piece(struct copying *c, const struct ring_note *note, uint32_t i, uint32_t at,
                         struct iovec to)
{
    uint32_t data = note->bytes - copy_tail(note);
    size_t first = at < data ? lesser(data - at, to.iov_len) : 0;
    struct iovec rest = {(uint8_t *)to.iov_base + first, to.iov_len - first};

    to.iov_len = first;
    if (first > 0 && note->place == RING_MEMORY)
        add(&c->far, note->where + at, to);
    else if (first > 0)
        copy_near(c, data_of(c->n, note) + at, to);
    if (rest.iov_len > 0)
        copy_near(c, ring_trailer(&c->n->in->ring, i) + (at + first - data), rest);
}

/* All bytes of note `i` go into the pieces of its opening, in order. */
static void gather_note(struct copying *c, const struct ring_note *note, uint32_t i)
{
    const struct landing *l = c->l;
    uint32_t at = 0;

    for (uint32_t k = l->first[i]; at < note->bytes && k < l->first[i + 1]; k++) {
        struct iovec to = {l->iov[k].iov_base, lesser(l->iov[k].iov_len, note->bytes - at)};
        gather_piece(c, note, i, at, to);
        at += (uint32_t)to.iov_len;
    }
}

/* ---- copying ---- */

/* The sender is gone. Or it is there, and cannot be read any more: then it has to take back what it
 * has offered. This end cannot tell the two apart for certain (a process whose first thread has
 * ended is not found, like one that has ended), so the page says it in any case. What both map
 * arrives nevertheless: it needs no sender. */
static void lose(struct shm *n, bool is_forbidden)
{
    if (is_forbidden)
        n->why = SHM_FORBIDDEN;
    atomic_store(&n->page->why, SHM_FORBIDDEN);
    atomic_store(&n->page->consent, CONSENT_NO);
    atomic_store(&n->in->is_blind, true);
}

/* Did the call fail for another reason than that its sender is gone? */
static bool is_refused(ssize_t size)
{
    return size < 0 && errno != ESRCH && errno != EFAULT;
}

/* Copies from the sender that consented and nobody else. The bytes copied, fewer than asked for if
 * some memory cannot be accessed; -1 if the sender was lost. */
static ssize_t copy_far(struct shm *n, const struct copying *c)
{
    const struct copies *p = &c->far;

    if (p->count == 1)
        return (ssize_t)p->bytes; /* nothing but the nonce */
    if (atomic_load(&n->in->is_blind))
        return -1;
    ssize_t size = process_vm_readv(n->peer.pid, p->here, p->count, p->there, p->count, 0);
    if (size >= (ssize_t)sizeof(c->nonce) && peer_process_is(&n->peer, c->nonce))
        return size;
    lose(n, is_refused(size));
    return -1;
}

/* The bytes that could be copied to memory that may be gone. Where the kernel refuses such copies,
 * as under seccomp, nothing is wrong with the memory: then the sender takes the socket. */
static ssize_t copy_pieces(struct shm *n, const struct copies *p)
{
    ssize_t size =
        p->count == 0 ? 0 : nofault_write(p->here, p->count, p->there, p->count, p->bytes);
    if (is_refused(size))
        lose(n, true);
    return size < 0 ? 0 : size;
}

uint32_t copy_notes(struct shm *n, const struct landing *l, const struct ring_note *note,
                    uint32_t first, uint32_t count)
{
    struct copying c;
    uint32_t gathered = 0, whole = 0;

    copying_begin(&c, n, l);
    for (; gathered < count && is_within(n, &note[gathered]); gathered++) {
        gather_note(&c, &note[gathered], first + gathered);
        c.far_bytes[gathered] = c.far.bytes;
        c.near_bytes[gathered] = c.near.bytes;
    }
    ssize_t far = copy_far(n, &c);
    if (far < 0)
        far = (ssize_t)sizeof(c.nonce); /* what both map arrives, up to the first note elsewhere */
    ssize_t near = copy_pieces(n, &c.near);
    while (whole < gathered && c.far_bytes[whole] <= (size_t)far &&
           c.near_bytes[whole] <= (size_t)near)
        whole++;
    return whole;
}

/* What is mapped can always be read. */
bool copy_is_readable(struct shm *n, const struct landing *l, const struct ring_note *note)
{
    struct copying c;
    uint32_t data = note->bytes - copy_tail(note);

    if (note->place != RING_MEMORY || data == 0 || !is_within(n, note))
        return is_within(n, note);
    copying_begin(&c, n, l);
    add(&c.far, note->where, (struct iovec){l->bounce, data});
    return copy_far(n, &c) == (ssize_t)c.far.bytes;
}
