/* What a half sends, and what its machine is told of it: with a transport whose verdicts are the
 * test's. Also messages that go as a whole, and what the system hints at. */
/* wrap: clock_now entity_enter entity_leave entity_leave_to_send entity_break */
/* wrap: transport_send transport_send_plain transport_send_to transport_holds_back */
/* wrap: transport_has_room transport_stands_still transport_awaits_pages transport_wake_peer */
/* wrap: transport_has_credit transport_put_whole transport_has_whole_room nofault_read */
/* wrap: machine_take machine_has_more machine_sent machine_on_burst_read machine_on_burst_fault */
/* wrap: sender_has_burst sender_wants_ecn sender_on_uncut sender_on_path_hint sender_on_refused */
/* wrap: sender_on_closed_port receiver_on_closed_port sender_on_refused_size sender_held */
/* wrap: sender_is_decided sender_whole sender_put_whole sender_pin_whole sender_let_go */
/* wrap: sender_is_whole sender_whole_came_back keyed_take keyed_has_datagram peer_move_take */
/* wrap: peer_move_has_burst own_move_on_homeless ways_reap ways_take_back ways_fetch */
/* wrap: ways_say_awaited channel_mark */
#include "link/peer_move.h"
#include "link/tx.h"

#include "../support/mock.h"

#include <string.h>

enum { UNITS = 3, UNIT = 1000, WHOLES_MOST = 8, BUFFER = 4096, SENDS_MOST = 200 };

static struct link pair;
static struct zcrp_entity half[LINK_HALVES];
static struct transport transport[LINK_HALVES];
static struct message message[WHOLES_MOST];
static struct whole whole[WHOLES_MOST];
static uint8_t buffer[BUFFER];

#define SENDER (&half[MACHINE_SENDER])
#define RECEIVER (&half[MACHINE_RECEIVER])

static struct {
    instant now;
    int bursts, handshakes, letters; /* that are to be sent */
    uint32_t bytes;                  /* of each burst; 0: as many as its units have */
    enum channel_verdict verdict;    /* of the transport, */
    uint32_t sent;                   /* which takes so many units, */
    bool is_held;                    /* that the peer reads later */
    uint64_t decided;                /* messages, a bit each */
    bool has_no_room, stands_still, awaits_pages, cannot_shrink, has_no_ecn;
    bool reaping_helps, saying_helps; /* there is room then */
    bool wakes;                       /* each burst finds the peer asleep, */
    int come;                         /* and so many more come while it is woken */
    bool is_only_due;                 /* a burst, which nobody knows before it is taken */
    uint32_t wholes, next;            /* messages that may go as a whole */
    uint32_t whole_room;              /* for so many together */
    bool has_no_whole_room;
    ssize_t copied; /* less than 0: all */
} at;

static struct {
    int sends, plain, elsewhere, left, breaks, faults, reads, uncut, held, shrinks, wakings;
    int path_hints, refusals, closed_ports, receiver_closed_ports, homeless;
    int fetches, reaps, awaited, no_ecn;
    uint32_t taken_back; /* messages, a bit each */
    uint32_t told;       /* units that the machine was told of */
    instant told_at;
    bool cannot_fault;
    int puts, copies, back, pins, goes, looks;
    size_t pieces;
} seen;

/* ---- what tx.c calls ---- */

instant __wrap_clock_now(void)
{
    return ++at.now;
}

void __wrap_entity_enter(struct zcrp_entity *e)
{
    mutex_lock(&e->link->mutex);
}

void __wrap_entity_leave(struct zcrp_entity *e)
{
    mutex_unlock(&e->link->mutex);
}

void __wrap_entity_leave_to_send(struct zcrp_entity *e)
{
    mutex_unlock(&e->link->mutex);
}

void __wrap_entity_break(struct zcrp_entity *e)
{
    e->link->is_broken = true;
    seen.breaks++;
}

enum channel_verdict __wrap_transport_send(struct transport *t, bool by_memory, struct burst *burst,
                                           uint32_t *sent, bool *held)
{
    assert_true(by_memory == transport_sends_memory(t));
    assert_false(mutex_is_held(&pair.mutex));
    assert_true(++seen.sends <= SENDS_MOST);
    seen.cannot_fault = burst->cannot_fault;
    burst->segment = UNIT + 16; /* sealed */
    *sent = at.sent;
    *held = at.is_held;
    t->must_wake_peer = at.wakes;
    return at.verdict;
}

enum channel_verdict __wrap_transport_send_plain(struct transport *t, const struct burst *burst,
                                                 uint32_t *sent)
{
    (void)t;
    (void)burst;
    (void)sent;
    seen.plain++;
    return CHANNEL_OK;
}

void __wrap_transport_send_to(struct transport *t, struct burst *burst, const union address *to)
{
    (void)t;
    (void)burst;
    (void)to;
    seen.elsewhere++;
}

bool __wrap_transport_holds_back(const struct transport *t)
{
    (void)t;
    return false;
}

bool __wrap_transport_has_room(const struct transport *t)
{
    (void)t;
    return !at.has_no_room;
}

bool __wrap_transport_stands_still(const struct transport *t)
{
    (void)t;
    return at.stands_still;
}

bool __wrap_transport_awaits_pages(const struct transport *t)
{
    (void)t;
    return at.awaits_pages;
}

void __wrap_transport_wake_peer(struct transport *t)
{
    assert_false(mutex_is_held(&pair.mutex));
    t->must_wake_peer = false;
    at.bursts += at.come;
    at.come = 0;
    seen.wakings++;
}

bool __wrap_transport_has_credit(const struct transport *t)
{
    (void)t;
    return true;
}

bool __wrap_transport_put_whole(struct transport *t, uint64_t in_session, uint64_t owner,
                                struct iovec bytes)
{
    (void)t;
    (void)in_session;
    (void)owner;
    (void)bytes;
    seen.puts += !at.has_no_whole_room;
    return !at.has_no_whole_room;
}

bool __wrap_transport_has_whole_room(struct transport *t, uint32_t messages, uint32_t bytes)
{
    uint64_t expected = 0;

    (void)t;
    assert_true(++seen.looks <= WHOLES_MOST);
    for (uint32_t i = at.next + 1 - messages; i <= at.next; i++)
        expected += whole[i].size;
    assert_int_equal(bytes, expected);
    return messages <= at.whole_room;
}

ssize_t __wrap_nofault_read(void *to, const struct iovec *from, size_t pieces, size_t bytes)
{
    size_t sum = 0;

    (void)to;
    assert_false(mutex_is_held(&pair.mutex));
    assert_true(pieces <= PIECES_MOST);
    for (size_t i = 0; i < pieces; i++)
        sum += from[i].iov_len;
    assert_int_equal(sum, bytes);
    seen.copies++;
    seen.pieces = pieces;
    return at.copied < 0 ? (ssize_t)bytes : at.copied;
}

bool __wrap_machine_take(struct machine *m, instant now, struct burst *burst)
{
    (void)m;
    (void)now;
    if (at.bursts == 0)
        return false;
    at.bursts--;
    burst->datagrams = burst->pins = UNITS;
    burst->segment = UNIT;
    burst->bytes = at.bytes != 0 ? at.bytes : UNITS * UNIT;
    for (uint32_t i = 0; i <= UNITS; i++)
        burst->pin[i].message = i;
    return true;
}

bool __wrap_machine_has_more(const struct machine *m)
{
    (void)m;
    return at.bursts > 0 && !at.is_only_due;
}

void __wrap_machine_sent(struct machine *m, instant now, const struct burst *burst, uint32_t sent)
{
    (void)m;
    if (burst->datagrams == UNITS)
        assert_int_equal(burst->segment, UNIT); /* what the machine knows of */
    seen.told += sent;
    seen.told_at = now;
}

void __wrap_machine_on_burst_read(struct machine *m, const struct burst *b)
{
    (void)m;
    (void)b;
    seen.reads++;
}

void __wrap_machine_on_burst_fault(struct machine *m, const struct burst *b)
{
    (void)m;
    (void)b;
    seen.faults++;
}

bool __wrap_sender_has_burst(const struct sender *s)
{
    (void)s;
    return at.bursts > 0 && !at.is_only_due;
}

bool __wrap_sender_wants_ecn(const struct sender *s)
{
    (void)s;
    return !at.has_no_ecn;
}

void __wrap_channel_mark(struct channel *c, bool may)
{
    (void)c;
    seen.no_ecn += !may;
}

void __wrap_sender_on_uncut(struct sender *s)
{
    (void)s;
    seen.uncut++;
}

void __wrap_sender_on_path_hint(struct sender *s, instant now)
{
    (void)s;
    (void)now;
    seen.path_hints++;
}

void __wrap_sender_on_refused(struct sender *s, instant now)
{
    (void)s;
    (void)now;
    seen.refusals++;
}

void __wrap_sender_on_closed_port(struct sender *s, instant now)
{
    (void)s;
    (void)now;
    seen.closed_ports++;
}

void __wrap_receiver_on_closed_port(struct receiver *r, instant now)
{
    (void)r;
    (void)now;
    seen.receiver_closed_ports++;
}

void __wrap_own_move_on_homeless(struct link *l)
{
    (void)l;
    seen.homeless++;
}

bool __wrap_sender_on_refused_size(struct sender *s, instant now, uint32_t refused)
{
    (void)s;
    (void)now;
    assert_int_equal(refused, UNIT);
    seen.shrinks++;
    return !at.cannot_shrink;
}

void __wrap_sender_held(struct sender *s, const struct burst *burst, uint32_t sent)
{
    (void)s;
    (void)burst;
    seen.held += (int)sent;
}

bool __wrap_sender_is_decided(struct sender *s, uint64_t number)
{
    (void)s;
    return at.decided >> number & 1;
}

bool __wrap_sender_whole(struct sender *s, uint32_t most, struct whole *next)
{
    (void)s;
    assert_int_equal(most, TRANSPORT_WHOLE);
    if (at.next >= at.wholes)
        return false;
    *next = whole[at.next];
    return true;
}

void __wrap_sender_put_whole(struct sender *s, const struct whole *next)
{
    (void)s;
    assert_int_equal(next->number, at.next++);
    seen.goes++;
}

void __wrap_sender_pin_whole(struct sender *s, uint64_t number)
{
    (void)s;
    (void)number;
    seen.pins++;
}

void __wrap_sender_let_go(struct sender *s, uint64_t number)
{
    (void)s;
    (void)number;
    seen.pins--;
}

bool __wrap_sender_is_whole(struct sender *s, uint64_t number)
{
    (void)s;
    return !(at.decided >> number & 1);
}

void __wrap_sender_whole_came_back(struct sender *s, instant now, uint64_t number)
{
    (void)s;
    (void)now;
    (void)number;
    seen.back++;
}

bool __wrap_keyed_take(struct zcrp_entity *e, instant now, struct burst *burst)
{
    (void)e;
    (void)now;
    if (at.handshakes == 0)
        return false;
    at.handshakes--;
    burst_set_control(burst, 100);
    return true;
}

bool __wrap_keyed_has_datagram(const struct zcrp_entity *e)
{
    (void)e;
    return at.handshakes > 0;
}

bool __wrap_peer_move_take(struct zcrp_entity *receiver, struct burst *burst, union address *to)
{
    (void)receiver;
    (void)to;
    if (at.letters == 0)
        return false;
    at.letters--;
    burst_set_control(burst, 100);
    return true;
}

bool __wrap_peer_move_has_burst(const struct zcrp_entity *receiver)
{
    (void)receiver;
    return at.letters > 0;
}

void __wrap_ways_reap(struct zcrp_entity *e)
{
    (void)e;
    seen.reaps++;
    at.has_no_room = at.has_no_room && !at.reaping_helps;
}

void __wrap_ways_say_awaited(struct zcrp_entity *e)
{
    (void)e;
    seen.awaited++;
    at.has_no_room = at.has_no_room && !at.saying_helps;
}

void __wrap_ways_take_back(struct zcrp_entity *e, uint64_t number)
{
    (void)e;
    seen.taken_back |= UINT32_C(1) << number;
}

void __wrap_ways_fetch(struct zcrp_entity *e)
{
    (void)e;
    seen.fetches++;
}

/* ---- the link ---- */

static void begin(void)
{
    memset(&at, 0, sizeof(at));
    memset(&seen, 0, sizeof(seen));
    at.now = SECOND;
    at.sent = UNITS;
    at.copied = -1;
    at.whole_room = WHOLES_MOST;
    pair = (struct link){.half = {SENDER, RECEIVER}, .read_at = SECOND};
    mutex_init(&pair.mutex);
    for (int role = 0; role < LINK_HALVES; role++) {
        transport[role] =
            (struct transport){.is_sender = role == MACHINE_SENDER, .way = WAY_SOCKET};
        half[role] = (struct zcrp_entity){.link = &pair,
                                          .transport = &transport[role],
                                          .unblock_at = NEVER,
                                          .machine.role = (enum machine_role)role};
        half[role].channels.in = half[role].channels.out = &half[role].channels.channel[0];
        atomic_store(&half[role].channels.in->gso_segments, 64);
    }
    SENDER->machine.sender = (void *)buffer; /* all that asks it is the test's */
    mutex_lock(&pair.mutex);
}

static void end(void)
{
    assert_true(mutex_is_held(&pair.mutex));
    assert_false(SENDER->is_sending);
    mutex_unlock(&pair.mutex);
}

FIXTURE(begin, end)

static void begin_again(void)
{
    end();
    begin();
}

/* One burst, with this verdict. */
static void send_one(struct zcrp_entity *e, enum channel_verdict verdict, uint32_t sent)
{
    memset(&seen, 0, sizeof(seen));
    at.bursts = 1;
    at.verdict = verdict;
    at.sent = sent;
    e->blocked = CHANNEL_OK;
    e->unblock_at = NEVER;
    (void)tx_drain(e, 1);
    at.bursts = 0;
}

/* ---- how much is sent ---- */

TEST(tx_drain__all_there_is)
{
    assert_false(tx_drain(SENDER, SENDING_BURSTS));
    at.bursts = 3;
    assert_true(tx_drain(SENDER, SENDING_BURSTS));
    assert_int_equal(seen.sends, 3);
    assert_int_equal(seen.told, 3 * UNITS);
    assert_int_equal(seen.reads, 3);
    assert_true(tx_drain(RECEIVER, SENDING_BURSTS) == false);
    at.bursts = at.letters = at.handshakes = 1;
    assert_true(tx_drain(RECEIVER, SENDING_BURSTS));
    assert_int_equal(seen.plain, 1);
    assert_int_equal(seen.elsewhere, 1);
    assert_int_equal(seen.sends, 4);
}

/* A receiver that has nothing else answers from where it is asked. */
TEST(tx_drain__what_goes_elsewhere)
{
    at.letters = 1;
    assert_true(tx_drain(RECEIVER, SENDING_BURSTS));
    assert_int_equal(seen.elsewhere, 1);
}

/* Large bursts count as several. */
TEST(tx_drain__so_many)
{
    static const struct {
        uint32_t bytes;
        int sends;
    } rows[] = {{UNITS * UNIT, 12},    {SENDING_CALL - 1, 12}, {SENDING_CALL, 6},
                {2 * SENDING_CALL, 4}, {11 * SENDING_CALL, 1}, {100 * SENDING_CALL, 1}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin_again();
        at.bursts = SENDS_MOST;
        at.bytes = rows[i].bytes;
        assert_true(tx_drain(SENDER, 12));
        assert_int_equal(seen.sends, rows[i].sends);
    }
}

/* The peer is woken behind what it is sent, once; what has come since goes too, within the bound.
 */
TEST(tx_drain__wakes_the_peer)
{
    at.wakes = true;
    at.bursts = SENDS_MOST;
    assert_true(tx_drain(SENDER, 5));
    assert_int_equal(seen.sends, 5);
    assert_int_equal(seen.wakings, 1);
    begin_again();
    at.wakes = true;
    at.bursts = 3;
    at.come = SENDS_MOST;
    assert_true(tx_drain(SENDER, 5));
    assert_int_equal(seen.sends, 5);
    assert_int_equal(seen.wakings, 2);
}

/* What a sender has to say may only now be due; a receiver knows. */
TEST(tx_drain__only_now_due)
{
    at.is_only_due = true;
    at.bursts = 1;
    assert_false(tx_drain(RECEIVER, SENDING_BURSTS));
    assert_true(tx_drain(SENDER, SENDING_BURSTS));
    assert_int_equal(seen.sends, 1);
}

TEST(tx_drain__another_thread_sends)
{
    at.bursts = 1;
    SENDER->is_sending = true;
    assert_false(tx_drain(SENDER, SENDING_BURSTS));
    assert_false(tx_send_wholes(SENDER));
    SENDER->is_sending = false;
    assert_int_equal(seen.sends, 0);
}

TEST(tx_drain__memory_that_may_go)
{
    send_one(SENDER, CHANNEL_OK, UNITS);
    assert_true(seen.cannot_fault);
    SENDER->wrapped = 1;
    send_one(SENDER, CHANNEL_OK, UNITS);
    assert_false(seen.cannot_fault);
}

TEST(tx_drain__without_marks)
{
    send_one(SENDER, CHANNEL_OK, UNITS);
    assert_int_equal(seen.no_ecn, 0);
    at.has_no_ecn = true;
    send_one(SENDER, CHANNEL_OK, UNITS);
    assert_int_equal(seen.no_ecn, 1);
    send_one(RECEIVER, CHANNEL_OK, UNITS); /* whose acknowledgements may be marked */
    assert_int_equal(seen.no_ecn, 0);
}

/* A kernel that cuts no more. */
TEST(tx_drain__offload_is_left)
{
    send_one(SENDER, CHANNEL_OK, UNITS);
    assert_int_equal(seen.uncut, 0);
    atomic_store(&SENDER->channels.out->gso_segments, 1);
    send_one(SENDER, CHANNEL_OK, UNITS);
    assert_int_equal(seen.uncut, 1);
}

/* ---- what becomes of a burst ---- */

/* All that was sent is as of the section's time; else time has passed. */
TEST(tx_drain__tells_what_was_sent)
{
    send_one(SENDER, CHANNEL_OK, UNITS);
    assert_int_equal(seen.told, UNITS);
    assert_int_equal(seen.told_at, pair.read_at);
    send_one(SENDER, CHANNEL_BLOCKED, 1);
    assert_int_equal(seen.told, 1);
    assert_true(seen.told_at > pair.read_at);
}

TEST(tx_drain__blocked)
{
    send_one(SENDER, CHANNEL_BLOCKED, 1);
    assert_int_equal(SENDER->blocked, CHANNEL_BLOCKED);
    assert_true(SENDER->unblock_at == NEVER); /* the system tells */
    assert_int_equal(seen.reads, 0);
    at.bursts = 1;
    assert_false(tx_drain(SENDER, 1));
    send_one(SENDER, CHANNEL_CROWDED, 1);
    assert_int_equal(SENDER->blocked, CHANNEL_CROWDED);
    assert_in_range(SENDER->unblock_at, SECOND + CHANNEL_PAUSE, at.now + CHANNEL_PAUSE);
    send_one(RECEIVER, CHANNEL_CROWDED, 0); /* what it says it says again */
    assert_int_equal(RECEIVER->blocked, CHANNEL_OK);
}

TEST(tx_drain__pages_are_to_come)
{
    send_one(SENDER, CHANNEL_ABSENT, 0);
    assert_int_equal(SENDER->blocked, CHANNEL_ABSENT);
    assert_in_range(SENDER->unblock_at, SECOND + 20 * MILLISECOND, at.now + 20 * MILLISECOND);
    assert_int_equal(seen.fetches, 1);
    assert_int_equal(seen.shrinks, 0);
    assert_int_equal(seen.told, 0);
    at.bursts = 1;
    at.awaits_pages = true;
    at.verdict = CHANNEL_OK;
    assert_false(tx_drain(SENDER, 1));
    at.awaits_pages = false;
    at.sent = UNITS;
    assert_true(tx_drain(SENDER, 1));
    assert_int_equal(SENDER->blocked, CHANNEL_OK);
    assert_true(SENDER->unblock_at == NEVER);
    assert_int_equal(seen.fetches, 1);
}

TEST(tx_drain__too_big)
{
    send_one(SENDER, CHANNEL_TOO_BIG, 1);
    assert_int_equal(seen.told, 1); /* the others are cut anew */
    at.cannot_shrink = true;
    send_one(SENDER, CHANNEL_TOO_BIG, 1);
    assert_int_equal(seen.told, UNITS); /* they are lost */
    send_one(SENDER, CHANNEL_REFUSED, 1);
    assert_int_equal(seen.told, UNITS);
    assert_int_equal(seen.shrinks, 0);
}

TEST(tx_drain__fault_and_break)
{
    send_one(SENDER, CHANNEL_FAULT, 1);
    assert_int_equal(seen.faults, 1);
    assert_int_equal(seen.breaks, 0);
    send_one(SENDER, CHANNEL_BROKEN, 0);
    assert_int_equal(seen.breaks, 1);
    assert_int_equal(seen.faults, 0);
    at.bursts = 1;
    assert_false(tx_drain(SENDER, 1));
}

/* The peer reads it later, but for messages that were decided meanwhile. */
TEST(tx_drain__held)
{
    at.is_held = true;
    at.decided = 1 << 0 | 1 << 2 | 1 << UNITS;
    send_one(SENDER, CHANNEL_OK, UNITS);
    assert_int_equal(seen.held, UNITS);
    assert_int_equal(seen.taken_back, 1 << 0 | 1 << 2);
    assert_int_equal(seen.told, 0);
    assert_int_equal(seen.reads, 0);
}

/* ---- room in memory ---- */

static const struct {
    bool stands_still, reaping_helps, saying_helps;
    bool is_sent;
    int reaps, awaited;
} rooms[] = {
    {.reaps = 1, .awaited = 1, .is_sent = false},
    {.reaping_helps = true, .reaps = 1, .is_sent = true},
    {.saying_helps = true, .reaps = 1, .awaited = 1, .is_sent = true},
    {.stands_still = true, .reaps = 1, .is_sent = true}, /* over the socket */
};

TEST(tx_drain__memory_has_no_room)
{
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        begin_again();
        at.bursts = 1;
        at.has_no_room = true;
        at.stands_still = rooms[i].stands_still;
        at.reaping_helps = rooms[i].reaping_helps;
        at.saying_helps = rooms[i].saying_helps;
        assert_true(tx_drain(SENDER, 1) == rooms[i].is_sent);
        assert_int_equal(seen.reaps, rooms[i].reaps);
        assert_int_equal(seen.awaited, rooms[i].awaited);
        assert_int_equal(SENDER->blocked, rooms[i].is_sent ? CHANNEL_OK : CHANNEL_CROWDED);
        assert_true((SENDER->unblock_at == NEVER) == rooms[i].is_sent);
    }
}

/* Where there is room nobody looks for more; nor where nothing is to be sent. */
TEST(tx_drain__memory_has_room)
{
    at.bursts = 1;
    assert_true(tx_drain(SENDER, 1));
    at.has_no_room = true;
    assert_false(tx_drain(SENDER, 1));
    assert_int_equal(seen.reaps, 0);
    assert_int_equal(SENDER->blocked, CHANNEL_OK);
}

/* ---- what the system hints at ---- */

static void hint(struct zcrp_entity *e, enum channel_counter which)
{
    memset(&seen, 0, sizeof(seen));
    if (which == CHANNEL_CLOSED_PORTS || which == CHANNEL_HOMELESS)
        channel_note(e->channels.in, CHANNEL_REFUSALS, 1);
    channel_note(e->channels.in, which, 1);
    tx_pass_hints(e);
}

/* What either half's channel counts the sender is told once. */
TEST(tx_pass_hints__to_the_sender)
{
    for (int i = 0; i < 2 * LINK_HALVES; i++) {
        struct zcrp_entity *e = &half[i % LINK_HALVES];
        hint(e, CHANNEL_TOO_BIGS);
        assert_int_equal(seen.path_hints, 1);
        assert_int_equal(seen.refusals + seen.closed_ports + seen.homeless, 0);
        hint(e, CHANNEL_REFUSALS);
        assert_int_equal(seen.refusals, 1);
        assert_int_equal(seen.path_hints + seen.closed_ports + seen.homeless, 0);
        hint(e, CHANNEL_CLOSED_PORTS);
        assert_int_equal(seen.refusals, 1);
        assert_int_equal(seen.closed_ports, 1);
        assert_int_equal(seen.path_hints + seen.homeless, 0);
        hint(e, CHANNEL_HOMELESS);
        assert_int_equal(seen.refusals, 1);
        assert_int_equal(seen.homeless, 1);
        assert_int_equal(seen.path_hints + seen.closed_ports, 0);
        hint(e, CHANNEL_FAULTS);
        assert_int_equal(seen.path_hints + seen.refusals + seen.closed_ports + seen.homeless, 0);
        assert_int_equal(seen.receiver_closed_ports, 0);
    }
}

/* Both halves' channels have seen the same. */
TEST(tx_pass_hints__of_both)
{
    channel_note(SENDER->channels.in, CHANNEL_TOO_BIGS, 1);
    hint(RECEIVER, CHANNEL_TOO_BIGS);
    assert_int_equal(seen.path_hints, 1);
}

TEST(tx_pass_hints__to_a_receiver_alone)
{
    pair.half[MACHINE_SENDER] = NULL;
    for (int i = 0; i < 2; i++) {
        hint(RECEIVER, CHANNEL_REFUSALS);
        assert_int_equal(seen.receiver_closed_ports, 0);
        hint(RECEIVER, CHANNEL_CLOSED_PORTS);
        assert_int_equal(seen.receiver_closed_ports, 1);
        hint(RECEIVER, CHANNEL_TOO_BIGS);
        assert_int_equal(seen.receiver_closed_ports, 0);
    }
}

/* ---- messages as a whole ---- */

/* So many, whose peer reads memory, are to go. */
static void let_go(uint32_t count, uint64_t size, bool are_wrapped)
{
    begin_again();
    transport[MACHINE_SENDER].way = WAY_MEMORY;
    SENDER->wrapped = are_wrapped ? FEW_WRAPPED : 0;
    at.wholes = count;
    for (uint32_t i = 0; i < count; i++) {
        message[i] = (struct message){.is_wrapped = are_wrapped};
        whole[i] = (struct whole){.number = i, .user = &message[i], .buffer = buffer, .size = size};
    }
}

TEST(tx_send_wholes__all_there_are)
{
    let_go(5, 100, false);
    assert_true(tx_send_wholes(SENDER));
    assert_int_equal(seen.puts, 5);
    assert_int_equal(seen.goes, 5);
    assert_int_equal(seen.copies, 0);
    assert_true(pair.rx.are_whole);
    let_go(0, 0, false);
    at.bursts = 1;
    assert_false(tx_send_wholes(SENDER)); /* there are units */
    assert_false(pair.rx.are_whole);
}

TEST(tx_send_wholes__not_without_room)
{
    let_go(5, 100, false);
    at.has_no_whole_room = true;
    assert_true(tx_send_wholes(SENDER));
    assert_int_equal(seen.goes, 0);
    assert_false(pair.rx.are_whole);
}

/* Where there are many in memory of the program's, or the way is another one, they go in units. */
TEST(tx_send_wholes__not_where_units_are_better)
{
    let_go(1, 100, true);
    SENDER->wrapped++;
    assert_false(tx_send_wholes(SENDER));
    let_go(1, 100, true);
    transport[MACHINE_SENDER].way = WAY_DRAINING;
    assert_false(tx_send_wholes(SENDER));
    assert_int_equal(seen.copies, 0);
}

/* Those in memory that may be gone are copied by the kernel, some with one call. */
TEST(tx_drain__wholes_together)
{
    let_go(5, 100, true);
    message[4].is_wrapped = false;
    (void)tx_drain(SENDER, 1);
    assert_int_equal(seen.copies, 2); /* 0 and 1, 2 and 3 */
    assert_int_equal(seen.goes, 5);
    assert_int_equal(seen.puts, 5);
    assert_int_equal(seen.pins, 0);
    assert_int_equal(seen.back, 0);
    assert_true(pair.rx.are_whole);
}

/* Nothing is read of one without bytes, or of a blank. */
TEST(tx_send_wholes__without_bytes)
{
    let_go(2, 0, true);
    whole[1].user = NULL;
    assert_true(tx_send_wholes(SENDER));
    assert_int_equal(seen.copies, 0);
    assert_int_equal(seen.puts, 2);
}

/* What cannot be copied goes in units, which show why; what was decided meanwhile does not. */
TEST(tx_send_wholes__memory_is_gone)
{
    let_go(2, 100, true);
    at.copied = 150;
    assert_true(tx_send_wholes(SENDER));
    assert_int_equal(seen.puts, 1);
    assert_int_equal(seen.back, 1);
    let_go(2, 100, true);
    at.copied = -1;
    at.decided = 1 << 0;
    assert_true(tx_send_wholes(SENDER));
    assert_int_equal(seen.puts, 1);
    assert_int_equal(seen.back, 0);
    assert_int_equal(seen.pins, 0);
}

/* One call takes so many pieces, and no message in part. */
TEST(tx_send_wholes__pieces_of_a_call)
{
    static uint64_t memory[8192];
    struct iovec piece[PIECES_MOST];

    for (uint32_t i = 0; i < PIECES_MOST; i++)
        piece[i] = (struct iovec){buffer + 2 * i, 1};
    for (uint32_t left = 0; left < 2; left++) {
        uint32_t count = PIECES_MOST - left;
        let_go(2, 1, true);
        whole[0].size = count;
        whole[0].pieces = pieces_init(memory, piece, count);
        assert_true(tx_send_wholes(SENDER));
        assert_int_equal(seen.goes, 2);
        assert_int_equal(seen.copies, left == 0 ? 2 : 1);
        assert_int_equal(seen.pieces, left == 0 ? 1 : PIECES_MOST);
    }
}

TEST(tx_send_wholes__room_of_one)
{
    let_go(2, 100, true);
    at.whole_room = 1;
    assert_true(tx_send_wholes(SENDER));
    assert_int_equal(seen.goes, 2);
    assert_int_equal(seen.copies, 2);
    let_go(2, 100, true);
    at.whole_room = 0;
    assert_true(tx_send_wholes(SENDER));
    assert_int_equal(seen.goes + seen.copies, 0);
}

/* ---- what was put off ---- */

TEST(tx_on_room__goes_on)
{
    send_one(SENDER, CHANNEL_BLOCKED, 1);
    SENDER->awaits_room = true;
    at.bursts = 1;
    at.verdict = CHANNEL_OK;
    at.sent = UNITS;
    mutex_unlock(&pair.mutex);
    tx_on_room(SENDER);
    mutex_lock(&pair.mutex);
    assert_int_equal(seen.sends, 2);
    assert_false(SENDER->awaits_room);
    assert_int_equal(SENDER->blocked, CHANNEL_OK);
}

TEST(tx_on_ready__sends)
{
    at.bursts = 1;
    SENDER->is_ready = true;
    mutex_unlock(&pair.mutex);
    tx_on_ready(SENDER);
    mutex_lock(&pair.mutex);
    assert_int_equal(seen.sends, 1);
    assert_false(SENDER->is_ready);
}

TEST(tx_end_gathering__sends_what_was_gathered)
{
    at.bursts = 1;
    mutex_unlock(&pair.mutex);
    tx_end_gathering(SENDER);
    assert_int_equal(seen.sends, 0);
    flush_begin(&SENDER->flush, at.now, FLUSH_MORE);
    tx_end_gathering(SENDER);
    assert_int_equal(seen.sends, 1);
    assert_true(flush_is_for(&SENDER->flush, FLUSH_NOTHING));
    mutex_lock(&pair.mutex);
}
