/* Both ends of shared memory in one process: they meet over real sockets, and move units. */
#include "../../support/shm_pair.h"
#include "../../support/split.h"
#include "../../support/suite.h"
#include "platform/system.h"

#include <sys/mman.h>

enum {
    SMALL_UNITS = 20,
    SMALL_DATA = 1440,
    LARGE_UNITS = 6,
    LARGE_DATA = 16384,
    MESSAGE = 42,
    ROOM = LARGE_UNITS * LARGE_DATA,
};

static struct shm_pair n;
static uint8_t from[ROOM], to[ROOM];

static void setup(void)
{
    ck_assert(shm_pair_open(&n));
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 2654435761u >> 24);
    memset(to, 0, sizeof(to));
}

static void teardown(void)
{
    shm_pair_close(&n);
}

FIXTURE(setup, teardown)

static void meet(void)
{
    ck_assert(shm_pair_meet(&n));
}

static enum channel_verdict send_burst(uint32_t *sent, bool *held)
{
    bool wakes;
    return shm_send(n.sender, &n.burst, sent, held, &wakes);
}

static void send_small(void)
{
    uint32_t sent;
    bool held;

    shm_pair_fill(&n.burst, MESSAGE, from, SMALL_UNITS, SMALL_DATA);
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_OK);
    ck_assert_uint_eq(sent, SMALL_UNITS);
    ck_assert(!held);
}

/* Units of `memory`, which stays. */
static void send_large_from(const uint8_t *memory, uint32_t units)
{
    uint32_t sent;
    bool held;

    shm_pair_fill(&n.burst, MESSAGE, memory, units, LARGE_DATA);
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_OK);
    ck_assert_uint_eq(sent, units);
    ck_assert(held);
}

static void send_large(void)
{
    send_large_from(from, LARGE_UNITS);
}

static void plan_large(uint8_t *memory)
{
    shm_pair_plan(&n.landing, memory, LARGE_UNITS, 1, LARGE_DATA);
}

static void expect_reaped(uint32_t units, bool has_faulted)
{
    struct released released;

    for (uint32_t i = 0; i < units; i++) {
        ck_assert(shm_reap(n.sender, &released));
        ck_assert_uint_eq(released.message, MESSAGE);
        ck_assert_int_eq(released.has_faulted, has_faulted);
    }
}

static void expect_nothing_to_reap(void)
{
    struct released released;
    ck_assert(!shm_reap(n.sender, &released));
}

/* Memory of its own pages, that can be taken away. */
static uint8_t *map_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    return memory;
}

/* Nobody may access it any more. Its place stays taken, so that no other thread is given it. */
static void take_away(uint8_t *memory, size_t bytes)
{
    ck_assert_ptr_eq(mmap(memory, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     memory);
}

/* ---- meeting ---- */

TEST(shm_is_possible__one_host)
{
    unsetenv("ZCRP_NO_MEMORY");
    ck_assert(shm_is_possible(&n.out));
    ck_assert(shm_is_possible(&n.in));
    setenv("ZCRP_NO_MEMORY", "1", 1);
    ck_assert(!shm_is_possible(&n.out));
}

TEST(shm_connect__nobody_listens)
{
    ck_assert_int_eq(shm_meet(&n.sender, true, &n.out, &shm_pair_terms), SHM_ELSEWHERE);
    ck_assert_ptr_null(n.sender);
}

TEST(shm_listen__twice)
{
    struct shm *other;

    ck_assert_int_eq(shm_meet(&n.receiver, false, &n.in, &shm_pair_terms), SHM_FINE);
    ck_assert_int_eq(shm_meet(&other, false, &n.in, &shm_pair_terms), SHM_LIMITED);
    ck_assert_ptr_null(other);
}

TEST(shm_look__both_are_here)
{
    ck_assert_int_eq(shm_meet(&n.receiver, false, &n.in, &shm_pair_terms), SHM_FINE);
    ck_assert_int_eq(shm_look(n.receiver), SHM_MEETING);
    ck_assert_int_eq(shm_meet(&n.sender, true, &n.out, &shm_pair_terms), SHM_FINE);
    ck_assert_int_eq(shm_look(n.sender), SHM_MEETING);
    while (clock_now() < shm_look_at(n.receiver)) /* looks too early are none */
        usleep(10);
    ck_assert_int_eq(shm_look(n.receiver), SHM_HERE);
    ck_assert_int_eq(shm_look(n.sender), SHM_HERE);
    ck_assert_int_eq(shm_why(n.sender), SHM_FINE);
    ck_assert(shm_is_of(n.sender, shm_pair_terms.pairing));
    ck_assert(!shm_is_of(n.sender, (struct pairing){.session = 1, .tag = 2}));
}

TEST(shm_look__nobody_connects)
{
    int looks = 0;

    ck_assert_int_eq(shm_meet(&n.receiver, false, &n.in, &shm_pair_terms), SHM_FINE);
    for (; shm_look(n.receiver) == SHM_MEETING; looks++)
        usleep(10000);
    ck_assert_int_gt(looks, 10);
    ck_assert_int_eq(shm_why(n.receiver), SHM_ELSEWHERE);
    ck_assert_int_eq(shm_meet(&n.sender, true, &n.out, &shm_pair_terms), SHM_ELSEWHERE);
}

TEST(shm_look__a_reason_that_is_none)
{
    ck_assert_int_eq(shm_meet(&n.receiver, false, &n.in, &shm_pair_terms), SHM_FINE);
    ck_assert_int_eq(shm_meet(&n.sender, true, &n.out, &shm_pair_terms), SHM_FINE);
    n.sender->page->why = 4711;
    n.sender->page->consent = 815;
    ck_assert_int_eq(shm_look(n.sender), SHM_AWAY);
    ck_assert_int_eq(shm_why(n.sender), SHM_FALSE);
}

TEST(shm_send__not_before_they_met)
{
    uint32_t sent;
    bool held;

    ck_assert_int_eq(shm_meet(&n.receiver, false, &n.in, &shm_pair_terms), SHM_FINE);
    ck_assert_int_eq(shm_meet(&n.sender, true, &n.out, &shm_pair_terms), SHM_FINE);
    shm_pair_fill(&n.burst, MESSAGE, from, SMALL_UNITS, SMALL_DATA);
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_BLOCKED);
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 0);
}

/* ---- moving ---- */

TEST(shm_send__small_units_are_copied_together)
{
    meet();
    send_small();
    memset(from, 0, sizeof(from)); /* this is not what is read */
    shm_pair_plan(&n.landing, to, 1, SMALL_UNITS, SMALL_DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
    ck_assert_uint_eq(n.landing.received, 1);
    ck_assert_uint_eq(n.landing.bytes[0], n.burst.bytes);
    ck_assert_uint_eq(n.landing.segment[0], SMALL_DATA + TRAILER_BYTES);
    ck_assert(!n.landing.is_spoilt);
    for (uint32_t i = 0; i < SMALL_UNITS * SMALL_DATA; i++)
        ck_assert_uint_eq(to[i], (uint8_t)(i * 2654435761u >> 24));
    ck_assert_mem_eq(n.landing.trailer, n.burst.trailer, SMALL_UNITS * TRAILER_BYTES);
    ck_assert_uint_eq(shm_bytes(n.receiver), 0);
    expect_nothing_to_reap(); /* it has no owner */
    ck_assert_uint_eq(n.sender->out->ring.reaped, 1);
}

/* A burst of several calls' worth: each note has as much as fits. */
TEST(shm_send__many_small_units)
{
    enum { UNITS = 66, FIRST = 44 };
    uint32_t sent, units = 0;
    bool held;

    meet();
    shm_pair_fill(&n.burst, MESSAGE, from, UNITS, SMALL_DATA);
    ck_assert_uint_gt(n.burst.bytes, LANDING_DATAGRAM);
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_OK);
    ck_assert_uint_eq(sent, UNITS);
    for (; units < UNITS; units += FIRST) {
        uint32_t now = UNITS - units < FIRST ? UNITS - units : FIRST;
        shm_pair_plan(&n.landing, to, 1, FIRST, SMALL_DATA);
        ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
        ck_assert_uint_eq(n.landing.bytes[0], now * (SMALL_DATA + TRAILER_BYTES));
        ck_assert_mem_eq(to, from + (size_t)units * SMALL_DATA, (size_t)now * SMALL_DATA);
    }
    expect_nothing_to_reap();
}

TEST(shm_send__large_units_are_read_in_place)
{
    meet();
    send_large();
    expect_nothing_to_reap();
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), LARGE_UNITS);
    for (uint32_t i = 0; i < LARGE_UNITS; i++)
        ck_assert_uint_eq(n.landing.bytes[i], LARGE_DATA + TRAILER_BYTES);
    ck_assert_mem_eq(to, from, ROOM);
    ck_assert_mem_eq(n.landing.trailer, n.burst.trailer, LARGE_UNITS * TRAILER_BYTES);
    ck_assert_uint_eq(shm_bytes(n.receiver), ROOM);
    expect_reaped(LARGE_UNITS, false);
    expect_nothing_to_reap();
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 0);
}

/* A note names one place, so units from several are copied, by the kernel if they may be gone. */
TEST(shm_send__scattered_units_are_copied, .rows = 2)
{
    uint32_t sent;
    bool held;

    meet();
    shm_pair_fill(&n.burst, MESSAGE, from, 2, LARGE_DATA);
    split_unit(&n.burst, 0, 3);
    split_unit(&n.burst, 1, UNIT_PIECES);
    n.burst.cannot_fault = _i == 0;
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_OK);
    ck_assert_uint_eq(sent, 2);
    ck_assert(!held);
    shm_pair_plan(&n.landing, to, 1, 2, LARGE_DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
    ck_assert_mem_eq(to, from, (size_t)2 * LARGE_DATA);
    ck_assert_mem_eq(n.landing.trailer, n.burst.trailer, 2 * TRAILER_BYTES);
    ck_assert_uint_eq(shm_bytes(n.receiver), 0);
    expect_nothing_to_reap();
}

/* One of the pieces is gone. */
TEST(shm_send__scattered_units_are_gone)
{
    uint8_t *memory = map_pages(ROOM);
    uint32_t sent;
    bool held;

    meet();
    shm_pair_fill(&n.burst, MESSAGE, from, 1, LARGE_DATA);
    split_unit(&n.burst, 0, 3);
    n.burst.iov[1] = (struct iovec){memory, 1};
    n.burst.cannot_fault = false;
    take_away(memory, ROOM);
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_FAULT);
    ck_assert_uint_eq(sent, 0);
    send_small();
}

/* A unit of which the message is not known any more has no owner, so it is copied. */
TEST(shm_send__without_a_pin_it_is_copied)
{
    uint32_t sent;
    bool held;

    meet();
    shm_pair_fill(&n.burst, MESSAGE, from, 1, LARGE_DATA);
    n.burst.pins = 0;
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_OK);
    ck_assert(!held);
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
    ck_assert_mem_eq(to, from, LARGE_DATA);
}

TEST(shm_send__units_of_two_messages)
{
    struct released released;
    uint32_t sent;
    bool held;

    meet();
    shm_pair_fill(&n.burst, MESSAGE, from, 3, LARGE_DATA);
    n.burst.pins = 2;
    n.burst.pin[0].units = 1;
    n.burst.pin[1] = (struct burst_pin){.message = MESSAGE + 1, .units = 2};
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_OK);
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 3);
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert(shm_reap(n.sender, &released));
        ck_assert_uint_eq(released.message, i == 0 ? MESSAGE : MESSAGE + 1);
    }
}

/* The staging buffer goes round several times; a burst lies in one piece of it. */
TEST(shm_send__stage_goes_round)
{
    meet();
    for (int i = 0; i < 200; i++) {
        from[i] = (uint8_t)~from[i];
        ck_assert(shm_has_room(n.sender));
        send_small();
        shm_pair_plan(&n.landing, to, 1, SMALL_UNITS, SMALL_DATA);
        ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
        ck_assert_mem_eq(to, from, SMALL_UNITS * SMALL_DATA);
        expect_nothing_to_reap();
    }
}

/* Where there is room, any burst finds it; where there is none, it comes back with reaping. */
TEST(shm_has_room__of_the_stage)
{
    int bursts = 0;

    meet();
    for (; shm_has_room(n.sender); bursts++)
        send_small();
    ck_assert_int_gt(bursts, 10);
    while (bursts-- > 0) {
        shm_pair_plan(&n.landing, to, 1, SMALL_UNITS, SMALL_DATA);
        ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
    }
    expect_nothing_to_reap();
    ck_assert(shm_has_room(n.sender));
}

TEST(shm_has_room__of_the_ring)
{
    uint32_t sent = 0, units = 0;
    bool held;
    enum channel_verdict verdict;

    meet();
    while (shm_has_room(n.sender)) {
        send_large();
        units += LARGE_UNITS;
    }
    do {
        shm_pair_fill(&n.burst, MESSAGE, from, LARGE_UNITS, LARGE_DATA);
        verdict = send_burst(&sent, &held);
        units += sent;
    } while (verdict == CHANNEL_OK);
    ck_assert_int_eq(verdict, CHANNEL_CROWDED);
    ck_assert_uint_eq(units, RING_NOTES); /* some of the last burst */
}

TEST(shm_send__a_receiver_that_stands_still)
{
    instant begin = clock_now();
    uint32_t sent;
    bool held;

    meet();
    send_small();
    while (!shm_stands_still(n.sender))
        ck_assert_int_lt(clock_now() - begin, 10 * SECOND);
    shm_pair_fill(&n.burst, MESSAGE, from, 1, SMALL_DATA);
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_BLOCKED);
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
    expect_nothing_to_reap();
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_OK);
}

/* ---- taking back ---- */

TEST(shm_take_back__before_it_is_read)
{
    struct released of;
    uint32_t taken = 0;

    meet();
    send_large();
    while (shm_take_back(n.sender, MESSAGE, &of)) {
        ck_assert_uint_eq(of.message, MESSAGE);
        taken++;
    }
    ck_assert_uint_eq(taken, LARGE_UNITS);
    memset(from, 0xFF, sizeof(from)); /* the user's again */
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 0);
    for (size_t i = 0; i < sizeof(to); i++)
        ck_assert_uint_eq(to[i], 0);
    expect_nothing_to_reap();
    ck_assert_uint_eq(n.sender->out->ring.reaped, LARGE_UNITS);
}

TEST(shm_take_back__of_another_message)
{
    struct released of;

    meet();
    send_large();
    ck_assert(!shm_take_back(n.sender, MESSAGE + 1, &of));
    ck_assert(shm_take_back(n.sender, SHM_ANY, &of));
    ck_assert(!shm_take_back(n.receiver, SHM_ANY, &of));
}

/* ---- memory that cannot be accessed ---- */

TEST(shm_receive__sender_memory_is_gone)
{
    uint8_t *memory = map_pages(ROOM);

    meet();
    send_large_from(memory, LARGE_UNITS);
    take_away(memory, ROOM);
    for (uint32_t i = 0; i < LARGE_UNITS; i++) {
        plan_large(to);
        ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
        ck_assert_uint_eq(n.landing.bytes[0], 0);
        ck_assert(n.landing.is_spoilt);
    }
    expect_reaped(LARGE_UNITS, true);
    ck_assert_int_eq(shm_look(n.receiver), SHM_HERE);
    send_large();
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), LARGE_UNITS);
}

/* What lies before the fault arrives; so does what lies behind it, in the next call. */
TEST(shm_receive__some_sender_memory_is_gone)
{
    uint8_t *memory = map_pages(ROOM);
    uint32_t whole = 0, empty = 0;

    meet();
    memcpy(memory, from, ROOM);
    send_large_from(memory, LARGE_UNITS);
    take_away(memory + 2 * LARGE_DATA + 4096, 4096);
    while (whole + empty < LARGE_UNITS) {
        shm_pair_plan(&n.landing, to + (size_t)(whole + empty) * LARGE_DATA,
                      LARGE_UNITS - whole - empty, 1, LARGE_DATA);
        int received = shm_receive(n.receiver, &n.landing);
        ck_assert_int_gt(received, 0);
        for (int i = 0; i < received; i++) {
            ck_assert(n.landing.bytes[i] == 0 || n.landing.bytes[i] == LARGE_DATA + TRAILER_BYTES);
            whole += n.landing.bytes[i] != 0;
            empty += n.landing.bytes[i] == 0;
        }
    }
    ck_assert_uint_eq(empty, 1);
    ck_assert_mem_eq(to, from, 2 * LARGE_DATA);
    ck_assert_mem_eq(to + 3 * LARGE_DATA, from + 3 * LARGE_DATA, 3 * LARGE_DATA);
    expect_reaped(2, false);
    expect_reaped(1, true);
    expect_reaped(3, false);
    take_away(memory, ROOM);
}

TEST(shm_receive__own_memory_is_gone)
{
    uint8_t *memory = map_pages(ROOM);

    meet();
    send_large();
    plan_large(memory);
    take_away(memory, ROOM);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), CHANNEL_FAULT);
    ck_assert_uint_eq(n.landing.received, 0);
    ck_assert_uint_eq(channel_count(&n.in, CHANNEL_FAULTS), 1);
    expect_reaped(1, false); /* it is lost, and nobody's fault at the sender */
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), LARGE_UNITS - 1);
}

/* What arrived before the fault counts, and the fault is told of in the next call. */
TEST(shm_receive__some_own_memory_is_gone)
{
    uint8_t *memory = map_pages(ROOM);

    meet();
    send_large();
    plan_large(memory);
    take_away(memory + 2 * LARGE_DATA, LARGE_DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 2);
    ck_assert_mem_eq(memory, from, 2 * LARGE_DATA);
    ck_assert(n.landing.is_spoilt);
    shm_pair_plan(&n.landing, memory + 2 * LARGE_DATA, LARGE_UNITS - 2, 1, LARGE_DATA);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), CHANNEL_FAULT);
    expect_reaped(3, false);
    expect_nothing_to_reap();
    take_away(memory, ROOM);
}

/* Small units are copied at once, so the sender notices itself. */
TEST(shm_send__small_units_are_gone)
{
    uint8_t *memory = map_pages(ROOM);
    uint32_t sent;
    bool held;

    meet();
    shm_pair_fill(&n.burst, MESSAGE, memory, SMALL_UNITS, SMALL_DATA);
    take_away(memory, ROOM);
    ck_assert_int_eq(send_burst(&sent, &held), CHANNEL_FAULT);
    ck_assert_uint_eq(sent, 0);
    ck_assert(!held);
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 0);
    send_small();
}

/* ---- going away ---- */

/* Notes that cannot be read any more. What was copied before that was found out may lie in the
 * user's memory. */
static void expect_passed(uint32_t units)
{
    for (uint32_t i = 0; i < units; i++) {
        plan_large(to);
        ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 1);
        ck_assert_uint_eq(n.landing.bytes[0], 0);
        ck_assert(n.landing.is_spoilt);
        ck_assert_int_eq(shm_look(n.receiver), SHM_HERE);
    }
}

/* Behind the last note. */
static void expect_away(void)
{
    plan_large(to);
    ck_assert_int_eq(shm_receive(n.receiver, &n.landing), 0);
    ck_assert_int_eq(shm_look(n.receiver), SHM_AWAY);
    ck_assert(shm_say_asleep(n.receiver));
}

/* Nor is anything read once the nonce is there again: the sender was told to go elsewhere. */
TEST(shm_receive__nonce_is_another)
{
    meet();
    send_large();
    n.sender->nonce[0] ^= 1;
    expect_passed(1);
    n.sender->nonce[0] ^= 1;
    expect_passed(LARGE_UNITS - 1);
    expect_away();
    expect_reaped(LARGE_UNITS, true);
    ck_assert_int_eq(shm_look(n.sender), SHM_AWAY);
}

TEST(shm_receive__process_is_gone)
{
    meet();
    send_large();
    n.receiver->peer.pid = 0x3FFFFFFF; /* beyond any process */
    expect_passed(LARGE_UNITS);
    expect_away();
}

TEST(shm_free__while_they_meet)
{
    ck_assert_int_eq(shm_meet(&n.receiver, false, &n.in, &shm_pair_terms), SHM_FINE);
    ck_assert_int_eq(shm_meet(&n.sender, true, &n.out, &shm_pair_terms), SHM_FINE);
}

/* ---- answers and sleep ---- */

static void fill_answer(struct pairing pairing, size_t size)
{
    memset(n.burst.control, 0x5A, size);
    datagram_tail_encode(n.burst.control + size - TAIL_BYTES, pairing, 0, DATAGRAM_REQUEST);
    burst_set_control(&n.burst, size);
}

TEST(shm_reply__an_answer)
{
    uint8_t buffer[CONTROL_BYTES];
    bool wakes;

    meet();
    ck_assert(shm_say_asleep(n.sender));
    fill_answer(shm_pair_terms.pairing, 100);
    ck_assert(shm_reply(n.receiver, &n.burst, &wakes));
    ck_assert(wakes);
    ck_assert_uint_eq(shm_control(n.sender, buffer), 100);
    ck_assert_mem_eq(buffer, n.burst.control, 100);
    ck_assert_uint_eq(shm_control(n.sender, buffer), 0);
}

TEST(shm_reply__of_another_session)
{
    bool wakes;

    meet();
    fill_answer((struct pairing){.session = 1, .tag = shm_pair_terms.pairing.tag}, 100);
    ck_assert(!shm_reply(n.receiver, &n.burst, &wakes));
    fill_answer(shm_pair_terms.pairing, TRAILER_BYTES - 1);
    ck_assert(!shm_reply(n.receiver, &n.burst, &wakes));
    n.burst.bytes = 0; /* no tail at all */
    ck_assert(!shm_reply(n.receiver, &n.burst, &wakes));
    shm_pair_fill(&n.burst, MESSAGE, from, 1, SMALL_DATA);
    ck_assert(!shm_reply(n.receiver, &n.burst, &wakes));
}

/* One that cannot be read leaves, and what it has not read by then is lost. */
TEST(shm_reply__to_one_that_cannot_be_read)
{
    bool wakes;

    meet();
    send_large();
    n.receiver->peer.pid = 0x3FFFFFFF;
    expect_passed(1);
    fill_answer(shm_pair_terms.pairing, 100);
    ck_assert(!shm_reply(n.receiver, &n.burst, &wakes));
}

TEST(shm_reply__no_room)
{
    bool wakes;

    meet();
    fill_answer(shm_pair_terms.pairing, 100);
    for (int i = 0; i < CONTROL_SLOTS / 2; i++)
        ck_assert(shm_reply(n.receiver, &n.burst, &wakes));
    ck_assert(!shm_reply(n.receiver, &n.burst, &wakes));
    ck_assert(!shm_say_asleep(n.sender)); /* there is something to read */
}

TEST(shm_say_asleep__the_sender_wakes)
{
    uint32_t sent;
    bool held, wakes;

    meet();
    ck_assert(shm_say_asleep(n.receiver));
    shm_pair_fill(&n.burst, MESSAGE, from, 2, LARGE_DATA);
    ck_assert_int_eq(shm_send(n.sender, &n.burst, &sent, &held, &wakes), CHANNEL_OK);
    ck_assert(wakes);
    ck_assert(!shm_say_asleep(n.receiver));
    ck_assert_int_eq(shm_send(n.sender, &n.burst, &sent, &held, &wakes), CHANNEL_OK);
    ck_assert(!wakes);
}
