/* Messages that cross as a whole: which of those that have come land, in how many calls and how
 * many at once, and what becomes of those that cannot; and which ones are sent so, and posted. The
 * machines and the transport are the test's. */
/* wrap: transport_whole transport_end_whole transport_reap_wholes transport_has_credit */
/* wrap: transport_find_credit transport_put_whole transport_show_credit nofault_write */
/* wrap: receiver_whole receiver_whole_ends receiver_whole_begin receiver_whole_end */
/* wrap: receiver_whole_revoked receiver_fault receiver_next_credit receiver_post_shown */
/* wrap: receiver_call sender_next_whole sender_submit_whole sender_wholes_arrived */
/* wrap: sender_lets_pass receiver_lets_pass entity_enter entity_end */
/* wrap: memory_is_accessible receiver_times_post */
#include "link/wholes.h"

#include "link/entity.h"

#include "../support/mock.h"

#include <string.h>

enum { MOST = 64, MOST_BYTES = 16 << 10, TOGETHER = 16, ARRIVED_MOST = 200, BUFFER = 4096 };

/* What has come: all alike, unless the test says otherwise of one. */
struct come {
    uint32_t size;
    enum whole_use use;
    bool is_wrapped;
    const struct pieces *pieces; /* where it lands; NULL: in the buffer */
};

static struct link pair;
static bool touches; /* a section the half, behind the last that has found out */
static struct transport transport;
static struct zcrp_entity half;
static struct message messages[ARRIVED_MOST], submitted;
static struct come come[ARRIVED_MOST];
static uint8_t buffer[BUFFER], bytes[BUFFER];

static struct {
    uint32_t count, next; /* that have come, and is looked at next */
    ssize_t copied;       /* what the kernel copies; less than 0: all */
    const void *gone;     /* memory that cannot be written */
    bool counts;          /* what is taken */
    bool collects;        /* somebody begins to, while the kernel copies */
    /* Sending, and posting. */
    bool may_go, has_credit, has_room, may_show, wants, lets_pass;
    uint64_t posted, credit;
    uint32_t reaped, ended; /* of which so many end */
} at;

static struct {
    uint32_t taken, declined, ended, collected, revoked, faults, calls, together, bytes;
    uint32_t puts, submits, shown, receiver_calls;
    uint64_t last_length;
} seen;

/* ---- what wholes.c calls ---- */

bool __wrap_transport_whole(struct transport *t, uint32_t ahead, struct whole_arrived *whole)
{
    assert_ptr_equal(t, &transport);
    uint32_t i = at.next + ahead;
    if (i >= at.count)
        return false;
    *whole = (struct whole_arrived){.in_session = i, .bytes = bytes, .size = come[i].size};
    return true;
}

bool __wrap_transport_end_whole(struct transport *t, bool is_taken)
{
    assert_ptr_equal(t, &transport);
    assert_true(at.next < at.count);
    at.next++;
    seen.taken += is_taken;
    seen.declined += !is_taken;
    return at.counts;
}

enum whole_use __wrap_receiver_whole(struct receiver *r, uint64_t in_session, uint64_t size,
                                     struct whole_place *place)
{
    (void)r;
    const struct come *c = &come[in_session];

    assert_int_equal(size, c->size);
    messages[in_session].is_wrapped = c->is_wrapped;
    if (c->use == WHOLE_LANDS)
        *place = (struct whole_place){.number = in_session,
                                      .user = &messages[in_session],
                                      .buffer = buffer,
                                      .pieces = c->pieces};
    return c->use;
}

bool __wrap_receiver_whole_ends(struct receiver *r, const struct whole_place *place, uint64_t size,
                                struct event *event)
{
    (void)r;
    *event = (struct event){.user = &messages[place->number], .length = size};
    return true;
}

void __wrap_receiver_whole_begin(struct receiver *r)
{
    (void)r;
}

void __wrap_receiver_whole_end(struct receiver *r)
{
    (void)r;
}

void __wrap_receiver_whole_revoked(struct receiver *r, uint64_t number, uint64_t size)
{
    (void)r;
    assert_int_equal(size, come[number].size);
    seen.revoked++;
}

bool __wrap_receiver_fault(struct receiver *r, uint64_t number)
{
    (void)r;
    (void)number;
    seen.faults++;
    return true;
}

/* Nobody has the lock while the kernel copies, and nobody else receives. */
ssize_t __wrap_nofault_write(const struct iovec *to, size_t tos, const struct iovec *from,
                             size_t froms, size_t size)
{
    size_t to_bytes = 0, from_bytes = 0;

    assert_false(mutex_is_held(&pair.mutex));
    assert_true(pair.rx.is_claimed);
    assert_true(tos <= PIECES_MOST);
    for (size_t i = 0; i < tos; i++)
        to_bytes += to[i].iov_len;
    for (size_t i = 0; i < froms; i++)
        from_bytes += from[i].iov_len;
    assert_int_equal(to_bytes, size);
    assert_int_equal(from_bytes, size);
    atomic_store(&half.collection.is_on, at.collects);
    seen.calls++;
    seen.together = (uint32_t)froms;
    return at.copied < 0 ? (ssize_t)size : at.copied;
}

bool __wrap_memory_is_accessible(const void *where, size_t size, enum memory_access access)
{
    assert_true(size > 0);
    assert_int_equal(access, MEMORY_WRITE);
    return where != at.gone;
}

void __wrap_entity_enter(struct zcrp_entity *e)
{
    mutex_lock(&e->link->mutex);
}

void __wrap_entity_end(struct zcrp_entity *e, struct message *m, int code, nlong length,
                       bool has_taker)
{
    assert_ptr_equal(e, &half);
    assert_non_null(m);
    assert_int_equal(code, ZCRP_OK);
    seen.ended++;
    seen.collected += has_taker;
    seen.last_length = length;
}

uint32_t __wrap_transport_reap_wholes(struct transport *t, uint32_t most, uint64_t *first)
{
    uint32_t reaped = at.reaped;

    (void)t;
    assert_true(reaped <= most);
    *first = 0;
    at.reaped = 0;
    return reaped;
}

uint32_t __wrap_sender_wholes_arrived(struct sender *s, instant now, uint64_t number,
                                      uint32_t count, void *user[])
{
    (void)s;
    (void)now;
    (void)count;
    for (uint32_t i = 0; i < at.ended; i++)
        user[i] = &messages[number + i];
    return at.ended;
}

bool __wrap_transport_has_credit(const struct transport *t)
{
    (void)t;
    return at.has_credit;
}

bool __wrap_transport_find_credit(const struct transport *t, uint64_t in_session, uint64_t *size)
{
    (void)t;
    (void)in_session;
    *size = at.credit;
    return at.credit > 0;
}

bool __wrap_transport_put_whole(struct transport *t, uint64_t in_session, uint64_t owner,
                                struct iovec piece)
{
    (void)t;
    (void)in_session;
    (void)owner;
    assert_ptr_equal(piece.iov_base, buffer);
    seen.puts += at.has_room;
    seen.bytes = (uint32_t)piece.iov_len;
    return at.has_room;
}

bool __wrap_transport_show_credit(struct transport *t, uint64_t in_session, uint64_t size)
{
    (void)t;
    (void)in_session;
    (void)size;
    seen.shown++;
    return at.wants;
}

bool __wrap_sender_lets_pass(struct sender *s)
{
    (void)s;
    return at.lets_pass;
}

bool __wrap_receiver_lets_pass(const struct receiver *r, instant looked_at)
{
    (void)r;
    (void)looked_at;
    return at.lets_pass;
}

bool __wrap_sender_next_whole(struct sender *s, struct whole *whole, uint64_t *posted)
{
    (void)s;
    whole->number = whole->in_session = 7;
    *posted = at.posted;
    return at.may_go;
}

void __wrap_sender_submit_whole(struct sender *s, const struct whole *whole, uint64_t posted)
{
    (void)s;
    assert_true(whole->size <= posted);
    seen.submits++;
}

bool __wrap_receiver_next_credit(const struct receiver *r, uint64_t most, uint64_t *in_session)
{
    (void)r;
    (void)most;
    *in_session = 7;
    return at.may_show;
}

bool __wrap_receiver_post_shown(struct receiver *r, instant now, void *user, uint8_t *where,
                                uint64_t size, uint64_t *number)
{
    (void)r;
    (void)now;
    (void)user;
    (void)where;
    (void)size;
    *number = 8;
    return true;
}

void __wrap_receiver_call(struct receiver *r)
{
    (void)r;
    seen.receiver_calls++;
}

bool __wrap_receiver_times_post(const struct receiver *r)
{
    (void)r;
    return false;
}

/* ---- the half ---- */

static void begin(enum machine_role role)
{
    memset(&seen, 0, sizeof(seen));
    memset(&at, 0, sizeof(at));
    memset(come, 0, sizeof(come));
    at.copied = -1;
    at.counts = at.may_go = at.has_credit = at.has_room = at.may_show = at.lets_pass = true;
    at.posted = BUFFER;
    pair = (struct link){.touched = 0};
    pair.half[role] = &half;
    touches = false;
    mutex_init(&pair.mutex);
    transport = (struct transport){.is_sender = role == MACHINE_SENDER, .way = WAY_MEMORY};
    half = (struct zcrp_entity){
        .link = &pair, .transport = &transport, .machine.role = role, .notice.place = -1};
    submitted = (struct message){.public = {.buffer = buffer, .buffer_size = BUFFER}};
    mutex_lock(&pair.mutex);
}

static void setup(void)
{
    begin(MACHINE_RECEIVER);
}

static void teardown(void)
{
    assert_true(mutex_is_held(&pair.mutex));
    assert_false(pair.rx.is_claimed);
    mutex_unlock(&pair.mutex);
}

FIXTURE(setup, teardown)

static void begin_again(enum machine_role role)
{
    mutex_unlock(&pair.mutex);
    begin(role);
}

/* So many have come, in memory of the program's or not. */
static void let_come(uint32_t count, uint32_t size, bool are_wrapped)
{
    at.count = count;
    half.wrapped = are_wrapped;
    for (uint32_t i = 0; i < count; i++)
        come[i] = (struct come){.size = size, .use = WHOLE_LANDS, .is_wrapped = are_wrapped};
}

/* ---- landing ---- */

/* A section lands some, so that others have the lock in between: so many, or so many bytes. */
TEST(wholes_land__some_at_once)
{
    static const struct {
        uint32_t size, landed;
        bool are_wrapped;
        uint32_t calls;
    } rows[] = {
        {1, MOST, false, 0},
        {BUFFER, MOST_BYTES / BUFFER, false, 0},
        {BUFFER - 1, MOST_BYTES / BUFFER + 1, false, 0},
        {0, MOST, false, 0},
        {1, MOST, true, MOST / TOGETHER},
        {BUFFER, TOGETHER, true, 1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin_again(MACHINE_RECEIVER);
        let_come(ARRIVED_MOST, rows[i].size, rows[i].are_wrapped);
        assert_true(wholes_land(&half));
        assert_int_equal(at.next, rows[i].landed);
        assert_int_equal(seen.taken, rows[i].landed);
        assert_int_equal(seen.ended, rows[i].landed);
        assert_int_equal(seen.last_length, rows[i].size);
        assert_int_equal(seen.calls, rows[i].calls);
    }
}

TEST(wholes_land__none)
{
    assert_false(wholes_land(&half));
    let_come(1, 10, true);
    half.wrapped = 0; /* it is not of this half any more: nobody copies to it under the lock */
    assert_false(wholes_land(&half));
    assert_int_equal(at.next, 0);
}

/* Some are in memory of the program's, and others are not, or have no bytes. */
TEST(wholes_land__of_both_kinds)
{
    let_come(6, 10, true);
    come[0].is_wrapped = come[3].is_wrapped = false;
    come[4].size = 0;
    assert_true(wholes_land(&half));
    assert_int_equal(seen.ended, 6);
    assert_int_equal(seen.calls, 2); /* 1 and 2, and 5 */
}

/* A copy to the program's memory may sleep: what has ended is told before. */
TEST(wholes_land__nothing_is_untold_while_it_copies)
{
    let_come(6, 10, true);
    half.has_opened = true;
    assert_false(wholes_land(&half));
    assert_int_equal(seen.ended, 0);
    half.has_opened = false;
    assert_true(wholes_land(&half));
    assert_int_equal(seen.ended, 6);
}

/* Whoever begins to collect passes the mutex behind that: it is known of what ends from then on. */
TEST(wholes_land__for_whoever_collects)
{
    let_come(5, 10, true);
    come[0].is_wrapped = come[3].is_wrapped = come[4].is_wrapped = false;
    at.collects = true;
    assert_true(wholes_land(&half));
    assert_int_equal(seen.ended, 5);
    assert_int_equal(seen.collected, 4);
}

/* The bytes of one that is in the library's memory are where they belong. */
TEST(wholes_land__copies)
{
    memset(bytes, 0x5A, sizeof(bytes));
    memset(buffer, 0, sizeof(buffer));
    let_come(1, 10, false);
    assert_true(wholes_land(&half));
    assert_memory_equal(buffer, bytes, 10);
    assert_int_equal(buffer[10], 0);
}

/* What belongs nowhere is taken, and what has to come in units is not; neither ends anything. */
TEST(wholes_land__over_or_declined)
{
    for (int are_wrapped = 0; are_wrapped < 2; are_wrapped++) {
        begin_again(MACHINE_RECEIVER);
        let_come(3, 10, are_wrapped);
        come[0].use = WHOLE_OVER;
        come[1].use = come[2].use = WHOLE_DECLINED;
        assert_true(wholes_land(&half));
        assert_int_equal(seen.taken, 1);
        assert_int_equal(seen.declined, 2);
        assert_int_equal(seen.ended + seen.revoked + seen.faults + seen.calls, 0);
    }
}

/* The peer has revoked it meanwhile: some of its bytes may be there. */
TEST(wholes_land__does_not_count)
{
    let_come(1, 10, false);
    at.counts = false;
    assert_true(wholes_land(&half));
    assert_int_equal(seen.revoked, 1);
    assert_int_equal(seen.ended, 0);
}

/* A piece of the program's memory is gone: its message fails. Where all of it is there again the
 * message comes in units. */
TEST(wholes_land__memory_is_gone)
{
    struct iovec piece[2] = {{buffer, 5}, {buffer + 100, 5}};
    uint64_t memory[256];
    const struct pieces *pieces = pieces_init(memory, piece, 2);

    assert_true(pieces_room(2) <= sizeof(memory));
    for (int gone = 0; gone < 3; gone++) {
        begin_again(MACHINE_RECEIVER);
        let_come(3, 10, true);
        come[1].pieces = pieces;
        at.copied = 15; /* the first, and half of the second */
        at.gone = gone < 2 ? piece[gone].iov_base : NULL;
        if (gone == 0)
            come[2].use = WHOLE_OVER; /* whose memory would be the same */
        assert_true(wholes_land(&half));
        assert_int_equal(seen.ended, 1);
        assert_int_equal(seen.revoked, gone == 0 ? 1 : 2);
        assert_int_equal(seen.faults, gone < 2);
    }
}

/* One call takes so many pieces, and no message in part. */
TEST(wholes_land__pieces_of_a_call)
{
    static uint64_t memory[8192];
    struct iovec piece[PIECES_MOST];

    assert_true(pieces_room(PIECES_MOST) <= sizeof(memory));
    for (uint32_t i = 0; i < PIECES_MOST; i++)
        piece[i] = (struct iovec){buffer + 2 * i, 1};
    for (uint32_t left = 0; left < 2; left++) {
        begin_again(MACHINE_RECEIVER);
        uint32_t count = PIECES_MOST - left;
        let_come(2, 1, true);
        come[0].size = count;
        come[0].pieces = pieces_init(memory, piece, count);
        assert_true(wholes_land(&half));
        assert_int_equal(seen.ended, 2);
        assert_int_equal(seen.calls, left == 0 ? 2 : 1);
        assert_int_equal(seen.together, left == 0 ? 1 : 2);
    }
}

/* ---- reaping ---- */

TEST(wholes_reap__ends_them)
{
    begin_again(MACHINE_SENDER);
    for (uint32_t i = 0; i < 3; i++)
        messages[i].size = 100 + i;
    assert_false(wholes_reap(&half));
    at.reaped = at.ended = 3;
    assert_true(wholes_reap(&half));
    assert_int_equal(seen.ended, 3);
    assert_int_equal(seen.last_length, 102);
    assert_int_equal(pair.touched, 0); /* whoever ends the section tells of them */
    at.reaped = 3;
    at.ended = 1;
    assert_true(wholes_reap(&half));
    assert_int_equal(seen.ended, 4);
    assert_int_equal(pair.touched, 1 << MACHINE_SENDER); /* there are events */
}

/* ---- sending ---- */

static bool submit(uint64_t size)
{
    memset(&seen, 0, sizeof(seen));
    submitted.life = MESSAGE_IDLE;
    pair.rx.are_whole = false;
    latch_reset(&submitted.latch);
    latch_open(&submitted.latch);
    wholes_tend(&half);
    if (touches)
        link_touch(&pair, MACHINE_SENDER);
    bool has_gone = wholes_submit(&half, &submitted, size);
    assert_int_equal(seen.submits, has_gone);
    assert_int_equal(seen.puts, has_gone);
    assert_true(message_is_in_flight(&submitted) == has_gone);
    assert_true(pair.rx.are_whole == has_gone);
    if (has_gone) {
        assert_int_equal(submitted.life, MESSAGE_IN_MACHINE);
        assert_int_equal(submitted.number, 7);
        assert_int_equal(submitted.size, size);
        assert_int_equal(seen.bytes, size);
    }
    return has_gone;
}

TEST(wholes_submit__what_fits)
{
    begin_again(MACHINE_SENDER);
    assert_true(submit(0));
    assert_true(submit(BUFFER));
    assert_false(submit(BUFFER + 1));
    at.posted = BUFFER + 1;
    assert_true(submit(BUFFER));
    assert_false(submit(BUFFER + 1)); /* the machine would not mind */
    at.posted = 10;
    assert_true(submit(10));
    assert_false(submit(11));
    at.posted = SENDER_UNKNOWN; /* memory tells */
    assert_false(submit(1));
    at.credit = 20;
    assert_true(submit(20));
    assert_false(submit(21));
    at.posted = UINT64_MAX; /* it was withdrawn */
    assert_false(submit(1));
}

/* Each of these is reason enough to take the usual way. */
TEST(wholes_submit__what_is_not_usual)
{
    for (int i = 0; i <= 15; i++) {
        begin_again(MACHINE_SENDER);
        half.wrapped = FEW_WRAPPED;
        if (i == 1)
            at.has_room = false;
        else if (i == 2)
            at.has_credit = false;
        else if (i == 3)
            at.may_go = false;
        else if (i == 4)
            transport.watch_at = NEVER;
        else if (i == 5)
            transport.way = WAY_SOCKET;
        else if (i == 6)
            half.is_sending = true;
        else if (i == 7)
            submitted.is_wrapped = true;
        else if (i == 8)
            half.wrapped++;
        else if (i == 9)
            half.backlog.blanks = 1;
        else if (i == 10)
            transport.way = WAY_DRAINING;
        else if (i == 11)
            at.lets_pass = false;
        else if (i == 12)
            half.life = ENTITY_DRAINING;
        else if (i == 13)
            pair.is_broken = true;
        else if (i == 14)
            half.notice.place = 0;
        else if (i == 15)
            touches = true; /* what was found out may be over */
        assert_true(submit(1) == (i == 0));
    }
}

/* ---- posting ---- */

TEST(wholes_post__what_is_usual)
{
    for (int i = 0; i <= 9; i++) {
        begin_again(MACHINE_RECEIVER);
        half.wrapped = FEW_WRAPPED;
        at.wants = i == 1;
        if (i == 2)
            at.may_show = false;
        else if (i == 3)
            transport.way = WAY_DRAINING;
        else if (i == 4)
            submitted.is_wrapped = true;
        else if (i == 5)
            half.wrapped++;
        else if (i == 6)
            half.backlog.blanks = 1;
        else if (i == 7)
            half.lost = OUTCOME_DIED;
        else if (i == 8)
            at.lets_pass = false;
        wholes_tend(&half);
        if (i == 9)
            link_touch(&pair, MACHINE_RECEIVER);
        assert_true(wholes_post(&half, &submitted, 5) == (i < 2));
        assert_int_equal(seen.shown, i < 2);
        assert_int_equal(seen.receiver_calls, i == 1);
        if (i < 2) {
            assert_int_equal(submitted.life, MESSAGE_IN_MACHINE);
            assert_int_equal(submitted.number, 8);
            assert_true(message_is_in_flight(&submitted));
        }
    }
}
