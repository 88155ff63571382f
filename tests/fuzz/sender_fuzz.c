/* The sender as a script of calls: its user, its channel, its clock, and a peer that knows the
 * pairing and says anything. Invariants are checked after each step, and that
 *
 *     each burst is of units that decode, whose data is memory of messages that are not over yet;
 *     each message gives one event, and until then its memory is not freed, nor is it read after;
 *     what is due is done in a few turns, but to send;
 *     from wherever the script has led, a close comes to its end.
 *
 * A message's memory is its own, so that a sanitizer sees every byte read beside it or too late. */
#include "script.h"

#include "../support/counter_starts.h"
#include "core/arena.h"
#include "core/check.h"
#include "core/control.h"
#include "core/path_probe.h"
#include "core/sender.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 64, BURSTS = 2, BOUNDS = 12, DUE_MOST = 4, TURNS_MOST = 1000, UNIT_MOST = 1984 };

struct message {
    uint8_t *buffer; /* NULL: over */
    uint64_t number;
    uint64_t size;
};

struct run {
    struct script script;
    struct sender *sender;
    instant now;
    struct pairing pairing;  /* what the peer says */
    uint32_t message;        /* a wire number near those in use */
    uint32_t seq;            /* the same */
    struct path_probe probe; /* the last that was sent */
    struct burst burst[BURSTS];
    bool is_out[BURSTS];
    struct message posted[MESSAGES];
    uint32_t submitted, over;
    volatile uint8_t read; /* what the kernel would make of it */
};

/* ---- the channel */

static void read_piece(struct run *r, const struct iovec *piece)
{
    for (size_t i = 0; i < piece->iov_len; i++)
        r->read ^= ((const uint8_t *)piece->iov_base)[i];
}

/* Some message that is not over holds these bytes, at the unit's place. */
static bool is_data_of_message(const struct run *r, const struct iovec *data,
                               const struct unit_trailer *t)
{
    uint64_t place = (uint64_t)t->unit * GRAIN;
    for (uint32_t i = 0; i < r->submitted; i++) {
        const struct message *m = &r->posted[i];
        if (m->buffer == NULL || place + data->iov_len > m->size)
            continue;
        if (data->iov_len == 0 || m->buffer + place == data->iov_base)
            return true;
    }
    return false;
}

static void read_unit(struct run *r, const struct burst *burst, uint32_t i)
{
    const struct iovec *data = &burst->iov[2 * i];
    struct unit_trailer t;
    size_t size = data->iov_len + TRAILER_BYTES;
    CHECK(burst->iov[2 * i + 1].iov_base == burst->trailer[i]);
    CHECK(unit_trailer_decode(burst->trailer[i], size, &t) == VERDICT_OK);
    CHECK((t.flags & FLAG_VOID) != 0 || is_data_of_message(r, data, &t));
    CHECK(i + 1 == burst->datagrams ? size <= burst->segment : size == burst->segment);
    r->message = t.message;
    r->seq = t.seq + 1;
    r->pairing = t.pairing;
}

/* The path takes it, if the peer says so later. */
static void read_probe(struct run *r, const struct burst *burst)
{
    CHECK(path_probe_decode(burst->control, burst->bytes, &r->probe) == VERDICT_OK);
    CHECK(burst->bytes <= UNIT_MOST);
    CHECK(burst->iov[0].iov_len + CONTROL_TRAILER_BYTES == burst->bytes);
}

static void read_hello(struct run *r, const struct burst *burst)
{
    struct hello hello;
    CHECK(hello_decode(burst->control, burst->bytes, &hello) == VERDICT_OK);
    r->pairing.tag = hello.pairing.tag;
    if (hello.pairing.session != 0)
        r->pairing.session = hello.pairing.session;
}

static void read_burst(struct run *r, const struct burst *burst)
{
    CHECK(burst->datagrams >= 1);
    CHECK(burst->datagrams <= BURST_UNITS);
    if (burst->is_control && burst->iov[0].iov_len > 0)
        read_probe(r, burst);
    else if (burst->is_control)
        read_hello(r, burst);
    for (uint32_t i = 0; i < burst->datagrams; i++) {
        if (!burst->is_control)
            read_unit(r, burst, i);
        read_piece(r, &burst->iov[2 * i]);
        read_piece(r, &burst->iov[2 * i + 1]);
    }
}

/* The kernel reads it once more, and has then taken `sent` datagrams. */
static void leave(struct run *r, uint32_t index, uint32_t sent)
{
    const struct burst *burst = &r->burst[index];
    if (!r->is_out[index])
        return;
    for (uint32_t i = 0; i < 2 * burst->datagrams; i++)
        read_piece(r, &burst->iov[i]);
    if (sent % 2 == 1 && burst->may_lend && !burst->is_control)
        sender_lent(r->sender, r->now, burst);
    sender_sent(r->sender, r->now, burst, sent < burst->datagrams ? sent : burst->datagrams);
    r->is_out[index] = false;
}

/* Who finds nothing to take, although there was said to be something, is not told so again: the
 * pace was asked. */
static bool take(struct run *r, uint32_t index)
{
    if (r->is_out[index])
        return false;
    r->is_out[index] = sender_take(r->sender, r->now, &r->burst[index]);
    if (r->is_out[index])
        read_burst(r, &r->burst[index]);
    else
        CHECK(!sender_has_burst(r->sender)); /* or it would be asked for ever */
    return r->is_out[index];
}

/* ---- the user */

static void submit(struct run *r)
{
    static const uint64_t sizes[] = {0, 1, 31, 32, 33, 63, 64, 65, 500, 5000};
    uint64_t size = sizes[script_below(&r->script, sizeof sizes / sizeof sizes[0])];
    if (r->submitted == MESSAGES)
        return;
    struct message *m = &r->posted[r->submitted];
    *m = (struct message){.buffer = calloc(1, size == 0 ? 1 : size), .size = size};
    if (m->buffer == NULL)
        abort();
    if (sender_submit(r->sender, r->now, m, m->buffer, size, &m->number))
        r->submitted++;
    else
        free(m->buffer);
}

static void cancel(struct run *r)
{
    uint32_t which = script_below(&r->script, MESSAGES);
    if (which < r->submitted)
        (void)sender_cancel(r->sender, r->now, r->posted[which].number);
}

static void take_events(struct run *r)
{
    struct event event;
    while (sender_event(r->sender, &event)) {
        struct message *m = event.user;
        CHECK(m->buffer != NULL);
        CHECK(event.length == (event.outcome == OUTCOME_OK ? m->size : 0));
        free(m->buffer);
        m->buffer = NULL;
        r->over++;
    }
}

/* ---- the peer */

/* The pairing that was heard last, mostly. */
static struct pairing choose_pairing(struct run *r)
{
    struct pairing pairing = r->pairing;
    uint32_t choice = script_u8(&r->script);
    if (choice < 8)
        pairing.session = 1 + choice % 4;
    else if (choice < 12)
        pairing.tag = (uint16_t)(choice % 2);
    return pairing;
}

/* Bounds go down from one near the next to be sent; each step is small, or anything. */
static void hear_ack(struct run *r)
{
    uint8_t datagram[CONTROL_BYTES];
    uint32_t bound[BOUNDS];
    uint32_t shape = script_u8(&r->script);
    uint32_t count = shape % (BOUNDS - 1) == 0 ? 0 : 1 + shape % (BOUNDS - 1);
    uint32_t next = script_near(&r->script, r->seq - 4);
    struct block_ack ack = {.pairing = choose_pairing(r),
                            .newest = count == 0 ? 0 : next - 1,
                            .delay_us = (uint32_t)script_number(&r->script, 2) << (shape % 16),
                            .capacity = (uint32_t)script_number(&r->script, 2) << (shape % 8),
                            .length = (uint16_t)(count == 0 ? 0 : count - 1),
                            .marks = (uint16_t)(shape * shape),
                            .is_closing = shape >= 250,
                            .bounds = datagram};
    for (uint32_t i = count; i-- > 0;) {
        bound[i] = next;
        uint32_t step = script_u8(&r->script);
        next -= step < 250 ? 1 + step % 8 : (uint32_t)script_number(&r->script, 4);
    }
    for (uint32_t i = 0; i < count; i++)
        ack_bound_encode(datagram + (size_t)i * ACK_BOUND_BYTES, bound[i]);
    sender_receive(r->sender, r->now, datagram, block_ack_encode(datagram, sizeof datagram, &ack));
}

static struct request_run choose_run(struct run *r)
{
    static const uint64_t sizes[] = {REQUEST_WITHDRAWN, REQUEST_WITHDRAWN - 1, 0, 31, 64, 5000};
    uint32_t count = script_u8(&r->script);
    return (struct request_run){
        .first = script_near(&r->script, r->message),
        .count = count < 250 ? 1 + count % 32 : (uint32_t)script_number(&r->script, 4),
        .size = sizes[script_below(&r->script, sizeof sizes / sizeof sizes[0])],
    };
}

static void hear_request(struct run *r)
{
    uint8_t datagram[CONTROL_BYTES];
    uint32_t runs = script_below(&r->script, 5);
    for (uint32_t i = 0; i < runs; i++) {
        struct request_run run = choose_run(r);
        request_run_encode(datagram + (size_t)i * REQUEST_RUN_BYTES, &run);
    }
    struct request request = {.pairing = choose_pairing(r),
                              .capacity = (uint32_t)script_number(&r->script, 2) << (runs * 4),
                              .length = (uint16_t)runs,
                              .runs = datagram};
    sender_receive(r->sender, r->now, datagram,
                   request_encode(datagram, sizeof datagram, &request));
}

/* The answer to the last probe, or to one like it. */
static void hear_path_answer(struct run *r)
{
    uint8_t datagram[CONTROL_TRAILER_BYTES];
    uint32_t shape = script_u8(&r->script);
    struct path_probe answer = r->probe;
    if (shape >= 200)
        answer.bytes = (uint32_t)script_number(&r->script, 4);
    if (shape >= 240)
        answer.number += shape - 248;
    path_answer_encode(datagram, &answer);
    sender_receive(r->sender, r->now, datagram, sizeof datagram);
}

static void hear_anything(struct run *r)
{
    size_t count;
    const uint8_t *bytes = script_bytes(&r->script, script_u8(&r->script), &count);
    sender_receive(r->sender, r->now, bytes, count);
}

/* ---- the clock */

/* What is due is done in a few turns, and then there is nothing left but to send. */
static void wait_until(struct run *r, instant until)
{
    if (until != NEVER && until > r->now)
        r->now = until;
    for (int turn = 0; turn == 0 || sender_deadline(r->sender) <= r->now; turn++) {
        if (turn > 0 && sender_has_burst(r->sender))
            break;
        CHECK(turn < DUE_MOST);
        sender_expire(r->sender, r->now);
    }
}

static void pass_time(struct run *r)
{
    static const duration some[] = {MICROSECOND,       MILLISECOND, 20 * MILLISECOND,
                                    300 * MILLISECOND, 2 * SECOND,  3600 * SECOND};
    uint32_t choice = script_below(&r->script, 8);
    if (choice < 6)
        wait_until(r, r->now + some[choice]);
    else
        wait_until(r, sender_deadline(r->sender));
}

/* ---- the script */

static void open_sender(struct run *r)
{
    uint32_t shape = script_u8(&r->script);
    uint32_t kind = script_below(&r->script, CONGESTION_BBR + 1);
    uint32_t start = (uint32_t)counter_start((int)(shape % COUNTER_STARTS));
    bool is_large = (shape & 12) == 12; /* enough to fall from */
    uint32_t unit_bytes = is_large ? UNIT_MOST : (shape & 4) != 0 ? 64 : 150;
    struct sender_config config = {.unit_bytes = unit_bytes,
                                   .burst_units = (shape & 8) != 0 ? 1 : 6,
                                   .burst_bytes = is_large ? UNIT_MOST : 600,
                                   .messages = (shape & 16) != 0 ? 2 : 16,
                                   .transit_units = (shape & 32) != 0 ? 4 : 32,
                                   .window_bytes = (shape & 64) != 0 ? 300 : 1 << 20,
                                   .silence = 10 * SECOND,
                                   .congestion = (enum congestion_kind)kind,
                                   .seed = 1998,
                                   .first_message = start,
                                   .first_seq = start};
    r->now = SECOND;
    r->pairing.session = 1;
    r->message = r->seq = start;
    r->sender = sender_init(aligned_alloc(ARENA_ALIGNMENT, sender_bytes(&config)), &config, r->now);
}

/* Calls that end something; a script that makes them often does not get far. */
static void do_rarely(struct run *r)
{
    switch (script_u8(&r->script)) {
    case 1:
        sender_close(r->sender, r->now);
        break;
    case 2:
        sender_fail(r->sender, r->now, OUTCOME_CLOSED);
        break;
    case 3:
        sender_limit_unit(r->sender, r->now, 64 + script_u8(&r->script));
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        hear_path_answer(r);
        break;
    default:
        hear_anything(r);
        break;
    }
}

static void step(struct run *r)
{
    uint32_t call = script_below(&r->script, 16);
    switch (call) {
    case 0:
    case 1:
        submit(r);
        break;
    case 2:
        cancel(r);
        break;
    case 3:
    case 4:
    case 5:
        (void)take(r, call % BURSTS);
        break;
    case 6:
    case 7:
        leave(r, call % BURSTS, script_u8(&r->script));
        break;
    case 8:
    case 9:
        hear_request(r);
        break;
    case 10:
    case 11:
    case 12:
        hear_ack(r);
        break;
    case 13:
        pass_time(r);
        break;
    case 14:
        take_events(r);
        break;
    default:
        do_rarely(r);
        break;
    }
    sender_check(r->sender);
}

/* Nobody answers any more. */
static void close_alone(struct run *r)
{
    sender_close(r->sender, r->now);
    for (uint32_t i = 0; i < BURSTS; i++)
        leave(r, i, BURST_UNITS);
    for (int turn = 0; !sender_is_closed(r->sender); turn++) {
        CHECK(turn < TURNS_MOST);
        for (uint32_t i = 0; i < BURSTS; i++) {
            (void)take(r, i);
            leave(r, i, BURST_UNITS);
        }
        take_events(r);
        if (!sender_has_burst(r->sender))
            wait_until(r, sender_deadline(r->sender));
    }
    sender_fail(r->sender, r->now, OUTCOME_CLOSED);
    if (sender_withheld_until(r->sender) != NEVER)
        wait_until(r, sender_withheld_until(r->sender));
    sender_check(r->sender);
    take_events(r);
    CHECK(r->over == r->submitted);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    run.script = script_of(in, size);
    open_sender(&run);
    while (!script_is_over(&run.script))
        step(&run);
    close_alone(&run);
    free(run.sender);
    return 0;
}
