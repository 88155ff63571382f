/* How bytes come from a neighbour. */
#include "core/number.h"
#include "neighbour_page.h"
#include "platform/nofault.h"
#include "platform/pages.h"
#include "platform/system.h"

#include <errno.h>
#include <sched.h>
#include <sodium/utils.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    COPY_MOST = LANDING_IOV + LANDING_OPENINGS + 1, /* a piece may hold data and trailer */
    SHARE_LEAST = 4, /* notes, from which on the sender is let push some */
    OWN_MANY = 8,    /* that are copied with one call, if it pushes none; */
    OWN_PART = 4,    /* else such a part of those that are left */
    YIELD_LOOKS = 64,
};

static const duration LATE_AFTER = 200 * MICROSECOND; /* a sender settles what it has claimed */

/* One call's worth: where the notes' bytes lie, and where they go. All notes are of the sender's
 * memory, and the nonce comes first; or all are of its commons or the stage, which this process
 * maps, too. */
struct copying {
    uint32_t ahead; /* of the ring's next note, the first of these */
    uint32_t notes;
    struct ring_note note[LANDING_OPENINGS];
    uint32_t asked[LANDING_OPENINGS]; /* bytes of each note that the call is to copy */
    bool is_mapped;
    uint8_t nonce[NEIGHBOUR_NONCE];
    struct iovec here[COPY_MOST], there[COPY_MOST];
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

static bool is_mapped(const struct ring_note *note)
{
    return note->place != RING_MEMORY;
}

static void copying_begin(const struct neighbour *n, struct copying *c, uint32_t ahead)
{
    c->ahead = ahead;
    c->notes = c->heres = c->theres = 0;
    c->is_mapped = false;
    add_there(c, n->in.nonce_at, sizeof(c->nonce));
    add_here(c, c->nonce, sizeof(c->nonce));
}

static uint32_t tail_of(const struct ring_note *note)
{
    return note->has_trailer ? TRAILER_BYTES : 0;
}

/* Within the page: the trailer of the note `ahead`. */
static size_t trailer_ahead(const struct neighbour *n, uint32_t ahead)
{
    return offsetof(struct neighbour_page, ring) + ring_trailer_at(&n->in.ring, ahead);
}

/* The next note's. */
static size_t trailer_of(const struct neighbour *n, const struct copying *c)
{
    return trailer_ahead(n, c->ahead + c->notes);
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

/* ---- from what both map ---- */

/* Memory that is there for certain: no call has to copy it. */
static bool is_lasting(const struct neighbour *n, const struct landing *l, const void *at,
                       size_t bytes)
{
    size_t offset = (uintptr_t)at - (uintptr_t)l->trailer;
    bool is_scratch = (uintptr_t)at >= (uintptr_t)l->trailer && offset < sizeof(l->trailer);

    return l->is_lasting || (is_scratch && bytes <= sizeof(l->trailer) - offset) ||
           commons_has(n->own, at, bytes);
}

/* Copies a part of the next note to memory of this end, or leaves that to the call. */
static void read_part(const struct neighbour *n, struct copying *c, const struct landing *l,
                      const uint8_t *from, struct iovec to)
{
    if (is_lasting(n, l, to.iov_base, to.iov_len)) {
        memcpy(to.iov_base, from, to.iov_len);
        return;
    }
    add_there(c, (uintptr_t)from, to.iov_len);
    add_here(c, to.iov_base, to.iov_len);
    c->asked[c->notes] += (uint32_t)to.iov_len;
}

/* Where this process has the note's data; it is within. */
static const uint8_t *data_of(const struct neighbour *n, const struct ring_note *note)
{
    return (note->place == RING_STAGE ? n->page->stage : n->in.commons) + note->where;
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
        read_part(n, c, l, data_of(n, note) + at, (struct iovec){to.iov_base, first});
    if (rest.iov_len > 0)
        read_part(n, c, l, (const uint8_t *)n->page + trailer_of(n, c) + (at + first - data), rest);
}

static bool is_within(const struct neighbour *n, const struct ring_note *note)
{
    uint32_t data = note->bytes - tail_of(note);
    size_t bytes = note->place == RING_STAGE ? sizeof(n->page->stage) : n->in.commons_bytes;
    bool is_there = note->place == RING_STAGE || n->in.commons != NULL;

    return is_there && note->where <= bytes && data <= bytes - note->where;
}

/* ---- from either ---- */

/* The next note's bytes go into the pieces of its opening, in order. */
static void fill_opening(const struct neighbour *n, struct copying *c, const struct landing *l)
{
    const struct ring_note *note = &c->note[c->notes];
    uint32_t opening = c->ahead + c->notes, at = 0;

    for (uint32_t i = l->first[opening]; at < note->bytes && i < l->first[opening + 1]; i++) {
        struct iovec piece = l->iov[i];
        piece.iov_len = lesser(piece.iov_len, note->bytes - at);
        if (c->is_mapped)
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

    if (c->notes == 0 && is_mapped(note)) {
        c->is_mapped = true;
        c->heres = c->theres = 0; /* no nonce */
    }
    return is_mapped(note) == c->is_mapped && (!c->is_mapped || is_within(n, note));
}

/* Gathers notes from the one `ahead` on, `most` at most: note i of the ring goes to opening i. */
static void gather(struct neighbour *n, struct copying *c, const struct landing *l, uint32_t ahead,
                   uint32_t most)
{
    copying_begin(n, c, ahead);
    while (c->notes < most && ring_look(&n->in.ring, ahead + c->notes, &c->note[c->notes]) &&
           fits(n, c)) {
        c->asked[c->notes] = 0;
        if (!c->is_mapped)
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

/* What is left of the mapped notes goes to memory that may be gone. */
static int64_t copy_mapped(const struct copying *c)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < c->heres; i++)
        bytes += c->here[i].iov_len;
    ssize_t size = bytes == 0 ? 0 : nofault_write(c->here, c->heres, c->there, c->theres, bytes);
    return size < 0 ? 0 : size;
}

/* Copies, from the sender that consented and nobody else. The bytes copied, which are fewer than
 * asked for if some memory cannot be accessed; -1 if the sender was lost. */
static int64_t copy(struct neighbour *n, struct copying *c)
{
    if (c->is_mapped)
        return copy_mapped(c);
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
    int64_t copied = 0;
    uint32_t asked = 0;

    copying_begin(n, &c, 0);
    if (!ring_look(&n->in.ring, 0, &c.note[0]))
        return 0;
    if (!is_mapped(&c.note[0])) {
        read_there(n, &c);
        add_here(&c, l->bounce, c.note[0].bytes);
        asked = c.asked[0];
        copied = copy(n, &c);
    }
    if (copied == (int64_t)asked) { /* what is mapped can always be read */
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
static int receive_alone(struct neighbour *n, struct landing *l)
{
    struct copying c;
    uint32_t i = 0;

    gather(n, &c, l, 0, l->openings);
    if (c.notes == 0 && !c.is_mapped)
        return 0;
    if (c.notes == 0) { /* not within what is mapped */
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

/* ---- while the sender pushes some ---- */

/* The notes of one landing, and who copies them. */
struct share {
    uint32_t notes;
    struct ring_note note[LANDING_OPENINGS];
    bool is_open[LANDING_OPENINGS];    /* it has a target, */
    bool is_senders[LANDING_OPENINGS]; /* which the sender had claimed when its turn came */
    bool is_whole[LANDING_OPENINGS];
};

static uint64_t number_of(const struct neighbour *n, uint32_t i)
{
    return n->in.ring.tail + i;
}

/* The note's data fills one piece, and behind it is a piece for the trailer. */
static bool is_plain(const struct landing *l, uint32_t i, const struct ring_note *note)
{
    const struct iovec *piece = &l->iov[l->first[i]];
    bool has_two = l->first[i] + 2 <= l->first[i + 1];
    uintptr_t scratch = has_two ? (uintptr_t)piece[1].iov_base - (uintptr_t)l->trailer : SIZE_MAX;

    return has_two && note->has_trailer && note->place != RING_STAGE &&
           piece[0].iov_len == note->bytes - TRAILER_BYTES && piece[0].iov_len > 0 &&
           scratch < sizeof(l->trailer) && piece[1].iov_len == TRAILER_BYTES;
}

/* How many notes are copied with one call from note `i` on: fewer and fewer beside a sender that
 * pushes, so that neither waits long for the other in the end. */
static uint32_t own_row(const struct neighbour *n, const struct share *s, uint32_t i)
{
    uint32_t part = (s->notes - i) / OWN_PART;

    if (!n->in.has_pushed)
        return OWN_MANY;
    return part > 0 ? part : 1;
}

/* The sender must not sleep for pages of this side's. What is not there comes now, because it is
 * about to be written to. */
static bool bring_targets(struct neighbour *n, const struct landing *l, const struct share *s)
{
    struct iovec piece[LANDING_OPENINGS];
    uint32_t pieces = 0;

    for (uint32_t i = 0; i < s->notes; i++)
        if (is_plain(l, i, &s->note[i]))
            piece[pieces++] = l->iov[l->first[i]];
    if (l->is_seen || pages_of_all_are_there(&n->in.seen, piece, pieces, 1, NULL))
        return true;
    for (uint32_t i = 0; i < pieces; i++)
        if (!memory_is_accessible(piece[i].iov_base, piece[i].iov_len, MEMORY_WRITE))
            return false;
    return true;
}

/* Opens targets for all but the first notes. False if nobody would push, or there is too little. */
static bool share_out(struct neighbour *n, const struct landing *l, struct share *s)
{
    struct targets *targets = &n->page->targets;
    uint32_t end = 0;

    s->notes = 0;
    if (!(n->in.sight & SIGHT_TARGETS))
        return false;
    while (s->notes < l->openings && ring_look(&n->in.ring, s->notes, &s->note[s->notes]))
        s->notes++;
    if (s->notes < SHARE_LEAST || !bring_targets(n, l, s))
        return false;
    uint32_t row = own_row(n, s, 0);
    for (uint32_t i = 0; i < s->notes; i++) {
        s->is_senders[i] = s->is_whole[i] = false;
        s->is_open[i] = i >= row && is_plain(l, i, &s->note[i]) &&
                        targets_open(targets, number_of(n, i), l->iov[l->first[i]].iov_base);
        if (s->is_open[i])
            end = i + 1;
    }
    targets_show(targets, number_of(n, end));
    return true;
}

static void copy_row(struct neighbour *n, struct landing *l, struct share *s, uint32_t i,
                     uint32_t notes)
{
    struct copying c;

    for (uint32_t end = i + notes; i < end; i += c.notes) {
        gather(n, &c, l, i, end - i);
        int64_t left = c.notes > 0 ? copy(n, &c) : -1;
        if (left < 0)
            return;
        for (uint32_t k = 0; k < c.notes && left >= (int64_t)c.asked[k]; k++) {
            left -= c.asked[k];
            s->note[i + k] = c.note[k];
            s->is_whole[i + k] = true;
        }
    }
}

static bool is_own(struct neighbour *n, struct share *s, uint32_t i)
{
    if (s->is_open[i])
        s->is_senders[i] = !targets_withdraw(&n->page->targets, number_of(n, i));
    return !s->is_senders[i];
}

static void copy_own(struct neighbour *n, struct landing *l, struct share *s)
{
    uint32_t i = 0;

    while (i < s->notes) {
        uint32_t row = own_row(n, s, i), own = 0;
        while (own < row && i + own < s->notes && is_own(n, s, i + own))
            own++;
        copy_row(n, l, s, i, own);
        i += own > 0 ? own : 1;
    }
}

/* CLAIMED: it takes too long. */
static enum target_state await_target(struct targets *t, uint64_t number, instant deadline)
{
    enum target_state state = targets_take(t, number);

    for (uint32_t looks = 1; state == TARGET_CLAIMED && clock_now() < deadline; looks++) {
        if (looks % YIELD_LOOKS == 0)
            sched_yield(); /* the sender may be waiting for this very core */
        state = targets_take(t, number);
    }
    return state;
}

/* The data of note `i` is where it belongs. */
static void land_trailer(const struct neighbour *n, const struct landing *l, uint32_t i)
{
    memcpy(l->iov[l->first[i] + 1].iov_base, (const uint8_t *)n->page + trailer_ahead(n, i),
           TRAILER_BYTES);
}

/* What the sender could not push is copied after all: that finds out why. */
static void take_pushed(struct neighbour *n, struct landing *l, struct share *s)
{
    instant deadline = clock_now() + LATE_AFTER;

    n->in.has_pushed = false;
    for (uint32_t i = 0; i < s->notes; i++) {
        if (!s->is_senders[i])
            continue;
        n->in.has_pushed = true;
        enum target_state state = await_target(&n->page->targets, number_of(n, i), deadline);
        if (state == TARGET_CLAIMED) {
            n->in.late[n->in.lates++] = number_of(n, i);
        } else if (state == TARGET_PUSHED) {
            land_trailer(n, l, i);
            s->is_whole[i] = true;
        } else {
            copy_row(n, l, s, i, 1);
        }
    }
}

static int receive_notes(struct neighbour *n, struct landing *l)
{
    struct share s;
    uint32_t whole = 0;

    if (!share_out(n, l, &s))
        return receive_alone(n, l);
    copy_own(n, l, &s);
    take_pushed(n, l, &s);
    for (; whole < s.notes && s.is_whole[whole]; whole++)
        finish(n, l, whole, &s.note[whole], RING_DONE);
    l->is_spoilt |= whole < s.notes;
    return whole > 0 || n->in.lates > 0 ? (int)whole : receive_alone(n, l);
}

/* The sender's process writes nothing any more: it has ended, or has become another program. */
static bool has_sender_ended(struct neighbour *n)
{
    uint8_t nonce[NEIGHBOUR_NONCE];
    struct iovec here = {nonce, sizeof(nonce)};
    struct iovec there = {(void *)(uintptr_t)n->in.nonce_at, sizeof(nonce)}; /* NOLINT */

    if (n->in.sender_file < 0)
        n->in.sender_file = process_file(n->in.sender);
    if (n->in.sender_file < 0)
        return errno == ESRCH;
    if (process_has_ended(n->in.sender_file))
        return true;
    ssize_t size = process_vm_readv(n->in.sender, &here, 1, &there, 1, 0);
    return size < 0 ? errno == EFAULT
                    : size != (ssize_t)sizeof(nonce) ||
                          sodium_memcmp(nonce, n->in.nonce, sizeof(nonce)) != 0;
}

bool neighbour_is_late(struct neighbour *n)
{
    struct neighbour_receiver *in = &n->in;
    bool has_ended = in->lates > 0 && has_sender_ended(n);

    for (uint32_t i = in->lates; i-- > 0;)
        if (targets_take(&n->page->targets, in->late[i]) != TARGET_CLAIMED || has_ended)
            in->late[i] = in->late[--in->lates];
    if (in->lates == 0 && in->sender_file >= 0) {
        (void)close(in->sender_file);
        in->sender_file = -1;
    }
    return in->lates > 0;
}

struct notes neighbour_notes(struct neighbour *n, uint32_t most)
{
    struct notes notes = {0, 0};
    struct ring_note note;

    if (!neighbour_has_units(n))
        return notes;
    while (notes.count < most && ring_look(&n->in.ring, notes.count, &note)) {
        uint32_t units = note.segment > 0 ? (note.bytes - 1) / note.segment + 1 : 1;
        notes.units = units > notes.units ? units : notes.units;
        notes.count++;
    }
    return notes;
}

bool neighbour_has_units(struct neighbour *n)
{
    return neighbour_is_here(n) && n->in.lates == 0 && ring_skip(&n->in.ring);
}

int neighbour_receive(struct neighbour *n, struct landing *l)
{
    l->received = 0;
    if (!neighbour_has_units(n))
        return 0;
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
    return neighbour_is_here(n) && is_of_session(n, b) &&
           answers_put(&n->in.answers, b->control, b->bytes, calls);
}

/* ---- either ---- */

bool neighbour_sleep(struct neighbour *n)
{
    if (!neighbour_is_here(n))
        return true;
    return n->is_sender ? answers_sleep(&n->out.answers) : ring_sleep(&n->in.ring);
}

void neighbour_wake(struct neighbour *n)
{
    if (!neighbour_is_here(n))
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
