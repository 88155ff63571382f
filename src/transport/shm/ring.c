#include "ring.h"

#include "core/check.h"
#include "core/number.h"
#include "core/receiver/landing.h"
#include "core/wire/burst.h"

#include <string.h>

static struct ring_slot *slot_at(struct ring *ring, uint64_t number)
{
    return &ring->slot[RING_NOTES - 1 - number % RING_NOTES];
}

static uint32_t load(const _Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void store(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

/* ---- writing ---- */

static struct ring_record *record_of(struct ring_writer *w, uint64_t number)
{
    uint64_t i = number % RING_NOTES;

    return i < RING_NEAR ? &w->near[i] : &w->far[i - RING_NEAR];
}

void ring_writer_init(struct ring_writer *w, struct ring *ring, struct ring_record *far)
{
    w->ring = ring;
    w->far = far;
    atomic_init(&w->head, 0);
    atomic_init(&w->reaped, 0);
    w->wholes = 0;
}

bool ring_has_room(const struct ring_writer *w)
{
    return ring_has_room_for(w, 1);
}

bool ring_has_room_for(const struct ring_writer *w, uint32_t notes)
{
    return atomic_load(&w->head) - atomic_load(&w->reaped) + notes <= RING_NOTES;
}

/* All of the note is written. True if the reader sleeps and is to be woken. */
static bool publish(struct ring_writer *w, uint64_t head, struct ring_slot *slot)
{
    atomic_store(&slot->state, RING_OFFERED);
    atomic_store_explicit(&w->head, head + 1, memory_order_release);
    return atomic_load(&w->ring->is_asleep) != 0 && atomic_exchange(&w->ring->is_asleep, 0) != 0;
}

bool ring_offer(struct ring_writer *w, const struct ring_note *note,
                const uint8_t trailer[TRAILER_BYTES], const struct ring_record *record)
{
    CHECK(ring_has_room(w));
    uint64_t head = atomic_load(&w->head);
    struct ring_slot *slot = slot_at(w->ring, head);

    store(&slot->bytes, note->bytes);
    store(&slot->segment, note->segment);
    store(&slot->has_trailer, note->has_trailer);
    store(&slot->place, note->place);
    atomic_store_explicit(&slot->where, note->where, memory_order_relaxed);
    if (note->has_trailer)
        memcpy(slot->trailer, trailer, TRAILER_BYTES);
    *record_of(w, head) = *record;
    return publish(w, head, slot);
}

bool ring_offer_whole(struct ring_writer *w, const struct ring_whole *whole, uint64_t owner,
                      uint64_t staged, bool *wakes)
{
    if (!ring_has_room(w))
        return false;
    uint64_t head = atomic_load(&w->head);
    struct ring_slot *slot = slot_at(w->ring, head);

    store(&slot->bytes, whole->bytes);
    store(&slot->segment, whole->at);
    store(&slot->has_trailer, 0);
    store(&slot->place, RING_WHOLE);
    atomic_store_explicit(&slot->where, whole->message, memory_order_relaxed);
    struct ring_record *record = record_of(w, head);
    record->owner = owner;
    record->staged = staged;
    record->is_whole = true;
    record->is_pinned = false;
    w->wholes++; /* another thread may offer units beside one that reaps, but no whole message */
    *wakes = publish(w, head, slot);
    return true;
}

bool ring_reap(struct ring_writer *w, struct ring_reaped *reaped)
{
    uint64_t number = atomic_load(&w->reaped);
    const struct ring_record *record = record_of(w, number);

    if (number == atomic_load(&w->head) || record->is_pinned)
        return false; /* also of a writer that has no ring yet */
    struct ring_slot *slot = slot_at(w->ring, number);
    uint32_t state = atomic_load(&slot->state);
    if (state == RING_OFFERED || state == RING_REVOKED)
        return false;
    *reaped = (struct ring_reaped){.owner = record->owner,
                                   .data = record->data,
                                   .staged = record->staged,
                                   .is_whole = record->is_whole,
                                   .has_faulted = state == RING_FAULTED};
    if (record->is_whole)
        w->wholes--;
    store(&slot->state, RING_EMPTY);
    atomic_store_explicit(&w->reaped, number + 1, memory_order_release);
    return true;
}

/* How many notes from this one on have records, and slots, that lie side by side. */
static uint64_t row_from(uint64_t number)
{
    uint64_t i = number % RING_NOTES;

    return (i < RING_NEAR ? RING_NEAR : RING_NOTES) - i;
}

/* A whole message of this owner that the reader has taken? Also behind control_ring_say_awaited. */
static bool is_taken(const struct ring_record *record, const struct ring_slot *slot, uint64_t owner)
{
    return record->is_whole && !record->is_pinned && record->owner == owner &&
           owner != RING_NOBODY && atomic_load(&slot->state) == RING_DONE;
}

uint32_t ring_reap_wholes(struct ring_writer *w, uint32_t most, struct ring_reaped *reaped)
{
    uint64_t first = atomic_load_explicit(&w->reaped, memory_order_relaxed);
    uint64_t notes = lesser(w->wholes, atomic_load(&w->head) - first);
    const struct ring_record *record = record_of(w, first);
    struct ring_slot *slot = slot_at(w->ring, first);
    uint32_t count = 0;

    reaped->owner = record->owner;
    for (notes = lesser(notes, lesser(most, row_from(first))); count < notes; count++) {
        if (!is_taken(record, slot, reaped->owner + count))
            break;
        store(&slot->state, RING_EMPTY);
        reaped->staged = record->staged;
        if (count + 1 < notes) { /* there is another */
            record++;
            slot--; /* the first notes have the last slots */
        }
    }
    w->wholes -= count;
    if (count > 0)
        atomic_store_explicit(&w->reaped, first + count, memory_order_release);
    return count;
}

/* The slot is looked at last: the reader writes there. */
bool ring_has_whole_to_reap(const struct ring_writer *w)
{
    uint64_t number = atomic_load(&w->reaped);

    if (w->wholes == 0 || record_of((struct ring_writer *)w, number)->is_pinned)
        return false;
    uint32_t state = atomic_load(&slot_at(w->ring, number)->state);
    return number != atomic_load(&w->head) && state != RING_OFFERED && state != RING_REVOKED;
}

static bool is_meant(const struct ring_record *record, uint64_t owner)
{
    if (record->owner == RING_NOBODY)
        return false;
    return owner == RING_ANY || owner == record->owner ||
           (owner == RING_ANY_WHOLE && record->is_whole);
}

bool ring_take_arrived(struct ring_writer *w, uint64_t *owner)
{
    uint64_t head = w->wholes > 0 ? atomic_load(&w->head) : 0;

    for (uint64_t i = atomic_load(&w->reaped); i < head; i++) {
        struct ring_record *record = record_of(w, i);
        if (!is_meant(record, RING_ANY_WHOLE) ||
            atomic_load(&slot_at(w->ring, i)->state) != RING_DONE)
            continue;
        *owner = record->owner;
        record->owner = RING_NOBODY;
        return true;
    }
    return false;
}

bool ring_revoke(struct ring_writer *w, uint64_t owner, struct ring_revoked *revoked)
{
    uint64_t head = atomic_load(&w->head);

    for (uint64_t i = atomic_load(&w->reaped); i < head; i++) {
        struct ring_record *record = record_of(w, i);
        uint32_t state = RING_OFFERED;
        if (!is_meant(record, owner))
            continue;
        (void)atomic_compare_exchange_strong(&slot_at(w->ring, i)->state, &state, RING_REVOKED);
        if (record->is_pinned)
            continue;
        *revoked = (struct ring_revoked){.owner = record->owner,
                                         .is_whole = record->is_whole,
                                         .has_arrived = record->is_whole && state == RING_DONE};
        record->owner = RING_NOBODY;
        return true;
    }
    return false;
}

bool ring_find_owner(const struct ring_writer *w, uint32_t *ahead, uint64_t *owner)
{
    uint64_t reaped = atomic_load(&w->reaped), head = atomic_load(&w->head);

    while (reaped + *ahead < head) {
        *owner = record_of((struct ring_writer *)w, reaped + (*ahead)++)->owner;
        if (*owner != RING_NOBODY)
            return true;
    }
    return false;
}

const struct ring_record *ring_pin(struct ring_writer *w, uint64_t number)
{
    struct ring_record *record = record_of(w, number);

    if (number < atomic_load(&w->reaped) || number >= atomic_load(&w->head) ||
        record->owner == RING_NOBODY || record->is_whole ||
        atomic_load(&slot_at(w->ring, number)->state) != RING_OFFERED)
        return NULL;
    record->is_pinned = true;
    return record;
}

uint64_t ring_unpin(struct ring_writer *w, uint64_t number)
{
    record_of(w, number)->is_pinned = false;
    return record_of(w, number)->owner;
}

/* ---- reading ---- */

void ring_reader_init(struct ring_reader *r, struct ring *ring)
{
    *r = (struct ring_reader){.ring = ring};
}

static bool makes_sense(const struct ring_note *note)
{
    uint32_t least = note->has_trailer ? TRAILER_BYTES : 1;

    if (note->place == RING_WHOLE)
        return note->bytes <= RING_WHOLE_MOST;
    bool is_burst = note->segment == 0 || note->bytes <= (uint64_t)BURST_UNITS * note->segment;
    return note->bytes >= least && note->bytes < LANDING_DATAGRAM && note->segment <= note->bytes &&
           is_burst && (uint32_t)note->place < RING_PLACES; /* an enum may have a sign */
}

/* As ring_look, whatever it is of. */
static bool look(const struct ring_reader *r, uint32_t ahead, struct ring_note *note)
{
    const struct ring_slot *slot = slot_at(r->ring, r->tail + ahead);

    if (ahead >= RING_NOTES || atomic_load(&slot->state) != RING_OFFERED)
        return false;
    *note = (struct ring_note){
        .where = atomic_load_explicit(&slot->where, memory_order_relaxed),
        .bytes = load(&slot->bytes),
        .segment = load(&slot->segment),
        .has_trailer = load(&slot->has_trailer) != 0,
        .place = load(&slot->place),
    };
    return makes_sense(note);
}

bool ring_look(struct ring_reader *r, uint32_t ahead, struct ring_note *note)
{
    return look(r, ahead, note) && note->place != RING_WHOLE;
}

bool ring_has_any(const struct ring_reader *r)
{
    uint32_t state = atomic_load_explicit(&slot_at(r->ring, r->tail)->state, memory_order_relaxed);

    return state == RING_OFFERED || state == RING_REVOKED;
}

bool ring_look_whole(struct ring_reader *r, uint32_t ahead, struct ring_whole *whole)
{
    const struct ring_slot *slot = slot_at(r->ring, r->tail + ahead);

    if (ahead >= RING_NOTES || atomic_load(&slot->state) != RING_OFFERED ||
        load(&slot->place) != RING_WHOLE)
        return false;
    *whole = (struct ring_whole){
        .message = atomic_load_explicit(&slot->where, memory_order_relaxed),
        .at = load(&slot->segment),
        .bytes = load(&slot->bytes),
    };
    return whole->bytes <= RING_WHOLE_MOST;
}

const uint8_t *ring_trailer(const struct ring_reader *r, uint32_t ahead)
{
    return slot_at(r->ring, r->tail + ahead)->trailer;
}

bool ring_finish(struct ring_reader *r, enum ring_state how)
{
    struct ring_slot *slot = slot_at(r->ring, r->tail++);
    uint32_t state = RING_OFFERED;

    if (atomic_compare_exchange_strong(&slot->state, &state, how))
        return true;
    state = RING_REVOKED;
    (void)atomic_compare_exchange_strong(&slot->state, &state, RING_DONE);
    return false;
}

/* One round at most: a writer that offers nonsense all the time keeps nobody here. */
bool ring_skip(struct ring_reader *r)
{
    struct ring_note note;

    for (uint32_t i = 0; i < RING_NOTES; i++) {
        uint32_t state = atomic_load(&slot_at(r->ring, r->tail)->state);
        if (state != RING_OFFERED && state != RING_REVOKED)
            return false;
        if (look(r, 0, &note))
            return true;
        (void)ring_finish(r, RING_DONE);
    }
    return false;
}

bool ring_say_asleep(struct ring_reader *r)
{
    atomic_store(&r->ring->is_asleep, 1);
    if (!ring_skip(r))
        return true;
    ring_say_awake(r);
    return false;
}

void ring_say_awake(struct ring_reader *r)
{
    if (atomic_load_explicit(&r->ring->is_asleep, memory_order_relaxed) != 0)
        atomic_store(&r->ring->is_asleep, 0);
}
