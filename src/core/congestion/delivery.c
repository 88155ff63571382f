#include "delivery.h"

#include "core/check.h"

#include <stddef.h>

enum { FADE = 256 }; /* the fastest rate is forgotten by such a part with each acknowledgement */

void delivery_init(struct delivery *d, struct table memory, instant now)
{
    CHECK(table_is_for_ring(&memory));
    *d = (struct delivery){
        .note = (void *)memory.near, .delivered_at = now, .first_sent = now, .table = memory};
}

static struct delivery_note *note_at(const struct delivery *d, uint64_t i)
{
    return &d->note[i & (d->table.size - 1)];
}

/* Few units share a note with those sent before. */
static bool is_shared(const struct delivery *d, uint64_t first, uint32_t units)
{
    return d->next > d->oldest && first - note_at(d, d->next - 1)->first < units / DELIVERY_SHARE;
}

void delivery_on_begin(struct delivery *d, instant now)
{
    d->first_sent = now;
    d->delivered_at = now;
}

static void make_room(struct delivery *d)
{
    if (d->next - d->oldest < d->table.size)
        return;
    if (d->table.size < d->table.large)
        d->note = table_grow(&d->table, d->oldest, d->next);
    else
        d->oldest++;
}

void delivery_on_sent(struct delivery *d, instant now, uint64_t first, uint64_t bytes,
                      uint32_t units)
{
    if (is_shared(d, first, units))
        return;
    make_room(d);
    *note_at(d, d->next++) = (struct delivery_note){.first = first,
                                                    .sent = now,
                                                    .first_sent = d->first_sent,
                                                    .delivered_at = d->delivered_at,
                                                    .delivered = d->delivered,
                                                    .lost = d->lost,
                                                    .in_transit = bytes,
                                                    .is_limited = d->limited_until != 0};
}

/* The newest note stays, because what follows may share it. */
void delivery_forget(struct delivery *d, uint64_t first)
{
    while (d->next - d->oldest > 1 && note_at(d, d->oldest + 1)->first <= first)
        d->oldest++;
}

void delivery_shrink(struct delivery *d)
{
    d->note = table_shrink(&d->table, d->oldest, d->next);
}

void delivery_on_limited(struct delivery *d, uint64_t in_transit)
{
    uint64_t until = d->delivered + in_transit;
    d->limited_until = until > 0 ? until : 1;
}

/* The note of the units with this number; NULL if it is forgotten. */
static const struct delivery_note *find(const struct delivery *d, uint64_t seq)
{
    uint64_t low = d->oldest; /* notes below begin at or below seq, */
    uint64_t high = d->next;  /* and from here on above */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (note_at(d, middle)->first <= seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low == d->oldest ? NULL : note_at(d, low - 1);
}

static struct delivery_sample sample_of(const struct delivery *d, const struct delivery_note *note)
{
    return (struct delivery_sample){.bytes = d->delivered - note->delivered,
                                    .lost = d->lost - note->lost,
                                    .prior = note->delivered,
                                    .in_transit = note->in_transit,
                                    .is_limited = note->is_limited,
                                    .is_valid = true};
}

static duration longer(duration a, duration b)
{
    return a > b ? a : b;
}

struct delivery_sample delivery_on_acknowledged(struct delivery *d, instant now, uint64_t bytes,
                                                uint64_t newest, duration least)
{
    const struct delivery_note *note = find(d, newest);
    d->delivered += bytes;
    d->delivered_at = now;
    if (d->limited_until != 0 && d->delivered > d->limited_until)
        d->limited_until = 0;
    if (note == NULL)
        return (struct delivery_sample){.is_valid = false};
    struct delivery_sample sample = sample_of(d, note);
    duration interval = longer(note->sent - note->first_sent, now - note->delivered_at);
    if (interval > 0 && interval >= least)
        sample.rate = sample.bytes * (uint64_t)SECOND / (uint64_t)interval;
    d->first_sent = note->sent;
    d->fastest -= d->fastest / FADE;
    if (sample.rate > d->fastest)
        d->fastest = sample.rate;
    return sample;
}

struct delivery_sample delivery_on_lost(struct delivery *d, uint64_t bytes, uint64_t seq)
{
    const struct delivery_note *note = find(d, seq);
    d->lost += bytes;
    return note == NULL ? (struct delivery_sample){.is_valid = false} : sample_of(d, note);
}

void delivery_check(const struct delivery *d)
{
    CHECK(d->next - d->oldest <= d->table.size);
    for (uint64_t i = d->oldest + 1; i < d->next; i++)
        CHECK(note_at(d, i - 1)->first < note_at(d, i)->first);
}
