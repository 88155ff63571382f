/* What may go: what the window, the tables and the burst have room for. */
#include "core/number.h"
#include "sender_state.h"

enum { WINDOW_PARTS = 4 }; /* one is free before a burst leaves that is not whole */

/* What the receiver's socket holds, and on a longer path, as long as units arrive at their pace and
 * not all at once, what the path does, at twice the rate seen so far. On a shorter one they may. */
static uint64_t room(const struct sender *s)
{
    bool is_long = s->pacing.rate != 0 && s->rtt.lowest >= PACING_BURST_TIME;
    uint64_t rate = is_long ? greater(s->delivery.fastest, congestion_path(&s->congestion)) : 0;
    return s->capacity + 2 * (rate / 1000 * (uint64_t)(s->rtt.lowest / MICROSECOND) / 1000);
}

uint64_t sender_window(const struct sender *s)
{
    uint64_t window = s->congestion.window;
    uint64_t most = room(s);
    return window < most ? window : most;
}

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

bool sender_may_send(const struct sender *s, const struct fragment *f)
{
    return has_place(s, f) && units_in_transit_room(&s->in_transit) > 0 &&
           window_allows(s, f->length + TRAILER_BYTES);
}

/* Bytes of a burst at most; it may always be one unit. */
static uint64_t burst_bytes(const struct sender *s)
{
    return lesser(s->config.burst_bytes, s->pacing.burst);
}

/* Does what the window has left make a burst? On a short path, whose bursts are not paced, one that
 * is nearly full waits for a whole burst, or a part of itself, to be free; or small bursts are
 * acknowledged by and by, and small ones follow for ever: the silly window (RFC 9293, 3.8.6.2.1).
 */
bool sender_has_room(const struct sender *s, uint64_t window)
{
    uint64_t room = window - lesser(s->in_transit.bytes, window);
    bool is_short = s->rtt.has_sample && s->pacing.rate == 0;
    return s->in_transit.units == 0 || s->probe_credit > 0 || !is_short ||
           room >= lesser(burst_bytes(s), window / WINDOW_PARTS);
}

bool sender_may_begin(const struct sender *s, const struct fragment *f)
{
    return sender_may_send(s, f) && sender_has_room(s, sender_window(s));
}

bool sender_burst_fits(const struct sender *s, const struct burst *b, const struct fragment *f)
{
    uint32_t bytes = f->length + TRAILER_BYTES;
    return b->datagrams < s->config.burst_units && bytes <= b->segment &&
           b->bytes + bytes <= burst_bytes(s) && b->bytes == b->datagrams * b->segment;
}

uint32_t sender_row_length(const struct sender *s, const struct burst *b, const struct fragment *f)
{
    uint32_t bytes = f->length + TRAILER_BYTES;
    uint64_t row = units_to_send_row(f);
    uint64_t window = sender_window(s);
    bool is_alone = bytes != b->segment || b->bytes + bytes > burst_bytes(s);
    if (row == 1 || is_alone || s->in_transit.bytes + bytes > window)
        return 1;
    row = lesser(row, s->in_transit.capacity - s->to_send.count - s->in_transit.units);
    row = lesser(row, units_in_transit_room(&s->in_transit));
    row = lesser(row, (window - s->in_transit.bytes) / bytes);
    row = lesser(row, s->config.burst_units - b->datagrams);
    return (uint32_t)lesser(row, (burst_bytes(s) - b->bytes) / bytes);
}
