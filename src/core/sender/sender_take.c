/* Bursts: cut, numbered, pinned and put in transit in one go. */
#include "core/number.h"
#include "core/wire/datagram.h"
#include "sender_steps.h"

#include <string.h>

enum {
    ANSWERS = 4,        /* acknowledgements asked for in a window, */
    ANSWERS_PACED = 16, /* or where there is time for more, so that the rate is seen well; */
    ANSWER_BURSTS = 4,  /* and at first once in so many bursts, so that trains are */
    NEAR_ANSWER_BYTES = 1 << 18, /* what a peer in shared memory has not read takes room */
    NEAR_ANSWER_UNITS = 128,
};

/* Units of the burst in a row, see units_to_send_row and units_to_send_messages. */
struct row {
    struct fragment head;
    uint64_t seq; /* of the head; the others follow */
    uint32_t count;
};

/* ---- what may go ---- */

/* Will all that was submitted, from this unit on, be in transit before an acknowledgement is
 * needed? Then the one that is asked for at its end will do. Only on a short path that nothing
 * waits on (pacing.h): elsewhere acknowledgements show the rate. */
static bool fits_window(const struct sender *s, const struct fragment *f)
{
    if (f->is_repeat || f->length == 0 || f->message + 1 != s->messages.next ||
        s->flow.pacing.rate != 0 || s->flow.is_near || !s->flow.rtt.has_sample ||
        flow_lowest(&s->flow) >= PACING_BURST_TIME)
        return false;
    uint64_t bytes = f->source->size - f->offset;
    uint64_t units = bytes / f->length + 1;
    const struct units_in_transit *t = &s->recovery.in_transit;
    return t->bytes + bytes + units * TRAILER_BYTES <= sender_window(s) &&
           t->units + units <= t->capacity;
}

/* Bytes that are worth a call. */
static uint64_t call_bytes(const struct sender *s)
{
    uint32_t bytes = s->config.call_bytes != 0 ? s->config.call_bytes : s->config.burst_bytes;
    return lesser(bytes, s->flow.pacing.burst);
}

/* Bytes of a burst that begins with this unit at most; it may always be one unit. Acknowledgements
 * are asked for behind a burst, so one that is more than a call takes no larger part of the window
 * than they shall, unless one at the end of all will do. */
static uint64_t burst_bytes(const struct sender *s, const struct fragment *f)
{
    uint64_t window = sender_window(s);
    uint64_t part = fits_window(s, f) ? window : greater(call_bytes(s), window / ANSWERS);
    return lesser(lesser(s->config.burst_bytes, part), s->flow.pacing.burst);
}

/* How many datagrams of this size the kernel cuts out of one; 1: none. */
static uint64_t cut_units(const struct sender *s, uint32_t segment)
{
    uint32_t bytes = s->config.call_bytes != 0 ? s->config.call_bytes : s->config.burst_bytes;
    return greater(lesser(bytes / segment, BURST_CUT), 1);
}

/* How many more datagrams of `bytes` the window lets into transit. One always may be alone there,
 * and a probe's go in spite of it. */
static uint64_t window_room(const struct sender *s, uint64_t window, uint64_t bytes)
{
    const struct units_in_transit *t = &s->recovery.in_transit;
    uint64_t room = t->bytes + bytes <= window ? (window - t->bytes) / bytes : 0;
    if (s->session.is_early)
        room = lesser(room, EARLY_UNITS - lesser(EARLY_UNITS, t->units));
    if (room > 0)
        return room;
    return t->units == 0 || s->flow.credit > 0 ? 1 : 0;
}

/* Datagrams of a test of the kernel's offload: behind it there is to be room for another burst. */
static uint64_t test_units(const struct sender *s, uint32_t segment)
{
    uint64_t half = window_room(s, sender_window(s), segment) / 2;
    return lesser(greater(half, 2), OFFLOAD_PATH_FEW);
}

/* Datagrams of a burst of `most` bytes at most, however few bytes they have. One that the kernel
 * cuts more than once ends behind a whole cut, so that all but a message's last travel in equal
 * ones. Nobody cuts what is read from shared memory. */
static uint64_t burst_units(const struct sender *s, uint32_t segment, uint64_t most)
{
    if (s->flow.is_near)
        return lesser(s->config.burst_units, BURST_CUT);
    uint64_t cut = cut_units(s, segment);
    if (s->leaving == OFFLOAD_BURST_TEST)
        return lesser(lesser(s->config.burst_units, cut), test_units(s, segment));
    uint64_t units = lesser(s->config.burst_units, most / segment);
    return cut > 1 && units > cut ? units - units % cut : s->config.burst_units;
}

/* How the burst that begins now leaves. What a probe timeout repeats is no test of the kernel's
 * offload, and nobody cuts what is near. */
static enum offload_path_burst leaving(const struct sender *s, instant now, uint32_t segment)
{
    bool is_single = s->flow.is_near || s->flow.credit > 0 || cut_units(s, segment) == 1;
    return is_single ? OFFLOAD_BURST_SINGLY : offload_path_next(&s->path.offload, now);
}

/* The burst is complete. A datagram that is left over leaves by itself. */
static void note_leaving(struct sender *s, instant now, const struct burst *b)
{
    bool is_odd = b->datagrams % cut_units(s, b->segment) == 1;
    if (s->leaving != OFFLOAD_BURST_SINGLY && is_odd)
        recovery_mark_single(&s->recovery, b->first_seq + b->datagrams - 1);
    if (s->leaving == OFFLOAD_BURST_TEST)
        offload_path_on_test(&s->path.offload, now, b->first_seq, b->datagrams);
    else
        offload_path_on_other(&s->path.offload);
}

/* How many more datagrams of `bytes` the burst has room for: all have one size, but the last may be
 * smaller (burst.h, I2), and then nothing follows. The first always fits. */
static uint64_t burst_room(const struct sender *s, const struct burst *b, uint32_t bytes)
{
    uint64_t most = s->burst_bytes;
    uint64_t units = s->burst_units;
    if (b->datagrams == 0)
        return lesser(units, greater(most / bytes, 1));
    if (b->datagrams >= units || bytes > b->segment || b->bytes + bytes > most ||
        b->bytes != b->datagrams * b->segment)
        return 0;
    return bytes < b->segment ? 1 : lesser(units - b->datagrams, (most - b->bytes) / bytes);
}

/* May a unit whose data lie in several pieces go with the burst? What is near is lent to the peer
 * where it lies, or copied if it lies in several pieces: so it begins a burst. */
__attribute__((cold)) static uint32_t split_room(const struct sender *s, const struct burst *b)
{
    bool is_late = s->flow.is_near && b->datagrams > 0;
    return !is_late && burst_first(b, b->datagrams) + UNIT_PIECES + 1 <= BURST_PIECES;
}

/* How many units of the row of `f` may go with this burst now; 0: it has to wait. */
static uint32_t may_send(struct sender *s, const struct burst *b, const struct fragment *f)
{
    uint32_t bytes = f->length + TRAILER_BYTES;
    uint64_t units = recovery_room(&s->recovery, f);
    if (units > 0)
        units = lesser(units, window_room(s, sender_window(s), bytes));
    if (units > 0)
        units = lesser(units, burst_room(s, b, bytes));
    if (f->is_split)
        units = lesser(units, split_room(s, b));
    if (units < 2)
        return (uint32_t)units;
    return f->is_last && !b->is_scattered
               ? units_to_send_messages(&s->recovery.to_send, f, (uint32_t)units)
               : (uint32_t)lesser(units, units_to_send_row(f));
}

/* May a burst begin with this unit? One that is worth its call does (flow_has_room). */
static bool may_begin(const struct sender *s, const struct fragment *f)
{
    uint64_t window = sender_window(s);
    return recovery_room(&s->recovery, f) > 0 &&
           window_room(s, window, f->length + TRAILER_BYTES) > 0 &&
           flow_has_room(&s->flow, window, s->recovery.in_transit.bytes, call_bytes(s));
}

/* ---- cutting ---- */

/* The row leaves the units to send, and is in transit from now on. */
static void enter_transit(struct sender *s, instant now, struct row *row)
{
    s->counters.units += row->count;
    s->counters.repeated += row->head.is_repeat;
    s->flow.credit -= (uint32_t)lesser(s->flow.credit, row->count);
    s->early += s->session.is_early ? row->count : 0;
    row->seq =
        recovery_put(&s->recovery, now, &row->head, row->count, s->leaving != OFFLOAD_BURST_SINGLY);
}

/* The channel is going to read so many units of the message. */
static void pin(struct burst *b, struct message_out *message, uint32_t units)
{
    if (b->pins == 0 || b->pin[b->pins - 1].message != message->number)
        b->pin[b->pins++] = (struct burst_pin){.message = message->number};
    b->pin[b->pins - 1].units += units;
    messages_out_pin(message, units);
}

/* Each unit of the row gets its two pieces in the burst (burst.h). */
static void point_row(struct burst *b, const struct row *row)
{
    const struct fragment *f = &row->head;
    for (uint32_t n = 0; n < row->count; n++) {
        uint32_t i = b->datagrams++;
        const uint8_t *data =
            f->length == 0 ? NULL : f->source->buffer + f->offset + (uint64_t)n * f->length;
        b->iov[2 * i] = (struct iovec){.iov_base = (void *)data, .iov_len = f->length};
        b->iov[2 * i + 1] = (struct iovec){.iov_base = b->trailer[i], .iov_len = TRAILER_BYTES};
    }
}

/* Points pieces at unit n of the row, one if it lies in one. How many. */
static uint32_t point_unit(const struct fragment *f, uint32_t n, struct iovec *piece)
{
    uint64_t run, offset = f->offset + (uint64_t)n * f->length;
    if (f->is_split)
        return pieces_list(f->source->pieces, offset, offset + f->length, piece, UNIT_PIECES);
    const uint8_t *data = f->length > 0 ? message_out_at(f->source, offset, &run) : NULL;
    piece[0] = (struct iovec){.iov_base = (void *)data, .iov_len = f->length};
    return 1;
}

/* Units behind one that is split: none in what is near, or as many as surely find room. */
static uint64_t units_behind(const struct sender *s, const struct burst *b)
{
    uint32_t room = (BURST_PIECES - burst_first(b, b->datagrams)) / (UNIT_PIECES + 1);
    return lesser(s->burst_units, b->datagrams + (s->flow.is_near ? 0 : room));
}

/* The same where units lie in pieces, or others of the burst do. */
__attribute__((cold)) static void point_pieces(struct sender *s, struct burst *b,
                                               const struct row *row)
{
    if (row->head.is_split)
        burst_scatter(b);
    for (uint32_t n = 0; n < row->count; n++) {
        uint32_t i = b->datagrams++;
        struct iovec *piece = &b->iov[burst_first(b, i)];
        uint32_t pieces = point_unit(&row->head, n, piece);
        piece[pieces] = (struct iovec){.iov_base = b->trailer[i], .iov_len = TRAILER_BYTES};
        if (b->is_scattered)
            b->first[i + 1] = (uint16_t)(b->first[i] + pieces + 1);
    }
    if (b->is_scattered)
        s->burst_units = units_behind(s, b);
}

static void point_units(struct sender *s, struct burst *b, const struct row *row)
{
    const struct fragment *f = &row->head;
    if (f->source->pieces == NULL && !b->is_scattered)
        point_row(b, row);
    else
        point_pieces(s, b, row);
    if (!f->is_void)
        pin(b, f->source, row->count);
}

/* None of them is pinned yet: its only unit has just been cut. */
static void add_messages(struct sender *s, struct burst *b, const struct row *row)
{
    for (uint32_t n = 0; n < row->count; n++) {
        struct message_out *message = messages_out_at(&s->messages, row->head.message + n);
        uint32_t i = b->datagrams++;
        b->iov[2 * i] =
            (struct iovec){.iov_base = (void *)message->buffer, .iov_len = row->head.length};
        b->iov[2 * i + 1] = (struct iovec){.iov_base = b->trailer[i], .iov_len = TRAILER_BYTES};
        b->pin[b->pins++] = (struct burst_pin){.message = message->number, .units = 1};
        messages_out_pin(message, 1);
    }
}

static void add_units(struct sender *s, struct burst *b, const struct row *row)
{
    uint32_t bytes = row->count * (row->head.length + TRAILER_BYTES);
    if (fragment_heads_messages(&row->head, row->count))
        add_messages(s, b, row);
    else
        point_units(s, b, row);
    b->bytes += bytes;
    s->bytes_unasked += bytes;
    s->units_unasked += row->count;
}

/* An acknowledgement is asked for when nothing follows, or when what was sent since the last fills
 * a part of the window, or a quarter of a table that only acknowledgements empty. */
static bool should_answer(struct sender *s, const struct fragment *next)
{
    uint64_t table = lesser(s->messages.capacity, s->recovery.in_transit.capacity);
    uint64_t parts = s->flow.pacing.rate == 0 ? ANSWERS : ANSWERS_PACED;
    uint64_t share = sender_window(s) / parts;
    if (s->flow.is_near) {
        share = lesser(share, NEAR_ANSWER_BYTES);
        table = lesser(table, ANSWERS * NEAR_ANSWER_UNITS);
    }
    if (congestion_is_starting(&s->flow.congestion))
        share = lesser(share, ANSWER_BURSTS * s->flow.pacing.burst);
    bool is_early = s->bytes_unasked < share && s->units_unasked < table / ANSWERS;
    if (next != NULL && (is_early || fits_window(s, next)))
        return false;
    s->bytes_unasked = 0;
    s->units_unasked = 0;
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

/* All trailers of the row but the last; `first` is the first one. */
static void write_others(struct burst *b, const struct row *row, struct unit_trailer first)
{
    const struct fragment *f = &row->head;
    bool are_messages = fragment_heads_messages(f, row->count);
    struct trailer_row others;
    struct fragment next = *f;
    next.message += are_messages;
    next.offset += are_messages ? 0 : f->length;
    name_next(&first, f->message, &next);
    if (are_messages)
        trailer_row_begin_messages(&others, &first);
    else
        trailer_row_begin(&others, &first);
    for (uint32_t i = b->datagrams - row->count; i + 1 < b->datagrams; i++)
        trailer_row_put(&others, b->trailer[i]);
}

/* The trailers of the row that the burst ends with; `next` follows on it, or nothing (NULL). */
static void write_trailers(const struct sender *s, struct burst *b, const struct row *row,
                           const struct fragment *next, bool is_answer)
{
    const struct fragment *f = &row->head;
    uint8_t flags = (uint8_t)((f->is_last ? FLAG_IS_LAST : 0) | (f->is_void ? FLAG_VOID : 0));
    struct unit_trailer t = {.message = sender_session_message(&s->session, f->message),
                             .unit = f->is_void ? f->source->reason : (uint32_t)(f->offset / GRAIN),
                             .seq = sender_session_seq(&s->session, row->seq),
                             .length = (uint16_t)f->length,
                             .pairing = s->session.pairing,
                             .flags = flags};
    uint32_t behind = row->count - 1;
    uint32_t messages = fragment_heads_messages(f, row->count) ? behind : 0;
    if (behind > 0)
        write_others(b, row, t);
    t.message += messages;
    t.unit += (behind - messages) * (f->length / GRAIN);
    t.seq += behind;
    t.flags |= is_answer ? FLAG_ANSWER : 0;
    if (f->is_void && f->source->reason == VOID_TOO_LARGE)
        unit_trailer_set_size(&t, f->source->size);
    else if (next != NULL)
        name_next(&t, f->message + messages, next);
    unit_trailer_encode(b->trailer[b->datagrams - 1], &t);
}

/* Tells the flow what holds back the unit that follows, `next`, or that there is none (NULL);
 * `is_open`: it could leave at once. */
static void note_limits(struct sender *s, const struct fragment *next, bool is_open)
{
    uint64_t window = s->session.is_early ? sender_window(s) : s->flow.congestion.window;
    uint64_t in_transit = s->recovery.in_transit.bytes;
    bool is_full = next != NULL && (in_transit + next->length + TRAILER_BYTES > window ||
                                    !flow_has_room(&s->flow, window, in_transit, call_bytes(s)));
    flow_on_limit(&s->flow, is_full, is_open, in_transit);
}

/* May the burst leave that begins with this unit? A probe does not wait for its pace. */
static bool may_leave(struct sender *s, instant now, const struct fragment *f)
{
    if (!may_begin(s, f))
        return false;
    if (s->flow.credit > 0 || pacing_allows(&s->flow.pacing, now))
        return true;
    s->flow.is_limited = true;
    return false;
}

/* The burst leaves, and with it what was entered in transit. */
static void note_burst(struct sender *s, instant now, const struct burst *b)
{
    s->session.has_sent = true;
    s->counters.bursts++;
    note_leaving(s, now, b);
    if (s->flow.rtt.has_sample)
        recovery_on_burst(&s->recovery, now, b->first_seq, sender_timer_round_trip(s));
    flow_on_sent(&s->flow, now, b->first_seq, b->bytes, s->recovery.in_transit.bytes,
                 s->recovery.in_transit.units);
    sender_timer_on_sent(&s->timer, now);
}

/* Between two bursts a number is left out now and then. */
static void leave_out(struct sender *s)
{
    if (!left_out_is_due(&s->recovery.left_out))
        return;
    uint64_t window = sender_window(s) / (s->path.size.data + TRAILER_BYTES);
    s->counters.left_out += recovery_leave_out(&s->recovery, &s->secret, window);
}

/* The burst begins with this unit. */
static void begin_burst(struct sender *s, instant now, struct burst *b, const struct fragment *f)
{
    b->segment = f->length + TRAILER_BYTES;
    s->leaving = leaving(s, now, b->segment);
    b->is_single = s->leaving == OFFLOAD_BURST_SINGLY;
    s->burst_bytes = burst_bytes(s, f);
    s->burst_units = burst_units(s, b->segment, s->burst_bytes);
    leave_out(s);
    b->first_seq = s->recovery.in_transit.next;
    sender_timer_note_stop(&s->timer, now, s);
    if (s->recovery.in_transit.units > 0)
        return;
    delivery_on_begin(&s->flow.delivery, now);
    if (s->recovery.to_send.count > 0)
        return;
    congestion_on_begin(&s->flow.congestion);
    sender_timer_on_begin(&s->timer, now);
}

/* Adds the row to the burst. Returns how many units may follow in it, with `*next` as the first. */
static uint32_t take_row(struct sender *s, instant now, struct burst *b, struct row *row,
                         struct fragment *next)
{
    enter_transit(s, now, row);
    add_units(s, b, row);
    const struct fragment *behind = sender_head(s, next) ? next : NULL;
    uint32_t more = behind != NULL ? may_send(s, b, next) : 0;
    bool is_open = more == 0 && behind != NULL && may_begin(s, next);
    bool is_answer = more == 0 && should_answer(s, is_open ? next : NULL);
    is_answer |= row->head.is_repeat; /* where one was lost the next that asks may be, too */
    is_answer |= more == 0 && offload_path_is_doubted(&s->path.offload);
    write_trailers(s, b, row, behind, is_answer);
    if (more == 0)
        note_limits(s, behind, is_open);
    return more;
}

static bool take_units(struct sender *s, instant now, struct burst *b)
{
    struct row row;
    struct fragment next;
    if (!sender_head(s, &row.head) || !may_leave(s, now, &row.head))
        return false;
    begin_burst(s, now, b, &row.head);
    row.count = may_send(s, b, &row.head);
    while ((row.count = take_row(s, now, b, &row, &next)) > 0)
        row.head = next;
    note_burst(s, now, b);
    return true;
}

/* ---- hellos and probes ---- */

static void take_hello(struct sender *s, instant now, struct burst *burst)
{
    bool is_closing = s->phase != SENDER_OPEN && s->messages.open == 0;
    struct hello hello;
    enum session_hello kind =
        sender_session_take_hello(&s->session, now, s->messages.requested, is_closing, &hello);
    burst_set_control(burst, hello_encode(burst->control, sizeof burst->control, &hello));
    s->counters.hellos++;
    sender_timer_on_said(&s->timer, now);
    if (kind != HELLO_ANSWERS)
        sender_timer_on_hello(&s->timer, now, s);
    if (kind == HELLO_ASKS || kind == HELLO_TELLS)
        sender_timer_on_asked(&s->timer, now, s);
    bool may_be_bound = sender_session_is_paired(&s->session) || s->session.has_shown_cookie;
    if (kind == HELLO_CONFIRMS && !may_be_bound && sender_has_finished(s))
        s->phase = SENDER_CONFIRMED; /* the last word to a peer that has closed too */
}

/* The message that is to be offered now; NULL if there is none. */
static const struct message_out *message_to_offer(struct sender *s)
{
    if (!s->session.wants_offers || s->messages.requested < s->session.offered)
        return NULL;
    const struct message_out *message = messages_out_unannounced(&s->messages);
    return message != NULL && message->state != MESSAGE_OUT_ENDED ? message : NULL;
}

static void take_offer(struct sender *s, const struct message_out *message, struct burst *burst)
{
    const struct offer offer = {.pairing = s->session.pairing,
                                .message = sender_session_message(&s->session, message->number),
                                .size = message->size};
    burst_set_control(burst, offer_encode(burst->control, sizeof burst->control, &offer));
    s->session.offered = message->number + 1;
    s->counters.offers++;
}

/* A larger unit is of use only if it could be filled, and if those there are do not get lost. */
static bool has_use(struct sender *s)
{
    struct fragment head;
    uint32_t data = s->path.size.data;
    return data == s->path.size.most && sender_head(s, &head) && head.length == data;
}

/* Writes the probe of the path that is wanted; false if it would be of no use. */
static bool take_probe(struct sender *s, instant now, struct burst *burst)
{
    if (!sender_session_is_admitted(&s->session) ||
        (!path_mtu_wants_less(&s->path.mtu) && !has_use(s)))
        return false;
    sender_path_write_probe(&s->path, s->session.pairing, now + sender_timer_round_trip(s),
                            s->recovery.newest, burst);
    s->counters.path_probes++;
    return true;
}

static void take_challenge_answer(struct sender *s, struct burst *burst)
{
    const struct challenge_answer answer = {.pairing = s->session.pairing,
                                            .challenge = s->challenge};
    burst_set_control(burst,
                      challenge_answer_encode(burst->control, sizeof burst->control, &answer));
    s->challenge = 0;
}

bool sender_take(struct sender *s, instant now, struct burst *burst)
{
    burst->datagrams = burst->segment = burst->bytes = burst->pins = 0;
    burst->is_control = burst->is_flat = burst->is_scattered = burst->is_single = false;
    if (s->challenge != 0 && sender_session_is_paired(&s->session)) {
        take_challenge_answer(s, burst);
        return true;
    }
    if (s->session.due != HELLO_NONE) {
        take_hello(s, now, burst);
        return true;
    }
    const struct message_out *message = message_to_offer(s);
    if (message != NULL) {
        take_offer(s, message, burst);
        return true;
    }
    if (path_mtu_wants_more(&s->path.mtu, now) && take_probe(s, now, burst))
        return true;
    if (sender_session_is_paired(&s->session) && take_units(s, now, burst))
        return true;
    return path_mtu_wants_less(&s->path.mtu) && take_probe(s, now, burst);
}

bool sender_has_burst(struct sender *s)
{
    struct fragment f;
    if (s->session.due != HELLO_NONE || message_to_offer(s) != NULL)
        return true;
    if (s->challenge != 0 && sender_session_is_paired(&s->session))
        return true;
    if (!sender_session_is_paired(&s->session) || !sender_head(s, &f))
        return false;
    return may_begin(s, &f) && (!s->flow.pacing.waits || s->flow.credit > 0);
}

bool sender_awaits_buffer(const struct sender *s, uint64_t number)
{
    return number >= s->messages.requested && !s->session.wants_offers;
}

bool sender_has_more(struct sender *s)
{
    return sender_has_burst(s) || path_mtu_wants_less(&s->path.mtu);
}

/* What is pinned has its place. */
static void let_go(struct sender *s, uint64_t message, uint32_t units)
{
    messages_out_unpin(&s->messages, messages_out_at(&s->messages, message), units);
}

/* Units that never left are no loss: they go first in the next burst. */
static void put_back(struct sender *s, const struct burst *burst, uint32_t sent)
{
    s->is_blocked = sent == 0;
    recovery_put_back(&s->recovery, burst->first_seq + sent, burst->first_seq + burst->datagrams);
    if (sent == 0 && s->recovery.in_transit.units == 0)
        sender_timer_on_unsent(&s->timer);
}

void sender_sent(struct sender *s, instant now, const struct burst *burst, uint32_t sent)
{
    if (burst->is_control) {
        sender_path_on_control_sent(&s->path, burst, sent);
        return;
    }
    if (sent < 2 && sent < burst->datagrams)
        offload_path_on_unsent(&s->path.offload, now, burst->first_seq);
    put_back(s, burst, sent);
    for (uint32_t i = 0; i < burst->pins; i++)
        let_go(s, burst->pin[i].message, burst->pin[i].units);
}

void sender_held(struct sender *s, const struct burst *burst, uint32_t sent)
{
    uint32_t held = sent;
    put_back(s, burst, sent);
    for (uint32_t i = 0; i < burst->pins; i++) {
        uint32_t units = (uint32_t)lesser(burst->pin[i].units, held);
        held -= units;
        if (units < burst->pin[i].units)
            let_go(s, burst->pin[i].message, burst->pin[i].units - units);
    }
}

void sender_let_go(struct sender *s, uint64_t message)
{
    let_go(s, message, 1);
}
