/* How bytes move between neighbours. */
#include "core/check.h"
#include "core/number.h"
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
    HERE_MOST = LANDING_IOV + LANDING_OPENINGS + 1, /* a piece may hold data and trailer */
    THERE_MOST = HERE_MOST,
};

#define STANDS_STILL (100 * MILLISECOND)

static bool is_here(const struct neighbour *n)
{
    return atomic_load_explicit(&n->state, memory_order_relaxed) == NEIGHBOUR_HERE;
}

/* ---- the stage ---- */

/* In the commons if the receiver sees them. */
static bool stage_open(struct neighbour *n)
{
    struct stage *s = &n->out.stage;

    if (s->memory == NULL && (n->out.sight & SIGHT_COMMONS))
        s->memory = commons_take(n->own, NEIGHBOUR_STAGE);
    if (s->memory == NULL && (n->out.sight & SIGHT_MEMORY))
        s->memory = memory_reserve(NEIGHBOUR_STAGE);
    return s->memory != NULL;
}

/* Where the receiver finds bytes of the sender's. */
static void set_place(const struct neighbour *n, struct ring_note *note, const void *at)
{
    size_t data = note->bytes - (note->has_trailer ? TRAILER_BYTES : 0);

    note->is_common = (n->out.sight & SIGHT_COMMONS) && commons_has(n->own, at, data);
    note->where = note->is_common ? commons_offset(n->own, at) : (uintptr_t)at;
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

/* Copies units, some of it the user's: the kernel does, because it bears memory that is gone
 * (FAULT). BLOCKED: it does not do so at all, as under seccomp. */
static enum channel_verdict copy_units(const struct iovec *unit, uint32_t units, uint8_t *to,
                                       uint32_t bytes)
{
    struct iovec there = {to, bytes};
    ssize_t copied = process_vm_writev(getpid(), unit, 2UL * units, &there, 1, 0);

    if (copied == (ssize_t)bytes)
        return CHANNEL_OK;
    return copied >= 0 || errno == EFAULT ? CHANNEL_FAULT : CHANNEL_BLOCKED;
}

/* Copies units together, and offers them in one note. */
static enum channel_verdict stage_units(struct neighbour *n, const struct iovec *unit,
                                        uint32_t units, struct ring_note *note, bool *calls)
{
    struct neighbour_sender *out = &n->out;
    uint64_t head;

    uint8_t *to = stage_place(&out->stage, note->bytes, &head);
    if (to == NULL)
        return CHANNEL_CROWDED;
    enum channel_verdict verdict = copy_units(unit, units, to, note->bytes);
    if (verdict != CHANNEL_OK)
        return verdict;
    out->stage.head = head;
    out->stage.end[atomic_load(&out->ring.head) % RING_NOTES] = head;
    set_place(n, note, to);
    *calls |= ring_offer(&out->ring, note, NULL, RING_NOBODY);
    return CHANNEL_OK;
}

static enum channel_verdict send_small(struct neighbour *n, const struct burst *b, uint32_t *sent,
                                       bool *calls)
{
    struct ring_note note = {.bytes = b->bytes, .segment = b->segment};

    if (!stage_open(n) || b->bytes >= LANDING_DATAGRAM)
        return CHANNEL_BLOCKED;
    enum channel_verdict verdict = stage_units(n, b->iov, b->datagrams, &note, calls);
    *sent = verdict == CHANNEL_OK ? b->datagrams : 0;
    return verdict;
}

/* Large units that the receiver cannot read where they lie. */
static enum channel_verdict send_copies(struct neighbour *n, const struct burst *b, uint32_t *sent,
                                        bool *calls)
{
    enum channel_verdict verdict = stage_open(n) ? CHANNEL_OK : CHANNEL_BLOCKED;

    for (uint32_t i = 0; i < b->datagrams && verdict == CHANNEL_OK; i++) {
        const struct iovec *unit = &b->iov[2 * i];
        struct ring_note note = {.bytes = (uint32_t)(unit[0].iov_len + unit[1].iov_len)};
        if (!ring_has_room(&n->out.ring))
            return CHANNEL_CROWDED;
        verdict = stage_units(n, unit, 1, &note, calls);
        *sent += verdict == CHANNEL_OK;
    }
    return verdict;
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
        struct ring_note note = {.bytes = (uint32_t)(data->iov_len + trailer->iov_len),
                                 .has_trailer = true};
        set_place(n, &note, data->iov_base);
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

/* Does the receiver see the burst's data where they lie? */
static bool sees_burst(const struct neighbour *n, const struct burst *b)
{
    bool sees = true;

    for (uint32_t i = 0; i < b->datagrams && sees && !(n->out.sight & SIGHT_MEMORY); i++)
        sees = commons_has(n->own, b->iov[2 * i].iov_base, b->iov[2 * i].iov_len);
    return sees;
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
        return send_small(n, b, sent, calls);
    if (!sees_burst(n, b))
        return send_copies(n, b, sent, calls);
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

/* One call's worth: where the notes' bytes lie, and where they go. All notes are of the sender's
 * memory, and the nonce comes first; or all are of its commons, which are this process's memory,
 * too. */
struct copying {
    uint32_t notes;
    struct ring_note note[LANDING_OPENINGS];
    uint32_t asked[LANDING_OPENINGS]; /* bytes of each note that the call is to copy */
    bool is_common;
    uint8_t nonce[NEIGHBOUR_NONCE];
    struct iovec here[HERE_MOST], there[THERE_MOST];
    uint32_t heres, theres;
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
    c->is_common = false;
    add_there(c, n->in.nonce_at, sizeof(c->nonce));
    add_here(c, c->nonce, sizeof(c->nonce));
}

static uint32_t tail_of(const struct ring_note *note)
{
    return note->has_trailer ? TRAILER_BYTES : 0;
}

/* Within the page: the next note's trailer. */
static size_t trailer_of(const struct neighbour *n, const struct copying *c)
{
    return offsetof(struct neighbour_page, ring) + ring_trailer_at(&n->in.ring, c->notes);
}

/* ---- from the sender's memory ---- */

/* Where the next note's bytes lie. */
static void read_there(const struct neighbour *n, struct copying *c)
{
    const struct ring_note *note = &c->note[c->notes];

    add_there(c, note->where, note->bytes - tail_of(note));
    add_there(c, n->in.page + trailer_of(n, c), tail_of(note));
    c->asked[c->notes] = note->bytes;
}

/* ---- from the sender's commons ---- */

/* Memory that is there for certain: no call has to copy it. */
static bool is_own(const struct neighbour *n, const struct landing *l, const void *at, size_t bytes)
{
    size_t offset = (uintptr_t)at - (uintptr_t)l->trailer;
    bool is_scratch = (uintptr_t)at >= (uintptr_t)l->trailer && offset < sizeof(l->trailer);

    return (is_scratch && bytes <= sizeof(l->trailer) - offset) || commons_has(n->own, at, bytes);
}

/* Copies a part of the next note to memory of this end, or leaves that to the call. */
static void read_part(const struct neighbour *n, struct copying *c, const struct landing *l,
                      const uint8_t *from, struct iovec to)
{
    if (is_own(n, l, to.iov_base, to.iov_len)) {
        memcpy(to.iov_base, from, to.iov_len);
        return;
    }
    add_there(c, (uintptr_t)from, to.iov_len);
    add_here(c, to.iov_base, to.iov_len);
    c->asked[c->notes] += (uint32_t)to.iov_len;
}

/* The note's bytes from `at` on go to this piece: those in front of the trailer, then the trailer.
 */
static void read_piece(const struct neighbour *n, struct copying *c, const struct landing *l,
                       uint32_t at, struct iovec to)
{
    const struct ring_note *note = &c->note[c->notes];
    uint32_t data = note->bytes - tail_of(note);
    size_t first = at < data ? lesser(data - at, to.iov_len) : 0;
    struct iovec rest = {(uint8_t *)to.iov_base + first, to.iov_len - first};

    if (first > 0)
        read_part(n, c, l, n->in.commons + note->where + at,
                  (struct iovec){to.iov_base, first});
    if (rest.iov_len > 0)
        read_part(n, c, l,
                  (const uint8_t *)n->page + trailer_of(n, c) + (at + first - data), rest);
}

static bool is_within(const struct neighbour *n, const struct ring_note *note)
{
    uint32_t data = note->bytes - tail_of(note);

    return n->in.commons != NULL && note->where <= n->in.commons_bytes &&
           data <= n->in.commons_bytes - note->where;
}

/* ---- from either ---- */

/* The next note's bytes go into the pieces of the opening, in order. */
static void fill_opening(const struct neighbour *n, struct copying *c, const struct landing *l)
{
    const struct ring_note *note = &c->note[c->notes];
    uint32_t at = 0;

    for (uint32_t i = l->first[c->notes]; at < note->bytes && i < l->first[c->notes + 1]; i++) {
        struct iovec piece = l->iov[i];
        piece.iov_len = lesser(piece.iov_len, note->bytes - at);
        if (c->is_common)
            read_piece(n, c, l, at, piece);
        else
            add_here(c, piece.iov_base, piece.iov_len);
        at += (uint32_t)piece.iov_len;
    }
}

/* Is the next note's memory to be had like that of those before? */
static bool fits(const struct neighbour *n, struct copying *c)
{
    const struct ring_note *note = &c->note[c->notes];

    if (c->notes == 0 && note->is_common) {
        c->is_common = true;
        c->heres = c->theres = 0; /* no nonce */
    }
    return note->is_common == c->is_common && (!c->is_common || is_within(n, note));
}

static void gather(struct neighbour *n, struct copying *c, const struct landing *l)
{
    copying_begin(n, c);
    while (c->notes < l->openings && ring_look(&n->in.ring, c->notes, &c->note[c->notes]) &&
           fits(n, c)) {
        c->asked[c->notes] = 0;
        if (!c->is_common)
            read_there(n, c);
        fill_opening(n, c, l);
        c->notes++;
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
    pid_t from = c->is_common ? getpid() : n->in.sender;

    if (c->is_common && c->heres == 0)
        return 0;
    ssize_t size = process_vm_readv(from, c->here, c->heres, c->there, c->theres, 0);
    if (c->is_common)
        return size < 0 ? 0 : size;
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
    int64_t copied = 0;
    uint32_t asked = 0;

    copying_begin(n, &c);
    if (!ring_look(&n->in.ring, 0, &c.note[0]))
        return 0;
    if (!c.note[0].is_common) {
        read_there(n, &c);
        add_here(&c, l->bounce, c.note[0].bytes);
        asked = c.asked[0];
        copied = copy(n, &c);
    }
    if (copied == (int64_t)asked) { /* commons can always be read */
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
    if (c.notes == 0 && !c.is_common)
        return 0;
    if (c.notes == 0) { /* not within the commons */
        finish(n, l, 0, &c.note[0], RING_FAULTED);
        return 1;
    }
    int64_t left = copy(n, &c);
    for (; i < c.notes && left >= (int64_t)c.asked[i]; i++) {
        left -= c.asked[i];
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
