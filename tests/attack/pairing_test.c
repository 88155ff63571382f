/* Attackers off the path, who know addresses and ports and have read nothing: rows 2, 3, 11 and 15.
 * They go through the values of what they cannot know, sixteen bits at a time. */
#include "attack.h"

#include <string.h>

LOAD(asleep)

enum { VALUES = 65536, SHIFTS = 3, BYTES = 16384, WINDOW = 65536 };

static const unsigned shift[SHIFTS] = {0, 8, 16}; /* of low, middle and high bits */

/* ---- what is said ---- */

/* Writes a datagram that has `guess` in a field. */
typedef size_t (*spoof)(uint8_t *to, uint32_t guess);

static const struct wire_run all_messages = {0, 1000, BYTES};

static uint64_t twice(uint32_t guess)
{
    return (uint64_t)guess << 32 | guess;
}

static size_t request_under_tag(uint8_t *to, uint32_t guess)
{
    return wire_request(to, (struct wire_pairing){0xBAD5E551, guess}, 0, &all_messages);
}

static size_t request_of_session(uint8_t *to, uint32_t guess)
{
    return wire_request(to, (struct wire_pairing){guess, 0xBAD7A6}, 0, &all_messages);
}

static size_t request_with_nonce(uint8_t *to, uint32_t guess)
{
    return wire_request(to, (struct wire_pairing){0xBAD5E551, guess}, twice(guess), &all_messages);
}

static size_t cookie_with_nonce(uint8_t *to, uint32_t guess)
{
    return wire_cookie(to, (struct wire_pairing){0, guess}, twice(guess), 0xBADC00C1E);
}

static size_t acknowledgement(uint8_t *to, uint32_t guess)
{
    const uint32_t bounds[] = {0, 1};

    return wire_ack(to, (struct wire_pairing){0xBAD5E551, guess}, bounds, 1, 0);
}

static size_t close_by_receiver(uint8_t *to, uint32_t guess)
{
    return wire_ack(to, (struct wire_pairing){guess, 0xBAD7A6}, NULL, 0, WIRE_CLOSING);
}

static size_t close_by_sender(uint8_t *to, uint32_t guess)
{
    return wire_hello(to,
                      &(struct wire_hello){.pairing = {guess, 0xBAD7A6}, .flags = WIRE_CLOSING});
}

static size_t question_with_cookie(uint8_t *to, uint32_t guess)
{
    return wire_hello(to, &(struct wire_hello){
                              .pairing = {0, 0xBAD7A6}, .nonce = 0xBAD0CE, .cookie = twice(guess)});
}

static size_t hello_of_session(uint8_t *to, uint32_t guess)
{
    return wire_hello(to, &(struct wire_hello){.pairing = {guess, 0xBAD7A6}, .requested = 1});
}

static size_t void_unit(uint8_t *to, uint32_t guess)
{
    const struct wire_unit unit = {
        .pairing = {0xBAD5E551, guess}, .unit = 2, .flags = WIRE_VOID | WIRE_IS_LAST | WIRE_ANSWER};
    return wire_unit(to, &unit, NULL);
}

static size_t data_unit(uint8_t *to, uint32_t guess)
{
    static uint8_t data[64];
    const struct wire_unit unit = {
        .pairing = {guess, ~guess}, .message = 1, .length = sizeof(data)};

    memset(data, 0xA5, sizeof(data));
    return wire_unit(to, &unit, data);
}

/* ---- sweeps ---- */

struct sweep {
    struct raw raw;
    struct raw_end from, to;
};

/* An attacker that poses as the receiver, before the sender; or the other way round. */
static void sweep_open(struct sweep *s, const struct stage *stage, bool is_for_sender)
{
    s->from = is_for_sender ? attack_receiver() : attack_sender();
    s->to = is_for_sender ? attack_sender() : attack_receiver();
    raw_open(&s->raw, stage, is_for_sender ? STAGE_RIGHT : STAGE_LEFT, s->to.port);
}

/* Values [first, first + count) of sixteen bits; the others are chosen once for all. */
static void sweep_part(struct sweep *s, spoof write, unsigned bits, uint32_t first, uint32_t count)
{
    uint8_t datagram[WIRE_TRAILER + 256];

    for (uint32_t value = first; value < first + count; value++) {
        uint32_t guess = (0x13579BDu & ~(0xFFFFu << bits)) | (value & 0xFFFF) << bits;
        raw_udp(&s->raw, s->from, s->to, datagram, write(datagram, guess));
    }
}

/* All kinds of datagrams, each with all values of all bits, sixteen in turn; or, if there is no
 * time for that, with a quarter of the values of sixteen bits. */
static void sweep(struct sweep *s, const spoof *write, unsigned kinds)
{
    bool is_exhaustive = attack_is_exhaustive();
    unsigned shifts = is_exhaustive ? SHIFTS : 1;
    uint32_t count = is_exhaustive ? VALUES : VALUES / 4;

    for (unsigned kind = 0; kind < kinds; kind++)
        for (unsigned i = 0; i < shifts; i++)
            sweep_part(s, write[kind], shift[(kind + i) % SHIFTS], kind * count % VALUES, count);
    raw_flush(&s->raw);
}

/* ---- row 2 ---- */

static const struct zcrp_options gentle = {.window_bytes = WINDOW};

static const spoof to_sender[] = {request_under_tag, request_of_session, request_with_nonce,
                                  cookie_with_nonce, acknowledgement,    close_by_receiver};
static const spoof to_receiver[] = {close_by_sender, question_with_cookie, hello_of_session,
                                    void_unit};

/* Tells one end all of it. Adds to `unheard` what that one's socket had no room for meanwhile. */
static uint64_t tell(const struct stage *stage, bool is_for_sender, uint64_t *unheard)
{
    static struct sweep s;

    sweep_open(&s, stage, is_for_sender);
    if (is_for_sender)
        sweep(&s, to_sender, ROWS(to_sender));
    else
        sweep(&s, to_receiver, ROWS(to_receiver));
    *unheard += raw_lost(&s.raw);
    raw_close(&s.raw);
    return s.raw.sent;
}

/* All that was said was well formed, and just of no session. */
static void assert_well_formed(const struct victim *v)
{
    struct zcrp_stats stats;

    victim_stats(v, &stats);
    ck_assert_uint_eq(stats.drop_short + stats.drop_version, 0);
    ck_assert_uint_eq(stats.drop_type + stats.drop_malformed, 0);
}

/* Both ends are told everything that could end a session, while messages are under way. */
TEST(row02__sweeps_end_no_session)
{
    uint64_t unheard = 0;
    struct stage stage;
    struct victim sender, receiver;
    struct victim_flow sent, received;

    stage_open(&stage, 1500);
    attack_open_pair(&stage, &sender, &receiver, &gentle);
    victim_begin_stream(&receiver, BYTES, 0);
    victim_begin_stream(&sender, BYTES, 1 * VICTIM_MS);
    double start = attack_seconds();
    uint64_t guesses = tell(&stage, true, &unheard) + tell(&stage, false, &unheard);
    double took = attack_seconds() - start;
    victim_end_stream(&sender, &sent);
    victim_end_stream(&receiver, &received);
    attack_figure(2,
                  "%lu guesses in %.1f s, %lu unheard: %lu of %lu messages failed, longest pause "
                  "%.0f ms",
                  guesses, took, unheard, sent.failed + received.failed,
                  sent.messages + sent.failed, (double)sent.longest_pause_ns / 1e6);
    ck_assert_uint_eq(sent.failed, 0);
    ck_assert_uint_eq(received.failed, 0);
    ck_assert_uint_gt(sent.messages, 100);
    ck_assert_int_lt(sent.longest_pause_ns, 5000 * VICTIM_MS); /* a busy machine makes one of 1 s */
    ck_assert_uint_eq(unheard, 0);
    assert_well_formed(&sender);
    assert_well_formed(&receiver);
}

/* One end waits for the other, and hears nothing but guesses; then the other comes. */
TEST(row02__sweeps_hold_up_no_pairing, .rows = 2)
{
    static struct sweep s;
    const struct zcrp_options patient = {.connect_ns = 45000 * VICTIM_MS}; /* guesses take some */
    bool is_sender_first = _i == 0;
    const spoof *write = is_sender_first ? to_sender : to_receiver;
    unsigned kinds = is_sender_first ? ROWS(to_sender) : ROWS(to_receiver);
    struct stage stage;
    struct victim first, second;
    struct victim_report report;
    unsigned part = 0;

    stage_open(&stage, 1500);
    sweep_open(&s, &stage, is_sender_first);
    victim_start(&first, &stage, is_sender_first ? STAGE_LEFT : STAGE_RIGHT);
    victim_start(&second, &stage, is_sender_first ? STAGE_RIGHT : STAGE_LEFT);
    ck_assert_int_eq(victim_open(&first, is_sender_first, s.to, s.from, &patient), 0);
    ck_assert_int_eq(victim_submit(&first, 0, BYTES, 1), 0);
    for (; part < 50; part++)
        sweep_part(&s, write[part % kinds], shift[part % SHIFTS], part * 1000, 1000);
    double start = attack_seconds();
    ck_assert_int_eq(victim_open(&second, !is_sender_first, s.from, s.to, NULL), 0);
    ck_assert_int_eq(victim_submit(&second, 0, BYTES, 1), 0);
    victim_begin_wait(&first, 0, 10000 * VICTIM_MS);
    for (; !victim_has_report(&first); part++)
        sweep_part(&s, write[part % kinds], shift[part % SHIFTS], part * 1000, 1000);
    victim_report(&first, &report);
    double took = attack_seconds() - start;
    attack_figure(2, "the %s comes among %lu guesses: \"%s\" after %.0f ms",
                  is_sender_first ? "receiver" : "sender", s.raw.sent, zcrp_strerror(report.code),
                  took * 1e3);
    ck_assert_int_eq(report.code, ZCRP_OK);
    ck_assert_int_eq(victim_wait(&second, 0, 20000 * VICTIM_MS), ZCRP_OK);
    ck_assert(took < 5.0);
}

/* ---- row 3 ---- */

/* There is no receiver. Whatever is said in its name, nothing is acknowledged. */
TEST(row03__no_receiver_no_success)
{
    static const spoof said[] = {request_under_tag,  cookie_with_nonce, request_with_nonce,
                                 acknowledgement,    acknowledgement,   acknowledgement,
                                 request_of_session, close_by_receiver};
    static struct sweep s;
    const struct zcrp_options patient = {.connect_ns = 45000 * VICTIM_MS};
    struct stage stage;
    struct victim sender;
    struct zcrp_stats stats;

    stage_open(&stage, 1500);
    victim_start(&sender, &stage, STAGE_LEFT);
    ck_assert_int_eq(victim_open(&sender, true, attack_sender(), attack_receiver(),
                                 attack_is_exhaustive() ? &patient : NULL),
                     0);
    sweep_open(&s, &stage, true);
    ck_assert_int_eq(victim_submit(&sender, 0, 1000, 1), 0);
    victim_begin_wait(&sender, 0, 60000 * VICTIM_MS);
    double start = attack_seconds();
    sweep(&s, said, ROWS(said));
    double took = attack_seconds() - start;
    struct victim_report report;
    victim_report(&sender, &report);
    victim_stats(&sender, &stats);
    attack_figure(3, "%lu guesses in %.1f s, %lu unheard, no receiver: \"%s\", %lu units sent",
                  s.raw.sent, took, raw_lost(&s.raw), zcrp_strerror(report.code), stats.units);
    ck_assert(report.code == ZCRP_ERROR_REFUSED || report.code == ZCRP_ERROR_UNREACHABLE);
    ck_assert_uint_eq(stats.units, 0);
    ck_assert_uint_eq(raw_lost(&s.raw), 0);
}

/* ---- row 11 ---- */

/* Who reads the path can send units of his own; that takes keys. Who reads nothing cannot. */
TEST(row11__units_of_who_saw_nothing)
{
    static struct sweep s;
    struct stage stage;
    struct victim sender, receiver;
    struct zcrp_stats before, after;
    int looks = 0;

    stage_open(&stage, 1500);
    attack_open_pair(&stage, &sender, &receiver, &gentle);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(victim_submit(&receiver, i, 100000, 0), 0);
    ck_assert_int_eq(victim_submit(&sender, 0, 100000, 1), 0);
    ck_assert_int_eq(victim_wait(&receiver, 0, 20000 * VICTIM_MS), ZCRP_OK);
    victim_stats(&receiver, &before);
    sweep_open(&s, &stage, false);
    for (int i = 0; i < SHIFTS; i++)
        sweep_part(&s, data_unit, shift[i], 0, VALUES);
    raw_flush(&s.raw);
    ck_assert_int_eq(victim_wait(&receiver, 1, 0), ZCRP_ERROR_TIMEOUT);
    do { /* until all are read */
        usleep(10000);
        victim_stats(&receiver, &after);
    } while (after.drop_session - before.drop_session < s.raw.sent && ++looks < 1000);
    ck_assert_int_eq(victim_submit(&sender, 1, 100000, 2), 0);
    ck_assert_int_eq(victim_wait(&receiver, 1, 20000 * VICTIM_MS), ZCRP_OK);
    ck_assert(victim_holds(&receiver, 1, 2));
    attack_figure(11, "%lu units by guess: %lu accepted, %lu dropped as of no session", s.raw.sent,
                  after.units - before.units, after.drop_session - before.drop_session);
    ck_assert_uint_eq(after.units, before.units);
    ck_assert_uint_eq(after.drop_session - before.drop_session, s.raw.sent);
}

/* ---- row 15 ---- */

enum { SESSIONS = 32 };

/* splitmix64, forth and back: what version 0.1.0 drew its numbers with. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t unmix(uint64_t z)
{
    z = (z ^ z >> 31 ^ z >> 62) * UINT64_C(0x319642B2D24D8EC3);
    z = (z ^ z >> 27 ^ z >> 54) * UINT64_C(0x96DE1B173F119089);
    return z ^ z >> 30 ^ z >> 60;
}

#define STEP UINT64_C(0x9E3779B97F4A7C15)

/* Sends a unit, so that another sender is another session, until it is acknowledged. */
static bool send_one(struct hostile *h)
{
    bool is_acknowledged = false;

    for (int tries = 0; !is_acknowledged && tries < 100; tries++) {
        hostile_send(h, 0, 0, h->out, 64);
        while (!is_acknowledged && hostile_hear(h, 200))
            is_acknowledged = h->heard.type == WIRE_ACK;
    }
    return is_acknowledged;
}

/* Pairs with the receiver again and again, as one sender after the other. */
static void collect(struct hostile *h, uint32_t *session)
{
    for (uint32_t i = 0; i < SESSIONS; i++) {
        ck_assert(hostile_be_sender(h, attack_receiver(), 1000 + i, 20000));
        session[i] = h->pairing.session;
        ck_assert(send_one(h));
    }
}

/* Every state of the generator that would have drawn the first two: are the next two right? */
static unsigned predicted(const uint32_t *session, uint32_t *candidates)
{
    unsigned right = 0;

    *candidates = 0;
    for (uint64_t high = 0; high >> 32 == 0; high++) {
        uint64_t state = unmix(high << 32 | session[0]);
        if ((uint32_t)mix(state + STEP) != session[1])
            continue;
        ++*candidates;
        right += (uint32_t)mix(state + 2 * STEP) == session[2] &&
                 (uint32_t)mix(state + 3 * STEP) == session[3];
    }
    return right;
}

/* Of all pairs, how many are equal, or as far apart as the two before them? */
static unsigned patterns(const uint32_t *session)
{
    unsigned found = 0;

    for (int i = 0; i < SESSIONS; i++)
        for (int j = 0; j < i; j++)
            found += session[i] == session[j] ||
                     (i > 1 && j > 0 && session[i] - session[i - 1] == session[j] - session[j - 1]);
    return found;
}

TEST(row15__sessions_cannot_be_computed)
{
    static struct hostile former;
    uint32_t session[SESSIONS], candidates = 0;
    struct stage stage;
    struct victim receiver;
    struct victim_flow flow;

    stage_open(&stage, 1500);
    victim_start(&receiver, &stage, STAGE_RIGHT);
    hostile_open(&former, &stage, STAGE_LEFT, attack_sender());
    ck_assert_int_eq(victim_open(&receiver, false, attack_receiver(), attack_sender(), NULL), 0);
    victim_begin_stream(&receiver, 1000, 0);
    collect(&former, session);
    victim_end_stream(&receiver, &flow);
    unsigned right = attack_is_exhaustive() ? predicted(session, &candidates) : 0;
    attack_figure(
        15, "%d sessions seen: %u patterns; %u candidates by splitmix64, %u right for the next two",
        SESSIONS, patterns(session), candidates, right);
    ck_assert_uint_eq(patterns(session), 0);
    ck_assert_uint_eq(right, 0);
}

/* One question of the sender's: a receiver answers it, and closes at the first unit, so that the
 * next message asks anew. */
static void ask(const struct victim *sender, struct hostile *h)
{
    const struct wire_run run = {0, 100, 1000};

    ck_assert_int_eq(victim_submit(sender, 0, 1000, 1), 0);
    ck_assert(hostile_be_receiver(h, &run, 20000));
    hostile_say(h, wire_ack(h->out, h->pairing, NULL, 0, WIRE_CLOSING));
    ck_assert_int_eq(victim_wait(sender, 0, 20000 * VICTIM_MS), ZCRP_ERROR_CUT_OFF);
}

/* What a sender asks with tells nothing of what it will ask with. */
TEST(row15__questions_cannot_be_computed)
{
    enum { QUESTIONS = 8, FAR = 1000 };
    static struct hostile h;
    uint64_t nonce[QUESTIONS];
    unsigned right = 0;
    struct stage stage;
    struct victim sender;

    stage_open(&stage, 1500);
    victim_start(&sender, &stage, STAGE_LEFT);
    hostile_open(&h, &stage, STAGE_RIGHT, attack_receiver());
    ck_assert_int_eq(victim_open(&sender, true, attack_sender(), attack_receiver(), NULL), 0);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        ask(&sender, &h);
        nonce[i] = h.nonce;
    }
    for (unsigned i = 1; i < QUESTIONS; i++)
        for (uint64_t far = 0; far < FAR; far++)
            right += mix(unmix(nonce[i - 1]) + far * STEP) == nonce[i];
    attack_figure(15, "%u questions heard: %u of the next predicted", QUESTIONS, right);
    ck_assert_uint_eq(right, 0);
}
