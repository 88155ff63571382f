/* Bursts: cut, numbered, pinned and put in transit in one go. */
#include "core/check.h"
#include "core/number.h"
#include "core/wire/datagram.h"
#include "sender_state.h"

#include <string.h>

enum {
    ANSWERS = 4,        /* acknowledgements asked for in a window, */
    ANSWERS_PACED = 16, /* or where there is time for more, so that the rate is seen well; */
    ANSWER_BURSTS = 4,  /* and at first once in so many bursts, so that trains are */
    MARKS_OF_A_TIMEOUT = 4,
};

/* Units of the burst in a row, see units_to_send_row. */
struct row {
    struct fragment head;
    uint64_t seq; /* of the head; the others follow */
    uint32_t count;
};

/* The row leaves the units to send, and is in transit from now on. */
static void enter_transit(struct sender *s, instant now, struct row *row)
{
    const struct fragment *f = &row->head;
    units_to_send_take(&s->to_send, f, row->count);
    s->counters.units += row->count;
    s->counters.repeated += f->is_repeat;
    s->probe_credit -= (uint32_t)lesser(s->probe_credit, row->count);
    left_out_on_sent(&s->left_out, row->count);
    struct transit_unit unit = {.message = f->message,
                                .offset = f->offset,
                                .sent = now,
                                .length = f->length,
                                .is_last = f->is_last,
                                .is_void = f->is_void};
    if (f->is_repeat && f->was != UNIT_NEVER_SENT)
        unit.behind = (uint32_t)(s->in_transit.next - f->was);
    row->seq = units_in_transit_put(&s->in_transit, &unit, row->count);
}

/* The channel is going to read the message. */
static void pin(struct burst *b, const struct row *row)
{
    uint64_t message = row->head.message;
    if (b->pins == 0 || b->pin[b->pins - 1].message != message)
        b->pin[b->pins++] = (struct burst_pin){.message = message};
    b->pin[b->pins - 1].units += row->count;
    messages_out_pin(row->head.source, row->count);
}

static void add_pieces(struct sender *s, struct burst *b, const struct row *row)
{
    const struct fragment *f = &row->head;
    uint32_t bytes = row->count * (f->length + TRAILER_BYTES);
    for (uint32_t n = 0; n < row->count; n++) {
        uint32_t i = b->datagrams++;
        const uint8_t *data =
            f->length == 0 ? NULL : f->source->buffer + f->offset + (uint64_t)n * f->length;
        b->iov[2 * i] = (struct iovec){.iov_base = (void *)data, .iov_len = f->length};
        b->iov[2 * i + 1] = (struct iovec){.iov_base = b->trailer[i], .iov_len = TRAILER_BYTES};
    }
    if (!f->is_void)
        pin(b, row);
    b->bytes += bytes;
    s->since_answer += bytes;
    s->units_since_answer += row->count;
}

/* An acknowledgement is asked for when nothing follows, or when what was sent since the last fills
 * a part of the window, or a quarter of a table that only acknowledgements empty. */
static bool should_answer(struct sender *s, bool has_next)
{
    uint64_t table = s->messages.capacity < s->in_transit.capacity ? s->messages.capacity
                                                                   : s->in_transit.capacity;
    uint64_t parts = s->pacing.rate == 0 ? ANSWERS : ANSWERS_PACED;
    uint64_t share = sender_window(s) / parts;
    if (congestion_is_starting(&s->congestion))
        share = lesser(share, ANSWER_BURSTS * s->pacing.burst);
    if (has_next && s->since_answer < share && s->units_since_answer < table / ANSWERS)
        return false;
    s->since_answer = 0;
    s->units_since_answer = 0;
    return true;
}

/* Behind a unit of message number `from`. A step that is too wide is not told. */
static void name_next(struct unit_trailer *t, uint64_t from, const struct fragment *next)
{
    int64_t step = (int64_t)(next->message - from);
    if (step < INT16_MIN || step > INT16_MAX)
        return;
    t->flags |= FLAG_HAS_NEXT;
    t->next_step = (int16_t)step;
    t->next_unit = (uint32_t)(next->offset / GRAIN);
    t->next_length = (uint16_t)next->length;
}

/* The trailers of the row that the burst ends with; `next` follows on it, or nothing (NULL). */
static void write_trailers(const struct sender *s, struct burst *b, const struct row *row,
                           const struct fragment *next, bool is_answer)
{
    const struct fragment *f = &row->head;
    uint8_t flags = (uint8_t)((f->is_last ? FLAG_IS_LAST : 0) | (f->is_void ? FLAG_VOID : 0));
    struct unit_trailer t = {.message = sender_wire_message(s, f->message),
                             .unit = f->is_void ? f->source->reason : (uint32_t)(f->offset / GRAIN),
                             .seq = sender_wire_seq(s, row->seq),
                             .length = (uint16_t)f->length,
                             .pairing = s->session.pairing,
                             .flags = flags};
    struct unit_trailer last = t;
    uint32_t behind = row->count - 1;
    if (behind > 0) {
        struct trailer_row others;
        name_next(&t, f->message, f);
        t.next_unit += f->length / GRAIN;
        trailer_row_begin(&others, &t);
        for (uint32_t i = b->datagrams - row->count; i + 1 < b->datagrams; i++)
            trailer_row_put(&others, b->trailer[i]);
    }
    last.unit += behind * (f->length / GRAIN);
    last.seq += behind;
    last.flags |= is_answer ? FLAG_ANSWER : 0;
    if (next != NULL)
        name_next(&last, f->message, next);
    unit_trailer_encode(b->trailer[b->datagrams - 1], &last);
}

/* Why is what follows held back? Only the congestion window grows on being too small; when it is
 * the application, or the receiver, the path may carry more than is seen of it. */
static void note_limits(struct sender *s, const struct fragment *next, bool is_open)
{
    uint64_t window = s->congestion.window;
    bool is_full = next != NULL && (s->in_transit.bytes + next->length + TRAILER_BYTES > window ||
                                    !sender_has_room(s, window));
    s->is_limited = is_full;
    if (!is_full && !is_open)
        delivery_on_limited(&s->delivery, s->in_transit.bytes);
}

/* May the burst leave that begins with this unit? A probe does not wait for its pace. */
static bool may_leave(struct sender *s, instant now, const struct fragment *f)
{
    if (!sender_may_begin(s, f))
        return false;
    if (s->probe_credit > 0 || pacing_allows(&s->pacing, now))
        return true;
    s->is_limited = true;
    return false;
}

/* The burst leaves, and with it what was entered in transit. */
static void note_burst(struct sender *s, instant now, const struct burst *b)
{
    s->session.has_sent = true;
    s->counters.bursts++;
    if (s->rtt.has_sample)
        persistence_on_sent(&s->persistence, b->first_seq, now,
                            sender_timer_round_trip(s) / MARKS_OF_A_TIMEOUT);
    delivery_on_sent(&s->delivery, now, b->first_seq, s->in_transit.bytes, s->in_transit.units);
    pacing_on_sent(&s->pacing, now, b->bytes);
    sender_timer_on_sent(s, now);
}

/* Between two bursts a number is left out now and then. A window is worth so many units at least.
 */
static void leave_out(struct sender *s)
{
    if (!left_out_is_due(&s->left_out) || units_in_transit_room(&s->in_transit) < 2)
        return;
    uint64_t window = sender_window(s) / (s->unit_size.data + TRAILER_BYTES);
    left_out_add(&s->left_out, units_in_transit_leave_out(&s->in_transit), &s->secret, window);
    s->counters.left_out++;
}

static bool take_units(struct sender *s, instant now, struct burst *b)
{
    struct row row;
    struct fragment next;
    if (!units_to_send_head(&s->to_send, s->unit_size.data, &row.head) ||
        !may_leave(s, now, &row.head))
        return false;
    b->segment = row.head.length + TRAILER_BYTES;
    leave_out(s);
    b->first_seq = s->in_transit.next;
    if (s->in_transit.units == 0)
        delivery_on_begin(&s->delivery, now);
    if (s->in_transit.units == 0 && s->to_send.count == 0)
        sender_timer_on_begin(s, now);
    for (bool goes_on = true; goes_on; row.head = next) {
        row.count = sender_row_length(s, b, &row.head);
        enter_transit(s, now, &row);
        add_pieces(s, b, &row);
        bool has_next = units_to_send_head(&s->to_send, s->unit_size.data, &next);
        goes_on = has_next && sender_may_send(s, &next) && sender_burst_fits(s, b, &next);
        bool is_open = has_next && sender_may_begin(s, &next);
        bool is_answer = !goes_on && should_answer(s, is_open);
        is_answer |= row.head.is_repeat; /* where one was lost the next that asks may be, too */
        write_trailers(s, b, &row, has_next ? &next : NULL, is_answer);
        if (!goes_on)
            note_limits(s, has_next ? &next : NULL, is_open);
    }
    note_burst(s, now, b);
    return true;
}

bool sender_take(struct sender *s, instant now, struct burst *burst)
{
    burst->datagrams = burst->segment = burst->bytes = burst->pins = 0;
    burst->is_control = s->hello_due;
    if (s->hello_due) {
        sender_say_hello(s, now, burst);
        return true;
    }
    if (path_mtu_wants_more(&s->path, now) && sender_path_probe(s, now, burst))
        return true;
    if (sender_is_paired(s) && take_units(s, now, burst))
        return true;
    return path_mtu_wants_less(&s->path) && sender_path_probe(s, now, burst);
}

bool sender_has_burst(struct sender *s)
{
    struct fragment f;
    if (s->hello_due)
        return true;
    if (!sender_is_paired(s) || !units_to_send_head(&s->to_send, s->unit_size.data, &f))
        return false;
    return sender_may_begin(s, &f) && (!s->pacing.waits || s->probe_credit > 0);
}

/* Units that never left are no loss: they go first in the next burst. */
static void put_back(struct sender *s, const struct burst *burst, uint32_t sent)
{
    for (uint32_t i = sent; i < burst->datagrams; i++) {
        uint64_t seq = burst->first_seq + i;
        uint64_t at = seq;
        if (units_in_transit_find(&s->in_transit, &at, seq + 1) != NULL)
            sender_requeue(s, seq);
    }
}

void sender_sent(struct sender *s, instant now, const struct burst *burst, uint32_t sent)
{
    (void)now;
    if (burst->is_control) {
        sender_path_on_sent(s, burst, sent);
        return;
    }
    put_back(s, burst, sent);
    for (uint32_t i = 0; i < burst->pins; i++) {
        const struct burst_pin *p = &burst->pin[i];
        messages_out_unpin(&s->messages, messages_out_find(&s->messages, p->message), p->units);
    }
}
