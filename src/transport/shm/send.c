/* How bytes leave over shared memory. */
#include "core/check.h"
#include "ends.h"
#include "platform/nofault.h"
#include "platform/system.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum {
    SMALL = 4096,     /* bytes of a unit, below which units are copied together */
    STAGED_LINE = 64, /* what whole messages are aligned to in the staging buffer, like units */
};

_Static_assert((int)SHM_WHOLE == (int)RING_WHOLE_MOST, "each fits a note");
_Static_assert((int)SHM_CREDIT == (int)CREDIT_ENTRIES, "each is shown");

#define STANDS_STILL (100 * MILLISECOND)

/* ---- the staging buffer ---- */

/* `*at` is where `bytes` fit in one piece, and `*head` behind them. False: nowhere, now. */
static bool staging_place(const struct staging *s, uint32_t bytes, uint32_t *at, uint64_t *head)
{
    *at = (uint32_t)(s->head % SHM_STAGING);
    *head = s->head + bytes;
    if (*at + bytes > SHM_STAGING) {
        *head += SHM_STAGING - *at;
        *at = 0;
    }
    return *head - atomic_load(&s->tail) <= SHM_STAGING;
}

/* Of a whole message: it begins a cache line. */
static uint32_t whole_room(uint32_t size)
{
    return (size + STAGED_LINE - 1) / STAGED_LINE * STAGED_LINE;
}

static void join_pieces(const struct iovec *piece, uint32_t pieces, uint8_t *to)
{
    for (uint32_t i = 0; i < pieces; i++) {
        if (piece[i].iov_len > 0)
            memcpy(to, piece[i].iov_base, piece[i].iov_len);
        to += piece[i].iov_len;
    }
}

/* Copies the pieces of units, the last one a trailer, some of it memory that the user brought: the
 * kernel does, because it bears memory that is gone (FAULT). BLOCKED: it does not do so at all, as
 * under seccomp. */
static enum channel_verdict copy_wrapped(const struct iovec *piece, uint32_t pieces, uint8_t *to,
                                         uint32_t bytes)
{
    const struct iovec *trailer = &piece[pieces - 1]; /* the library's own */
    size_t wanted = bytes - trailer->iov_len;
    ssize_t copied = wanted == 0 ? 0 : nofault_read(to, piece, pieces - 1, wanted);

    memcpy(to + wanted, trailer->iov_base, trailer->iov_len);
    if (copied == (ssize_t)wanted)
        return CHANNEL_OK;
    return copied >= 0 || errno == EFAULT ? CHANNEL_FAULT : CHANNEL_BLOCKED;
}

static enum channel_verdict copy_units(const struct burst *b, uint32_t first, uint32_t units,
                                       uint8_t *to, uint32_t bytes)
{
    uint32_t at = burst_first(b, first);
    uint32_t pieces = burst_first(b, first + units) - at;

    if (!b->cannot_fault)
        return copy_wrapped(&b->iov[at], pieces, to, bytes);
    join_pieces(&b->iov[at], pieces, to);
    return CHANNEL_OK;
}

/* The units from `first` on that one note has room for, and their bytes. */
static uint32_t units_of_note(const struct burst *b, uint32_t first, struct ring_note *note)
{
    uint32_t i = first;

    *note = (struct ring_note){
        .bytes = burst_datagram_bytes(b, i++), .segment = b->segment, .place = RING_STAGING};
    for (; i < b->datagrams && note->bytes + burst_datagram_bytes(b, i) < LANDING_DATAGRAM; i++)
        note->bytes += burst_datagram_bytes(b, i);
    if (note->segment > note->bytes) /* the last unit, alone */
        note->segment = note->bytes;
    return i - first;
}

/* Copies units together, and offers them: a burst may be worth several notes. */
static enum channel_verdict send_copies(struct shm *n, const struct burst *b, uint32_t *sent,
                                        bool *wakes)
{
    struct shm_writer *out = n->out;
    struct ring_record record = {.owner = RING_NOBODY};
    struct ring_note note;

    while (*sent < b->datagrams) {
        uint32_t units = units_of_note(b, *sent, &note), at;
        if (!ring_has_room(&out->ring) ||
            !staging_place(&out->staging, note.bytes, &at, &record.staged))
            return CHANNEL_CROWDED;
        note.where = at;
        enum channel_verdict verdict =
            copy_units(b, *sent, units, n->page->staging + note.where, note.bytes);
        if (verdict == CHANNEL_BLOCKED && *sent > 0)
            return CHANNEL_CROWDED; /* so what is on its way does not take the socket, too */
        if (verdict != CHANNEL_OK)
            return verdict;
        out->staging.head = record.staged;
        *wakes |= ring_offer(&out->ring, &note, NULL, &record);
        *sent += units;
    }
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

/* A note for each unit, each of one piece of data: the receiver reads it where it lies. */
static enum channel_verdict send_in_place(struct shm *n, const struct burst *b, uint32_t *sent,
                                          bool *wakes)
{
    struct shm_writer *out = n->out;

    for (; *sent < b->datagrams && ring_has_room(&out->ring); (*sent)++) {
        const struct iovec *data = &b->iov[2UL * *sent], *trailer = data + 1;
        bool is_in_arena =
            (n->sight & SIGHT_ARENA) && shared_arena_has(n->own, data->iov_base, data->iov_len);
        const struct ring_note note = {
            .bytes = (uint32_t)(data->iov_len + trailer->iov_len),
            .has_trailer = true,
            .place = is_in_arena ? RING_ARENA : RING_MEMORY,
            .where = is_in_arena ? shared_arena_offset(n->own, data->iov_base)
                                 : (uintptr_t)data->iov_base,
        };
        const struct ring_record record = {
            .owner = message_of_unit(b, *sent), .data = *data, .staged = out->staging.head};
        *wakes |= ring_offer(&out->ring, &note, trailer->iov_base, &record);
        atomic_fetch_add_explicit(&n->bytes, data->iov_len, memory_order_relaxed);
    }
    return *sent == b->datagrams ? CHANNEL_OK : CHANNEL_CROWDED;
}

static uint32_t pinned_units(const struct burst *b)
{
    uint32_t units = 0;

    for (uint32_t i = 0; i < b->pins; i++)
        units += b->pin[i].units;
    return units;
}

/* Does the receiver see the burst's data where they lie? */
static bool sees_burst(const struct shm *n, const struct burst *b)
{
    if (n->sight & SIGHT_MEMORY)
        return true;
    for (uint32_t i = 0; i < b->datagrams; i++)
        if (!shared_arena_has(n->own, b->iov[2 * i].iov_base, b->iov[2 * i].iov_len))
            return false;
    return true;
}

bool shm_stands_still(struct shm *n)
{
    struct shm_writer *out = n->out;
    bool is_empty = atomic_load(&out->ring.head) == atomic_load(&out->ring.reaped);

    if (is_empty) {
        atomic_store(&out->still_since, NEVER);
        return false;
    }
    instant now = clock_now(), since = atomic_load(&out->still_since);
    if (since == NEVER)
        atomic_store(&out->still_since, now);
    return since != NEVER && now - since > STANDS_STILL;
}

bool shm_has_room(const struct shm *n)
{
    const struct shm_writer *out = n->out;
    uint64_t notes = atomic_load(&out->ring.head) - atomic_load(&out->ring.reaped);
    uint64_t staged = out->staging.head - atomic_load(&out->staging.tail);

    return notes + BURST_CUT <= RING_NOTES && staged + 2UL * LANDING_DATAGRAM <= SHM_STAGING;
}

enum channel_verdict shm_send(struct shm *n, const struct burst *b, uint32_t *sent, bool *held,
                              bool *wakes)
{
    *sent = 0;
    *held = *wakes = false;
    if (!shm_is_here(n) || shm_stands_still(n))
        return CHANNEL_BLOCKED;
    *held = b->segment > SMALL && !b->is_scattered &&
            pinned_units(b) == b->datagrams && /* a VOID unit pins nothing */
            sees_burst(n, b);
    return *held ? send_in_place(n, b, sent, wakes) : send_copies(n, b, sent, wakes);
}

bool shm_reap(struct shm *n, struct released *released)
{
    struct ring_reaped reaped;

    while (n->out != NULL && ring_reap(&n->out->ring, &reaped)) {
        atomic_store_explicit(&n->out->still_since, NEVER, memory_order_relaxed);
        atomic_store_explicit(&n->out->staging.tail, reaped.staged, memory_order_release);
        *released = (struct released){.message = reaped.owner,
                                      .is_whole = reaped.is_whole,
                                      .has_arrived = reaped.is_whole && !reaped.has_faulted,
                                      .has_faulted = !reaped.is_whole && reaped.has_faulted,
                                      .data = reaped.data};
        if (reaped.owner != RING_NOBODY)
            return true;
    }
    return false;
}

uint32_t shm_reap_wholes(struct shm *n, uint32_t most, uint64_t *owner)
{
    struct shm_writer *out = n->out;
    struct ring_reaped reaped = {.owner = RING_NOBODY};
    uint32_t count = ring_reap_wholes(&out->ring, most, &reaped);

    if (count == 0)
        return 0;
    *owner = reaped.owner;
    atomic_store_explicit(&out->still_since, NEVER, memory_order_relaxed);
    atomic_store_explicit(&out->staging.tail, reaped.staged, memory_order_release);
    return count;
}

bool shm_take_arrived(struct shm *n, struct released *released)
{
    *released = (struct released){.is_whole = true, .has_arrived = true};
    return n->out != NULL && ring_take_arrived(&n->out->ring, &released->message);
}

bool shm_take_back(struct shm *n, uint64_t message, struct released *released)
{
    struct ring_revoked revoked;

    if (n->out == NULL || !ring_revoke(&n->out->ring, message, &revoked))
        return false;
    *released = (struct released){
        .message = revoked.owner, .is_whole = revoked.is_whole, .has_arrived = revoked.has_arrived};
    return true;
}

bool shm_find_held(const struct shm *n, uint32_t *ahead, uint64_t *message)
{
    return ring_find_owner(&n->out->ring, ahead, message);
}

/* ---- messages as a whole ---- */

/* Somebody has looked, and the receiver has read nothing since. */
static bool may_stand_still(struct shm *n)
{
    return atomic_load_explicit(&n->out->still_since, memory_order_relaxed) != NEVER &&
           shm_stands_still(n);
}

bool shm_has_whole_room(struct shm *n, uint32_t messages, uint32_t bytes)
{
    const struct shm_writer *out = n->out;
    uint64_t most = bytes + (uint64_t)messages * STAGED_LINE + SHM_WHOLE; /* left out at the end */

    return shm_is_here(n) && !may_stand_still(n) && ring_has_room_for(&out->ring, messages) &&
           out->staging.head + most - atomic_load(&out->staging.tail) <= SHM_STAGING;
}

bool shm_put_whole(struct shm *n, uint64_t in_session, uint64_t owner, struct iovec bytes,
                   bool *wakes)
{
    struct shm_writer *out = n->out;
    uint32_t size = (uint32_t)bytes.iov_len, at;
    uint64_t staged;

    if (!shm_is_here(n) || may_stand_still(n) ||
        !staging_place(&out->staging, whole_room(size), &at, &staged))
        return false;
    const struct ring_whole whole = {.message = in_session, .at = at, .bytes = size};
    if (size > 0)
        memcpy(n->page->staging + whole.at, bytes.iov_base, size);
    if (!ring_offer_whole(&out->ring, &whole, owner, staged, wakes))
        return false;
    out->staging.head = staged;
    return true;
}

bool shm_has_wholes(const struct shm *n)
{
    return n->out->ring.wholes > 0;
}

bool shm_has_whole_to_reap(const struct shm *n)
{
    return shm_is_here(n) && ring_has_whole_to_reap(&n->out->ring);
}

bool shm_find_credit(struct shm *n, uint64_t in_session, uint64_t *size)
{
    if (!shm_is_here(n))
        return false;
    const struct credit_ring credit = page_credit(n->page);
    if (!credit_ring_find(&credit, in_session, size))
        return false;
    return n->out->has_credit = true;
}

bool shm_has_credit(const struct shm *n)
{
    return n->out->has_credit;
}

void shm_want_credit(struct shm *n)
{
    if (!shm_is_here(n))
        return;
    const struct credit_ring credit = page_credit(n->page);
    credit_ring_want(&credit);
}

bool shm_has_control(const struct shm *n)
{
    return shm_is_here(n) && control_ring_has(&n->out->control);
}

size_t shm_control(struct shm *n, uint8_t *buffer)
{
    return shm_is_here(n) ? control_ring_take(&n->out->control, buffer) : 0;
}
