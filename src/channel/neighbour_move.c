/* How bytes move between neighbours. */
#include "core/check.h"
#include "neighbour_page.h"
#include "platform/system.h"

#include <errno.h>
#include <sodium/utils.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    SMALL = 4096, /* bytes of a unit, below which units are copied together */
    HERE_MOST = LANDING_IOV + 1,
    THERE_MOST = 2 * LANDING_OPENINGS + 1,
};

#define STANDS_STILL (100 * MILLISECOND)

static bool is_here(const struct neighbour *n)
{
    return atomic_load_explicit(&n->state, memory_order_relaxed) == NEIGHBOUR_HERE;
}

/* ---- the stage ---- */

static bool stage_open(struct stage *s)
{
    if (s->memory == NULL)
        s->memory = memory_reserve(NEIGHBOUR_STAGE);
    return s->memory != NULL;
}

/* Where `bytes` fit in one piece; NULL: nowhere, now. */
static uint8_t *stage_place(const struct stage *s, uint32_t bytes, uint64_t *head)
{
    uint64_t at = s->head % NEIGHBOUR_STAGE;
    uint64_t skip = at + bytes > NEIGHBOUR_STAGE ? NEIGHBOUR_STAGE - at : 0;

    *head = s->head + skip + bytes;
    if (*head - atomic_load(&s->tail) > NEIGHBOUR_STAGE)
        return NULL;
    return s->memory + (*head - bytes) % NEIGHBOUR_STAGE;
}

/* Copies the burst's pieces, some of them the user's: the kernel does, because it bears memory that
 * is gone (FAULT). BLOCKED: it does not do so at all, as under seccomp. */
static enum channel_verdict copy_pieces(const struct burst *b, uint8_t *to)
{
    struct iovec there = {to, b->bytes};
    ssize_t copied = process_vm_writev(getpid(), b->iov, 2UL * b->datagrams, &there, 1, 0);

    if (copied == (ssize_t)b->bytes)
        return CHANNEL_OK;
    return copied >= 0 || errno == EFAULT ? CHANNEL_FAULT : CHANNEL_BLOCKED;
}

static enum channel_verdict send_small(struct neighbour *n, const struct burst *b, uint32_t *sent,
                                       bool *calls)
{
    struct neighbour_sender *out = &n->out;
    uint64_t head;

    if (!stage_open(&out->stage))
        return CHANNEL_BLOCKED;
    uint8_t *to = stage_place(&out->stage, b->bytes, &head);
    if (to == NULL)
        return CHANNEL_CROWDED;
    enum channel_verdict verdict = copy_pieces(b, to);
    if (verdict != CHANNEL_OK)
        return verdict;
    out->stage.head = head;
    out->stage.end[atomic_load(&out->ring.head) % RING_NOTES] = head;
    const struct ring_note note = {
        .where = (uintptr_t)to, .bytes = b->bytes, .segment = b->segment};
    *calls = ring_offer(&out->ring, &note, NULL, RING_NOBODY);
    *sent = b->datagrams;
    return CHANNEL_OK;
}

/* ---- sending ---- */

/* The message that unit `i` of the burst is of. */
static uint64_t message_of_unit(const struct burst *b, uint32_t i)
{
    uint32_t pin = 0, behind = b->pin[0].units;

    while (i >= behind)
        behind += b->pin[++pin].units;
    return b->pin[pin].message;
}

static enum channel_verdict send_large(struct neighbour *n, const struct burst *b, uint32_t *sent,
                                       bool *calls)
{
    struct neighbour_sender *out = &n->out;
    uint32_t i;

    for (i = 0; i < b->datagrams && ring_has_room(&out->ring); i++) {
        const struct iovec *data = &b->iov[2 * i], *trailer = &b->iov[2 * i + 1];
        const struct ring_note note = {.where = (uintptr_t)data->iov_base,
                                       .bytes = (uint32_t)(data->iov_len + trailer->iov_len),
                                       .has_trailer = true};
        out->stage.end[atomic_load(&out->ring.head) % RING_NOTES] = out->stage.head;
        *calls |= ring_offer(&out->ring, &note, trailer->iov_base, message_of_unit(b, i));
        atomic_fetch_add_explicit(&n->bytes, data->iov_len, memory_order_relaxed);
    }
    *sent = i;
    return i == b->datagrams ? CHANNEL_OK : CHANNEL_CROWDED;
}

static uint32_t pinned_units(const struct burst *b)
{
    uint32_t units = 0;

    for (uint32_t i = 0; i < b->pins; i++)
        units += b->pin[i].units;
    return units;
}

bool neighbour_stands_still(struct neighbour *n)
{
    struct neighbour_sender *out = &n->out;
    bool is_empty = atomic_load(&out->ring.head) == atomic_load(&out->ring.reaped);
    instant now = clock_now();

    if (is_empty)
        atomic_store(&out->moved, now);
    return now - atomic_load(&out->moved) > STANDS_STILL;
}

bool neighbour_has_room(const struct neighbour *n)
{
    const struct neighbour_sender *out = &n->out;
    uint64_t notes = atomic_load(&out->ring.head) - atomic_load(&out->ring.reaped);
    uint64_t staged = out->stage.head - atomic_load(&out->stage.tail);

    return notes + BURST_UNITS <= RING_NOTES && staged + 2UL * LANDING_DATAGRAM <= NEIGHBOUR_STAGE;
}

enum channel_verdict neighbour_send(struct neighbour *n, const struct burst *b, uint32_t *sent,
                                    bool *held, bool *calls)
{
    *sent = 0;
    *held = *calls = false;
    if (!is_here(n) || neighbour_stands_still(n))
        return CHANNEL_BLOCKED;
    if (!ring_has_room(&n->out.ring))
        return CHANNEL_CROWDED;
    if (b->segment <= SMALL || pinned_units(b) != b->datagrams) /* a VOID unit pins nothing */
        return b->bytes < LANDING_DATAGRAM ? send_small(n, b, sent, calls) : CHANNEL_BLOCKED;
    *held = true;
    return send_large(n, b, sent, calls);
}

bool neighbour_reap(struct neighbour *n, uint64_t *message, bool *has_faulted)
{
    struct ring_reaped reaped;

    while (n->is_sender) {
        uint64_t number = atomic_load(&n->out.ring.reaped);
        if (!ring_reap(&n->out.ring, &reaped))
            return false;
        atomic_store(&n->out.moved, clock_now());
        atomic_store(&n->out.stage.tail, n->out.stage.end[number % RING_NOTES]);
        *message = reaped.owner;
        *has_faulted = reaped.has_faulted;
        if (reaped.owner != RING_NOBODY)
            return true;
    }
    return false;
}

bool neighbour_take_back(struct neighbour *n, uint64_t message, uint64_t *of)
{
    return n->is_sender && ring_revoke(&n->out.ring, message, of);
}

size_t neighbour_answer(struct neighbour *n, uint8_t *buffer)
{
    return is_here(n) ? answers_take(&n->out.answers, buffer) : 0;
}

/* ---- receiving ---- */

/* One call's worth: where the notes' bytes lie, and where they go. The nonce comes first. */
struct copying {
    uint32_t notes;
    struct ring_note note[LANDING_OPENINGS];
    uint8_t nonce[NEIGHBOUR_NONCE];
    struct iovec here[HERE_MOST], there[THERE_MOST];
    uint32_t heres, theres;
    uint64_t bytes; /* without the nonce */
};

static void add_there(struct copying *c, uint64_t at, uint64_t bytes)
{
    if (bytes > 0)
        c->there[c->theres++] = (struct iovec){(void *)(uintptr_t)at, bytes}; /* NOLINT */
}

static void add_here(struct copying *c, void *at, size_t bytes)
{
    c->here[c->heres++] = (struct iovec){at, bytes};
}

static void copying_begin(const struct neighbour *n, struct copying *c)
{
    c->notes = c->heres = c->theres = 0;
    c->bytes = 0;
    add_there(c, n->in.nonce_at, sizeof(c->nonce));
    add_here(c, c->nonce, sizeof(c->nonce));
}

/* Where the next note's bytes lie. */
static void add_note(const struct neighbour *n, struct copying *c)
{
    const struct ring_note *note = &c->note[c->notes];
    uint32_t tail = note->has_trailer ? TRAILER_BYTES : 0;

    add_there(c, note->where, note->bytes - tail);
    add_there(c,
              n->in.page + offsetof(struct neighbour_page, ring) +
                  ring_trailer_at(&n->in.ring, c->notes),
              tail);
    c->bytes += note->bytes;
    c->notes++;
}

/* So many bytes go into the pieces of the opening, in order. */
static void fill_opening(struct copying *c, const struct landing *l, uint32_t opening,
                         uint32_t bytes)
{
    for (uint32_t i = l->first[opening]; bytes > 0 && i < l->first[opening + 1]; i++) {
        size_t part = l->iov[i].iov_len < bytes ? l->iov[i].iov_len : bytes;
        add_here(c, l->iov[i].iov_base, part);
        bytes -= (uint32_t)part;
    }
}

static void gather(struct neighbour *n, struct copying *c, const struct landing *l)
{
    copying_begin(n, c);
    while (c->notes < l->openings && ring_look(&n->in.ring, c->notes, &c->note[c->notes])) {
        fill_opening(c, l, c->notes, c->note[c->notes].bytes);
        add_note(n, c);
    }
}

/* The sender is gone. Or it is there, and may not be read any more: then it is told. */
static void lose(struct neighbour *n, bool is_forbidden)
{
    if (is_forbidden) {
        n->why = NEIGHBOUR_FORBIDDEN;
        atomic_store(&n->page->why, n->why);
        atomic_store(&n->page->consent, CONSENT_NO);
    }
    atomic_store(&n->state, NEIGHBOUR_AWAY);
}

/* Copies, from the sender that consented and nobody else. The bytes copied, which are fewer than
 * asked for if some memory cannot be accessed; -1 if the sender was lost. */
static int64_t copy(struct neighbour *n, struct copying *c)
{
    ssize_t size = process_vm_readv(n->in.sender, c->here, c->heres, c->there, c->theres, 0);

    if (size < (ssize_t)sizeof(c->nonce) ||
        sodium_memcmp(c->nonce, n->in.nonce, sizeof(c->nonce)) != 0) {
        lose(n, size < 0 && errno == EPERM);
        return -1;
    }
    return size - (ssize_t)sizeof(c->nonce);
}

/* Is done with the next note, which was to go to opening `i`. One that does not count leaves the
 * opening empty. */
static void finish(struct neighbour *n, struct landing *l, uint32_t i, const struct ring_note *note,
                   enum ring_state how)
{
    bool counts = ring_finish(&n->in.ring, how) && how == RING_DONE;

    l->bytes[i] = counts ? note->bytes : 0;
    l->segment[i] = note->segment;
    l->ecn[i] = LANDING_ECN_NONE;
    l->is_spoilt |= !counts;
    if (counts && note->has_trailer)
        atomic_fetch_add_explicit(&n->bytes, note->bytes - TRAILER_BYTES, memory_order_relaxed);
}

/* The first opening could not be filled from the next note. If the bytes can be copied elsewhere,
 * the fault is in this side's memory, and what came for it is lost. As neighbour_receive. */
static int on_fault(struct neighbour *n, struct landing *l)
{
    struct copying c;

    copying_begin(n, &c);
    if (!ring_look(&n->in.ring, 0, &c.note[0]))
        return 0;
    add_here(&c, l->bounce, c.note[0].bytes);
    add_note(n, &c);
    int64_t copied = copy(n, &c);
    if (copied == (int64_t)c.bytes) {
        (void)ring_finish(&n->in.ring, RING_DONE);
        channel_note(n->units, CHANNEL_FAULTS, 1);
        return CHANNEL_FAULT;
    }
    if (copied < 0)
        return 0;
    finish(n, l, 0, &c.note[0], RING_FAULTED);
    return 1;
}

/* Fills openings from the next notes. How many; what lies before a fault arrives, and the fault is
 * left to the next call. */
static int receive_notes(struct neighbour *n, struct landing *l)
{
    struct copying c;
    uint32_t i = 0;

    gather(n, &c, l);
    if (c.notes == 0)
        return 0;
    int64_t left = copy(n, &c);
    for (; i < c.notes && left >= (int64_t)c.note[i].bytes; i++) {
        left -= c.note[i].bytes;
        finish(n, l, i, &c.note[i], RING_DONE);
    }
    l->is_spoilt |= i < c.notes; /* some of the rest may have been copied, too */
    return left < 0 || i > 0 ? (int)i : on_fault(n, l);
}

bool neighbour_has_units(struct neighbour *n)
{
    struct ring_note note;

    return is_here(n) && ring_look(&n->in.ring, 0, &note);
}

int neighbour_receive(struct neighbour *n, struct landing *l)
{
    l->received = 0;
    if (!is_here(n))
        return 0;
    ring_skip(&n->in.ring);
    int received = receive_notes(n, l);
    l->received = received > 0 ? (uint32_t)received : 0;
    return received;
}

/* The answer to a version has no trailer, so nobody knows whose it is. */
static bool is_of_session(const struct neighbour *n, const struct burst *b)
{
    return b->is_control && b->bytes >= TRAILER_BYTES && b->bytes <= CONTROL_BYTES &&
           neighbour_is_of(n, datagram_tail_decode(b->control + b->bytes - TAIL_BYTES).pairing);
}

bool neighbour_reply(struct neighbour *n, const struct burst *b, bool *calls)
{
    *calls = false;
    return is_here(n) && is_of_session(n, b) &&
           answers_put(&n->in.answers, b->control, b->bytes, calls);
}

/* ---- either ---- */

bool neighbour_sleep(struct neighbour *n)
{
    if (!is_here(n))
        return true;
    return n->is_sender ? answers_sleep(&n->out.answers) : ring_sleep(&n->in.ring);
}

void neighbour_wake(struct neighbour *n)
{
    if (!is_here(n))
        return;
    if (n->is_sender)
        answers_wake(&n->out.answers);
    else
        ring_wake(&n->in.ring);
}

uint64_t neighbour_bytes(const struct neighbour *n)
{
    return atomic_load_explicit(&n->bytes, memory_order_relaxed);
}
