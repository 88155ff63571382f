#include "receiver_ack.h"

#include "core/check.h"
#include "core/number.h"
#include "core/wire/burst.h"

enum {
    ACK_BODY = CONTROL_BYTES - TRAILER_BYTES,
    ACK_INTERVALS = (ACK_BODY / ACK_BOUND_BYTES - 2) / 2, /* positive ones */
};

void receiver_ack_init(struct receiver_ack *a, struct table memory, uint64_t first_seq)
{
    *a = (struct receiver_ack){.first_seq = first_seq};
    intervals_init(&a->arrived, memory);
}

void receiver_ack_forget(struct receiver_ack *a)
{
    intervals_remove_below(&a->arrived, UINT64_MAX);
    a->arrived.forgotten = 0;
    *a = (struct receiver_ack){.arrived = a->arrived, .first_seq = a->first_seq};
}

uint64_t receiver_ack_expand(const struct receiver_ack *a, uint32_t wire)
{
    return number_expand(wire, a->arrived.count == 0 ? a->first_seq : a->newest);
}

/* The intervals around the late number are told again. */
static void tell_again(struct receiver_ack *a, uint64_t seq)
{
    uint32_t at = intervals_find(&a->arrived, seq);
    uint64_t below = at == 0 ? seq : a->arrived.interval[at - 1].last;
    for (uint32_t i = 0; i < ACK_REPORTS; i++)
        a->told[i] = lesser(a->told[i], below);
}

struct ack_order receiver_ack_add(struct receiver_ack *a, instant now, uint64_t first,
                                  uint32_t units)
{
    bool is_first = a->arrived.count == 0;
    uint64_t due = is_first ? a->first_seq : a->newest + 1;
    bool is_newest = is_first || first > a->newest;
    uint64_t forgotten = a->arrived.forgotten;
    bool is_new = intervals_add(&a->arrived, first);
    if (a->arrived.forgotten > forgotten)
        a->floor = greater(a->floor, a->arrived.interval[0].first);
    if (is_newest) {
        if (units > 1)
            intervals_extend(&a->arrived, units - 1);
        a->newest = first + units - 1;
        a->newest_at = now;
    } else if (is_new) {
        tell_again(a, first);
    }
    return (struct ack_order){.is_newest = is_newest,
                              .is_in_order = is_new && (first == due || first == due + 1)};
}

/* ---- telling ---- */

static uint8_t *put_bound(uint8_t *at, uint64_t bound)
{
    ack_bound_encode(at, (uint32_t)bound);
    return at + ACK_BOUND_BYTES;
}

/* How many intervals, from the lowest on, were told often enough; never the highest. */
static uint32_t count_told(const struct receiver_ack *a)
{
    uint32_t told = a->told[0] == 0 ? 0 : intervals_find(&a->arrived, a->told[0] - 1);
    return told < a->arrived.count ? told : a->arrived.count - 1;
}

/* Writes the intervals from `first` on as far as there is room for the newest, ascending, and the
 * sign that they start with. */
static void put_intervals(const struct receiver_ack *a, uint32_t first, uint8_t *out,
                          struct block_ack *header)
{
    const struct intervals *arrived = &a->arrived;
    if (arrived->count - first > ACK_INTERVALS)
        first = arrived->count - ACK_INTERVALS;
    const uint64_t most = UINT64_C(1) << 30; /* the span has to stay below 2^31 */
    uint64_t floor = a->newest < most ? 0 : a->newest - most;
    while (arrived->interval[first].last <= floor)
        first++;
    const struct interval *oldest = &arrived->interval[first];
    uint32_t count = arrived->count - first;
    bool is_whole = first == 0 && a->floor == 0 && a->first_seq >= floor;
    header->first_is_positive = !is_whole || oldest->first <= a->first_seq;
    header->length = (uint16_t)(2 * count - (header->first_is_positive ? 1 : 0));
    uint8_t *at = header->first_is_positive ? out : put_bound(out, a->first_seq);
    for (uint32_t i = 0; i < count; i++) {
        at = put_bound(at, greater(oldest[i].first, floor));
        at = put_bound(at, oldest[i].last);
    }
}

/* Forgets so many intervals, the lowest first. */
static void forget(struct receiver_ack *a, uint32_t count)
{
    if (count == 0)
        return;
    a->floor = greater(a->floor, a->arrived.interval[count - 1].last);
    intervals_remove_below(&a->arrived, a->arrived.interval[count].first);
}

void receiver_ack_rest(struct receiver_ack *a)
{
    if (a->arrived.count > 0)
        forget(a, count_told(a));
    intervals_shrink(&a->arrived);
}

/* All up to the newest has been told once more. When half of the table is in use, what was told
 * often enough is forgotten, the lowest first: numbers that were left out make holes for ever. */
static void note_told(struct receiver_ack *a)
{
    struct intervals *arrived = &a->arrived;
    for (uint32_t i = 0; i + 1 < ACK_REPORTS; i++)
        a->told[i] = a->told[i + 1];
    a->told[ACK_REPORTS - 1] = a->newest + 1;
    uint32_t most = arrived->capacity / 2;
    uint32_t many = arrived->count > most ? arrived->count - most : 0;
    forget(a, (uint32_t)lesser(count_told(a), many));
}

static uint32_t microseconds(duration d)
{
    return d / MICROSECOND < UINT32_MAX ? (uint32_t)(d / MICROSECOND) : UINT32_MAX;
}

/* The last acknowledgement tells all again: what the sender never heard of it takes for lost. But
 * what came late to where something was forgotten would make that look as if it had not come. */
void receiver_ack_write(struct receiver_ack *a, instant now, bool is_last, uint8_t *out,
                        struct block_ack *header)
{
    header->marks = (uint16_t)a->marks;
    header->has_ecn = a->has_ecn;
    header->first_is_positive = true;
    header->bounds = out;
    if (a->arrived.count == 0)
        return;
    header->newest = (uint32_t)a->newest;
    header->delay_us = microseconds(now - a->newest_at);
    uint32_t first = is_last ? intervals_find(&a->arrived, a->floor) : count_told(a);
    put_intervals(a, first, out, header);
    note_told(a);
}

void receiver_ack_check(const struct receiver_ack *a)
{
    const struct intervals *arrived = &a->arrived;
    intervals_check(arrived);
    if (arrived->count == 0)
        return;
    CHECK(arrived->interval[arrived->count - 1].last == a->newest + 1);
    CHECK(a->floor <= a->newest);
    for (uint32_t i = 0; i < ACK_REPORTS; i++)
        CHECK(a->told[i] <= a->newest + 1);
}
