/* One receive of a link: what is planned, what lands, who is told, what is answered at once, and
 * what is held for the user's answer. The transport and the machines are the test's. */
/* wrap: transport_begin_receive transport_begin_hear transport_receive transport_end_receive */
/* wrap: transport_answer receiver_plan receiver_landed receiver_on_listened receiver_expected */
/* wrap: receiver_recent_bytes receiver_is_idle receiver_look receiver_open receiver_wants_joined */
/* wrap: openings_choose openings_learn moderation_on_arrivals machine_is_replaced machine_told */
/* wrap: machine_on_plan_fault machine_fail machine_agree_close machine_link machine_acks_at */
/* wrap: keyed_is_news keyed_awaits_caller keyed_confirm keyed_hear_handshake keyed_on_heard */
/* wrap: keyed_hear_callers sender_on_peer_heard sender_receive sender_receive_near */
/* wrap: sender_on_listened own_move_on_heard ways_reap_wholes ways_look_late tx_drain */
/* wrap: tx_pass_hints peer_move_hear peer_move_has_burst channel_join entity_enter entity_leave */
/* wrap: receiver_welcome entity_break workspace_take workspace_give clock_now answering_is_usual */
/* wrap: transport_has_credit ways_find_credit ways_reap_before_word */
#include "link/receive.h"
#include "link/tx.h"

#include "../support/mock.h"

#include <string.h>

enum { LITTLE = 16 << 10, ANSWERS_MOST = 64, CONTROL_MOST = 8, ANSWERS_THERE = 200 };

static struct link pair;
static struct zcrp_entity half[LINK_HALVES];
static struct transport transport[LINK_HALVES];
static struct workspace workspace;
static uint8_t mail[4096], place[64], machine[1];

#define SENDER (&half[MACHINE_SENDER])
#define RECEIVER (&half[MACHINE_RECEIVER])

static struct {
    instant now;
    int received;   /* what the transport says, */
    uint32_t bytes; /* of the first opening, */
    bool is_spoilt; /* of which more was dropped */
    enum transport_more more;
    bool has_memory, is_near;
    bool is_mail; /* it is for the sender; or of the receiver's peer: */
    bool is_peers;
    int looks;        /* at what is sealed, that find some */
    uint32_t answers; /* in memory, of one byte each */
    bool shows, replaces, is_idle, wants_none;
    enum outcome told; /* the receiver is, by what lands */
    bool was_told, was_replaced;
    enum peer_link link; /* of the sender */
    bool is_refused, sends, has_letter, is_answerer, is_far_ack, has_credit;
    struct openings_choice choice;
    uint32_t slot_pieces;
    size_t split; /* of the place of a datagram: its first piece */
} at;

static struct {
    int plans, hears, lands, learns, arrivals, faults, looks, opens, joins;
    int heard, confirmed, replaced, closed, agreed, mails, answers, handshakes, callers;
    int reaps, words, lates, drains[LINK_HALVES], hints, moves, breaks, own, given, hellos, finds;
    uint32_t openings, units, scratch;
    bool is_near, cannot_fault, is_writable, has_mail;
    uint8_t last[64];
    uint32_t last_bytes;
} seen;

/* ---- what receive.c calls ---- */

instant __wrap_clock_now(void)
{
    return at.now;
}

void __wrap_entity_enter(struct zcrp_entity *e)
{
    mutex_lock(&e->link->mutex);
}

void __wrap_entity_leave(struct zcrp_entity *e)
{
    mutex_unlock(&e->link->mutex);
}

void __wrap_entity_break(struct zcrp_entity *e)
{
    (void)e;
    seen.breaks++;
}

bool __wrap_transport_begin_receive(struct transport *t, struct transport_turn *turn,
                                    uint32_t *openings, uint32_t *units)
{
    (void)t;
    (void)openings;
    (void)units;
    *turn = (struct transport_turn){.has_memory = at.has_memory};
    return at.is_near;
}

void __wrap_transport_begin_hear(const struct transport *t, struct transport_turn *turn)
{
    (void)t;
    *turn = (struct transport_turn){.has_memory = at.has_memory};
    seen.hears++;
}

int __wrap_transport_receive(struct transport *t, struct transport_turn *turn,
                             struct landing *landing, enum hearing hearing)
{
    (void)t;
    (void)turn;
    (void)hearing;
    assert_false(mutex_is_held(&pair.mutex));
    assert_true(pair.rx.is_claimed);
    seen.scratch = landing->openings;
    seen.has_mail = landing->mail != NULL;
    landing->received = at.received > 0 ? (uint32_t)at.received : 0;
    landing->is_spoilt = at.is_spoilt;
    for (uint32_t i = 0; i < landing->received; i++) {
        landing->bytes[i] = at.bytes;
        landing->segment[i] = 0;
    }
    return at.received;
}

enum transport_more __wrap_transport_end_receive(struct transport *t,
                                                 const struct transport_turn *turn, int most,
                                                 int received)
{
    (void)t;
    (void)turn;
    (void)most;
    assert_int_equal(received, at.received);
    return at.more;
}

size_t __wrap_transport_answer(struct transport *t, uint8_t *buffer)
{
    assert_ptr_equal(t, &transport[MACHINE_SENDER]);
    if (at.answers == 0)
        return 0;
    at.answers--;
    buffer[0] = 1;
    return 1;
}

/* A place of two pieces for each datagram; the last lies behind both of them. */
void __wrap_receiver_plan(struct receiver *r, struct landing *landing, uint32_t openings,
                          uint32_t pairs)
{
    (void)r;
    assert_true(mutex_is_held(&pair.mutex));
    assert_int_equal(landing->slot_pieces, at.slot_pieces);
    landing_begin(landing);
    for (uint32_t i = 0; i < openings; i++)
        (void)landing_seal(landing);
    if (at.split > 0) {
        landing->iov[0] = (struct iovec){place, at.split};
        landing->iov[1] = (struct iovec){place + at.split + 1, sizeof(place) - at.split - 1};
    }
    seen.plans++;
    seen.openings = openings;
    seen.units = pairs;
    seen.is_near = landing->is_near || landing->is_present;
    seen.cannot_fault = landing->cannot_fault;
    seen.is_writable = landing->is_writable != NULL;
}

struct receiver_arrivals __wrap_receiver_landed(struct receiver *r, instant now,
                                                struct landing *landing)
{
    struct landing_walk walk = {0};
    struct segment segment;

    (void)r;
    (void)now;
    assert_true(mutex_is_held(&pair.mutex));
    seen.lands++;
    if (landing->received == 0)
        return (struct receiver_arrivals){0};
    assert_int_equal(landing->received, at.received);
    seen.last_bytes = landing->bytes[0];
    while (at.is_mail && landing_next(landing, &walk, &segment))
        (void)landing_post(landing, &segment);
    return (struct receiver_arrivals){.openings = at.is_peers, .bytes = landing->bytes[0]};
}

bool __wrap_receiver_on_listened(struct receiver *r)
{
    (void)r;
    return false;
}

uint64_t __wrap_receiver_expected(const struct receiver *r)
{
    (void)r;
    return 7;
}

uint32_t __wrap_receiver_recent_bytes(const struct receiver *r)
{
    (void)r;
    return 0;
}

bool __wrap_receiver_is_idle(const struct receiver *r)
{
    (void)r;
    return at.is_idle;
}

bool __wrap_receiver_look(struct receiver *r, instant now, struct landing *landing)
{
    (void)r;
    (void)now;
    (void)landing;
    seen.looks++;
    return at.looks-- > 0;
}

void __wrap_receiver_open(struct receiver *r, struct landing *landing)
{
    (void)r;
    (void)landing;
    assert_false(mutex_is_held(&pair.mutex));
    seen.opens++;
}

bool __wrap_receiver_wants_joined(const struct receiver *r)
{
    (void)r;
    return !at.wants_none;
}

void __wrap_receiver_welcome(struct receiver *r, instant now, const uint8_t *hello, size_t size)
{
    (void)r;
    (void)now;
    assert_ptr_equal(hello, place);
    assert_int_equal(size, 5);
    seen.hellos++;
}

void __wrap_channel_join(struct channel *c, bool joins)
{
    (void)c;
    seen.joins += joins ? 1 : 100;
}

struct openings_choice __wrap_openings_choose(const struct openings *o, uint32_t recent_bytes,
                                              uint64_t rest)
{
    (void)o;
    (void)recent_bytes;
    assert_int_equal(rest, transport[MACHINE_RECEIVER].way == WAY_MEMORY ? 0 : 7);
    return at.choice;
}

void __wrap_openings_learn(struct openings *o, const struct landing *l)
{
    (void)o;
    (void)l;
    seen.learns++;
}

void __wrap_moderation_on_arrivals(struct moderation *m, uint32_t arrivals, uint64_t bytes)
{
    (void)m;
    (void)bytes;
    seen.arrivals += (int)arrivals;
}

bool __wrap_machine_is_replaced(const struct machine *m)
{
    (void)m;
    return at.was_replaced || (at.replaces && seen.lands > 0);
}

enum outcome __wrap_machine_told(const struct machine *m)
{
    (void)m;
    return at.was_told || seen.lands > 0 ? at.told : OUTCOME_OK;
}

void __wrap_machine_on_plan_fault(struct machine *m, struct landing *l)
{
    (void)m;
    (void)l;
    seen.faults++;
}

void __wrap_machine_fail(struct machine *m, instant now, enum outcome outcome)
{
    (void)now;
    assert_ptr_equal(m, &SENDER->machine);
    seen.replaced += outcome == OUTCOME_RESTARTED;
    seen.closed += outcome == OUTCOME_PEER_CLOSED;
}

void __wrap_machine_agree_close(struct machine *m)
{
    assert_ptr_equal(m, &SENDER->machine);
    seen.agreed++;
}

enum peer_link __wrap_machine_link(const struct machine *m)
{
    (void)m;
    return at.link;
}

instant __wrap_machine_acks_at(const struct machine *m)
{
    (void)m;
    return at.is_far_ack ? NEVER : pair.read_at;
}

bool __wrap_keyed_is_news(const struct zcrp_entity *receiver)
{
    (void)receiver;
    return at.shows;
}

bool __wrap_keyed_awaits_caller(const struct zcrp_entity *e)
{
    (void)e;
    return false;
}

void __wrap_keyed_confirm(struct zcrp_entity *sender, instant now)
{
    (void)sender;
    (void)now;
    seen.confirmed++;
}

bool __wrap_keyed_hear_handshake(struct zcrp_entity *sender, instant now, const uint8_t *datagram,
                                 size_t size)
{
    (void)sender;
    (void)now;
    (void)datagram;
    (void)size;
    return false;
}

void __wrap_keyed_on_heard(struct zcrp_entity *sender)
{
    assert_ptr_equal(sender, SENDER);
    seen.handshakes++;
}

void __wrap_keyed_hear_callers(struct zcrp_entity *receiver, const struct landing_mail *posted)
{
    (void)receiver;
    (void)posted;
    seen.callers++;
}

void __wrap_sender_on_peer_heard(struct sender *s)
{
    (void)s;
    seen.heard++;
}

void __wrap_sender_receive(struct sender *s, instant now, const uint8_t *datagram, size_t size)
{
    (void)s;
    (void)now;
    assert_true(size <= sizeof(seen.last));
    memcpy(seen.last, datagram, size);
    seen.mails++;
}

bool __wrap_transport_has_credit(const struct transport *t)
{
    (void)t;
    return at.has_credit;
}

bool __wrap_ways_find_credit(const struct zcrp_entity *e)
{
    assert_ptr_equal(e, SENDER);
    assert_int_equal(seen.finds, seen.answers); /* before the sender hears the answer */
    seen.finds++;
    return true;
}

void __wrap_sender_receive_near(struct sender *s, instant now, const uint8_t *datagram, size_t size)
{
    (void)s;
    (void)now;
    (void)datagram;
    assert_int_equal(size, 1);
    seen.answers++;
}

bool __wrap_sender_on_listened(struct sender *s)
{
    (void)s;
    return at.is_refused;
}

void __wrap_own_move_on_heard(struct link *l)
{
    (void)l;
    seen.own++;
}

void __wrap_ways_reap_wholes(struct zcrp_entity *e)
{
    assert_ptr_equal(e, SENDER);
    seen.reaps++;
}

void __wrap_ways_reap_before_word(struct zcrp_entity *e)
{
    assert_ptr_equal(e, SENDER);
    seen.words++;
}

void __wrap_ways_look_late(struct zcrp_entity *e)
{
    (void)e;
    seen.lates++;
}

bool __wrap_tx_drain(struct zcrp_entity *e, int bursts)
{
    assert_true(mutex_is_held(&pair.mutex));
    assert_int_equal(bursts, SENDING_BURSTS);
    seen.drains[e->machine.role]++;
    return at.sends;
}

void __wrap_tx_pass_hints(struct zcrp_entity *e)
{
    (void)e;
    seen.hints++;
}

void __wrap_peer_move_hear(struct link *l)
{
    assert_true(l->rx.is_claimed);
    seen.moves++;
}

bool __wrap_peer_move_has_burst(const struct zcrp_entity *receiver)
{
    (void)receiver;
    return at.has_letter;
}

struct workspace *__wrap_workspace_take(void)
{
    return &workspace;
}

void __wrap_workspace_give(struct workspace *w)
{
    (void)w;
    seen.given++;
}

bool __wrap_answering_is_usual(const struct answering *a)
{
    (void)a;
    return at.is_answerer;
}

/* ---- the link ---- */

enum halves { BOTH, SENDER_ALONE, RECEIVER_ALONE };

static void begin_with(enum halves halves)
{
    memset(&at, 0, sizeof(at));
    memset(&seen, 0, sizeof(seen));
    at.now = SECOND;
    at.choice = (struct openings_choice){.openings = 3, .units = 5};
    at.slot_pieces = LANDING_SLOT_PIECES;
    at.is_far_ack = true;
    at.link = LINK_UP;
    pair = (struct link){.half = {SENDER, RECEIVER}};
    mutex_init(&pair.mutex);
    lease_init(&pair.lease, LEASE_AT_ONCE);
    for (int role = 0; role < LINK_HALVES; role++) {
        transport[role] =
            (struct transport){.is_sender = role == MACHINE_SENDER, .way = WAY_SOCKET};
        half[role] = (struct zcrp_entity){
            .link = &pair, .transport = &transport[role], .machine.role = (enum machine_role)role};
        half[role].channels.in = half[role].channels.out = &half[role].channels.channel[0];
    }
    SENDER->machine.sender = (void *)machine; /* all that asks them is the test's */
    RECEIVER->machine.receiver = (void *)machine;
    if (halves == SENDER_ALONE)
        pair.half[MACHINE_RECEIVER] = NULL;
    if (halves == RECEIVER_ALONE)
        pair.half[MACHINE_SENDER] = NULL;
    workspace.memory = place;
    workspace.mail = (struct landing_mail){.memory = mail, .room = sizeof(mail)};
}

static void begin(void)
{
    static uint8_t *memory;

    if (memory == NULL)
        memory = malloc(landing_memory(LANDING_OPENINGS));
    assert_non_null(memory);
    landing_init(&workspace.landing, memory, LANDING_OPENINGS);
    begin_with(BOTH);
}

FIXTURE(begin, NULL)

static enum arrival receive(struct zcrp_entity *reader)
{
    enum arrival found = receive_once(reader, &workspace, HEAR_ALL);

    assert_false(pair.rx.is_claimed);
    assert_true(mutex_is_free(&pair.mutex));
    return found;
}

/* Something of the receiver's peer comes, of so many bytes. */
static void let_come(uint32_t bytes)
{
    at.received = 1;
    at.bytes = bytes;
    at.is_peers = true;
}

/* So many bytes come, for the sender. */
static void let_mail_come(uint32_t bytes)
{
    let_come(bytes);
    at.is_mail = true;
    at.is_peers = false;
}

/* ---- planning ---- */

TEST(receive_once__plans_units)
{
    at.is_near = true;
    (void)receive(RECEIVER);
    assert_int_equal(seen.openings, 3);
    assert_int_equal(seen.units, 5);
    assert_true(seen.is_near && seen.cannot_fault && !seen.is_writable && seen.has_mail);
    assert_int_equal(seen.joins, 1);
    at.is_idle = true;
    at.is_near = false;
    at.wants_none = true;
    RECEIVER->wrapped = RECEIVER->unseen = 1;
    transport[MACHINE_RECEIVER].way = WAY_MEMORY;
    (void)receive(RECEIVER);
    assert_int_equal(seen.openings, CONTROL_MOST); /* of an idle one */
    assert_true(!seen.is_near && !seen.cannot_fault && seen.is_writable);
    assert_int_equal(seen.joins, 101); /* no more from now on */
}

TEST(receive_once__plans_slots_of_aal5)
{
    RECEIVER->channels.in->aal5 = (void *)machine;
    at.slot_pieces = 1;
    (void)receive(RECEIVER);
    assert_int_equal(seen.plans, 1);
}

TEST(receive_once__plans_scratch_for_a_sender)
{
    begin_with(SENDER_ALONE);
    (void)receive(SENDER);
    assert_int_equal(seen.scratch, CONTROL_MOST);
    assert_int_equal(seen.hears, 1);
    assert_int_equal(seen.plans, 0);
    begin_with(RECEIVER_ALONE);
    (void)receive(RECEIVER);
    assert_false(seen.has_mail);
    assert_int_equal(seen.callers, 0);
}

TEST(receive_once__another_thread_receives)
{
    pair.rx.is_claimed = true;
    assert_int_equal(receive_once(RECEIVER, &workspace, HEAR_ALL), ARRIVAL_NONE);
    pair.rx.is_claimed = false;
    transport[MACHINE_RECEIVER].is_late = true;
    assert_int_equal(receive(RECEIVER), ARRIVAL_NONE);
    transport[MACHINE_RECEIVER].is_late = false;
    pair.is_broken = true;
    assert_int_equal(receive(RECEIVER), ARRIVAL_NONE);
    assert_int_equal(seen.plans + seen.lands, 0);
}

/* ---- landing ---- */

/* Much is opened without the lock, and a little with it. */
TEST(receive_once__opens_without_the_lock)
{
    let_come(LITTLE);
    at.looks = 2;
    (void)receive(RECEIVER);
    assert_int_equal(seen.looks, 0);
    at.bytes = LITTLE + 1;
    (void)receive(RECEIVER);
    assert_int_equal(seen.opens, 2);
    assert_int_equal(seen.looks, 3);
}

/* Only what is of the pairing tells how the next will come. */
TEST(receive_once__learns)
{
    let_come(100);
    (void)receive(RECEIVER);
    assert_int_equal(seen.learns, 1);
    assert_int_equal(seen.arrivals, 1);
    assert_int_equal(seen.heard, 1);
    assert_int_equal(seen.own, 1);
    at.is_peers = false;
    (void)receive(RECEIVER);
    assert_int_equal(seen.learns + seen.arrivals + seen.heard + seen.own, 4);
    assert_int_equal(seen.lands, 2);
}

TEST(receive_once__faults)
{
    pair.rx.are_whole = true;
    at.received = CHANNEL_FAULT;
    (void)receive(RECEIVER);
    assert_int_equal(seen.faults, 1);
    assert_int_equal(seen.breaks, 0);
    assert_int_equal(seen.lands, 1); /* the plan is over */
    at.received = CHANNEL_BROKEN;
    (void)receive(RECEIVER);
    assert_int_equal(seen.faults, 1);
    assert_int_equal(seen.breaks, 1);
    assert_true(pair.rx.are_whole);
    let_come(100);
    (void)receive(RECEIVER);
    assert_false(pair.rx.are_whole);
}

TEST(receive_once__looks_whether_the_peer_is_late)
{
    (void)receive(RECEIVER);
    assert_int_equal(seen.lates, 0);
    at.has_memory = true;
    (void)receive(RECEIVER);
    assert_int_equal(seen.lates, 1);
}

/* ---- news ---- */

/* The connection's sender is told once, of what has just become known. */
TEST(receive_once__peer_has_closed)
{
    for (int i = 0; i < 4; i++) {
        begin_with(BOTH);
        let_come(100);
        at.told = OUTCOME_PEER_CLOSED;
        at.was_told = i == 1;
        at.link = i == 2 ? LINK_ASKING : LINK_UP;
        RECEIVER->lost = i == 3 ? OUTCOME_DIED : OUTCOME_OK;
        (void)receive(RECEIVER);
        assert_int_equal(seen.agreed, i != 1);
        assert_int_equal(seen.closed, i == 2);
        assert_int_equal(RECEIVER->lost, i == 1   ? OUTCOME_OK
                                         : i == 3 ? OUTCOME_DIED
                                                  : OUTCOME_PEER_CLOSED);
        assert_int_equal(seen.replaced + seen.confirmed, 0);
    }
}

TEST(receive_once__peer_is_replaced)
{
    let_come(100);
    at.replaces = true;
    (void)receive(RECEIVER);
    assert_int_equal(seen.replaced, 1);
    at.was_replaced = true;
    (void)receive(RECEIVER);
    assert_int_equal(seen.replaced, 1);
}

TEST(receive_once__peer_has_shown_itself)
{
    at.shows = true;
    (void)receive(RECEIVER);
    assert_int_equal(seen.confirmed, 0); /* nothing came */
    let_come(100);
    (void)receive(RECEIVER);
    assert_int_equal(seen.confirmed, 1);
}

TEST(receive_tell_news__what_is_news)
{
    mutex_lock(&pair.mutex);
    assert_false(receive_tell_news(SENDER, (struct peer_news){.is_heard = true}));
    assert_int_equal(seen.reaps, 1);
    assert_true(receive_tell_news(SENDER, (struct peer_news){.has_shown = true}));
    assert_true(receive_tell_news(SENDER, (struct peer_news){.is_replaced = true}));
    assert_true(receive_tell_news(SENDER, (struct peer_news){.has_closed = true}));
    mutex_unlock(&pair.mutex);
}

/* ---- what is for the sender ---- */

/* A sender that reads for itself hears what comes, whatever is still to be sent. */
TEST(receive_once__sender_alone)
{
    static const struct {
        bool has_mail, sends, is_spoilt;
        enum transport_more more;
        enum arrival found;
    } rows[] = {
        {false, false, false, MORE_NONE, ARRIVAL_NONE},
        {false, true, false, MORE_NONE, ARRIVAL_SOME},
        {false, false, false, MORE_NOW, ARRIVAL_NONE},
        {false, false, true, MORE_NONE, ARRIVAL_NONE},
        {true, false, false, MORE_NONE, ARRIVAL_SOME},
        {true, false, false, MORE_SOON, ARRIVAL_SOME},
        {true, false, false, MORE_NOW, ARRIVAL_FULL},
        {true, false, true, MORE_NONE, ARRIVAL_FULL}, /* it was dropped: there may be others */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int gathers = 0; gathers < 2; gathers++) {
            begin_with(SENDER_ALONE);
            if (rows[i].has_mail)
                let_mail_come(20);
            at.sends = rows[i].sends;
            at.is_spoilt = rows[i].is_spoilt;
            at.more = rows[i].more;
            if (gathers)
                flush_begin(&SENDER->flush, at.now, FLUSH_MORE);
            assert_int_equal(receive(SENDER), rows[i].found);
            assert_int_equal(seen.mails, rows[i].has_mail);
            assert_int_equal(seen.handshakes, rows[i].has_mail);
            assert_int_equal(seen.drains[MACHINE_SENDER], 1);
            assert_int_equal(seen.hints, 1);
        }
}

/* A connection's sender sends because of what has come for it; while it gathers its user sends
 * soon. */
TEST(receive_once__mail_for_a_connection)
{
    for (int gathers = 0; gathers < 2; gathers++) {
        begin_with(BOTH);
        if (gathers)
            flush_begin(&SENDER->flush, at.now, FLUSH_MORE);
        assert_int_equal(receive(RECEIVER), ARRIVAL_NONE);
        assert_int_equal(seen.drains[MACHINE_SENDER], 0); /* nothing has come */
        assert_int_equal(pair.touched, 0);
        let_mail_come(1);
        at.sends = true;
        assert_int_equal(receive(RECEIVER), ARRIVAL_SOME);
        assert_int_equal(seen.mails, 1);
        assert_int_equal(seen.drains[MACHINE_SENDER], !gathers);
        assert_int_equal(pair.touched, 1 << MACHINE_SENDER);
        assert_int_equal(seen.hints, 2);
        at.more = MORE_NOW;
        assert_int_equal(receive(RECEIVER), ARRIVAL_FULL);
        at.received = 0;
        at.more = MORE_SOON;
        assert_int_equal(receive(RECEIVER), ARRIVAL_SOME);
    }
}

/* Whatever may have changed for the sender is found at the end of the section. */
TEST(receive_once__touches_the_sender)
{
    at.is_refused = true;
    (void)receive(RECEIVER);
    assert_int_equal(pair.touched, 1 << MACHINE_SENDER);
    begin_with(BOTH);
    transport[MACHINE_SENDER].is_possible = true; /* the peer may have read */
    (void)receive(RECEIVER);
    assert_int_equal(pair.touched, 1 << MACHINE_SENDER);
    assert_int_equal(seen.reaps, 2); /* before it is told anything, and what was declined */
    begin_with(BOTH);
    let_come(100);
    at.shows = true; /* which it acts on */
    (void)receive(RECEIVER);
    assert_int_equal(pair.touched, 1 << MACHINE_SENDER);
    assert_int_equal(seen.drains[MACHINE_SENDER], 1);
}

TEST(receive_answers__some)
{
    at.answers = ANSWERS_THERE;
    mutex_lock(&pair.mutex);
    assert_true(receive_answers(SENDER, place));
    assert_int_equal(seen.answers, ANSWERS_MOST);
    at.answers = 1;
    assert_true(receive_answers(SENDER, place));
    assert_false(receive_answers(SENDER, place));
    at.answers = 1;
    pair.is_broken = true;
    assert_false(receive_answers(SENDER, place));
    mutex_unlock(&pair.mutex);
    assert_int_equal(seen.answers, ANSWERS_MOST + 1);
    assert_int_equal(seen.words, ANSWERS_MOST + 1); /* what was read by then has arrived */
}

/* A request ends the need that the peer shows a buffer for: that is looked at before. */
TEST(receive_answers__behind_a_look_for_credit)
{
    at.answers = 3;
    assert_true(receive_answers(SENDER, place));
    assert_int_equal(seen.finds, 3);
    at.has_credit = true;
    at.answers = 2;
    assert_true(receive_answers(SENDER, place));
    assert_int_equal(seen.answers, 5);
    assert_int_equal(seen.finds, 3);
}

TEST(receive_once__answers_in_memory)
{
    at.answers = 2;
    assert_int_equal(receive(RECEIVER), ARRIVAL_SOME);
    assert_int_equal(seen.answers, 2);
    assert_int_equal(seen.drains[MACHINE_SENDER], 1);
    assert_int_equal(pair.touched, 1 << MACHINE_SENDER);
}

/* ---- answering ---- */

/* A receiver answers at once, unless its user is likely to, or gathers. */
static const struct {
    bool is_waiter, is_taker, is_answerer, is_memory, is_closing, gathers, must_ack;
    bool is_sent, is_held;
} replies[] = {
    {.is_sent = true},
    {.is_waiter = true, .is_sent = true},
    {.is_answerer = true, .is_sent = true},
    {.is_waiter = true, .is_answerer = true, .is_held = true},
    {.is_taker = true, .is_answerer = true, .is_held = true},
    {.is_waiter = true, .is_answerer = true, .is_memory = true, .is_sent = true},
    {.is_waiter = true, .is_answerer = true, .is_closing = true, .is_sent = true},
    {.is_waiter = true, .is_answerer = true, .gathers = true},
    {.gathers = true},
    {.gathers = true, .must_ack = true, .is_sent = true},
    {.is_waiter = true, .is_answerer = true, .gathers = true, .must_ack = true, .is_sent = true},
};

TEST(receive_once__answers_or_holds)
{
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        begin_with(BOTH);
        let_come(100);
        atomic_store(&pair.lease.state, replies[i].is_waiter ? LEASE_AWAKE : LEASE_WORKERS);
        pair.rx.is_for_taker = replies[i].is_taker;
        at.is_answerer = replies[i].is_answerer;
        at.is_far_ack = !replies[i].must_ack;
        if (replies[i].is_memory)
            transport[MACHINE_RECEIVER].way = WAY_MEMORY;
        if (replies[i].is_closing)
            RECEIVER->life = ENTITY_DRAINING;
        if (replies[i].gathers)
            flush_begin(&RECEIVER->flush, at.now, FLUSH_MORE);
        (void)receive(RECEIVER);
        assert_int_equal(seen.drains[MACHINE_RECEIVER], replies[i].is_sent);
        assert_true(flush_is_for(&RECEIVER->flush, FLUSH_ANSWER) == replies[i].is_held);
    }
}

TEST(receive_once__peer_that_moves_is_answered)
{
    at.has_letter = true;
    flush_begin(&RECEIVER->flush, at.now, FLUSH_MORE);
    (void)receive(RECEIVER);
    assert_int_equal(seen.drains[MACHINE_RECEIVER], 1);
    assert_int_equal(seen.moves, 1);
}

TEST(receive_hello__is_answered)
{
    receive_hello(RECEIVER, place, 5);
    assert_int_equal(seen.hellos, 1);
    assert_int_equal(seen.drains[MACHINE_RECEIVER], 1);
}

/* ---- what came early ---- */

/* Each lands as if it came now: over the pieces that are planned, and nowhere else. */
TEST(receive_early__lands_each)
{
    static const size_t splits[] = {1, 5, 9, 10, 19, 20, 30};

    for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
        struct datagram_queue early = {.count = 0};
        uint8_t datagram[20];

        begin_with(BOTH);
        memset(place, 0, sizeof(place));
        for (uint8_t k = 0; k < sizeof(datagram); k++)
            datagram[k] = (uint8_t)(k + 1);
        datagram_queue_add(&early, datagram, sizeof(datagram));
        early.datagram[1].size = 1; /* behind the last */
        at.split = splits[i];
        let_come(0);
        at.shows = true;
        at.has_memory = true; /* whatever a receive would find */
        receive_early(RECEIVER, &early);
        assert_int_equal(seen.plans, 1);
        assert_int_equal(seen.openings, 1);
        assert_int_equal(seen.units, 1);
        assert_int_equal(seen.last_bytes, sizeof(datagram));
        for (size_t k = 0; k < sizeof(datagram); k++)
            assert_int_equal(place[k < splits[i] ? k : k + 1], k + 1);
        if (splits[i] < sizeof(datagram))
            assert_int_equal(place[splits[i]], 0);
        assert_int_equal(seen.confirmed, 1);
        assert_int_equal(seen.lates, 0);
        assert_int_equal(seen.drains[MACHINE_RECEIVER], 1);
        assert_int_equal(seen.drains[MACHINE_SENDER], 1);
        assert_true(pair.touched & 1 << MACHINE_SENDER);
        assert_false(pair.rx.is_claimed);
        assert_int_equal(seen.given, 1);
    }
}

/* What the channel and the last plan were like does not matter. */
TEST(receive_early__plans_for_the_socket)
{
    struct datagram_queue early = {.count = 0};
    const uint8_t datagram[1] = {9};

    receive_early(RECEIVER, &early); /* none */
    assert_int_equal(seen.given, 0);
    datagram_queue_add(&early, datagram, 1);
    workspace.landing.is_near = workspace.landing.is_present = true;
    workspace.landing.cannot_fault = true;
    workspace.landing.slot_pieces = 3;
    RECEIVER->wrapped = 1;
    let_mail_come(0);
    receive_early(RECEIVER, &early);
    assert_true(!seen.is_near && !seen.cannot_fault && seen.is_writable);
    assert_int_equal(seen.mails, 1);
    assert_int_equal(seen.last[0], 9);
    RECEIVER->wrapped = 0;
    RECEIVER->channels.in->aal5 = (void *)machine;
    at.slot_pieces = 1;
    receive_early(RECEIVER, &early);
    assert_true(seen.cannot_fault && !seen.is_writable);
    pair.rx.is_claimed = true; /* it is as good as lost */
    receive_early(RECEIVER, &early);
    assert_int_equal(seen.plans, 2);
    pair.rx.is_claimed = false;
}
