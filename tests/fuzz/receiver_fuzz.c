/* The receiver as a script of calls: its user, its channel, its clock, and a peer that knows the
 * pairing and says anything, but of each byte of a message always the same. Invariants are checked
 * after each step, and that
 *
 *     each message gives one event, and what is called delivered is all there, and of one message;
 *     requests ask for offers once the user does, and what is known by one does not change;
 *     behind the end of a message its buffer is what it was, or 0;
 *     a buffer is not written before it is posted or after its event: it is its own, and freed;
 *     a datagram lands whatever its size, and the plan's memory is the receiver's to plan with;
 *     each control datagram decodes;
 *     what is due is done in a few turns;
 *     from wherever the script has led, a close comes to its end. */
#include "receiver_peer.h"

#include "../support/counter_starts.h"
#include "../support/memory.h"
#include "../support/scatter.h"
#include "core/check.h"

/* ---- the user */

static void post(struct run *r)
{
    struct message *m = messages_next(&r->messages, &r->script);
    if (m != NULL)
        messages_begin(
            &r->messages, m,
            m->pieces != NULL
                ? receiver_post_pieces(r->receiver, r->now, m, m->pieces, m->size, &m->number)
                : receiver_post(r->receiver, r->now, m, m->buffer, m->size, &m->number));
}

static void ask_offers(struct run *r)
{
    receiver_ask_offers(r->receiver, r->now);
    r->asks = true;
}

/* How large the next message is becomes known, and stays as it is until that is posted. */
static void check_offer(struct run *r)
{
    uint64_t offers = receiver_counters(r->receiver)->offers;
    uint64_t size;
    if (!receiver_offer(r->receiver, &size))
        return;
    CHECK(offers > 0);
    CHECK(size <= MESSAGE_BYTES_MAX);
    CHECK(offers != r->offers || size == r->offered);
    r->offers = offers;
    r->offered = size;
}

static void cancel(struct run *r)
{
    const struct message *m = messages_some(&r->messages, &r->script);
    if (m != NULL)
        (void)receiver_cancel(r->receiver, r->now, m->number);
}

/* As it was when it was posted. */
static bool is_clear(const uint8_t *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* What is delivered fits; what was too large says how large, whatever that is; else nothing. */
static void check_length(const struct event *event, const struct message *m)
{
    if (event->outcome == OUTCOME_TOO_LARGE) {
        CHECK(event->length > 0);
        CHECK(event->length <= MESSAGE_BYTES_MAX);
        return;
    }
    CHECK(event->length <= (event->outcome == OUTCOME_OK ? m->size : 0));
    CHECK(is_whole(messages_bytes(m), event->length));
}

static void take_events(struct run *r)
{
    struct event event;
    while (receiver_event(r->receiver, &event)) {
        struct message *m = event.user;
        CHECK(!r->is_planned);
        CHECK(m->buffer != NULL);
        check_length(&event, m);
        CHECK(event.scribbled <= m->size);
        pieces_clear(m->pieces, m->buffer, event.length, event.scribbled);
        CHECK(event.outcome != OUTCOME_OK ||
              is_clear(messages_bytes(m) + event.length, m->size - event.length));
        messages_end(&r->messages, m);
    }
}

/* ---- the channel */

static void plan(struct run *r)
{
    if (r->is_planned)
        return;
    receiver_plan(r->receiver, &r->landing, 1 + script_below(&r->script, OPENINGS),
                  1 + script_below(&r->script, PAIRS));
    landing_check(&r->landing);
    r->is_planned = true;
}

/* Datagrams of one size, and a shorter one at the end, come down together; what finds no opening
 * is lost. */
static void land(struct run *r)
{
    uint32_t at = 0;
    plan(r);
    for (uint32_t i = 0; i < r->datagrams && r->landing.received < r->landing.openings;) {
        uint32_t segment = r->datagram[i];
        uint32_t bytes = 0;
        do
            bytes += r->datagram[i++];
        while (i < r->datagrams && r->datagram[i - 1] == segment && r->datagram[i] <= segment);
        scatter(&r->landing, r->wire + at, bytes, segment);
        at += bytes;
    }
    landing_check(&r->landing);
    (void)receiver_landed(r->receiver, r->now, &r->landing);
    r->is_planned = false;
    r->datagrams = r->bytes = 0;
}

static void read_control(struct run *r)
{
    struct block_ack ack;
    struct request request;
    struct path_probe probe;
    const struct burst *burst = &r->burst;
    CHECK(burst->is_control);
    CHECK(burst->bytes <= CONTROL_BYTES);
    struct pairing echoed;
    uint8_t version;
    enum datagram_type type = datagram_type(burst->control[burst->bytes - 1]);
    if (type == DATAGRAM_VERSION_ANSWER) {
        CHECK(version_answer_decode(burst->control, burst->bytes, &echoed, &version));
    } else if (type == DATAGRAM_COOKIE) {
        CHECK(cookie_answer_decode(burst->control, burst->bytes, &r->cookie) == VERDICT_OK);
    } else if (type == DATAGRAM_PATH_ANSWER) {
        CHECK(path_answer_decode(burst->control, burst->bytes, &probe) == VERDICT_OK);
    } else if (type == DATAGRAM_REQUEST) {
        CHECK(request_decode(burst->control, burst->bytes, &request) == VERDICT_OK);
        CHECK(request.wants_offer == r->asks);
        r->pairing = request.pairing;
        for (uint32_t i = 0; i < request.length; i++)
            r->message = request_run(&request, i).first;
    } else {
        CHECK(block_ack_decode(burst->control, burst->bytes, &ack) == VERDICT_OK);
        r->pairing = ack.pairing;
    }
}

static bool take(struct run *r)
{
    if (!receiver_take(r->receiver, r->now, &r->burst))
        return false;
    read_control(r);
    return true;
}

/* All there is to say now; it must come to an end. */
static void take_all(struct run *r)
{
    for (int turn = 0; take(r); turn++)
        CHECK(turn < TURNS_MOST);
}

/* ---- messages as a whole */

static void land_whole(struct run *r)
{
    uint64_t in_session = script_near(&r->script, r->message);
    uint32_t shape = script_u8(&r->script);
    uint64_t size = shape / 2;
    struct whole_place place;
    if (r->is_planned)
        land(r);
    if (shape > 250)
        in_session = UINT64_MAX - in_session;
    if (receiver_whole(r->receiver, in_session, size, &place) != WHOLE_LANDS)
        return;
    for (uint64_t i = 0; i < size; i++) {
        uint8_t byte = content((uint32_t)in_session, i);
        if (place.pieces != NULL)
            pieces_write(place.pieces, i, &byte, 1);
        else
            place.buffer[i] = byte;
    }
    if (shape % 2 == 0)
        receiver_whole_landed(r->receiver, place.number, size);
    else
        receiver_whole_revoked(r->receiver, place.number, size);
    receiver_on_wholes(r->receiver, r->now);
}

static void show_credit(struct run *r)
{
    uint32_t shape = script_u8(&r->script);
    struct credit credit;
    if (shape >= 192)
        (void)receiver_set_credit(r->receiver, shape % 2 == 0);
    while (receiver_publish(r->receiver, shape, &credit))
        CHECK(credit.size <= 5000);
    if (shape < 32)
        receiver_call(r->receiver);
    else if (shape < 64)
        receiver_call_soon(r->receiver, r->now);
}

/* ---- the clock */

/* What is due is done, in a few turns. */
static void wait_until(struct run *r, instant until)
{
    if (until != NEVER && until > r->now)
        r->now = until;
    for (int turn = 0; turn == 0 || receiver_deadline(r->receiver) <= r->now; turn++) {
        CHECK(turn < DUE_MOST);
        receiver_expire(r->receiver, r->now);
        take_all(r);
    }
}

static void pass_time(struct run *r)
{
    memory_spoil(r->receiver, r->memory, receiver_rest(r->receiver));
    wait_until(r, script_until(&r->script, r->now, receiver_deadline(r->receiver)));
}

/* ---- the script */

/* The script begins in a session; else it has to find its way into one. */
static void pair(struct run *r)
{
    say_hello(r, &(struct hello){.pairing = {.tag = 1}, .nonce = ++r->nonce});
    land(r);
    take_all(r);
    bring_cookie(r);
    land(r);
    take_all(r);
}

static void open_receiver(struct run *r)
{
    uint32_t shape = script_u8(&r->script);
    uint32_t start = (uint32_t)counter_start((int)(shape % COUNTER_STARTS));
    struct receiver_config config = {.unit_bytes = 64 + TRAILER_BYTES,
                                     .messages = (shape & 4) != 0 ? 2 : 16,
                                     .holes = (shape & 8) != 0 ? 1 : 16,
                                     .intervals = (shape & 16) != 0 ? 1 : 64,
                                     .capacity = 65536,
                                     .silence = 10 * SECOND,
                                     .secret = secret_of_seed(1998),
                                     .jar = jar_of_seed(98),
                                     .first_message = start,
                                     .first_seq = start};
    r->now = SECOND;
    r->message = r->seq = start;
    r->landing_memory = malloc(landing_memory(OPENINGS));
    landing_init(&r->landing, r->landing_memory, OPENINGS);
    r->memory = receiver_bytes(&config);
    r->receiver = memory_of_receiver(&config, r->now);
    if ((shape & 32) != 0)
        pair(r);
}

/* Calls that end something; a script that makes them often does not get far. */
static void do_rarely(struct run *r)
{
    switch (script_u8(&r->script)) {
    case 1:
        receiver_close(r->receiver, r->now);
        break;
    case 2:
        receiver_fail(r->receiver, r->now, OUTCOME_CLOSED);
        break;
    case 3:
        (void)receiver_fault(r->receiver, script_near(&r->script, r->message));
        break;
    case 4:
    case 5:
    case 6:
        send_path_probe(r);
        break;
    case 7:
    case 8:
    case 9:
        send_offer(r);
        break;
    case 10:
        ask_offers(r);
        break;
    case 11:
    case 12:
    case 13:
    case 14:
        land_whole(r);
        break;
    case 15:
    case 16:
        show_credit(r);
        break;
    default:
        send_anything(r);
        break;
    }
}

static void step(struct run *r)
{
    uint32_t call = script_below(&r->script, 16);
    if (call < 2)
        post(r);
    else if (call == 2)
        cancel(r);
    else if (call == 3)
        (void)take(r);
    else if (call == 4)
        plan(r);
    else if (call < 7)
        land(r);
    else if (call == 7)
        send_hello(r);
    else if (call < 11)
        send_unit(r, choose_unit(r));
    else if (call < 13)
        send_row(r);
    else if (call == 13)
        pass_time(r);
    else if (call == 14)
        take_events(r);
    else
        do_rarely(r);
    receiver_check(r->receiver);
    check_offer(r);
}

/* Nobody answers any more. */
static void close_alone(struct run *r)
{
    land(r);
    receiver_close(r->receiver, r->now);
    for (int turn = 0; !receiver_is_closed(r->receiver); turn++) {
        CHECK(turn < TURNS_MOST);
        take_all(r);
        wait_until(r, receiver_deadline(r->receiver));
    }
    receiver_check(r->receiver);
    take_events(r);
    CHECK(r->messages.over == r->messages.begun);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    run.script = script_of(in, size);
    open_receiver(&run);
    while (!script_is_over(&run.script))
        step(&run);
    close_alone(&run);
    free(run.landing_memory);
    free(run.receiver);
    return 0;
}
