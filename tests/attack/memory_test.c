/* Memory that is the user's alone again, and a peer or a stranger that would read it, or leave
 * something there: rows 1 and 9. */
#include "attack.h"

#include "../support/pattern.h"

#include <string.h>
#include <sys/socket.h>

LOAD(asleep)

/* ---- row 1 ---- */

enum { SECRET = 0x5A, SEED = 1, UNITS_MOST = 4096 };
#define LENT_BYTES ((uint64_t)16 * 61440)

/* What a receiver that has read nothing can know of what waits in its socket. */
struct peeked {
    bool has[UNITS_MOST];
    uint32_t next; /* behind the highest */
};

/* The next datagram is looked at, and stays in the socket. */
static bool peek(struct hostile *h)
{
    struct timeval patience = {.tv_usec = 50000};

    (void)setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ssize_t bytes = recv(h->fd, h->datagram, sizeof(h->datagram), MSG_PEEK);
    return bytes >= 0 && wire_read(h->datagram, (size_t)bytes, &h->heard);
}

static void note(struct peeked *p, uint32_t seq)
{
    ck_assert_uint_lt(seq, UNITS_MOST);
    p->has[seq] = true;
    p->next = seq >= p->next ? seq + 1 : p->next;
}

/* Acknowledges just what came. */
static void acknowledge(struct hostile *h, const struct peeked *p)
{
    uint32_t bounds[UNITS_MOST], count = 0;

    bounds[count++] = 0;
    for (uint32_t seq = 1; seq < p->next; seq++)
        if (p->has[seq] != p->has[seq - 1])
            bounds[count++] = seq;
    bounds[count++] = p->next;
    hostile_say(h, wire_ack(h->out, h->pairing, bounds, (uint16_t)(count - 1), 0));
}

/* Reads at last what waits, and counts the places whose bytes are not the message's any more. */
static uint64_t read_late(struct hostile *h)
{
    static uint8_t message[LENT_BYTES];
    static bool is_known[LENT_BYTES];
    uint64_t leaked = 0;

    pattern_fill(message, sizeof(message), SEED);
    while (hostile_hear(h, 100)) {
        uint64_t from = (uint64_t)h->heard.unit * WIRE_GRAIN;
        if (h->heard.type != WIRE_UNIT || from + h->heard.length > sizeof(message))
            continue;
        for (uint32_t i = 0; i < h->heard.length; i++) {
            bool is_leaked = h->datagram[i] != message[from + i];
            leaked += is_leaked && !is_known[from + i];
            is_known[from + i] |= is_leaked;
        }
    }
    return leaked;
}

/* On one host, where datagrams are large. The sender's program puts a secret into the buffer once
 * zcrp_wait has said that it is its own again; or after close, too. */
TEST(row01__nothing_is_read_after_the_end, .rows = 2)
{
    static struct hostile h;
    static struct peeked peeked;
    const struct raw_end own = {STAGE_LOOPBACK, VICTIM_SENDER_PORT};
    const struct raw_end peer = {STAGE_LOOPBACK, VICTIM_RECEIVER_PORT};
    const struct wire_run run = {0, 1, LENT_BYTES};
    int zero = 0;
    struct stage stage;
    struct victim sender;

    stage_open(&stage, 1500);
    victim_start(&sender, &stage, STAGE_LEFT);
    hostile_open(&h, &stage, STAGE_LEFT, peer);
    ck_assert_int_eq(victim_open(&sender, true, own, peer, NULL), 0);
    ck_assert_int_eq(victim_submit(&sender, 0, LENT_BYTES, SEED), 0);
    ck_assert(hostile_be_receiver(&h, &run, 20000));
    note(&peeked, h.heard.seq);
    ck_assert_int_eq(setsockopt(h.fd, SOL_SOCKET, SO_PEEK_OFF, &zero, sizeof(zero)), 0);
    victim_begin_wait(&sender, 0, 10000 * VICTIM_MS);
    while (!victim_has_report(&sender)) {
        acknowledge(&h, &peeked);
        while (peek(&h))
            if (h.heard.type == WIRE_UNIT)
                note(&peeked, h.heard.seq);
    }
    struct victim_report report;
    victim_report(&sender, &report);
    victim_refill(&sender, 0, SECRET);
    if (_i == 1)
        (void)victim_close(&sender);
    uint64_t leaked = read_late(&h);
    attack_figure(1,
                  "\"%s\", then a secret in the buffer%s, then the receiver reads: %lu bytes of it",
                  zcrp_strerror(report.code), _i == 1 ? ", and close" : "", leaked);
    ck_assert_int_eq(report.code, ZCRP_OK);
    ck_assert_uint_eq(leaked, 0);
}

/* ---- row 9 ---- */

enum { JUNK = 0xA5, SHORT = 1000, BUFFER = 65536 };

/* Are the bytes behind the message what they were, or 0? */
static void assert_clean(const struct victim *receiver, const char *who)
{
    uint64_t junk = victim_count(receiver, 0, JUNK);
    uint64_t clean = victim_count(receiver, 0, 0) + victim_count(receiver, 0, VICTIM_EMPTY);

    attack_figure(9, "%s: %lu bytes of junk behind a message of %d bytes", who, junk, SHORT);
    ck_assert_uint_eq(junk, 0);
    ck_assert_uint_eq(clean, BUFFER - SHORT);
}

/* In the sender's name, before it has come. */
TEST(row09__junk_of_strangers_does_not_stay)
{
    static struct raw raw;
    uint8_t junk[RAW_PAYLOAD];
    struct stage stage;
    struct victim sender, receiver;

    stage_open(&stage, 1500);
    victim_start(&sender, &stage, STAGE_LEFT);
    victim_start(&receiver, &stage, STAGE_RIGHT);
    ck_assert_int_eq(victim_open(&receiver, false, attack_receiver(), attack_sender(), NULL), 0);
    ck_assert_int_eq(victim_submit(&receiver, 0, BUFFER, 0), 0);
    raw_open(&raw, &stage, STAGE_LEFT, attack_receiver().port);
    memset(junk, JUNK, sizeof(junk));
    for (unsigned i = 0; i < 1600; i++) {
        junk[RAW_PAYLOAD - 1] = (uint8_t)(i % 2 ? JUNK : WIRE_VERSION << 4 | i / 2 % 16);
        raw_udp(&raw, attack_sender(), attack_receiver(), junk,
                i % 4 == 0 ? 1 + i % RAW_PAYLOAD : RAW_PAYLOAD);
    }
    raw_flush(&raw);
    ck_assert_int_eq(victim_open(&sender, true, attack_sender(), attack_receiver(), NULL), 0);
    ck_assert_int_eq(victim_submit(&sender, 0, SHORT, 1), 0);
    ck_assert_int_eq(victim_wait(&receiver, 0, 20000 * VICTIM_MS), ZCRP_OK);
    ck_assert(victim_holds(&receiver, 0, 1));
    assert_clean(&receiver, "1,600 datagrams before the sender came");
}

/* The kernel copies a datagram before it looks at the checksum. It says nothing of one that is
 * wrong, and poll drops those that no other stands in front of. */
TEST(row09__junk_with_wrong_checksums_does_not_stay)
{
    static struct raw raw;
    uint8_t junk[RAW_PAYLOAD];
    struct stage stage;
    struct victim sender, receiver;

    stage_open(&stage, 1500);
    victim_start(&sender, &stage, STAGE_LEFT);
    victim_start(&receiver, &stage, STAGE_RIGHT);
    ck_assert_int_eq(victim_open(&receiver, false, attack_receiver(), attack_sender(), NULL), 0);
    ck_assert_int_eq(victim_open(&sender, true, attack_sender(), attack_receiver(), NULL), 0);
    ck_assert_int_eq(victim_submit(&receiver, 1, SHORT, 0), 0);
    ck_assert_int_eq(victim_submit(&sender, 1, SHORT, 1), 0);
    ck_assert_int_eq(victim_wait(&receiver, 1, 20000 * VICTIM_MS), ZCRP_OK);
    ck_assert_int_eq(victim_submit(&receiver, 0, BUFFER, 0), 0);
    raw_open(&raw, &stage, STAGE_LEFT, attack_receiver().port);
    memset(junk, JUNK, sizeof(junk));
    for (unsigned i = 0; i < 800; i++) {
        raw_udp(&raw, attack_sender(), attack_receiver(), junk, 100);
        raw_damaged(&raw, attack_sender(), attack_receiver(), junk, RAW_PAYLOAD);
        raw_flush(&raw);
    }
    ck_assert_int_eq(victim_submit(&sender, 0, SHORT, 1), 0);
    ck_assert_int_eq(victim_wait(&receiver, 0, 20000 * VICTIM_MS), ZCRP_OK);
    ck_assert(victim_holds(&receiver, 0, 1));
    assert_clean(&receiver, "800 datagrams with a wrong checksum");
}

/* What a sender may say that is paired, and is not accepted. */
static void say_junk(struct hostile *h, const uint8_t *junk, unsigned i)
{
    struct wire_unit unit = {.pairing = h->pairing, .length = 1440, .seq = 1000 + i};

    switch (i % 5) {
    case 0:
        unit.pairing.session++;
        break;
    case 1:
        unit.message = 1 + i; /* not posted */
        break;
    case 2:
        unit.unit = BUFFER; /* beyond */
        break;
    case 3:
        hostile_say(h, wire_probe(h->out, h->pairing, i, 1440, JUNK));
        return;
    default:
        hostile_say(h, 1 + i % 1400);
        return;
    }
    hostile_say(h, wire_unit(h->out, &unit, junk));
}

/* A receiver with a buffer, and a sender that may say anything to it. */
static void pair(struct victim *receiver, struct hostile *h)
{
    struct stage stage;

    stage_open(&stage, 1500);
    victim_start(receiver, &stage, STAGE_RIGHT);
    hostile_open(h, &stage, STAGE_LEFT, attack_sender());
    ck_assert_int_eq(victim_open(receiver, false, attack_receiver(), attack_sender(), NULL), 0);
    ck_assert_int_eq(victim_submit(receiver, 0, BUFFER, 0), 0);
    ck_assert(hostile_be_sender(h, attack_receiver(), 77, 20000));
}

TEST(row09__junk_of_the_peer_does_not_stay)
{
    static struct hostile h;
    static uint8_t junk[1440], data[SHORT];
    struct victim receiver;

    pair(&receiver, &h);
    memset(junk, JUNK, sizeof(junk));
    for (unsigned i = 0; i < 500; i++) {
        say_junk(&h, junk, i);
        if (i % 50 == 0)
            usleep(1000);
    }
    pattern_fill(data, SHORT, SEED);
    hostile_send(&h, 0, 0, data, SHORT);
    ck_assert_int_eq(victim_wait(&receiver, 0, 20000 * VICTIM_MS), ZCRP_OK);
    ck_assert(victim_holds(&receiver, 0, SEED));
    assert_clean(&receiver, "500 datagrams of the peer's that are not accepted");
}

/* A unit that is accepted, and then an end of the message before it. */
TEST(row09__no_end_before_what_was_accepted)
{
    static struct hostile h;
    static uint8_t junk[1440], data[SHORT];
    struct victim receiver;

    pair(&receiver, &h);
    memset(junk, JUNK, sizeof(junk));
    const struct wire_unit later = {.pairing = h.pairing, .unit = 1000, .length = 1440};
    hostile_say(&h, wire_unit(h.out, &later, junk));
    hostile_send(&h, 0, 1, data, SHORT);
    int code = victim_wait(&receiver, 0, 300 * VICTIM_MS);
    uint64_t left = code == ZCRP_OK ? victim_count(&receiver, 0, JUNK) : 0;
    attack_figure(9, "an end before what was accepted: \"%s\", %lu bytes of junk behind it",
                  zcrp_strerror(code), left);
    ck_assert_uint_eq(left, 0);
}
