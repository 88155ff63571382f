#include "units_in_transit.h"

#include "core/check.h"
#include "core/wire/datagram.h"

void units_in_transit_init(struct units_in_transit *t, struct table memory, uint64_t first)
{
    CHECK(table_is_for_ring(&memory));
    *t = (struct units_in_transit){.ring = (void *)memory.near,
                                   .capacity = memory.large,
                                   .size = memory.size,
                                   .base = first,
                                   .next = first,
                                   .table = memory};
}

static struct transit_unit *entry(const struct units_in_transit *t, uint64_t seq)
{
    return &t->ring[seq & (t->size - 1)];
}

static bool is_gone(const struct units_in_transit *t, uint64_t seq)
{
    return seq < t->next && !entry(t, seq)->is_in_transit;
}

static uint64_t bytes_of(const struct transit_unit *unit)
{
    return (uint64_t)unit->length + TRAILER_BYTES;
}

static void grow(struct units_in_transit *t)
{
    t->ring = table_grow(&t->table, t->base, t->next);
    t->size = t->table.size;
}

uint64_t units_in_transit_put(struct units_in_transit *t, const struct transit_unit *unit,
                              uint32_t count)
{
    CHECK(count <= units_in_transit_room(t));
    while (t->next - t->base + count > t->size)
        grow(t);
    struct transit_unit added = *unit;
    uint64_t first = t->next;
    added.skip = 0;
    added.is_in_transit = true;
    for (uint32_t i = 0; i < count; i++) {
        *entry(t, first + i) = added;
        added.message += unit->is_last;
        added.offset += unit->is_last ? 0 : unit->length;
    }
    t->next += count;
    t->units += count;
    t->bytes += bytes_of(unit) * count;
    return first;
}

uint64_t units_in_transit_leave_out(struct units_in_transit *t)
{
    CHECK(units_in_transit_room(t) > 0);
    if (t->next - t->base == t->size)
        grow(t);
    uint64_t seq = t->next++;
    *entry(t, seq) = (struct transit_unit){.skip = 1};
    if (seq == t->base)
        t->base = t->next;
    return seq;
}

/* The first number from `seq` on that is in transit, or one at `end` or behind it. On the way each
 * skip is lengthened by the one it leads to (path halving), so that a run walked again and again
 * costs half as many steps each time. */
static uint64_t skip_gone(struct units_in_transit *t, uint64_t seq, uint64_t end)
{
    while (seq < end) {
        struct transit_unit *unit = entry(t, seq);
        if (unit->is_in_transit)
            break;
        uint64_t behind = seq + unit->skip;
        if (is_gone(t, behind))
            unit->skip += entry(t, behind)->skip;
        seq += unit->skip;
    }
    return seq;
}

struct transit_unit *units_in_transit_find(struct units_in_transit *t, uint64_t *seq, uint64_t last)
{
    uint64_t start = *seq < t->base ? t->base : *seq;
    uint64_t end = last < t->next ? last : t->next;
    uint64_t found = skip_gone(t, start, end);
    if (found >= end) {
        *seq = last;
        return NULL;
    }
    *seq = found;
    return entry(t, found);
}

void units_in_transit_mark_single(struct units_in_transit *t, uint64_t seq)
{
    CHECK(t->base <= seq);
    CHECK(seq < t->next);
    entry(t, seq)->is_cut = false;
}

void units_in_transit_remove(struct units_in_transit *t, uint64_t seq)
{
    CHECK(t->base <= seq);
    CHECK(seq < t->next);
    struct transit_unit *unit = entry(t, seq);
    CHECK(unit->is_in_transit);
    unit->is_in_transit = false;
    unit->skip = 1;
    t->units--;
    t->bytes -= bytes_of(unit);
    if (seq == t->base)
        t->base = skip_gone(t, seq, t->next);
}

/* The whole of a message, as far as one unit tells: another may have been cut behind it. */
static bool is_message(const struct transit_unit *unit)
{
    return unit->is_last && unit->offset == 0 && !unit->is_void;
}

/* Is this the unit behind the first `behind` of the row? */
static bool is_of_row(const struct transit_unit *unit, const struct transit_row *row,
                      uint64_t behind)
{
    bool is_like = unit->is_in_transit && unit->sent == row->sent && unit->length == row->length &&
                   unit->is_void == row->is_void && unit->is_cut == row->is_cut;
    if (row->are_messages)
        return is_like && is_message(unit) && unit->message == row->message + behind;
    return is_like && unit->message == row->message;
}

bool units_in_transit_remove_row(struct units_in_transit *t, uint64_t *seq, uint64_t last,
                                 struct transit_row *row)
{
    struct transit_unit *unit = units_in_transit_find(t, seq, last);
    if (unit == NULL)
        return false;
    uint64_t first = *seq;
    uint64_t end = last < t->next ? last : t->next;
    uint64_t at = first;
    *row = (struct transit_row){.message = unit->message,
                                .are_messages = is_message(unit),
                                .sent = unit->sent,
                                .length = unit->length,
                                .is_void = unit->is_void,
                                .is_cut = unit->is_cut};
    do {
        unit->is_in_transit = false;
        unit->skip = 1;
        unit = entry(t, ++at);
    } while (at < end && is_of_row(unit, row, at - first));
    *seq = at;
    row->units = (uint32_t)(at - first);
    t->units -= row->units;
    t->bytes -= row->units * ((uint64_t)row->length + TRAILER_BYTES);
    if (first == t->base)
        t->base = skip_gone(t, at, t->next);
    return true;
}

void units_in_transit_shrink(struct units_in_transit *t)
{
    t->ring = table_shrink(&t->table, t->base, t->next);
    t->size = t->table.size;
}

void units_in_transit_check(const struct units_in_transit *t)
{
    uint64_t bytes = 0;
    uint32_t units = 0;
    uint32_t run = 0; /* entries gone from here on */
    CHECK(t->next - t->base <= t->size);
    CHECK(t->size == t->table.size);
    CHECK(!is_gone(t, t->base));
    for (uint64_t seq = t->next; seq-- > t->base;) {
        const struct transit_unit *unit = entry(t, seq);
        if (unit->is_in_transit) {
            units++;
            bytes += bytes_of(unit);
            run = 0;
        } else {
            run++;
            CHECK(unit->skip >= 1);
            CHECK(unit->skip <= run);
        }
    }
    CHECK(units == t->units);
    CHECK(bytes == t->bytes);
}
