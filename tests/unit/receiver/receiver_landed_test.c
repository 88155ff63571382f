/* What a landing comes to: which datagrams belong to the pairing, what is dropped and why, and
 * whether the kernel joins rightly. */
#include "receiver_rig.h"

#include "../../support/suite.h"
#include "core/path/joined_path.h"

enum { SMALL = 40, OPENINGS = 4 };

static uint8_t *memory;

static void setup(void)
{
    receiver_rig_init();
    memory = malloc(landing_memory(OPENINGS));
    landing_init(&rig.landing, memory, OPENINGS);
    receiver_rig_start(16, SMALL);
}

static void teardown(void)
{
    receiver_rig_fini();
    free(memory);
}

FIXTURE(setup, teardown)

/* What was put together lands in the next opening of the plan that is out. */
static void fill(void)
{
    scatter(&rig.landing, rig.wire, rig.bytes, rig.segment);
    rig.bytes = 0;
}

static void expect_arrivals(uint32_t openings, uint64_t bytes)
{
    uint64_t bursts = receiver_counters(rig.r)->bursts;
    struct receiver_arrivals arrivals = receiver_landed(rig.r, rig.now, &rig.landing);
    receiver_check(rig.r);
    ck_assert_uint_eq(arrivals.openings, openings);
    ck_assert_uint_eq(arrivals.bytes, bytes);
    ck_assert_uint_eq(receiver_counters(rig.r)->bursts, bursts + openings);
}

/* Message `n` in a stream of such. */
static void put_message(uint32_t n)
{
    struct unit_trailer t = receiver_rig_last(n, n, 0, SMALL);
    t.flags |= FLAG_HAS_NEXT;
    t.next_step = 1;
    t.next_length = SMALL;
    receiver_rig_put_unit(&t);
}

static void put_stranger(void)
{
    struct unit_trailer t = receiver_rig_last(0, 0, 0, SMALL);
    t.pairing.tag++;
    receiver_rig_put_unit(&t);
}

/* ---- arrivals ---- */

enum kind {
    UNIT,
    HELLO,
    OFFER,
    PROBE,
    OTHER_UNIT,
    OTHER_HELLO,
    QUESTION,
    OTHER_OFFER,
    OTHER_PROBE
};

static void put(enum kind kind)
{
    uint8_t datagram[TRAILER_BYTES] = {0};
    bool is_other = kind >= OTHER_UNIT;
    struct pairing pairing = {.session = rig.pairing.session ^ is_other, .tag = rig.pairing.tag};
    struct unit_trailer unit = receiver_rig_last(0, 0, 0, SMALL);
    unit.pairing = pairing;
    if (kind == UNIT || kind == OTHER_UNIT) {
        receiver_rig_put_unit(&unit);
        return;
    }
    if (kind == HELLO || kind == OTHER_HELLO || kind == QUESTION)
        (void)hello_encode(datagram, sizeof datagram,
                           &(struct hello){.pairing = pairing, .nonce = kind == QUESTION});
    else if (kind == OFFER || kind == OTHER_OFFER)
        (void)offer_encode(datagram, sizeof datagram, &(struct offer){.pairing = pairing});
    else
        path_probe_encode(datagram,
                          &(struct path_probe){.pairing = pairing, .bytes = sizeof datagram});
    receiver_rig_put(datagram, sizeof datagram);
}

TEST(landed__belongs_to_the_pairing, .rows = OTHER_PROBE + 1)
{
    receiver_rig_plan();
    put((enum kind)_i);
    uint32_t bytes = _i < OTHER_UNIT ? rig.bytes : 0;
    fill();
    expect_arrivals(_i < OTHER_UNIT, bytes);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, _i >= OTHER_UNIT && _i != QUESTION);
}

/* A question of its own sender, which has asked already, belongs to no pairing, either. */
TEST(landed__a_question)
{
    struct hello hello = {.pairing = rig.pairing, .nonce = 5};
    uint8_t datagram[TRAILER_BYTES];
    receiver_rig_plan();
    receiver_rig_put(datagram, (uint32_t)hello_encode(datagram, sizeof datagram, &hello));
    fill();
    expect_arrivals(0, 0);
}

/* Messages one by one, several in an opening, and strangers among them. */
TEST(landed__openings)
{
    receiver_plan(rig.r, &rig.landing, OPENINGS, 3);
    for (uint32_t n = 0; n < 3; n++)
        put_message(n);
    fill();
    put_message(3);
    fill();
    put_stranger();
    fill();
    put_stranger();
    put_message(4);
    fill();
    expect_arrivals(3, 5 * (SMALL + TRAILER_BYTES));
    for (uint32_t n = 0; n < 5; n++)
        receiver_rig_expect_message(n, SMALL);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_duplicate, 0);
}

/* ---- what is dropped ---- */

static void expect_drops(uint64_t is_short, uint64_t version, uint64_t type, uint64_t malformed)
{
    const struct receiver_counters *c = receiver_counters(rig.r);
    ck_assert_uint_eq(c->drop_short, is_short);
    ck_assert_uint_eq(c->drop_version, version);
    ck_assert_uint_eq(c->drop_type, type);
    ck_assert_uint_eq(c->drop_malformed, malformed);
    ck_assert_uint_eq(c->drop_session, 0);
}

/* Each is counted by its own reason alone. */
TEST(landed__drops)
{
    uint8_t datagram[CONTROL_BYTES] = {0};
    const struct block_ack ack = {.pairing = rig.pairing, .first_is_positive = true};
    receiver_rig_put((const uint8_t[]){0}, 1);
    receiver_rig_land();
    expect_drops(1, 0, 0, 0);
    put(UNIT);
    rig.wire[rig.bytes - 1] = 0x11;
    receiver_rig_land();
    expect_drops(1, 1, 0, 0);
    receiver_rig_put(datagram, (uint32_t)block_ack_encode(datagram, sizeof datagram, &ack));
    receiver_rig_land(); /* it is for a sender */
    expect_drops(1, 1, 1, 0);
    put(UNIT);
    rig.wire[rig.bytes - 2] = FLAG_VOID; /* with data */
    receiver_rig_land();
    expect_drops(1, 1, 1, 1);
    receiver_rig_expect_no_event();
}

/* Without keys nobody is asked for a challenge. */
TEST(landed__drops_a_challenge_answer)
{
    uint8_t datagram[CONTROL_BYTES];
    const struct challenge_answer answer = {.pairing = rig.pairing, .challenge = 5};
    receiver_rig_plan();
    receiver_rig_put(datagram,
                     (uint32_t)challenge_answer_encode(datagram, sizeof datagram, &answer));
    fill();
    expect_arrivals(0, 0);
    expect_drops(0, 0, 1, 0);
}

/* From shared memory, without keys. */
TEST(landed__near)
{
    rig.landing.is_near = true;
    for (uint32_t n = 0; n < 4; n++) {
        put_message(n);
        receiver_rig_land();
        receiver_rig_expect_message(n, SMALL);
    }
}

/* ---- what the kernel joins ---- */

/* Joined datagrams of which none is of the session by its length, but the last ends as one. As one
 * datagram they are a stranger's. */
static void land_wrong(uint32_t segment)
{
    struct unit_trailer t = receiver_rig_last(0, 0, 0, SMALL);
    memset(rig.wire, 0x77, 200);
    unit_trailer_encode(rig.wire + 200, &t);
    rig.bytes = 200 + TRAILER_BYTES;
    rig.segment = segment;
    receiver_rig_land();
}

TEST(joined__wrongly)
{
    for (int i = 0; i < JOINED_PATH_WRONG; i++) {
        ck_assert(receiver_wants_joined(rig.r));
        land_wrong(100);
    }
    ck_assert(!receiver_wants_joined(rig.r));
    ck_assert_uint_eq(receiver_counters(rig.r)->offload_failures, 1);
    rig.now += JOINED_PATH_RETRY - 1;
    receiver_rig_land();
    ck_assert(!receiver_wants_joined(rig.r));
    rig.now++;
    receiver_rig_land();
    ck_assert(receiver_wants_joined(rig.r));
}

/* Now and then one is right. */
TEST(joined__wrongly_at_times)
{
    for (uint32_t i = 0; i < 5 * JOINED_PATH_WRONG; i++) {
        land_wrong(100);
        if (i % 2 == 1)
            put_message(0);
        receiver_rig_land();
    }
    ck_assert(receiver_wants_joined(rig.r));
}

TEST(joined__rightly)
{
    for (uint32_t n = 0; n < 16; n += 2) {
        put_message(n);
        put_stranger(); /* of any kind: it does not end as one of the session */
        put_message(n + 1);
        receiver_rig_land();
    }
    ck_assert(receiver_wants_joined(rig.r));
    ck_assert_uint_eq(receiver_counters(rig.r)->units, 16);
}

/* What the kernel has not joined says nothing, whatever it is; nor what comes through memory. */
TEST(joined__not_at_all, .rows = 3)
{
    rig.landing.is_near = _i == 2;
    for (int i = 0; i < 3 * JOINED_PATH_WRONG; i++)
        land_wrong(_i == 0 ? 0 : _i == 1 ? 200 + (uint32_t)TRAILER_BYTES : 100);
    ck_assert(receiver_wants_joined(rig.r));
    ck_assert_uint_eq(receiver_counters(rig.r)->offload_failures, 0);
}

/* ---- before the receiver was there ---- */

/* A hello that is good is answered; whatever is none, or more or less, is dropped. */
TEST(welcome__a_hello)
{
    uint8_t datagram[2 * TRAILER_BYTES] = {0};
    const struct hello question = {.pairing = {.tag = RIG_TAG + 1}, .nonce = 77};
    size_t size = hello_encode(datagram, TRAILER_BYTES, &question);
    receiver_welcome(rig.r, rig.now, datagram, size - 1);
    receiver_welcome(rig.r, rig.now, datagram + 1, size - 1);
    receiver_welcome(rig.r, rig.now, datagram, size + 1);
    receiver_welcome(rig.r, rig.now, datagram + size, size);
    receiver_rig_expect_silence();
    receiver_welcome(rig.r, rig.now, datagram, size);
    receiver_rig_expect("cookie");
    ck_assert_uint_eq(rig.cookie.nonce, 77);
    receiver_rig_expect_silence();
}
