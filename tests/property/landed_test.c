/* Random messages on their way into a receiver's buffers, in every way that a channel lands them:
 * each unit in an opening of its own, several joined in one (UDP_GRO), or as packets of AAL5, each
 * of which came down anywhere; with keys, too. Units are lost, repeated and reordered, strangers
 * send between them, and buffers lie in several pieces.
 *
 *     every message ends well, says its size, and is right to the byte
 *     behind its end and around its buffer no byte is another one in the end, but for zeros */
#include "../support/counter_starts.h"
#include "../support/fake_cipher.h"
#include "../support/memory.h"
#include "../support/packets.h"
#include "../support/random.h"
#include "../support/scatter.h"
#include "../support/secret.h"
#include "../support/suite.h"
#include "core/number.h"
#include "core/wire/control.h"

enum {
    ROUNDS = 3000,
    MESSAGES = 32,
    PIECES = 40,         /* of a message */
    BYTES = 96 * 1024,   /* of all messages */
    MEMORY = 128 * 1024, /* in which their buffers lie */
    UNITS = 8192,        /* of a pass */
    WIRE = 1024 * 1024,
    PASSES = 4,
    CLEAN_PASSES = 10,
    PDU_PAD = 48, /* bytes of a PDU between its payload and its tail are fewer */
    TAG = 7,
};

enum way { WAY_ALONE, WAY_JOINED, WAY_PACKETS };

struct message {
    const uint8_t *sent;
    uint64_t length, size; /* bytes, and of its buffer */
    uint8_t *buffer;
    struct pieces *pieces; /* NULL: it has that buffer */
    bool is_over;
};

struct unit {
    uint32_t message;
    uint64_t first;
    uint32_t length;
};

/* On the wire. */
struct datagram {
    uint32_t at, size;
};

/* A circuit's PDU under way, at its sender: bytes [at, size) are still to come. */
struct stream {
    uint32_t at, size, payload;
    uint8_t bytes[PDU_MOST];
};

static uint64_t state;
static enum way way;
static bool has_keys, is_clean;          /* clean: nothing is lost, and nobody else sends */
static uint32_t unit_bytes, usual_bytes; /* of a full unit's data, and of most units' */
static uint32_t packet_bytes, calm;      /* packets between others' packets, on the average */

static uint8_t user[MEMORY],
    shadow[MEMORY]; /* shadow: as it has to be, but for what has not ended */
static uint8_t content[BYTES];
static struct message message[MESSAGES];
static uint32_t messages, posted, over;

static struct receiver *r;
static struct receiver_counters counted; /* of all rounds */
static struct landing landing;
static struct fake_pair keys;
static struct pairing pairing;
static struct burst burst;
static uint32_t start, seq;
static instant now;

static struct unit queue[UNITS], lost[UNITS];
static struct datagram datagram[2 * UNITS];
static uint32_t arrival[3 * UNITS]; /* the datagrams that arrive, in this order */
static uint32_t units, losses, datagrams, arrivals, next;
static uint8_t wire[WIRE];
static uint32_t wire_bytes;

static struct packets packets;
static struct pdu pdus[2];
static struct stream streams[2]; /* of units, and of what the peer's receiver says */

static uint32_t below(uint32_t n)
{
    return (uint32_t)random_below(&state, n);
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* ---- the user ---- */

/* Many that are alike and one unit each, or of a few units, or of many. Most fill their buffers. */
static void choose_messages(void)
{
    static const uint32_t grains[] = {2, 8, 48, 280};
    uint32_t shape = below(3), left = BYTES;

    unit_bytes = GRAIN * (1 + below(grains[below(4)]));
    usual_bytes = shape == 0 ? 1 + below(unit_bytes) : unit_bytes;
    messages = 1 + below(MESSAGES);
    for (uint32_t i = 0; i < messages; i++) {
        uint32_t most = shape == 1 ? 2 * unit_bytes : 12 * unit_bytes;
        uint32_t size = least(left, shape == 0 ? usual_bytes : below(most + 1));
        message[i] = (struct message){.sent = content + (BYTES - left), .size = size};
        message[i].length = one_in(shape == 0 ? 20 : 4) ? below(size + 1) : size;
        left -= size;
    }
}

/* Cuts a buffer of this size into so many pieces, some of them empty. */
static void cut(struct iovec *piece, uint32_t pieces, uint32_t size)
{
    for (uint32_t i = 0; i < pieces; i++) {
        uint32_t rest = pieces - i;
        uint32_t length = rest == 1 ? size : least(size, below(2 * size / rest + 1));
        piece[i].iov_len = length;
        size -= length;
    }
}

/* Lays the pieces of all messages out in the user's memory, in any order. */
static void lay_out(struct iovec *piece, uint32_t pieces)
{
    static uint32_t order[MESSAGES * PIECES];
    bool is_shuffled = one_in(2);
    uint32_t gap = one_in(2) ? 16 : 1;
    uint8_t *at = user + below(64);

    for (uint32_t i = 0; i < pieces; i++) {
        uint32_t other = is_shuffled ? below(i + 1) : i;
        order[i] = order[other];
        order[other] = i;
    }
    for (uint32_t i = 0; i < pieces; i++) {
        at += below(gap);
        piece[order[i]].iov_base = at;
        at += piece[order[i]].iov_len;
    }
    ck_assert(at <= user + MEMORY);
}

static void place_messages(void)
{
    static struct iovec piece[MESSAGES * PIECES];
    uint32_t first[MESSAGES + 1] = {0};
    bool has_pieces = one_in(2);

    for (uint32_t i = 0; i < messages; i++) {
        uint32_t pieces = has_pieces && one_in(2) ? 1 + below(PIECES) : 1;
        first[i + 1] = first[i] + pieces;
        cut(piece + first[i], pieces, (uint32_t)message[i].size + (one_in(4) ? below(64) : 0));
    }
    lay_out(piece, first[messages]);
    for (uint32_t i = 0; i < messages; i++) {
        uint32_t pieces = first[i + 1] - first[i];
        message[i].buffer = piece[first[i]].iov_base;
        if (pieces > 1)
            message[i].pieces = pieces_init(malloc(pieces_room(pieces)), piece + first[i], pieces);
    }
}

/* Posts more, if there is room: what is missing of others may need it all. */
static void post(uint32_t most)
{
    bool has_room = true;

    while (has_room && posted < messages && posted - over < most) {
        struct message *m = &message[posted];
        uint64_t number;
        has_room = m->pieces != NULL ? receiver_post_pieces(r, now, m, m->pieces, m->size, &number)
                                     : receiver_post(r, now, m, m->buffer, m->size, &number);
        posted += has_room;
    }
}

static void check_message(const struct message *m)
{
    for (uint64_t i = 0, run; i < m->size; i += run) {
        uint64_t end = i < m->length ? m->length : m->size;
        uint8_t *at = m->pieces != NULL ? pieces_at(m->pieces, i, &run) : m->buffer + i;
        run = m->pieces != NULL ? lesser(run, end - i) : end - i;
        uint8_t *old = shadow + (at - user);
        if (i < m->length)
            ck_assert_mem_eq(at, m->sent + i, run);
        for (uint64_t k = 0; i >= m->length && k < run; k++)
            ck_assert(at[k] == 0 || at[k] == old[k]);
        memcpy(old, at, run);
    }
}

static void take_events(void)
{
    struct event event;

    while (receiver_event(r, &event)) {
        struct message *m = event.user;
        ck_assert(!m->is_over);
        ck_assert_int_eq(event.outcome, OUTCOME_OK);
        ck_assert_uint_eq(event.length, m->length);
        ck_assert_uint_le(event.scribbled, m->size);
        pieces_clear(m->pieces, m->buffer, event.length, event.scribbled);
        check_message(m);
        m->is_over = true;
        over++;
    }
}

/* ---- the peer ---- */

static struct datagram *put(uint32_t size)
{
    struct datagram *d = &datagram[datagrams++];

    ck_assert_uint_le(datagrams, 2 * UNITS);
    ck_assert_uint_le(size, WIRE - wire_bytes);
    *d = (struct datagram){wire_bytes, size};
    wire_bytes += size;
    return d;
}

static void put_sealed(const uint8_t *data, uint32_t length)
{
    static uint8_t staging[SEAL_STAGING];

    burst.datagrams = 1;
    burst.segment = burst.bytes = length + (uint32_t)TRAILER_BYTES;
    burst.is_control = burst.is_scattered = false;
    burst.iov[0] = (struct iovec){(void *)data, length};
    burst.iov[1] = (struct iovec){burst.trailer[0], TRAILER_BYTES};
    ck_assert(keyring_seal(&keys.sender, &burst, staging));
    struct datagram *d = put(burst.bytes);
    memcpy(wire + d->at, staging, d->size);
}

/* `then` is the unit that is sent next; NULL: there is none. */
static void put_unit(const struct unit *u, const struct unit *then)
{
    const struct message *m = &message[u->message];
    bool is_last = u->first + u->length == m->length;
    bool has_next = then != NULL && !one_in(20);
    struct unit_trailer t = {.message = start + u->message,
                             .unit = (uint32_t)(u->first / GRAIN),
                             .seq = seq++,
                             .length = (uint16_t)u->length,
                             .pairing = pairing};

    t.flags = (uint8_t)((is_last ? FLAG_IS_LAST : 0) | (has_next ? FLAG_HAS_NEXT : 0) |
                        (one_in(50) ? FLAG_ANSWER : 0));
    if (has_next) {
        t.next_unit = (uint32_t)(then->first / GRAIN);
        t.next_length = (uint16_t)then->length;
        t.next_step = (int16_t)(then->message - u->message);
    }
    unit_trailer_encode(burst.trailer[0], &t);
    if (has_keys) {
        put_sealed(m->sent + u->first, u->length);
        return;
    }
    struct datagram *d = put(u->length + (uint32_t)TRAILER_BYTES);
    memcpy(wire + d->at, m->sent + u->first, u->length);
    memcpy(wire + d->at + u->length, burst.trailer[0], TRAILER_BYTES);
}

/* All units of the messages that are not over, in order. */
static void queue_all(void)
{
    units = 0;
    for (uint32_t i = 0; i < messages; i++) {
        uint32_t full = one_in(8) ? GRAIN * (1 + below(unit_bytes / GRAIN)) : unit_bytes;
        uint64_t first = 0;
        for (bool is_first = true; !message[i].is_over && (is_first || first < message[i].length);
             is_first = false) {
            uint32_t length = (uint32_t)lesser(full, message[i].length - first);
            ck_assert_uint_lt(units, UNITS);
            queue[units++] = (struct unit){i, first, length};
            first += length;
        }
    }
}

/* The units that were lost, some of them cut into two. */
static void queue_lost(void)
{
    units = 0;
    for (uint32_t i = 0; i < losses; i++) {
        struct unit u = lost[i];
        uint32_t grains = u.length / GRAIN;
        if (grains > 1 && one_in(4)) {
            uint32_t length = GRAIN * (1 + below(grains - 1));
            queue[units++] = (struct unit){u.message, u.first, length};
            u.first += length;
            u.length -= length;
        }
        ck_assert_uint_lt(units, UNITS - 1);
        queue[units++] = u;
    }
}

/* ---- the network ---- */

/* A stranger's datagram; it may be of the size of the others, and be joined with them. */
static void put_stray(uint32_t size)
{
    struct datagram *d = put(one_in(2) ? size : 1 + below(2 * unit_bytes));

    random_fill(&state, wire + d->at, d->size);
    arrival[arrivals++] = datagrams - 1;
}

/* What is queued is sent, and arrives, or does not. */
static void send_queue(void)
{
    static const unsigned percent[] = {0, 1, 15};
    unsigned loss = percent[below(3)], strays = percent[below(3)], disorder = percent[below(3)];

    datagrams = arrivals = losses = wire_bytes = next = 0;
    for (uint32_t i = 0; i < units; i++) {
        uint32_t d = datagrams;
        put_unit(&queue[i], i + 1 < units ? &queue[i + 1] : NULL);
        if (!is_clean && random_chance(&state, loss)) {
            lost[losses++] = queue[i];
            continue;
        }
        arrival[arrivals++] = d;
        if (!is_clean && one_in(30))
            arrival[arrivals++] = d;
        if (!is_clean && random_chance(&state, strays))
            put_stray(datagram[d].size);
    }
    for (uint32_t i = 0; !is_clean && i < arrivals; i++) {
        uint32_t other = least(i + below(8), arrivals - 1), there = arrival[i];
        if (random_chance(&state, disorder)) {
            arrival[i] = arrival[other];
            arrival[other] = there;
        }
    }
}

/* ---- the channel ---- */

static uint32_t next_size(void)
{
    return datagram[arrival[next]].size;
}

static bool has_more(void)
{
    return next < arrivals || streams[0].at < streams[0].size;
}

/* The next datagrams come down in the next opening. Some are cut short on the way: then the channel
 * drops them. */
static void land_opening(void)
{
    static uint8_t bytes[LANDING_DATAGRAM];
    uint32_t size = next_size(), last = size, count = 0, opening = landing.received;
    bool is_dropped = !is_clean && one_in(60);

    do {
        last = next_size();
        memcpy(bytes + count, wire + datagram[arrival[next++]].at, last);
        count += last;
    } while (way == WAY_JOINED && next < arrivals && last == size && next_size() <= size &&
             count + next_size() < LANDING_DATAGRAM && !one_in(100));
    scatter(&landing, bytes, count, way == WAY_JOINED || one_in(2) ? size : 0);
    if (is_dropped) {
        landing.bytes[opening] = landing.segment[opening] = 0;
        landing.is_spoilt = true;
    }
}

static void land_openings(void)
{
    uint32_t pairs = way == WAY_JOINED ? LANDING_UNITS : 1;

    landing.slot_pieces = LANDING_SLOT_PIECES;
    receiver_plan(r, &landing, 1 + below(landing.max_openings),
                  one_in(4) ? 1 + below(LANDING_UNITS) : pairs);
    if (one_in(20))
        landing_check(&landing);
    while (landing.received < landing.openings && next < arrivals && !one_in(12))
        land_opening();
}

/* The circuit's next PDU: a datagram, and what comes behind it. */
static void begin_pdu(struct stream *s, const uint8_t *payload, uint32_t size)
{
    s->at = 0;
    s->payload = size;
    s->size = size + PACKET_TAIL + below(PDU_PAD);
    memcpy(s->bytes, payload, size);
    memset(s->bytes + size, 0xEE, s->size - size);
}

static void begin_next_pdu(uint32_t circuit)
{
    uint8_t control[200];

    if (circuit == 0) {
        begin_pdu(&streams[0], wire + datagram[arrival[next]].at, next_size());
        next++;
        return;
    }
    random_fill(&state, control, sizeof control);
    begin_pdu(&streams[1], control, 1 + below(sizeof control));
}

/* The circuit's next packet comes down where the next one is pointed, or is lost. */
static void land_packet(uint32_t circuit)
{
    struct stream *s = &streams[circuit];

    if (s->at == s->size)
        begin_next_pdu(circuit);
    uint32_t size = least(one_in(20) ? 1 + below(s->size) : packet_bytes, s->size - s->at);
    if (!is_clean && one_in(2 * calm)) {
        pdu_lose(&pdus[circuit]);
        pdus[circuit].bytes += size;
    } else {
        packets_take(&packets, &pdus[circuit], s->bytes + s->at, size);
    }
    s->at += size;
    if (s->at == s->size)
        pdu_end(&pdus[circuit], &landing, s->payload);
}

static void land_stray_packet(void)
{
    static uint8_t bytes[LANDING_DATAGRAM];
    uint32_t size = one_in(2) ? packet_bytes : 1 + below(2 * packet_bytes);

    random_fill(&state, bytes, size);
    packets_take(&packets, NULL, bytes, size);
}

/* Packets are mostly pointed as they come. Others' packets come some at a time. */
static void land_packets(void)
{
    uint32_t others = 0;
    uint32_t size = is_clean ? PACKET_WHOLE : one_in(10) ? 1 + below(PACKET_WHOLE) : packet_bytes;

    landing.slot_pieces = 1;
    receiver_plan(r, &landing, 1 + below(LANDING_OPENINGS), 1);
    packets_point(&packets, &landing, &pdus[0], size);
    while (packets.used < packets.places && has_more() && !one_in(100)) {
        if (others == 0 && !is_clean && one_in(calm))
            others = 1 + below(4);
        if (others == 0)
            land_packet(0);
        else if (others-- > 0 && one_in(2))
            land_packet(1);
        else
            land_stray_packet();
    }
    if (packets.used == 0)
        return;
    landing.is_spoilt = true;
    landing.openings = landing.received;
    for (int i = 0; i < 2; i++)
        packets_set_aside(&packets, &pdus[i]);
}

static void land(void)
{
    for (uint32_t d = 0; d < LANDING_OPENINGS; d++)
        landing.ecn[d] = (uint8_t)below(4);
    if (way == WAY_PACKETS)
        land_packets();
    else
        land_openings();
    now += (duration)below(2 * MILLISECOND);
    (void)receiver_landed(r, now, &landing);
    receiver_check(r);
}

/* What is said is not heard. */
static void say_all(void)
{
    receiver_expire(r, now);
    while (receiver_take(r, now, &burst))
        ;
}

static void send_pass(uint32_t ahead)
{
    send_queue();
    while (has_more()) {
        post(ahead);
        land();
        take_events();
        say_all();
    }
}

/* ---- a round ---- */

static void hear_hello(struct hello hello)
{
    uint8_t bytes[TRAILER_BYTES];

    hello_encode(bytes, sizeof bytes, &hello);
    receiver_plan(r, &landing, 1, 1);
    landing.ecn[0] = 0;
    scatter(&landing, bytes, sizeof bytes, 0);
    (void)receiver_landed(r, now, &landing);
    ck_assert(receiver_take(r, now, &burst));
}

/* A sender asks, and asks again with the cookie that it was given. */
static void pair(void)
{
    struct cookie_answer cookie;
    struct request request;

    if (has_keys) {
        receiver_admit(r, now);
        pairing = keys.sender.pairing;
        return;
    }
    hear_hello((struct hello){.pairing = {.tag = TAG}, .nonce = 1});
    ck_assert_int_eq(cookie_answer_decode(burst.control, burst.bytes, &cookie), VERDICT_OK);
    hear_hello(
        (struct hello){.pairing = cookie.pairing, .nonce = cookie.nonce, .cookie = cookie.cookie});
    ck_assert_int_eq(request_decode(burst.control, burst.bytes, &request), VERDICT_OK);
    pairing = request.pairing;
}

static void open_receiver(void)
{
    has_keys = one_in(4);
    start = has_keys ? 0 : (uint32_t)counter_start((int)below(COUNTER_STARTS));
    seq = start;
    fake_pair_init(&keys, random_next(&state), SEAL_EPOCH_BITS);
    struct receiver_config config = {.unit_bytes = unit_bytes + TRAILER_BYTES,
                                     .stays = has_keys,
                                     .messages = MESSAGES,
                                     .holes = one_in(2) ? 1 : 64,
                                     .intervals = one_in(2) ? 4 : 256,
                                     .capacity = 1 << 20,
                                     .silence = 1000 * SECOND,
                                     .secret = secret_of_seed(state),
                                     .jar = jar_of_seed(state),
                                     .keyring = has_keys ? &keys.receiver : NULL,
                                     .first_message = start,
                                     .first_seq = start};
    r = memory_of_receiver(&config, now);
}

/* Mostly so that usual units are in one to four packets. */
static void choose_packets(void)
{
    uint32_t pieces = 1 + below(4), most = usual_bytes + TRAILER_BYTES + PACKET_TAIL + PDU_PAD;

    packet_bytes = one_in(4) ? 1 + below(2 * unit_bytes) : (most + pieces - 1) / pieces;
}

static void begin_round(void)
{
    static const uint32_t calms[] = {8, 60, 300};

    way = one_in(4) ? WAY_ALONE : one_in(3) ? WAY_JOINED : WAY_PACKETS;
    calm = calms[below(3)];
    choose_messages();
    choose_packets();
    now += MILLISECOND;
    random_fill(&state, content, BYTES);
    random_fill(&state, user, MEMORY);
    memcpy(shadow, user, MEMORY);
    place_messages();
    posted = over = 0;
    for (int i = 0; i < 2; i++) {
        pdus[i].bytes = pdus[i].fragments = 0;
        pdus[i].is_lost = false;
        streams[i].at = streams[i].size = 0;
    }
    open_receiver();
    post(1 + below(MESSAGES));
    pair();
}

static void end_round(void)
{
    const struct receiver_counters *c = receiver_counters(r);

    ck_assert_mem_eq(user, shadow, MEMORY);
    counted.in_place += c->in_place;
    counted.moved += c->moved;
    counted.drop_duplicate += c->drop_duplicate;
    counted.drop_unposted += c->drop_unposted;
    for (uint32_t i = 0; i < messages; i++)
        free(message[i].pieces);
    free(r);
}

static void play_round(void)
{
    begin_round();
    uint32_t ahead = one_in(2) ? MESSAGES : 1 + below(MESSAGES);
    is_clean = false;
    queue_all();
    for (int pass = 0; pass < PASSES && units > 0; pass++) {
        send_pass(ahead);
        queue_lost();
    }
    is_clean = true;
    for (int pass = 0; over < messages; pass++) {
        ck_assert_int_lt(pass, CLEAN_PASSES);
        queue_all();
        send_pass(MESSAGES);
    }
    end_round();
}

TEST(landed__whatever_was_sent, .is_random = true)
{
    state = suite_seed(_i);
    now = SECOND;
    landing_init(&landing, malloc(landing_memory(LANDING_OPENINGS)), LANDING_OPENINGS);
    for (int i = 0; i < ROUNDS; i++)
        play_round();
    ck_assert_uint_gt(counted.in_place, ROUNDS);
    ck_assert_uint_gt(counted.moved, ROUNDS);
    ck_assert_uint_gt(counted.drop_duplicate, ROUNDS);
    ck_assert_uint_gt(counted.drop_unposted, 0);
    ck_assert_uint_gt(packets.set_aside, 0);
    free(landing.spill);
}
