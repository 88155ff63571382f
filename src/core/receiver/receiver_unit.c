/* A unit: whom it is for, and what becomes of it. */
#include "core/check.h"
#include "receiver_state.h"

/* Asks the landing to bring what is missing of the unit, from the missing range `part` on, to its
 * place, and counts it as there. False if a table is full: then the unit counts as never received.
 */
static bool place(struct receiver *r, struct landing *landing, struct arrival *a,
                  struct interval part)
{
    struct missing *missing = &a->message->missing;
    uint64_t moved = 0;
    while (part.first < part.last && part.first < a->range.last) {
        bool is_end = part.last >= a->range.last;
        uint32_t moves = landing->moves;
        if (is_end)
            part.last = a->range.last;
        uint32_t bytes =
            landing_move(landing, a->segment, (uint32_t)(part.first - a->range.first),
                         (uint32_t)(part.last - part.first), a->message->buffer + part.first);
        if (bytes == UINT32_MAX)
            return false;
        if (!missing_remove(&r->messages.missing, missing, part)) {
            landing_take_back(landing, moves);
            return false;
        }
        moved += bytes;
        if (is_end)
            break;
        part = missing_next(&r->messages.missing, missing, part.last);
    }
    a->is_in_place = moved == 0;
    r->steady = moved == 0 ? r->steady + 1 : 0;
    r->counters.in_place += moved == 0;
    r->counters.moved += moved != 0;
    r->counters.bytes_moved += moved;
    return true;
}

/* The last unit says how long the message is: what the buffer has beyond will not come. */
static void note_length(struct receiver *r, const struct arrival *a)
{
    struct message_in *message = a->message;
    struct interval beyond = {.first = a->range.last, .last = message->size};
    message->is_length_known = true;
    message->length = a->range.last;
    if (beyond.first < beyond.last)
        missing_remove(&r->messages.missing, &message->missing, beyond);
    prediction_learn_length(&r->prediction, message->length, message->size);
}

/* Nothing newer than `a` was heard of. */
static void note_newest(struct receiver *r, instant now, const struct arrival *a)
{
    uint64_t next = a->number + (uint64_t)(int64_t)a->trailer->next_step;
    r->ack.newest = a->seq;
    r->ack.newest_at = now;
    prediction_learn(&r->prediction, a->trailer, a->number, a->range.first, next);
}

/* Everything about the unit has been settled: it is acknowledged. */
static void acknowledge(struct receiver *r, instant now, const struct arrival *a)
{
    struct receiver_ack *ack = &r->ack;
    bool is_first = ack->arrived.count == 0;
    uint64_t due = is_first ? r->config.first_seq : ack->newest + 1;
    bool is_in_order = a->seq == due || a->seq == due + 1; /* one may have been left out */
    uint64_t forgotten = ack->arrived.forgotten;
    bool is_new = intervals_add(&ack->arrived, a->seq);
    r->counters.forgotten += ack->arrived.forgotten - forgotten;
    if (is_first || a->seq > ack->newest)
        note_newest(r, now, a);
    else if (is_new)
        receiver_ack_late(ack, a->seq);
    receiver_timer_on_arrived(r, now, 1, a->range.last - a->range.first + TRAILER_BYTES);
    if ((a->trailer->flags & FLAG_ANSWER) != 0)
        receiver_timer_on_asked(r, now);
    else if (!is_in_order || !is_new)
        receiver_timer_on_disorder(r, now);
    if (a->number >= r->session.known && a->number < r->messages.next)
        r->session.known = a->number + 1;
}

static void on_void(struct receiver *r, const struct arrival *a)
{
    enum outcome outcome = a->trailer->unit == VOID_TOO_LARGE ? OUTCOME_TOO_LARGE
                           : a->trailer->unit == VOID_FAULT   ? OUTCOME_FAULT
                                                              : OUTCOME_PEER_CANCELLED;
    if (a->message != NULL)
        messages_in_end(&r->messages, a->message, outcome);
}

/* True if the unit can be for this message, as far as is known of its length. */
static bool fits(const struct arrival *a)
{
    const struct message_in *message = a->message;
    bool is_last = (a->trailer->flags & FLAG_IS_LAST) != 0;
    uint64_t end = message->is_length_known ? message->length : message->size;
    if (a->range.last > end)
        return false;
    return !is_last || !message->is_length_known || a->range.last == message->length;
}

/* Data for a message that is posted; true if it is settled. */
static bool on_data(struct receiver *r, struct landing *landing, struct arrival *a)
{
    struct message_in *message = a->message;
    bool is_last = (a->trailer->flags & FLAG_IS_LAST) != 0;
    if (!fits(a)) {
        r->counters.drop_beyond++;
        return false;
    }
    bool is_news = is_last && !message->is_length_known;
    struct interval part = missing_next(&r->messages.missing, &message->missing, a->range.first);
    if (!is_news && (part.first >= part.last || part.first >= a->range.last)) {
        r->counters.drop_duplicate++;
        return true;
    }
    uint64_t missing = message->missing.bytes;
    if (!place(r, landing, a, part)) {
        r->counters.drop_no_room++;
        return false;
    }
    r->counters.units++;
    r->counters.bytes += missing - message->missing.bytes;
    if (is_news)
        note_length(r, a);
    if (message->is_length_known && message->missing.bytes == 0)
        messages_in_end(&r->messages, message, OUTCOME_OK);
    return true;
}

/* A unit for a receiver that has closed is not acknowledged: what was failed cannot be told from
 * what was had. But the sender is there and has not heard of the close, so it is said again. */
static bool on_late_unit(struct receiver *r)
{
    r->counters.drop_unposted++;
    r->closing_due = r->phase == RECEIVER_CLOSING;
    r->timers.closings = 0;
    return false;
}

/* Whom the unit is for, and what becomes of it; true if it is to be acknowledged. */
static bool settle(struct receiver *r, struct landing *landing, struct arrival *a)
{
    if (r->phase != RECEIVER_OPEN)
        return on_late_unit(r);
    if (a->number >= r->messages.next) {
        r->counters.drop_unposted++;
        return false;
    }
    a->message = messages_in_find(&r->messages, a->number);
    if ((a->trailer->flags & FLAG_VOID) != 0) {
        on_void(r, a);
        return true;
    }
    if (a->message == NULL || a->message->state == MESSAGE_IN_ENDED) {
        r->counters.drop_duplicate++;
        return true;
    }
    if (a->message->state == MESSAGE_IN_WITHDRAWN) {
        r->counters.drop_unposted++;
        return false;
    }
    return on_data(r, landing, a);
}

bool receiver_on_unit(struct receiver *r, instant now, struct landing *landing, struct arrival *a)
{
    r->session.has_units = true;
    receiver_on_partner(r, now);
    bool is_settled = settle(r, landing, a);
    if (is_settled)
        acknowledge(r, now, a);
    return is_settled;
}

void receiver_on_row(struct receiver *r, instant now, const struct arrival *last, uint32_t units,
                     struct interval range)
{
    missing_remove(&r->messages.missing, &last->message->missing, range);
    CHECK(last->message->missing.bytes > 0); /* so nothing ends here */
    r->counters.units += units;
    r->counters.bytes += range.last - range.first;
    r->steady += units;
    r->counters.in_place += units;
    intervals_extend(&r->ack.arrived, units);
    note_newest(r, now, last);
    receiver_timer_on_arrived(r, now, units,
                              range.last - range.first + units * (uint64_t)TRAILER_BYTES);
}
