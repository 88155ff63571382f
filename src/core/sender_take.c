/* Bursts: cut, numbered, pinned and put in transit in one go. */
#include "check.h"
#include "sender_state.h"

#include <string.h>

/* Does the window, or a probe's credit, let `bytes` more into transit? */
static bool window_allows(const struct sender *s, uint64_t bytes)
{
    if (s->in_transit.units == 0 || s->probe_credit > 0)
        return true;
    return s->in_transit.bytes + bytes <= sender_window(s);
}

/* Is there a place to come back to, should it be lost? A repeat leaves its own. A part of one, that
 * was cut when units were larger, does not; but if it is alone in transit it can be joined again.
 */
static bool has_place(const struct sender *s, const struct fragment *f)
{
    bool is_whole = f->is_repeat && !units_to_send_is_part(&s->to_send, f);
    return is_whole || (f->is_repeat && s->in_transit.units == 0) ||
           s->to_send.count + s->in_transit.units < s->in_transit.capacity;
}

static bool may_send(const struct sender *s, const struct fragment *f)
{
    return has_place(s, f) && units_in_transit_has_room(&s->in_transit) &&
           window_allows(s, f->length + TRAILER_BYTES);
}

/* Room for another datagram, all of one size but the last (burst.h, I2)? */
static bool burst_fits(const struct sender *s, const struct burst *b, const struct fragment *f)
{
    uint32_t bytes = f->length + TRAILER_BYTES;
    return b->datagrams < s->config.burst_units && bytes <= b->segment &&
           b->bytes + bytes <= s->config.burst_bytes && b->bytes == b->datagrams * b->segment;
}

/* The fragment leaves the units to send, and is in transit from now on. */
static uint64_t enter_transit(struct sender *s, instant now, const struct fragment *f)
{
    units_to_send_take(&s->to_send, f);
    s->counters.units++;
    s->counters.repeated += f->is_repeat;
    s->probe_credit -= s->probe_credit > 0;
    struct transit_unit unit = {.message = f->message,
                                .offset = f->offset,
                                .sent = now,
                                .length = f->length,
                                .is_last = f->is_last,
                                .is_void = f->is_void,
                                .is_repeat = f->is_repeat};
    uint64_t seq = units_in_transit_put(&s->in_transit, &unit);
    if (f->is_repeat)
        sender_note_repeat(s, f, seq);
    return seq;
}

/* The channel is going to read the message. */
static void pin(struct burst *b, const struct fragment *f)
{
    if (b->pins == 0 || b->pin[b->pins - 1].message != f->message)
        b->pin[b->pins++] = (struct burst_pin){.message = f->message};
    b->pin[b->pins - 1].units++;
    messages_out_pin(f->source, 1);
}

static void add_pieces(struct sender *s, struct burst *b, const struct fragment *f)
{
    uint32_t i = b->datagrams++;
    const uint8_t *data = f->length == 0 ? NULL : f->source->buffer + f->offset;
    if (!f->is_void)
        pin(b, f);
    b->iov[2 * i] = (struct iovec){.iov_base = (void *)data, .iov_len = f->length};
    b->iov[2 * i + 1] = (struct iovec){.iov_base = b->trailer[i], .iov_len = TRAILER_BYTES};
    b->bytes += f->length + TRAILER_BYTES;
    s->since_answer += f->length + TRAILER_BYTES;
    s->units_since_answer++;
}

/* An acknowledgement is asked for when nothing follows, or when what was sent since the last fills
 * a quarter of the window, or of a table that only acknowledgements empty. */
static bool should_answer(struct sender *s, bool has_next)
{
    uint64_t table = s->messages.capacity < s->in_transit.capacity ? s->messages.capacity
                                                                   : s->in_transit.capacity;
    if (has_next && s->since_answer < sender_window(s) / 4 && s->units_since_answer < table / 4)
        return false;
    s->since_answer = 0;
    s->units_since_answer = 0;
    return true;
}

static void write_trailer(struct sender *s, struct burst *b, uint64_t seq, const struct fragment *f,
                          const struct fragment *next, bool is_answer)
{
    uint8_t flags = (uint8_t)((next != NULL ? FLAG_HAS_NEXT : 0) | (f->is_last ? FLAG_IS_LAST : 0) |
                              (f->is_void ? FLAG_VOID : 0) | (is_answer ? FLAG_ANSWER : 0));
    struct unit_trailer t = {.message = sender_wire_message(s, f->message),
                             .unit = f->is_void ? f->source->reason : (uint32_t)(f->offset / GRAIN),
                             .seq = sender_wire_seq(s, seq),
                             .length = (uint16_t)f->length,
                             .pairing = s->session.pairing,
                             .flags = flags};
    if (next != NULL) {
        t.next_message = sender_wire_message(s, next->message);
        t.next_unit = (uint32_t)(next->offset / GRAIN);
        t.next_length = (uint16_t)next->length;
    }
    unit_trailer_encode(b->trailer[b->datagrams - 1], &t);
}

static bool take_units(struct sender *s, instant now, struct burst *b)
{
    struct fragment f;
    struct fragment next;
    bool has_next = units_to_send_head(&s->to_send, s->unit_data, &f);
    if (!has_next || !may_send(s, &f))
        return false;
    b->segment = f.length + TRAILER_BYTES;
    b->first_seq = s->in_transit.next;
    for (bool goes_on = true; goes_on; f = next) {
        uint64_t seq = enter_transit(s, now, &f);
        add_pieces(s, b, &f);
        has_next = units_to_send_head(&s->to_send, s->unit_data, &next);
        bool is_open = has_next && may_send(s, &next);
        goes_on = is_open && burst_fits(s, b, &next);
        bool is_answer = !goes_on && should_answer(s, is_open);
        write_trailer(s, b, seq, &f, has_next ? &next : NULL, is_answer);
        s->is_limited = has_next && !is_open;
    }
    s->session.has_sent = true;
    s->counters.bursts++;
    sender_timer_on_sent(s, now);
    return true;
}

bool sender_take(struct sender *s, instant now, struct burst *burst)
{
    burst->datagrams = 0;
    burst->segment = 0;
    burst->bytes = 0;
    burst->pins = 0;
    burst->is_control = s->hello_due;
    burst->may_lend = lending_take(&s->lending);
    if (s->hello_due) {
        sender_say_hello(s, now, burst);
        return true;
    }
    return sender_is_paired(s) && take_units(s, now, burst);
}

bool sender_has_burst(struct sender *s)
{
    struct fragment f;
    if (s->hello_due)
        return true;
    return sender_is_paired(s) && units_to_send_head(&s->to_send, s->unit_data, &f) &&
           may_send(s, &f);
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
    if (burst->is_control)
        return;
    put_back(s, burst, sent);
    for (uint32_t i = 0; i < burst->pins; i++) {
        const struct burst_pin *p = &burst->pin[i];
        messages_out_unpin(&s->messages, messages_out_find(&s->messages, p->message), p->units);
    }
}
