/* The sender as a script of calls: its user, its channel, its clock, and a peer that knows the
 * pairing and says anything. Invariants are checked after each step, and that
 *
 *     each burst is of units that decode, whose data is memory of messages that are not over yet;
 *     an offer is one of the user's messages, and somebody asked for it;
 *     each message gives one event, and until then its memory is not freed, nor is it read after;
 *     what is due is done in a few turns, but to send;
 *     from wherever the script has led, a close comes to its end. */
#include "sender_peer.h"

#include "../support/counter_starts.h"
#include "../support/memory.h"

/* ---- the channel */

static void read_piece(struct run *r, const struct iovec *piece)
{
    for (size_t i = 0; i < piece->iov_len; i++)
        r->read ^= ((const uint8_t *)piece->iov_base)[i];
}

/* Are these `size` bytes the message's, from that place on? */
static bool has_data(const struct message *m, const struct iovec *data, uint64_t place,
                     uint64_t size)
{
    if (m->pieces == NULL)
        return size == 0 || (m->buffer + place == data->iov_base && data->iov_len == size);
    for (uint64_t run; size > 0; data++, place += run, size -= run)
        if (pieces_at(m->pieces, place, &run) != data->iov_base ||
            data->iov_len != (run = run < size ? run : size))
            return false;
    return true;
}

/* Some message that is not over holds these bytes, at the unit's place. */
static bool is_data_of_message(const struct run *r, const struct iovec *data,
                               const struct unit_trailer *t)
{
    uint64_t place = (uint64_t)t->unit * GRAIN;
    for (uint32_t i = 0; i < r->messages.begun; i++) {
        const struct message *m = &r->messages.message[i];
        if (m->buffer != NULL && place + t->length <= m->size &&
            has_data(m, data, place, t->length))
            return true;
    }
    return false;
}

static void read_unit(struct run *r, const struct burst *burst, uint32_t i)
{
    const struct iovec *data = &burst->iov[burst_first(burst, i)];
    struct unit_trailer t;
    size_t size = burst_datagram_bytes(burst, i);
    CHECK(burst->iov[burst_first(burst, i + 1) - 1].iov_base == burst->trailer[i]);
    CHECK(burst_first(burst, i + 1) - burst_first(burst, i) <= UNIT_PIECES + 1);
    CHECK(unit_trailer_decode(burst->trailer[i], size, &t) == VERDICT_OK);
    CHECK((t.flags & FLAG_VOID) != 0 || is_data_of_message(r, data, &t));
    CHECK(unit_trailer_size(&t) <= 5000 || (t.flags & FLAG_HAS_NEXT) != 0);
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
    CHECK(burst->iov[0].iov_len + TRAILER_BYTES == burst->bytes);
}

static void read_hello(struct run *r, const struct burst *burst)
{
    struct hello hello;
    CHECK(hello_decode(burst->control, burst->bytes, &hello) == VERDICT_OK);
    if (hello.nonce != 0)
        r->question = hello;
    else
        r->pairing = hello.pairing;
}

static void read_offer(struct run *r, const struct burst *burst)
{
    struct offer offer;
    uint32_t i = 0;
    CHECK(offer_decode(burst->control, burst->bytes, &offer) == VERDICT_OK);
    CHECK(r->wants_offers);
    while (i < r->messages.begun && r->messages.message[i].size != offer.size)
        i++;
    CHECK(i < r->messages.begun);
    r->message = offer.message;
}

static void read_burst(struct run *r, const struct burst *burst)
{
    CHECK(burst->datagrams >= 1);
    CHECK(burst->datagrams <= BURST_UNITS);
    if (burst->is_control && burst->iov[0].iov_len > 0)
        read_probe(r, burst);
    else if (burst->is_control && datagram_type(burst->control[burst->bytes - 1]) == DATAGRAM_OFFER)
        read_offer(r, burst);
    else if (burst->is_control)
        read_hello(r, burst);
    for (uint32_t i = 0; i < burst->datagrams; i++) {
        if (!burst->is_control)
            read_unit(r, burst, i);
        for (uint32_t k = burst_first(burst, i); k < burst_first(burst, i + 1); k++)
            read_piece(r, &burst->iov[k]);
    }
}

/* The kernel reads it once more, and has then taken `sent` datagrams. */
static void leave(struct run *r, uint32_t index, uint32_t sent)
{
    const struct burst *burst = &r->burst[index];
    if (!r->is_out[index])
        return;
    for (uint32_t i = 0; i < burst_first(burst, burst->datagrams); i++)
        read_piece(r, &burst->iov[i]);
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
    struct message *m = messages_next(&r->messages, &r->script);
    if (m != NULL)
        messages_begin(
            &r->messages, m,
            m->pieces != NULL
                ? sender_submit_pieces(r->sender, r->now, m, m->pieces, m->size, &m->number)
                : sender_submit(r->sender, r->now, m, m->buffer, m->size, &m->number));
}

static void cancel(struct run *r)
{
    const struct message *m = messages_some(&r->messages, &r->script);
    if (m != NULL)
        (void)sender_cancel(r->sender, r->now, m->number);
}

static void take_events(struct run *r)
{
    struct event event;
    while (sender_event(r->sender, &event)) {
        struct message *m = event.user;
        CHECK(event.length == (event.outcome == OUTCOME_OK ? m->size : 0));
        messages_end(&r->messages, m);
    }
}

/* ---- messages as a whole */

static void put_whole(struct run *r)
{
    struct whole whole;
    if (r->wholes == WHOLES || !sender_whole(r->sender, script_u8(&r->script), &whole))
        return;
    struct iovec piece;
    for (uint32_t i = 0; pieces_of_memory(whole.pieces, whole.buffer, whole.size, i, &piece); i++)
        read_piece(r, &piece);
    sender_put_whole(r->sender, &whole);
    r->whole[r->wholes++] = whole.number;
}

/* Of one that went so, or of any other message. */
static void hear_of_whole(struct run *r)
{
    uint32_t shape = script_u8(&r->script);
    uint64_t number = r->wholes > 0 ? r->whole[shape % r->wholes] : shape;
    if ((shape & 128) != 0)
        sender_whole_came_back(r->sender, r->now, number ^ (shape & 64));
    else
        sender_whole_arrived(r->sender, r->now, number ^ (shape & 64));
}

static void hear_credit(struct run *r)
{
    uint64_t lacked;
    uint64_t message = script_near(&r->script, r->message);
    if ((message & 1) != 0 && sender_lacks_buffer(r->sender, &lacked))
        message = lacked;
    (void)sender_credit(r->sender, message, script_number(&r->script, 2));
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
    memory_spoil(r->sender, r->memory, sender_rest(r->sender));
    wait_until(r, script_until(&r->script, r->now, sender_deadline(r->sender)));
}

/* ---- the script */

/* The script begins in a session; else it has to find its way into one. */
static void pair(struct run *r)
{
    uint8_t datagram[TRAILER_BYTES];
    (void)take(r, 0);
    leave(r, 0, 1);
    r->pairing = (struct pairing){.session = 1, .tag = r->question.pairing.tag};
    struct request request = {
        .pairing = r->pairing, .nonce = r->question.nonce, .capacity = 65536, .runs = datagram};
    sender_receive(r->sender, r->now, datagram,
                   request_encode(datagram, sizeof datagram, &request));
}

static void open_sender(struct run *r)
{
    uint32_t shape = script_u8(&r->script);
    uint32_t kind = script_below(&r->script, CONGESTION_BBR + 1);
    uint32_t start = (uint32_t)counter_start((int)(shape % COUNTER_STARTS));
    bool is_large = (shape & 12) == 12; /* enough to fall from */
    uint32_t unit_bytes = is_large ? UNIT_MOST : (shape & 4) != 0 ? 64 : 150;
    struct sender_config config = {.unit_bytes = unit_bytes,
                                   .is_cut = is_large,
                                   .burst_units = (shape & 8) != 0 ? 1 : 6,
                                   .burst_bytes = is_large ? UNIT_MOST : 600,
                                   .messages = (shape & 16) != 0 ? 2 : 16,
                                   .transit_units = (shape & 32) != 0 ? 4 : 32,
                                   .window_bytes = (shape & 64) != 0 ? 300 : 1 << 20,
                                   .connect = 5 * SECOND,
                                   .silence = 10 * SECOND,
                                   .progress = (shape & 2) != 0 ? SECOND : 20 * SECOND,
                                   .congestion = (enum congestion_kind)kind,
                                   .secret = secret_of_seed(1998),
                                   .first_message = start,
                                   .first_seq = start};
    r->now = SECOND;
    r->message = r->seq = start;
    r->memory = sender_bytes(&config);
    r->sender = memory_of_sender(&config, r->now);
    if ((shape & 128) != 0)
        pair(r);
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
        (void)sender_on_refused_size(r->sender, r->now, 64 + script_u8(&r->script));
        break;
    case 4:
        sender_on_path_hint(r->sender, r->now);
        break;
    case 5:
        sender_on_refused(r->sender, r->now);
        hear_version(r);
        break;
    case 6:
        (void)sender_fault(r->sender, script_near(&r->script, r->message));
        break;
    case 7:
    case 8:
    case 9:
    case 10:
        hear_path_answer(r);
        break;
    case 11:
    case 12:
    case 13:
    case 14:
        hear_cookie(r);
        break;
    case 15:
    case 16:
    case 17:
    case 18:
        put_whole(r);
        break;
    case 19:
    case 20:
        hear_of_whole(r);
        break;
    case 21:
    case 22:
        hear_credit(r);
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

/* Nobody answers any more, and what went as a whole comes back. */
static void close_alone(struct run *r)
{
    for (uint32_t i = 0; i < r->wholes; i++)
        sender_whole_came_back(r->sender, r->now, r->whole[i]);
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
    sender_check(r->sender);
    take_events(r);
    CHECK(r->messages.over == r->messages.begun);
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
