#include "recovery.h"

#include "core/check.h"

enum {
    FEW_UNITS = 32,          /* in transit that the ring has room for to begin with */
    WATCHED_LEAST = 64,      /* transmissions given up that are remembered */
    PERSISTENT_TIMEOUTS = 3, /* RFC 9002, 7.6.1 */
    MARKS_OF_A_TIMEOUT = 4,
    LOOKS_OF_ONE = 256,  /* at units, for each that has arrived late, */
    LINKS_OF_ONE = 1024, /* and at their transmissions */
};

struct recovery_arrays recovery_take_arrays(struct arena *arena, uint32_t units, uint32_t messages)
{
    struct recovery_arrays arrays = {.repeats = arena_round_up(units + 2 * messages),
                                     .watched = (uint32_t)greater(units, WATCHED_LEAST)};
    arrays.in_transit = arena_table(arena, FEW_UNITS, units, sizeof(struct transit_unit));
    arrays.to_send = arena_reserve(arena, arrays.repeats, sizeof(struct fragment));
    arrays.given_up = arena_reserve(arena, arrays.watched, sizeof(struct unit_given_up));
    return arrays;
}

void recovery_init(struct recovery *r, const struct recovery_arrays *arrays,
                   struct messages_out *messages, uint64_t first_message, uint64_t first_seq,
                   struct secret *secret)
{
    units_to_send_init(&r->to_send, messages, arrays->to_send, arrays->repeats, first_message);
    units_in_transit_init(&r->in_transit, arrays->in_transit, first_seq);
    units_given_up_init(&r->given_up, arrays->given_up, arrays->watched);
    tolerance_init(&r->tolerance);
    persistence_init(&r->persistence);
    left_out_init(&r->left_out, arrays->left_out, secret);
    r->newest = r->withdrawn = r->untimed = 0;
    r->loss_at = NEVER;
}

void recovery_forget(struct recovery *r)
{
    uint64_t seq = r->in_transit.base;
    while (units_in_transit_find(&r->in_transit, &seq, r->in_transit.next) != NULL)
        units_in_transit_remove(&r->in_transit, seq);
    units_to_send_reset(&r->to_send);
    units_given_up_clear(&r->given_up);
    persistence_init(&r->persistence);
    r->loss_at = NEVER;
}

void recovery_rest(struct recovery *r)
{
    CHECK(r->in_transit.units == 0);
    CHECK(r->to_send.count == 0);
    units_given_up_clear(&r->given_up);
    units_in_transit_shrink(&r->in_transit);
}

void recovery_begin(struct recovery *r)
{
    r->newest = r->in_transit.next;
}

/* ---- sending ---- */

bool recovery_is_rest(const struct recovery *r, const struct fragment *head)
{
    const struct transit_unit *unit = units_in_transit_at(&r->in_transit, r->in_transit.base);
    return r->in_transit.units == 1 && unit->message == head->message &&
           unit->is_void == head->is_void && unit->offset + unit->length == head->offset;
}

uint64_t recovery_put(struct recovery *r, instant now, const struct fragment *head, uint32_t count,
                      bool is_cut)
{
    units_to_send_take(&r->to_send, head, count);
    left_out_on_sent(&r->left_out, count);
    struct transit_unit unit = {.message = head->message,
                                .offset = head->offset,
                                .sent = now,
                                .length = head->length,
                                .is_last = head->is_last,
                                .is_void = head->is_void,
                                .is_cut = is_cut};
    if (head->is_repeat && head->predecessor != UNIT_NEVER_SENT)
        unit.behind = (uint32_t)(r->in_transit.next - head->predecessor);
    return units_in_transit_put(&r->in_transit, &unit, count);
}

void recovery_on_burst(struct recovery *r, instant now, uint64_t first_seq, duration timeout)
{
    persistence_on_sent(&r->persistence, first_seq, now, timeout / MARKS_OF_A_TIMEOUT);
}

bool recovery_leave_out(struct recovery *r, struct secret *secret, uint64_t window)
{
    if (!left_out_is_due(&r->left_out) || units_in_transit_room(&r->in_transit) < 2)
        return false;
    uint64_t seq = units_in_transit_leave_out(&r->in_transit);
    left_out_add(&r->left_out, seq, secret, window);
    persistence_on_unsent(&r->persistence, seq, seq + 1);
    return true;
}

static struct transit_unit unit_at(struct recovery *r, uint64_t seq)
{
    return *units_in_transit_at(&r->in_transit, seq);
}

static uint64_t predecessor_of(const struct transit_unit *unit, uint64_t seq)
{
    return unit->behind != 0 ? seq - unit->behind : UNIT_NEVER_SENT;
}

static struct unit_part part_of(const struct transit_unit *unit)
{
    return (struct unit_part){.message = unit->message,
                              .offset = unit->offset,
                              .length = unit->length,
                              .is_void = unit->is_void};
}

/* Moves a unit from transit to the units to send; there it repeats `predecessor`. A unit of a
 * message that is over, or was taken back meanwhile, is only taken out. */
static void requeue(struct recovery *r, uint64_t seq, const struct transit_unit *unit,
                    uint64_t predecessor)
{
    units_in_transit_remove(&r->in_transit, seq);
    if (messages_out_find_for(r->to_send.messages, unit->message, unit->is_void) == NULL)
        return;
    struct fragment again = {.message = unit->message,
                             .offset = unit->offset,
                             .length = unit->length,
                             .is_last = unit->is_last,
                             .is_void = unit->is_void,
                             .is_repeat = true,
                             .predecessor = predecessor};
    bool is_full = r->to_send.count + r->in_transit.units >= r->in_transit.capacity;
    if (!is_full || !units_to_send_rejoin(&r->to_send, &again))
        units_to_send_repeat(&r->to_send, &again);
}

void recovery_put_back(struct recovery *r, uint64_t first, uint64_t last)
{
    uint64_t seq = first;
    const struct transit_unit *found;
    persistence_on_unsent(&r->persistence, first, last);
    for (; (found = units_in_transit_find(&r->in_transit, &seq, last)) != NULL; seq++) {
        struct transit_unit unit = *found;
        requeue(r, seq, &unit, predecessor_of(&unit, seq));
    }
}

/* The unit goes again, and its acknowledgement is watched for. */
static void give_up(struct recovery *r, uint64_t seq, const struct transit_unit *unit,
                    bool is_probed)
{
    struct unit_given_up given_up = {.seq = seq,
                                     .predecessor = predecessor_of(unit, seq),
                                     .part = part_of(unit),
                                     .sent = unit->sent,
                                     .is_probed = is_probed,
                                     .is_cut = unit->is_cut};
    units_given_up_put(&r->given_up, &given_up);
    requeue(r, seq, unit, seq);
}

struct message_out *recovery_whole(struct recovery *r, uint32_t most)
{
    return units_to_send_whole(&r->to_send, most);
}

void recovery_put_whole(struct message_out *message)
{
    CHECK(message->cut == 0 && message->units_out == 0 && !message->is_cut);
    message->cut = message->size;
    message->is_cut = true;
    message->units_out = 1;
    message->is_whole = true;
}

/* NULL: it is over, or was taken back meanwhile. */
static struct message_out *take_whole(struct recovery *r, uint64_t number)
{
    struct message_out *message = messages_out_find_for(r->to_send.messages, number, false);
    if (message == NULL || !message->is_whole)
        return NULL;
    message->is_whole = false;
    return message;
}

void recovery_whole_arrived(struct recovery *r, uint64_t number)
{
    if (take_whole(r, number) != NULL)
        messages_out_on_arrived(r->to_send.messages, number, false, 1);
}

void recovery_whole_came_back(struct recovery *r, uint64_t number)
{
    const struct message_out *message = take_whole(r, number);
    if (message == NULL)
        return;
    const struct fragment again = {.message = number,
                                   .length = (uint32_t)message->size,
                                   .is_last = true,
                                   .is_repeat = true,
                                   .predecessor = UNIT_NEVER_SENT};
    units_to_send_repeat(&r->to_send, &again);
}

bool recovery_repeat(struct recovery *r, uint64_t *seq, uint32_t *data)
{
    bool is_needed = false;
    while (!is_needed && units_in_transit_find(&r->in_transit, seq, r->in_transit.next) != NULL) {
        struct transit_unit unit = unit_at(r, *seq);
        is_needed = messages_out_find_for(r->to_send.messages, unit.message, unit.is_void) != NULL;
        give_up(r, (*seq)++, &unit, true);
        *data = unit.length;
    }
    return is_needed;
}

uint64_t recovery_first(const struct recovery *r)
{
    const struct units_in_transit *t = &r->in_transit;
    const struct transit_unit *first = units_in_transit_at(t, t->base);
    uint64_t found = t->base;
    for (uint64_t seq = t->base; seq < t->next; seq++) {
        const struct transit_unit *unit = units_in_transit_at(t, seq);
        bool is_before = unit->message != first->message ? unit->message < first->message
                                                         : unit->offset < first->offset;
        if (!unit->is_in_transit || !is_before)
            continue;
        first = unit;
        found = seq;
    }
    return found;
}

/* ---- acknowledgements ---- */

bool recovery_find_sent(struct recovery *r, uint64_t seq, instant *sent)
{
    uint64_t at = seq;
    const struct transit_unit *unit = units_in_transit_find(&r->in_transit, &at, seq + 1);
    if (unit == NULL)
        return false;
    *sent = unit->sent;
    return true;
}

struct persistence_search recovery_begin_ack(const struct recovery *r, const struct rtt *rtt,
                                             instant now, uint64_t newest, duration timeout)
{
    return (struct persistence_search){.known = r->newest,
                                       .newest = newest,
                                       .overdue = now - rtt_loss_delay(rtt),
                                       .least = PERSISTENT_TIMEOUTS * timeout};
}

/* Such a transmission was not lost but overtaken: the tolerance widens to what would have let it
 * pass, within bounds. */
static void widen(struct recovery *r, const struct rtt *rtt, instant now, uint64_t newest,
                  const struct unit_given_up *late)
{
    uint64_t units = lesser(newest - late->seq + 1, r->in_transit.capacity / 2);
    duration time = now - late->sent - rtt_loss_delay(rtt);
    duration most = 2 * rtt->smoothed;
    tolerance_on_spurious(&r->tolerance, units, time < most ? time : most);
}

const struct unit_given_up *recovery_late(struct recovery *r, const struct rtt *rtt, instant now,
                                          uint64_t newest, struct interval *arrived)
{
    const struct unit_given_up *late =
        units_given_up_arrive(&r->given_up, &arrived->first, arrived->last);
    if (late != NULL && !late->is_probed)
        widen(r, rtt, now, newest, late);
    return late;
}

bool recovery_acknowledge(struct recovery *r, struct interval *arrived, struct transit_row *row)
{
    if (!units_in_transit_remove_row(&r->in_transit, &arrived->first, arrived->last, row))
        return false;
    if (row->are_messages)
        messages_out_on_arrived_row(r->to_send.messages, row->message, row->units);
    else
        messages_out_on_arrived(r->to_send.messages, row->message, row->is_void, row->units);
    return true;
}

bool recovery_begin_cancelling(struct recovery *r, bool is_last)
{
    uint64_t looks = (uint64_t)r->in_transit.units + r->to_send.count;
    uint32_t late = r->given_up.arrived;
    r->looks = is_last ? UINT32_MAX : (uint32_t)lesser((uint64_t)LINKS_OF_ONE * late, UINT32_MAX);
    return late > 0 && (is_last || looks <= (uint64_t)LOOKS_OF_ONE * late);
}

bool recovery_cancel_in_transit(struct recovery *r, uint64_t *seq, struct transit_row *row)
{
    const struct transit_unit *unit;
    for (; (unit = units_in_transit_find(&r->in_transit, seq, r->in_transit.next)) != NULL;
         ++*seq) {
        struct unit_part part = part_of(unit);
        if (unit->behind == 0 ||
            !units_given_up_has_brought(&r->given_up, *seq - unit->behind, &part, &r->looks))
            continue;
        struct interval one = {.first = *seq, .last = *seq + 1};
        *seq = one.last;
        return recovery_acknowledge(r, &one, row);
    }
    return false;
}

uint64_t recovery_cancel_waiting(struct recovery *r)
{
    uint64_t bytes = 0;
    for (uint32_t i = r->to_send.count; i > 0; i--) {
        struct fragment f = units_to_send_pop(&r->to_send);
        struct unit_part part = {
            .message = f.message, .offset = f.offset, .length = f.length, .is_void = f.is_void};
        if (!units_given_up_has_brought(&r->given_up, f.predecessor, &part, &r->looks)) {
            units_to_send_repeat(&r->to_send, &f);
            continue;
        }
        bytes += f.length;
        messages_out_on_arrived(r->to_send.messages, f.message, f.is_void, 1);
    }
    units_given_up_settle(&r->given_up);
    return bytes;
}

void recovery_end_ack(struct recovery *r, uint64_t newest, uint64_t oldest)
{
    if (oldest < r->newest)
        tolerance_on_overtaken(&r->tolerance, r->newest - oldest);
    r->newest = greater(r->newest, newest);
}

/* A unit of the message has not arrived; its last transmission was `seq`. Where units were joined
 * its predecessors may be another unit's. */
static void note_missing(struct recovery *r, uint64_t message, uint64_t seq, uint64_t first)
{
    struct message_out *m = messages_out_find_for(r->to_send.messages, message, false);
    if (m != NULL && m->may_be_there && !m->is_joined)
        m->may_be_there = !units_given_up_are_from(&r->given_up, seq, first);
}

static void note_all_missing(struct recovery *r, uint64_t first)
{
    const struct units_in_transit *t = &r->in_transit;
    const struct transit_unit *unit;
    for (uint64_t seq = greater(t->base, first);
         (unit = units_in_transit_find(&r->in_transit, &seq, t->next)) != NULL; seq++)
        note_missing(r, unit->message, predecessor_of(unit, seq), first);
    for (uint32_t i = 0; i < r->to_send.count; i++) {
        const struct fragment *f = units_to_send_at(&r->to_send, i);
        note_missing(r, f->message, f->predecessor, first);
    }
}

bool recovery_end_missing(struct recovery *r, uint64_t first, enum outcome outcome)
{
    struct messages_out *messages = r->to_send.messages;
    for (uint64_t n = messages->base; n < messages->next; n++) {
        struct message_out *m = messages_out_at(messages, n);
        m->may_be_there = m->is_cut && !m->is_whole;
    }
    note_all_missing(r, first);
    for (uint64_t n = messages->base; n < messages->next; n++) {
        struct message_out *m = messages_out_find_for(messages, n, false);
        struct message_out *refused = messages_out_find_for(messages, n, true);
        if (refused != NULL)
            messages_out_end(messages, refused, outcome);
        if (m != NULL && !m->may_be_there)
            messages_out_end(messages, m, outcome);
    }
    return messages->live > 0;
}

/* ---- losses ---- */

struct recovery_pass recovery_begin_pass(struct recovery *r, const struct rtt *rtt)
{
    r->loss_at = NEVER;
    return (struct recovery_pass){.seq = r->in_transit.base,
                                  .delay = rtt_loss_delay(rtt) + r->tolerance.time};
}

/* A message whose buffer was withdrawn is not LIVE any more. */
static bool is_unwanted(const struct recovery *r, uint64_t seq, const struct transit_unit *unit)
{
    return seq < r->withdrawn && !unit->is_void &&
           messages_out_find_for(r->to_send.messages, unit->message, false) == NULL;
}

/* Those behind one that is not late were sent later, and overtaken by fewer: they are not, either.
 */
bool recovery_lose(struct recovery *r, instant now, struct recovery_pass *pass,
                   struct lost_unit *lost)
{
    const struct transit_unit *found = units_in_transit_find(&r->in_transit, &pass->seq, r->newest);
    if (found == NULL)
        return false;
    bool is_overtaken = r->newest - pass->seq >= r->tolerance.units;
    if (!is_overtaken && found->sent + pass->delay > now) {
        r->loss_at = found->sent + pass->delay;
        return false;
    }
    struct transit_unit unit = *found;
    *lost = (struct lost_unit){.seq = pass->seq,
                               .sent = unit.sent,
                               .data = unit.length,
                               .is_cut = unit.is_cut,
                               .is_unwanted = is_unwanted(r, pass->seq, &unit)};
    tolerance_on_lost(&r->tolerance, now, unit.sent);
    give_up(r, pass->seq++, &unit, false);
    return true;
}

/* ---- invariants ---- */

/* Is the unit counted in its message's units_out? */
static bool is_out(const struct recovery *r, uint64_t message, bool is_void)
{
    return messages_out_find_for(r->to_send.messages, message, is_void) != NULL;
}

/* Units of each message, counted where they are, against what the message says (I1). */
static void check_units_out(const struct recovery *r)
{
    struct messages_out *messages = r->to_send.messages;
    uint64_t counted = 0;
    uint64_t expected = 0;
    for (uint64_t seq = r->in_transit.base; seq < r->in_transit.next; seq++) {
        const struct transit_unit *unit = units_in_transit_at(&r->in_transit, seq);
        counted += unit->is_in_transit && is_out(r, unit->message, unit->is_void);
    }
    for (uint32_t i = 0; i < r->to_send.count; i++) {
        const struct fragment *f = units_to_send_at(&r->to_send, i);
        counted += is_out(r, f->message, f->is_void);
    }
    for (uint64_t n = messages->base; n < messages->next; n++) {
        const struct message_out *m = messages_out_find(messages, n);
        if (m == NULL || m->state == MESSAGE_OUT_ENDED)
            continue;
        expected += m->units_out;
        counted += m->is_whole;
    }
    CHECK(counted == expected);
}

void recovery_check(const struct recovery *r)
{
    check_units_out(r);
    CHECK(r->to_send.count <= r->to_send.capacity);
    units_in_transit_check(&r->in_transit);
    units_given_up_check(&r->given_up);
    tolerance_check(&r->tolerance);
    persistence_check(&r->persistence);
    left_out_check(&r->left_out);
    CHECK(r->newest <= r->in_transit.next);
}
