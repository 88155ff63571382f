/* What a half does with keys: when its handshake ends, fails, begins anew or is dropped, and what
 * the machines are told. The handshakes and the machines are the test's. */
/* wrap: tls_handshake_create tls_handshake_destroy tls_handshake_hear tls_handshake_make_keys */
/* wrap: session_keys_move session_keys_clear pending_open pending_close pending_end */
/* wrap: pending_count handshake_take handshake_deadline handshake_expire tls_credit keys_hold */
/* wrap: zcrp_keys_free sender_admit sender_admit_early sender_is_admitted sender_on_keys */
/* wrap: sender_gives_up_at sender_is_asking sender_link sender_unbind sender_on_handshake_sent */
/* wrap: receiver_admit receiver_unbind machine_fail machine_end entity_enter entity_leave */
/* wrap: tx_drain clock_now */
#include "handshake/pending.h"
#include "link/entity.h"
#include "link/tx.h"

#include "../support/mock.h"

#include <string.h>

enum { CREDIT = 3, CREDIT_SIZE = 500, LIMIT = 5 };

static struct link pair;
static struct zcrp_entity half[LINK_HALVES];
static struct transport transport[LINK_HALVES];
static struct session_keys keys, made;
static struct tls_handshake handshake;
static char places[1], users_keys[1]; /* what only the test's own calls know */
static struct pending_rules rules;    /* as opened */

#define SENDER (&half[MACHINE_SENDER])
#define RECEIVER (&half[MACHINE_RECEIVER])

static struct {
    instant now, gives_up;
    bool is_over, drops, makes_none, creates_none, is_admitted, was_early;
    enum handshake_phase phase; /* once it has heard */
    uint32_t credit;
    enum peer_link link;
    enum outcome end;
} at;

static struct {
    int created, destroyed, moved, cleared, admitted, early, receiver_admitted, unbound;
    int receiver_unbound, expired, drains, ended, closed, holds, frees;
    int fails[OUTCOME_DIED + 1];
    enum outcome told; /* the sender, of what an unpaired end is called */
} seen;

/* ---- what keyed.c calls ---- */

struct tls_handshake *__wrap_tls_handshake_create(struct zcrp_keys *k, bool is_connecting,
                                                  uint32_t tag, uint64_t nonce)
{
    (void)tag;
    (void)nonce;
    assert_ptr_equal(k, users_keys);
    assert_true(is_connecting);
    if (at.creates_none)
        return NULL;
    seen.created++;
    handshake = (struct tls_handshake){.verdict = TLS_DONE, .since = at.now};
    handshake.machine.phase = HANDSHAKE_ASKS;
    return &handshake;
}

void __wrap_tls_handshake_destroy(struct tls_handshake *h)
{
    seen.destroyed += h != NULL;
}

bool __wrap_tls_handshake_hear(struct tls_handshake *h, instant now, const uint8_t *datagram,
                               size_t size)
{
    (void)now;
    (void)datagram;
    (void)size;
    h->machine.phase = at.phase;
    h->machine.dropped += at.drops;
    return at.is_over;
}

struct session_keys *__wrap_tls_handshake_make_keys(const struct tls_handshake *h)
{
    (void)h;
    return at.makes_none ? NULL : &made;
}

void __wrap_session_keys_move(struct session_keys *to, struct session_keys *from)
{
    assert_ptr_equal(to, &keys);
    assert_ptr_equal(from, &made);
    to->sender.pairing = to->receiver.pairing = (struct pairing){.tag = 1, .session = 2};
    seen.moved++;
}

void __wrap_session_keys_clear(struct session_keys *k)
{
    k->sender.pairing = k->receiver.pairing = (struct pairing){.tag = 0};
    seen.cleared++;
}

int __wrap_pending_open(struct pending **pending, const struct pending_rules *opened)
{
    rules = *opened;
    *pending = (void *)places;
    return 0;
}

void __wrap_pending_close(struct pending *p, bool is_in_child)
{
    (void)is_in_child;
    seen.closed += p != NULL;
}

void __wrap_pending_end(struct pending *p)
{
    assert_ptr_equal(p, places);
    assert_false(mutex_is_held(&pair.mutex));
    seen.ended++;
}

struct pending_counts __wrap_pending_count(struct pending *p)
{
    (void)p;
    return (struct pending_counts){.refused = 1, .dropped = 2, .unproven = 30, .strange = 400};
}

size_t __wrap_handshake_take(struct handshake *h, uint8_t out[HANDSHAKE_BYTES])
{
    (void)h;
    (void)out;
    return 100;
}

instant __wrap_handshake_deadline(const struct handshake *h)
{
    (void)h;
    return NEVER;
}

void __wrap_handshake_expire(struct handshake *h, instant now)
{
    (void)h;
    (void)now;
    seen.expired++;
}

struct tls_credit __wrap_tls_credit(const struct tls *t)
{
    (void)t;
    return (struct tls_credit){.count = at.credit, .size = CREDIT_SIZE};
}

struct zcrp_keys *__wrap_keys_hold(struct zcrp_keys *k)
{
    seen.holds++;
    return k;
}

void __wrap_zcrp_keys_free(struct zcrp_keys *k)
{
    seen.frees += k != NULL;
}

void __wrap_sender_admit(struct sender *s, instant now)
{
    (void)s;
    (void)now;
    seen.admitted++;
    at.is_admitted = true;
}

void __wrap_sender_admit_early(struct sender *s, instant now, uint32_t count, uint64_t size)
{
    (void)s;
    (void)now;
    assert_int_equal(count, CREDIT);
    assert_int_equal(size, CREDIT_SIZE);
    seen.early++;
}

bool __wrap_sender_is_admitted(const struct sender *s)
{
    (void)s;
    return at.is_admitted;
}

void __wrap_sender_on_keys(struct sender *s, enum outcome unpaired)
{
    (void)s;
    seen.told = unpaired;
}

instant __wrap_sender_gives_up_at(const struct sender *s)
{
    (void)s;
    return at.gives_up;
}

enum peer_link __wrap_sender_link(const struct sender *s)
{
    (void)s;
    return at.link;
}

bool __wrap_sender_is_asking(const struct sender *s)
{
    (void)s;
    return at.link == LINK_ASKING;
}

bool __wrap_sender_unbind(struct sender *s, instant now)
{
    (void)s;
    (void)now;
    seen.unbound++;
    return !at.was_early;
}

void __wrap_sender_on_handshake_sent(struct sender *s, instant now)
{
    (void)s;
    (void)now;
}

void __wrap_receiver_admit(struct receiver *r, instant now)
{
    (void)r;
    (void)now;
    seen.receiver_admitted++;
}

void __wrap_receiver_unbind(struct receiver *r, instant now)
{
    (void)r;
    (void)now;
    seen.receiver_unbound++;
}

void __wrap_machine_fail(struct machine *m, instant now, enum outcome outcome)
{
    (void)now;
    assert_ptr_equal(m, &SENDER->machine);
    seen.fails[outcome]++;
}

enum outcome __wrap_machine_end(const struct machine *m)
{
    (void)m;
    return at.end;
}

void __wrap_entity_enter(struct zcrp_entity *e)
{
    mutex_lock(&e->link->mutex);
}

void __wrap_entity_leave(struct zcrp_entity *e)
{
    mutex_unlock(&e->link->mutex);
}

bool __wrap_tx_drain(struct zcrp_entity *e, int bursts)
{
    (void)e;
    (void)bursts;
    seen.drains++;
    return true;
}

instant __wrap_clock_now(void)
{
    return at.now;
}

/* ---- the link ---- */

/* A connection's connecting side, whose handshake has begun. */
static void begin(void)
{
    memset(&at, 0, sizeof(at));
    memset(&seen, 0, sizeof(seen));
    at.now = SECOND;
    at.gives_up = 100 * SECOND;
    at.phase = HANDSHAKE_TALKS;
    at.link = LINK_ASKING;
    at.end = OUTCOME_CLOSED; /* it has none yet */
    at.credit = CREDIT;
    keys = (struct session_keys){.identity = "peer"};
    pair = (struct link){.half = {SENDER, RECEIVER}, .session_keys = &keys};
    mutex_init(&pair.mutex);
    for (int role = 0; role < LINK_HALVES; role++) {
        transport[role] = (struct transport){.is_sender = role == MACHINE_SENDER};
        half[role] = (struct zcrp_entity){
            .link = &pair,
            .transport = &transport[role],
            .options.keys = (void *)users_keys,
            .machine = {.role = (enum machine_role)role, .stays = true},
        };
        assert_true(keyed_init(&half[role]));
    }
    mutex_lock(&pair.mutex);
}

static void end(void)
{
    mutex_unlock(&pair.mutex);
    for (int role = 0; role < LINK_HALVES; role++) {
        keyed_fini(&half[role]);
        assert_null(half[role].keyed.keyring);
    }
    assert_int_equal(seen.created, seen.destroyed);
    assert_int_equal(seen.holds, seen.frees);
}

FIXTURE(begin, end)

static void begin_again(void)
{
    end();
    begin();
}

static void hear(void)
{
    const uint8_t datagram[1] = {datagram_last_byte(DATAGRAM_HANDSHAKE)};

    assert_true(keyed_hear_handshake(SENDER, at.now, datagram, 1));
}

static void let_end(void)
{
    at.is_over = true;
    hear();
    at.is_over = false;
}

/* ---- the end of a handshake ---- */

TEST(keyed_hear_handshake__both_halves_have_keys)
{
    at.now++;
    assert_null(keyed_identity(SENDER));
    let_end();
    assert_int_equal(seen.moved, 1);
    assert_int_equal(seen.receiver_admitted, 1);
    assert_int_equal(seen.early, 1);
    assert_int_equal(seen.told, OUTCOME_NOT_ADMITTED);
    assert_int_equal(pair.touched, 1 << MACHINE_RECEIVER);
    assert_int_equal(seen.fails[OUTCOME_KEYS], 0);
    assert_string_equal(keyed_identity(RECEIVER), "peer");
    assert_true(keyed_is_news(RECEIVER));
    keyed_confirm(SENDER, at.now); /* the peer is through, too */
    assert_int_equal(seen.admitted, 1);
    assert_int_equal(seen.destroyed, 1);
    assert_false(keyed_is_news(RECEIVER));
}

/* Nothing goes early without credit, nor where all is to cross in memory. */
TEST(keyed_hear_handshake__early)
{
    at.credit = 0;
    let_end();
    assert_int_equal(seen.early, 0);
    begin_again();
    SENDER->options.channel = ZCRP_CHANNEL_MEMORY;
    let_end();
    assert_int_equal(seen.early, 0);
    begin_again();
    pair.half[MACHINE_RECEIVER] = NULL; /* over descriptors */
    let_end();
    assert_int_equal(seen.moved, 1);
    assert_int_equal(seen.early + seen.receiver_admitted, 0);
}

TEST(keyed_hear_handshake__fails)
{
    at.makes_none = true; /* no memory */
    let_end();
    assert_int_equal(seen.fails[OUTCOME_KEYS], 1);
    assert_int_equal(seen.moved + seen.receiver_admitted, 0);
    begin_again();
    handshake.verdict = TLS_FAILED;
    let_end();
    assert_int_equal(seen.fails[OUTCOME_KEYS], 1);
    assert_int_equal(seen.told, OUTCOME_KEYS);
    begin_again();
    at.phase = HANDSHAKE_REFUSED;
    hear();
    assert_int_equal(seen.fails[OUTCOME_KEYS], 1);
}

/* A datagram that the handshake drops is no sign of life, and tells nothing about the peer's keys:
 * before anybody has answered, amid the handshake, and after its end. */
TEST(keyed_hear_handshake__drops)
{
    static const enum handshake_phase phases[] = {HANDSHAKE_ASKS, HANDSHAKE_TALKS, HANDSHAKE_ENDS};

    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        begin_again();
        at.phase = phases[i];
        at.drops = true;
        hear();
        hear();
        assert_int_equal(seen.told, OUTCOME_OK);
        assert_int_equal(seen.fails[OUTCOME_KEYS], 0);
    }
    at.drops = false;
    hear();
    assert_int_equal(seen.told, OUTCOME_NOT_ADMITTED);
}

/* ---- beginning anew ---- */

static void expire(void)
{
    keyed_expire(SENDER, at.now);
}

/* Nobody has answered well for so long: both machines go on as if nothing had been. */
TEST(keyed_expire__begins_anew)
{
    instant due = at.now + LIMIT * SECOND;

    assert_int_equal(keyed_deadline(SENDER), due);
    assert_true(keyed_deadline(RECEIVER) == NEVER);
    at.now = due - 1;
    expire();
    assert_int_equal(seen.expired, 1);
    assert_int_equal(seen.created, 1);
    at.now = due;
    pair.touched = 0;
    expire();
    assert_int_equal(seen.created, 2);
    assert_int_equal(seen.destroyed, 1);
    assert_int_equal(seen.cleared, 1);
    assert_int_equal(seen.receiver_unbound, 1);
    assert_int_equal(pair.touched, 1 << MACHINE_RECEIVER);
    assert_int_equal(seen.told, OUTCOME_UNREACHABLE);
    assert_int_equal(keyed_deadline(SENDER), due + LIMIT * SECOND);
    pair.half[MACHINE_RECEIVER] = NULL;
    at.now += LIMIT * SECOND;
    expire();
    assert_int_equal(seen.created, 3);
    assert_int_equal(seen.receiver_unbound, 1);
    at.creates_none = true;
    at.now += LIMIT * SECOND;
    expire();
    assert_int_equal(seen.fails[OUTCOME_KEYS], 1);
    pair.half[MACHINE_RECEIVER] = RECEIVER;
}

/* Not where that would be of no use. */
TEST(keyed_deadline__not_anew)
{
    instant due = at.now + LIMIT * SECOND;

    at.gives_up = due + SECOND;
    assert_true(keyed_deadline(SENDER) == NEVER); /* too late for an answer */
    at.gives_up++;
    assert_int_equal(keyed_deadline(SENDER), due);
    at.link = LINK_UP;
    assert_true(keyed_deadline(SENDER) == NEVER);
    at.link = LINK_ASKING;
    handshake.machine.phase = HANDSHAKE_REFUSED;
    assert_true(keyed_deadline(SENDER) == NEVER);
    handshake.machine.phase = HANDSHAKE_TALKS;
    let_end(); /* a connection with keys waits to be admitted */
    assert_true(keyed_deadline(SENDER) == NEVER);
    SENDER->machine.stays = false; /* others ask anew */
    assert_int_equal(keyed_deadline(SENDER), due);
}

/* The peer has forgotten a handshake that was over for this side: at once. But not while a thread
 * uses the keys. */
TEST(keyed_expire__peer_has_forgotten)
{
    for (int user = 0; user < 4; user++) {
        begin_again();
        let_end();
        handshake.machine.is_forgotten = true;
        hear();
        assert_int_equal(keyed_deadline(SENDER), at.now);
        pair.rx.is_claimed = user == 1;
        SENDER->is_sending = user == 2;
        RECEIVER->is_sending = user == 3;
        expire();
        assert_int_equal(seen.created, user == 0 ? 2 : 1);
        assert_int_equal(seen.unbound, user == 0);
        if (user > 0) {
            assert_int_equal(keyed_deadline(SENDER), at.now + MILLISECOND);
            pair.rx.is_claimed = SENDER->is_sending = RECEIVER->is_sending = false;
            at.now += MILLISECOND;
            expire();
            assert_int_equal(seen.created, 2);
        }
        assert_int_equal(keyed_deadline(SENDER), at.now + LIMIT * SECOND); /* as at first */
    }
}

/* What went early may have arrived: it is not sent again. */
TEST(keyed_expire__units_went_early)
{
    at.was_early = true;
    at.now += LIMIT * SECOND;
    expire();
    assert_int_equal(seen.fails[OUTCOME_RESTARTED], 1);
    assert_int_equal(seen.created, 1);
    assert_int_equal(seen.cleared, 0);
}

/* One that has lost its peer asks for nothing any more, but a refusal is still said. */
TEST(keyed_expire__has_ended)
{
    at.end = OUTCOME_SILENT;
    handshake.machine.phase = HANDSHAKE_REFUSED;
    expire();
    assert_int_equal(seen.destroyed, 0);
    assert_int_equal(seen.fails[OUTCOME_KEYS], 0);
    handshake.machine.phase = HANDSHAKE_TALKS;
    expire();
    assert_int_equal(seen.destroyed, 1);
    assert_int_equal(seen.expired, 1);
    expire(); /* there is none any more */
    assert_int_equal(seen.expired, 1);
}

TEST(keyed_expire__is_refused)
{
    for (int i = 0; i < 3; i++) {
        begin_again();
        handshake.machine.phase = i == 2 ? HANDSHAKE_TALKS : HANDSHAKE_REFUSED;
        at.is_admitted = i == 1;
        expire();
        assert_int_equal(seen.fails[OUTCOME_KEYS], i == 0);
    }
}

/* ---- what is sent ---- */

TEST(keyed_take__pins_nothing)
{
    static struct burst burst;

    burst.pins = 9;
    assert_true(keyed_take(SENDER, at.now, &burst));
    assert_int_equal(burst.pins, 0);
    assert_int_equal(burst.bytes, 100);
    assert_false(keyed_take(RECEIVER, at.now, &burst));
}

/* ---- a receiver over descriptors ---- */

TEST(keyed_start__one_place)
{
    const struct caller caller = {.from.any.sa_family = 0};
    struct zcrp_stats stats = {.drop_session = 1000, .drop_cookie = 2000};

    keyed_add_stats(RECEIVER, &stats);
    assert_int_equal(stats.keys_refused, 0);
    assert_int_equal(keyed_start(SENDER), 0);
    assert_false(keyed_awaits_caller(RECEIVER));
    assert_int_equal(keyed_start(RECEIVER), 0);
    assert_true(keyed_awaits_caller(RECEIVER));
    assert_int_equal(rules.places, 1);
    assert_int_equal(rules.of_host, 1);
    assert_int_equal(rules.at_once, 1);
    assert_int_equal(rules.limit, LIMIT * SECOND);
    keyed_add_stats(RECEIVER, &stats);
    assert_int_equal(stats.keys_refused, 1);
    assert_int_equal(stats.drop_session, 1400);
    assert_int_equal(stats.drop_cookie, 2030);
    mutex_unlock(&pair.mutex);
    assert_true(rules.on_success(rules.context, &caller, &made));
    mutex_lock(&pair.mutex);
    assert_int_equal(seen.receiver_admitted, 1);
    assert_int_equal(seen.ended, 1);
    assert_int_equal(seen.drains, 1);
    assert_false(keyed_awaits_caller(RECEIVER)); /* it has its session */
    keyed_stop(RECEIVER);
    assert_int_equal(seen.closed, 1);
}
