/* Rows of sealed units: those that follow on each other in one opening are opened to their places
 * and entered together. A forged one among them leaves the others as they are. */
#include "core/receiver/receiver.h"

#include "../../support/fake_cipher.h"
#include "../../support/memory.h"
#include "../../support/scatter.h"
#include "../../support/secret.h"
#include "../../support/suite.h"
#include "core/wire/control.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 10, DATA = 64, SEALED = DATA + SEAL_TAG_BYTES + TRAILER_BYTES, SEQ_AT = 8 };

static struct fake_pair keys;
static struct receiver *r;
static struct landing landing;
static uint8_t buffer[UNITS * DATA], data[UNITS * DATA];
static uint8_t staging[SEAL_STAGING];
static uint8_t wire[64 * SEALED];
static uint32_t bytes;
static instant now;

static void set_up(void)
{
    const struct receiver_config config = {.unit_bytes = DATA + TRAILER_BYTES,
                                           .stays = true,
                                           .messages = 4,
                                           .holes = 16,
                                           .intervals = 16,
                                           .capacity = 1 << 20,
                                           .silence = 100 * SECOND,
                                           .secret = secret_of_seed(1),
                                           .jar = jar_of_seed(1),
                                           .keyring = &keys.receiver};
    uint64_t number;
    fake_pair_init(&keys, 3, SEAL_EPOCH_BITS);
    r = memory_of_receiver(&config, SECOND);
    memset(&landing, 0, sizeof landing);
    landing_init(&landing, malloc(landing_memory(1)), 1);
    receiver_admit(r, SECOND);
    memset(buffer, 0xAA, sizeof buffer);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 64);
    bytes = 0;
    now = SECOND;
    ck_assert(receiver_post(r, SECOND, buffer, buffer, sizeof buffer, &number));
}

static void tear_down(void)
{
    free(landing.spill);
    free(r);
}

FIXTURE(set_up, tear_down)

static struct unit_trailer trailer_of(uint32_t i)
{
    bool is_last = i + 1 == UNITS;
    return (struct unit_trailer){.unit = i * (DATA / GRAIN),
                                 .seq = i,
                                 .next_unit = is_last ? 0 : (i + 1) * (DATA / GRAIN),
                                 .length = DATA,
                                 .next_length = is_last ? 0 : DATA,
                                 .pairing = keys.sender.pairing,
                                 .flags = is_last ? FLAG_IS_LAST : FLAG_HAS_NEXT};
}

static void write_unit(uint8_t *out, uint32_t i)
{
    struct unit_trailer t = trailer_of(i);
    memcpy(out, data + (size_t)i * DATA, DATA);
    unit_trailer_encode(out + DATA, &t);
}

/* All units of this message, sealed one behind the other. */
static void seal_message(uint32_t message)
{
    static struct burst burst;
    burst = (struct burst){.datagrams = UNITS,
                           .segment = DATA + TRAILER_BYTES,
                           .bytes = UNITS * (DATA + TRAILER_BYTES)};
    for (uint32_t i = 0; i < UNITS; i++) {
        struct unit_trailer t = trailer_of(i);
        t.message = message;
        unit_trailer_encode(burst.trailer[i], &t);
        burst.iov[2 * i] = (struct iovec){data + (size_t)i * DATA, DATA};
        burst.iov[2 * i + 1] = (struct iovec){burst.trailer[i], TRAILER_BYTES};
    }
    ck_assert(keyring_seal(&keys.sender, &burst, staging));
}

static void seal_all(void)
{
    seal_message(0);
}

/* Units [first, last) come next; returns where the first of them is. */
static uint8_t *add(uint32_t first, uint32_t last)
{
    uint8_t *at = wire + bytes;
    memcpy(at, staging + (size_t)first * SEALED, (size_t)(last - first) * SEALED);
    bytes += (last - first) * SEALED;
    return at;
}

/* All that was put together belongs to the pairing, but for these bytes. */
static void land_but(uint32_t foreign)
{
    receiver_plan(r, &landing, 1, 128);
    scatter(&landing, wire, bytes, SEALED);
    struct receiver_arrivals arrivals = receiver_landed(r, now, &landing);
    ck_assert_uint_eq(arrivals.bytes, bytes - foreign);
    ck_assert_uint_eq(arrivals.openings, bytes > foreign);
    receiver_check(r);
    bytes = 0;
}

static void land(void)
{
    land_but(0);
}

static void expect_whole(uint64_t units)
{
    struct event event;
    ck_assert(receiver_event(r, &event));
    ck_assert_int_eq(event.outcome, OUTCOME_OK);
    ck_assert_uint_eq(event.length, sizeof data);
    ck_assert_mem_eq(buffer, data, sizeof data);
    ck_assert_uint_eq(receiver_counters(r)->units, units);
    ck_assert_uint_eq(receiver_counters(r)->in_place, units);
}

TEST(receiver_landed__a_sealed_row)
{
    seal_all();
    add(0, UNITS);
    land();
    expect_whole(UNITS);
}

TEST(receiver_landed__sealed_rows_with_gaps)
{
    seal_all();
    add(0, 3);
    add(5, 8);
    land();
    add(3, 5);
    add(8, UNITS);
    land();
    expect_whole(UNITS);
}

TEST(receiver_landed__a_forged_unit_in_a_row)
{
    seal_all();
    add(0, 4);
    add(4, 5)[7] ^= 1;
    add(4, UNITS);
    land_but(SEALED);
    expect_whole(UNITS);
    ck_assert_uint_eq(keys.receiver.units_in.forged, 1);
    ck_assert_uint_eq(receiver_counters(r)->forged, 1);
}

/* It claims to be for what the row has just brought, under a number that was not there yet. */
TEST(receiver_landed__a_forged_unit_over_a_row)
{
    seal_all();
    add(0, 4);
    wire_put_u32(add(1, 2) + SEALED - TRAILER_BYTES + SEQ_AT, 100);
    add(4, UNITS);
    land_but(SEALED);
    expect_whole(UNITS);
    ck_assert_uint_eq(keys.receiver.units_in.forged, 1);
}

TEST(receiver_landed__a_sealed_row_again)
{
    seal_all();
    add(0, 5);
    add(0, 5);
    add(2, UNITS);
    land_but(8 * SEALED);
    expect_whole(UNITS);
    ck_assert_uint_eq(keys.receiver.units_in.replayed, 8);
    ck_assert_uint_eq(receiver_counters(r)->replayed, 8);
}

/* This unit alone. */
static void land_unit(struct unit_trailer t)
{
    static struct burst burst;
    uint32_t plain = t.length + (uint32_t)TRAILER_BYTES;
    burst = (struct burst){.datagrams = 1, .segment = plain, .bytes = plain};
    t.pairing = keys.sender.pairing;
    unit_trailer_encode(burst.trailer[0], &t);
    burst.iov[0] = (struct iovec){data, t.length};
    burst.iov[1] = (struct iovec){burst.trailer[0], TRAILER_BYTES};
    ck_assert(keyring_seal(&keys.sender, &burst, staging));
    receiver_plan(r, &landing, 1, 128);
    scatter(&landing, staging, (uint32_t)burst.bytes, (uint32_t)burst.bytes);
    (void)receiver_landed(r, now, &landing);
    receiver_check(r);
}

/* It was opened to its place, and counts as never received: the message ends before it. */
TEST(receiver_landed__a_sealed_unit_without_room)
{
    static uint8_t more[2][UNITS * DATA];
    uint32_t seq = 0;
    struct event event;
    uint64_t number;
    for (int i = 0; i < 2; i++)
        ck_assert(receiver_post(r, now, NULL, more[i], sizeof more[i], &number));
    for (uint32_t i = 0; i < 17; i++, seq++) /* all nodes: 9 holes in one message, 8 in the other */
        land_unit((struct unit_trailer){
            .message = 1 + i / 9, .unit = 1 + 2 * (i % 9), .seq = seq, .length = GRAIN});
    land_unit((struct unit_trailer){.unit = 10, .seq = seq++, .length = DATA});
    ck_assert_uint_eq(receiver_counters(r)->drop_no_room, 1);
    land_unit((struct unit_trailer){.seq = seq, .length = DATA, .flags = FLAG_IS_LAST});
    ck_assert(receiver_event(r, &event));
    ck_assert_uint_eq(event.length, DATA);
    pieces_clear(NULL, buffer, event.length, event.scribbled);
    for (uint32_t i = DATA; i < sizeof buffer; i++)
        ck_assert_msg(buffer[i] == 0xAA || buffer[i] == 0, "byte %" PRIu32, i);
}

/* ---- in steps ---- */

static void plan_all(void)
{
    seal_all();
    add(0, UNITS);
    receiver_plan(r, &landing, 1, 128);
    scatter(&landing, wire, bytes, SEALED);
}

TEST(receiver_look__a_row_is_one_step)
{
    plan_all();
    ck_assert(receiver_look(r, SECOND, &landing));
    receiver_open(r, &landing);
    ck_assert_uint_eq(receiver_counters(r)->units, 0); /* it has not entered yet */
    ck_assert(receiver_look(r, SECOND, &landing));     /* the last unit has more to say */
    ck_assert_uint_eq(receiver_counters(r)->units, UNITS - 1);
    receiver_open(r, &landing);
    ck_assert(!receiver_look(r, SECOND, &landing));
    ck_assert(!receiver_look(r, SECOND, &landing));
    ck_assert_uint_eq(receiver_landed(r, SECOND, &landing).openings, 1);
    receiver_check(r);
    expect_whole(UNITS);
    ck_assert_uint_eq(receiver_counters(r)->drop_duplicate, 0);
}

/* The user takes the message back while its units are opened: its memory stays until they have
 * landed, and they count as never received. */
TEST(receiver_look__a_message_that_is_taken_back_meanwhile)
{
    struct event event;
    plan_all();
    ck_assert(receiver_look(r, SECOND, &landing));
    ck_assert(receiver_cancel(r, SECOND, 0));
    ck_assert(!receiver_event(r, &event));
    receiver_open(r, &landing);
    (void)receiver_landed(r, SECOND, &landing);
    receiver_check(r);
    ck_assert(receiver_event(r, &event));
    ck_assert_int_eq(event.outcome, OUTCOME_CANCELLED);
    ck_assert_uint_eq(receiver_counters(r)->units, 0);
    ck_assert_uint_eq(receiver_counters(r)->drop_unposted, UNITS);
}

/* The same if everything fails. */
TEST(receiver_look__a_receiver_that_fails_meanwhile)
{
    struct event event;
    plan_all();
    ck_assert(receiver_look(r, SECOND, &landing));
    receiver_fail(r, SECOND, OUTCOME_RESTARTED);
    receiver_open(r, &landing);
    (void)receiver_landed(r, SECOND, &landing);
    receiver_check(r);
    ck_assert(receiver_event(r, &event));
    ck_assert_int_eq(event.outcome, OUTCOME_RESTARTED);
    ck_assert_uint_eq(receiver_counters(r)->units, 0);
    ck_assert_int_eq(receiver_acks_at(r), NEVER);
}

/* ---- without keys ---- */

static void add_hello(void)
{
    const struct hello hello = {.pairing = {.tag = 5}, .nonce = 7};
    bytes = (uint32_t)hello_encode(wire, sizeof wire, &hello);
}

/* What asks for a handshake is for whoever makes keys. Once there are some it is a stranger's. */
TEST(receiver_landed__a_hello_before_there_are_keys)
{
    uint8_t memory[256];
    struct landing_mail mail = {.memory = memory, .room = sizeof memory};
    struct pairing pairing = keys.receiver.pairing;
    const uint8_t *posted;
    size_t at = 0;
    landing.mail = &mail;
    keys.receiver.pairing = (struct pairing){0, 0};
    add_hello();
    land_but(bytes);
    ck_assert_uint_eq(landing_mail_next(&mail, &at, &posted), TRAILER_BYTES);
    ck_assert_mem_eq(posted, wire, TRAILER_BYTES);
    keys.receiver.pairing = pairing;
    mail.bytes = 0;
    add_hello();
    land_but(bytes);
    ck_assert_uint_eq(mail.bytes, 0);
    ck_assert_uint_eq(receiver_counters(r)->drop_short, 1);
    ck_assert_uint_eq(receiver_counters(r)->hellos, 0);
}

TEST(receiver_ended__with_its_only_session)
{
    ck_assert_int_eq(receiver_ended(r), OUTCOME_OK);
    receiver_fail(r, SECOND, OUTCOME_SILENT);
    ck_assert_int_eq(receiver_ended(r), OUTCOME_SILENT);
    receiver_fail(r, SECOND, OUTCOME_CLOSED);
    ck_assert_int_eq(receiver_ended(r), OUTCOME_SILENT);
}

/* A caller waits for room, of which its sender knows how long: what is posted meanwhile stays
 * posted. Who has been heard may be silent. */
TEST(receiver_expire__waits_to_be_heard)
{
    struct event event;
    receiver_expire(r, 300 * SECOND);
    receiver_expire(r, 301 * SECOND);
    receiver_check(r);
    ck_assert(!receiver_event(r, &event));
    ck_assert_int_eq(receiver_ended(r), OUTCOME_OK);
    seal_all();
    add(0, 3);
    land();
    receiver_expire(r, 300 * SECOND);
    receiver_expire(r, 301 * SECOND);
    ck_assert(receiver_event(r, &event));
    ck_assert_int_eq(event.outcome, OUTCOME_SILENT);
}

/* The sender's next control datagram, sealed, as it is on the wire; returns its bytes. */
static uint32_t seal_control(const struct burst *plain)
{
    static struct burst burst;
    burst = *plain;
    burst.iov[0] = (struct iovec){NULL, 0};
    burst.iov[1] = (struct iovec){burst.control, TRAILER_BYTES};
    ck_assert(keyring_seal(&keys.sender, &burst, staging));
    memcpy(wire, burst.iov[1].iov_base, burst.bytes);
    return (uint32_t)burst.bytes;
}

/* It comes; true if it belonged to the pairing. */
static bool hear_control(const struct burst *plain)
{
    uint32_t size = seal_control(plain);
    receiver_plan(r, &landing, 1, 128);
    scatter(&landing, wire, size, size);
    return receiver_landed(r, now, &landing).openings > 0;
}

/* It says that the sender is there, and its number counts: no more. */
TEST(receiver_landed__challenge_answer)
{
    static struct burst burst;
    const struct challenge_answer answer = {.pairing = keys.sender.pairing, .challenge = 5};
    burst_set_control(&burst,
                      challenge_answer_encode(burst.control, sizeof burst.control, &answer));
    ck_assert(hear_control(&burst));
    ck_assert_uint_eq(keys.receiver.control_in.end, 1);
    memset(burst.control, 0, 8); /* an answer to nothing */
    ck_assert(!hear_control(&burst));
    ck_assert_uint_eq(receiver_counters(r)->drop_malformed, 1);
    ck_assert_uint_eq(receiver_counters(r)->drop_session, 0);
}

/* Nobody asks for a session that follows from keys: a peer that has them gets no other one so. */
TEST(receiver_landed__a_sealed_hello_that_asks, .rows = 2)
{
    static struct burst burst;
    const struct cookie_jar jar = jar_of_seed(1);
    struct hello hello = {.pairing = keys.sender.pairing, .nonce = 7};
    const struct cookie_owner owner = {.nonce = hello.nonce, .pairing = hello.pairing};
    while (receiver_take(r, now, &burst))
        ;
    hello.cookie = _i == 0 ? 0 : cookie_make(&jar, &owner, now);
    burst_set_control(&burst, hello_encode(burst.control, sizeof burst.control, &hello));
    ck_assert(!hear_control(&burst));
    ck_assert_uint_eq(receiver_counters(r)->drop_session, 1);
    ck_assert(!receiver_take(r, now, &burst));
    ck_assert(!receiver_is_replaced(r));
    hello = (struct hello){.pairing = keys.sender.pairing, .requested = 1};
    burst_set_control(&burst, hello_encode(burst.control, sizeof burst.control, &hello));
    ck_assert(hear_control(&burst));
    ck_assert_uint_eq(receiver_counters(r)->hellos, 1);
}

/* So the sender is not silent. */
TEST(receiver_landed__challenge_answer_is_a_sign_of_life)
{
    static struct burst burst;
    struct event event;
    const struct challenge_answer answer = {.pairing = keys.sender.pairing, .challenge = 5};
    seal_all();
    add(0, 1);
    land();
    now += 90 * SECOND;
    burst_set_control(&burst,
                      challenge_answer_encode(burst.control, sizeof burst.control, &answer));
    ck_assert(hear_control(&burst));
    now += 90 * SECOND;
    for (int i = 0; i < 3; i++)
        receiver_expire(r, now + i * 200 * MILLISECOND);
    ck_assert(!receiver_event(r, &event));
}

/* The sender is told at once, at its new address, what has arrived and what is posted. */
TEST(receiver_on_moved__says_what_is_due)
{
    static struct burst burst;
    bool has_ack = false, has_request = false;
    seal_all();
    add(0, 3);
    land();
    while (receiver_take(r, SECOND, &burst))
        ;
    receiver_on_moved(r, SECOND);
    receiver_check(r);
    while (receiver_take(r, SECOND, &burst)) {
        enum datagram_type type = datagram_type(burst.control[burst.bytes - 1]);
        has_ack |= type == DATAGRAM_ACK_POSITIVE || type == DATAGRAM_ACK_NEGATIVE;
        has_request |= type == DATAGRAM_REQUEST;
    }
    ck_assert(has_ack);
    ck_assert(has_request);
}

/* The sender has been told of a close, and moves: nothing is requested of it. */
TEST(receiver_on_moved__while_it_closes)
{
    static struct burst burst;
    seal_all();
    add(0, 3);
    land();
    receiver_close(r, now);
    receiver_on_moved(r, now);
    while (receiver_take(r, now, &burst))
        ck_assert_int_ne(datagram_type(burst.control[burst.bytes - 1]), DATAGRAM_REQUEST);
}

/* ---- what else a landing of sealed units holds ---- */

/* A message in small pieces: each unit is opened beside it, one behind the other, and moved. */
TEST(receiver_landed__sealed_units_in_pieces)
{
    enum { PIECE = 40, PIECES = UNITS * DATA / PIECE };
    static uint8_t apart[PIECES][2 * PIECE];
    struct iovec piece[PIECES];
    struct event event;
    uint64_t number;
    for (uint32_t i = 0; i < PIECES; i++)
        piece[i] = (struct iovec){apart[i], PIECE};
    struct pieces *table = pieces_init(malloc(pieces_room(PIECES)), piece, PIECES);
    ck_assert(receiver_cancel(r, now, 0));
    ck_assert(receiver_event(r, &event));
    ck_assert(receiver_post_pieces(r, now, NULL, table, sizeof data, &number));
    seal_message(1);
    add(0, UNITS);
    land();
    ck_assert(receiver_event(r, &event));
    ck_assert_int_eq(event.outcome, OUTCOME_OK);
    for (uint32_t i = 0; i < PIECES; i++)
        ck_assert_mem_eq(apart[i], data + (size_t)i * PIECE, PIECE);
    free(table);
}

/* Each unit that met congestion counts, in a row and alone; a forged one does not. */
TEST(receiver_landed__sealed_marks, .rows = 3)
{
    static const uint8_t ecn[] = {LANDING_ECN_CONGESTED, 2, LANDING_ECN_NONE};
    seal_all();
    add(0, 4);
    add(4, 5)[7] ^= 1;
    add(7, UNITS);
    landing.ecn[0] = ecn[_i];
    land_but(SEALED);
    ck_assert_uint_eq(receiver_counters(r)->marks, _i == 0 ? 7 : 0);
    ck_assert_uint_eq(receiver_counters(r)->units, 7);
}

/* A unit that is too short to be sealed, though it ends as one. */
TEST(receiver_landed__too_short)
{
    seal_all();
    uint8_t *at = add(0, 1);
    memmove(at, at + SEALED - TRAILER_BYTES - SEAL_TAG_BYTES + 1,
            TRAILER_BYTES + SEAL_TAG_BYTES - 1);
    bytes = TRAILER_BYTES + SEAL_TAG_BYTES - 1;
    land_but(bytes);
    ck_assert_uint_eq(receiver_counters(r)->drop_short, 1);
    ck_assert_uint_eq(receiver_counters(r)->forged, 0);
    add(0, UNITS);
    land();
    expect_whole(UNITS);
}

/* What nobody takes is counted. */
TEST(receiver_landed__a_handshake_without_mail)
{
    const struct hello hello = {.pairing = {.tag = 5}, .nonce = 7};
    bytes = (uint32_t)hello_encode(wire, sizeof wire, &hello);
    wire[bytes - 1] = (uint8_t)((wire[bytes - 1] & 0xF0) | DATAGRAM_HANDSHAKE);
    land_but(bytes);
    ck_assert_uint_eq(receiver_counters(r)->drop_type, 1);
}

/* ---- in packets of AAL5 ---- */

enum { CUTS = 2, PDU_TAIL = 8 };

/* With room for all packets of what comes. */
static void plan_packets(void)
{
    free(landing.spill);
    landing_init(&landing, malloc(landing_memory(LANDING_OPENINGS)), LANDING_OPENINGS);
    receiver_plan(r, &landing, LANDING_OPENINGS, 128);
    ck_assert_uint_eq(landing.openings, LANDING_OPENINGS);
}

/* A datagram comes as a PDU in packets, cut before these bytes of it (0: in fewer packets). Each
 * packet lands in the spill of the next opening, and the channel makes one opening of these pieces:
 * behind the datagram the last one has the end of the PDU. */
static void add_pdu(const uint8_t *datagram, uint32_t size, const uint32_t cuts[CUTS])
{
    uint32_t opening = landing.received++, piece = landing.first[opening], at = 0;
    for (uint32_t i = 0; at < size; i++, piece++) {
        uint32_t last = i < CUTS && cuts[i] > 0 ? cuts[i] : size;
        memcpy(landing.iov[piece].iov_base, datagram + at, last - at);
        landing.iov[piece].iov_len = last - at;
        at = last;
    }
    landing.iov[piece - 1].iov_len += PDU_TAIL;
    landing.first[opening + 1] = (uint16_t)piece;
    landing.bytes[opening] = size;
    landing.segment[opening] = 0;
    landing.ecn[opening] = LANDING_ECN_NONE;
}

/* All of `pdus` PDUs, of `size` bytes each, belonged to the pairing. */
static void land_packets(uint32_t pdus, uint32_t size)
{
    landing.openings = landing.received;
    landing.is_spoilt = true;
    struct receiver_arrivals arrivals = receiver_landed(r, now, &landing);
    ck_assert_uint_eq(arrivals.openings, pdus);
    ck_assert_uint_eq(arrivals.bytes, pdus * size);
    receiver_check(r);
}

/* Packets of one cell and of two cut the first ones so; units of other sizes are cut anywhere, also
 * within the trailer. */
static const uint32_t unit_cuts[UNITS][CUTS] = {{48, 96}, {48},      {96},     {SEALED - 1}, {1},
                                                {79, 81}, {81, 100}, {64, 80}, {80},         {96}};

/* Each unit is opened to its place: one alone with each call, and all with one, as a row. */
TEST(receiver_landed__sealed_units_in_packets, .rows = 2)
{
    uint32_t pdus = _i == 0 ? 1 : UNITS;
    seal_all();
    for (uint32_t i = 0; i < UNITS; i++) {
        if (i % pdus == 0)
            plan_packets();
        add_pdu(staging + (size_t)i * SEALED, SEALED, unit_cuts[i]);
        if ((i + 1) % pdus == 0)
            land_packets(pdus, SEALED);
    }
    expect_whole(UNITS);
    ck_assert_uint_eq(receiver_counters(r)->forged, 0);
}

/* Its last 32 bytes begin behind the first 24. */
TEST(receiver_landed__sealed_control_in_packets)
{
    enum { SEALED_CONTROL = TRAILER_BYTES + SEAL_CONTROL_BYTES };
    static const uint32_t cuts[][CUTS] = {{48}, {24}, {1}, {20, 55}, {23, 25}, {30, 48}};
    static struct burst burst;
    const struct challenge_answer answer = {.pairing = keys.sender.pairing, .challenge = 5};
    for (uint32_t i = 0; i < ROWS(cuts); i++) {
        burst_set_control(&burst,
                          challenge_answer_encode(burst.control, sizeof burst.control, &answer));
        ck_assert_uint_eq(seal_control(&burst), SEALED_CONTROL);
        plan_packets();
        add_pdu(wire, SEALED_CONTROL, cuts[i]);
        land_packets(1, SEALED_CONTROL);
        ck_assert_uint_eq(keys.receiver.control_in.end, i + 1);
    }
    ck_assert_uint_eq(keys.receiver.control_in.forged, 0);
}

/* ---- through memory ---- */

/* Units [first, last) as they are without keys, through memory. */
static void land_near(uint32_t first, uint32_t last)
{
    landing.is_near = true;
    receiver_plan(r, &landing, 1, 128);
    ck_assert(!receiver_look(r, now, &landing));
    for (uint32_t i = first; i < last; i++) {
        write_unit(wire + bytes, i);
        bytes += DATA + TRAILER_BYTES;
    }
    scatter(&landing, wire, bytes, DATA + TRAILER_BYTES);
    (void)receiver_landed(r, now, &landing);
    receiver_check(r);
    landing.is_near = false;
    bytes = 0;
}

/* What came so has numbers: sealed under them nothing is believed to be newer, and what is sealed
 * later goes on behind. */
TEST(receiver_landed__numbers_that_came_through_memory, .rows = 2)
{
    uint32_t there = _i == 0 ? 1 : 4;
    seal_all();
    land_near(0, there);
    ck_assert_uint_eq(keys.receiver.units_in.end, there);
    ck_assert_uint_eq(receiver_counters(r)->units, there);
    add(there, UNITS);
    land();
    ck_assert_uint_eq(keys.receiver.units_in.end, UNITS);
    expect_whole(UNITS);
}

/* Nothing has come. */
TEST(receiver_landed__no_numbers_through_memory)
{
    seal_all();
    land_near(0, 0);
    ck_assert_uint_eq(keys.receiver.units_in.end, 0);
    add(0, UNITS);
    land();
    expect_whole(UNITS);
}

/* ---- the peer forgets the handshake ---- */

/* What the receiver says next: so many messages from the first on, and nothing else. */
static void expect_request(uint32_t tag, uint32_t count)
{
    static struct burst burst;
    struct request request;
    uint32_t named = 0;
    ck_assert(receiver_take(r, SECOND, &burst));
    ck_assert_int_eq(request_decode(burst.control, burst.bytes, &request), VERDICT_OK);
    ck_assert_uint_eq(request.pairing.tag, tag);
    ck_assert_uint_eq(request_run(&request, 0).first, 0);
    for (uint32_t i = 0; i < request.length; i++)
        named += request_run(&request, i).count;
    ck_assert_uint_eq(named, count);
    ck_assert(!receiver_has_reply(r));
}

/* Who is admitted next is told of all that is posted, also of what the one before was told. */
TEST(receiver_unbind__announces_all_again)
{
    static uint8_t second[DATA];
    uint64_t number;
    expect_request(keys.receiver.pairing.tag, 1);
    receiver_unbind(r, SECOND);
    receiver_check(r);
    ck_assert_uint_eq(receiver_pairing(r).session, 0);
    ck_assert(receiver_post(r, SECOND, second, second, sizeof second, &number));
    ck_assert(!receiver_has_reply(r));
    ck_assert_int_eq(receiver_deadline(r), NEVER);
    keys.sender.pairing.tag = ++keys.receiver.pairing.tag;
    receiver_admit(r, SECOND);
    receiver_check(r);
    expect_request(keys.receiver.pairing.tag, 2);
    seal_all();
    add(0, UNITS);
    land();
    expect_whole(UNITS);
}

/* One that was heard knows this side. */
TEST(receiver_unbind__not_from_who_was_heard)
{
    seal_all();
    add(0, 3);
    land();
    receiver_unbind(r, SECOND);
    ck_assert_uint_eq(receiver_pairing(r).tag, keys.receiver.pairing.tag);
    add(3, UNITS);
    land();
    expect_whole(UNITS);
}

TEST(receiver_unbind__while_it_closes)
{
    receiver_close(r, SECOND);
    receiver_unbind(r, SECOND);
    receiver_check(r);
    ck_assert_uint_eq(receiver_pairing(r).tag, keys.receiver.pairing.tag);
}
