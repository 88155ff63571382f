/* Neighbours one of which is not what it should be: it writes anything anywhere into the memory
 * that both share, says that it has read what it has not, or tells of memory that is not there.
 *
 * Whatever it does, each call of the other side ends, units that are held come back once, and
 * nothing but the openings of the landing is written. */
#include "../support/random.h"
#include "../support/shm_pair.h"
#include "../support/suite.h"
#include "platform/system.h"
#include "platform/thread.h"

#include <sys/mman.h>
#include <sys/uio.h>

enum {
    STEPS = 20000,
    UNITS_MOST = 8,
    DATA_MOST = 16384,
    ROOM = UNITS_MOST * DATA_MOST,
    GUARD = 4096, /* bytes on either side of the memory that is received into */
    MESSAGES = 64,
    LIES = 20000,
    SLOT = LANDING_DATAGRAM,
    GOOD = 4 * LANDING_DATAGRAM, /* bytes of the liar's memory that are there */
    ARENA = 8 << 20,
};

static struct shm_pair n;
static uint8_t *from, *to;
static uint64_t random_state;

static uint64_t below(uint64_t limit)
{
    return random_below(&random_state, limit);
}

static bool chance(unsigned percent)
{
    return random_chance(&random_state, percent);
}

/* Memory of the arena, if there is one. */
static uint8_t *take_memory(struct shared_arena *arena, size_t bytes)
{
    uint8_t *memory = arena != NULL ? shared_arena_take(arena, bytes) : malloc(bytes);

    ck_assert_ptr_nonnull(memory);
    return memory;
}

static void give_memory(struct shared_arena *arena, uint8_t *memory)
{
    if (arena != NULL)
        shared_arena_give(arena, memory);
    else
        free(memory);
}

/* Either end has a shared arena, or none. */
static void begin(uint64_t seed)
{
    random_state = seed;
    ck_assert(shm_pair_open(&n));
    for (int i = 0; i < 2; i++)
        n.arena[i] = chance(50) ? shared_arena_create(ARENA) : NULL;
    ck_assert(shm_pair_meet(&n));
    from = take_memory(n.arena[0], ROOM);
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (uint8_t)(i * 2654435761u >> 24);
    to = take_memory(n.arena[1], LANDING_OPENINGS * (size_t)SLOT + 2 * GUARD);
    memset(to, 0xEE, LANDING_OPENINGS * (size_t)SLOT + 2 * GUARD);
}

static void teardown(void)
{
    give_memory(n.arena[0], from);
    give_memory(n.arena[1], to);
    shm_pair_close(&n);
}

FIXTURE(NULL, teardown)

static void expect_guards(void)
{
    const uint8_t *behind = to + GUARD + LANDING_OPENINGS * (size_t)SLOT;

    for (size_t i = 0; i < GUARD; i++)
        ck_assert(to[i] == 0xEE && behind[i] == 0xEE);
}

static void expect_own_memory(void)
{
    for (size_t i = 0; i < ROOM; i++)
        ck_assert_uint_eq(from[i], (uint8_t)(i * 2654435761u >> 24));
}

/* ---- somebody who scribbles ---- */

/* The kernel writes, so that no sanitizer takes it for a mistake of this process. */
static void write_page(size_t at, void *bytes, size_t size)
{
    struct iovec here = {bytes, size};
    struct iovec there = {(uint8_t *)n.sender->page + at, size};
    ck_assert_int_eq(process_vm_writev(getpid(), &here, 1, &there, 1, 0), (ssize_t)size);
}

static void scribble_slot(uint64_t *random)
{
    size_t slot = offsetof(struct shm_page, ring) + offsetof(struct ring, slot) +
                  random_below(random, RING_NOTES) * sizeof(struct ring_slot);
    static const uint32_t edges[] = {0, 1, 2, 3, 4, 31, 32, LANDING_DATAGRAM - 1, LANDING_DATAGRAM};
    uint32_t word =
        random_chance(random, 80) ? edges[random_below(random, 9)] : (uint32_t)random_next(random);
    uint64_t where = random_chance(random, 50) ? (uintptr_t)from + random_below(random, 2 * ROOM)
                                               : random_next(random);

    if (random_chance(random, 20))
        write_page(slot + offsetof(struct ring_slot, where), &where, sizeof(where));
    else
        write_page(slot + 4 * random_below(random, 5), &word, sizeof(word));
}

/* Any word but an address: a sender that is told one writes there, and it is this process that has
 * told it. */
static void scribble_push_slot(uint64_t *random)
{
    size_t slots = offsetof(struct shm_page, slots);
    size_t slot = slots + offsetof(struct push_slots, slot) +
                  random_below(random, RING_NOTES) * sizeof(struct push_slot);
    uint32_t state = (uint32_t)random_below(random, PUSH_SLOT_FAILED + 2);
    uint64_t end = random_below(random, 4UL * RING_NOTES);

    if (random_chance(random, 30))
        write_page(slots + offsetof(struct push_slots, end), &end, sizeof(end));
    else
        write_page(slot + offsetof(struct push_slot, state), &state, sizeof(state));
}

static void scribble_anywhere(uint64_t *random)
{
    uint8_t bytes[64];
    size_t size = 1 + random_below(random, sizeof(bytes));

    for (size_t i = 0; i < size; i++)
        bytes[i] = random_chance(random, 50) ? 0 : (uint8_t)random_next(random);
    size_t at = random_below(random, sizeof(struct shm_page) - size);
    size_t slots = offsetof(struct shm_page, slots);
    if (at + size <= slots || at >= slots + sizeof(struct push_slots))
        write_page(at, bytes, size);
}

static struct {
    uint64_t random;
    atomic_bool is_over;
} scribbler;

static void scribble(void *unused)
{
    (void)unused;
    while (!atomic_load(&scribbler.is_over)) {
        if (random_chance(&scribbler.random, 70))
            scribble_slot(&scribbler.random);
        else if (random_chance(&scribbler.random, 30))
            scribble_push_slot(&scribbler.random);
        else
            scribble_anywhere(&scribbler.random);
    }
}

/* ---- both ends, meanwhile ---- */

static uint64_t held[MESSAGES], come_back[MESSAGES]; /* units of each message, */
static uint64_t put[MESSAGES], released[MESSAGES];   /* and how often it went as a whole */

static void send_something(void)
{
    static const uint32_t sizes[] = {1, 100, 1440, 4000, 4096, 8192, DATA_MOST};
    uint64_t message = below(MESSAGES);
    uint32_t sent;
    bool is_held, wakes;

    shm_pair_fill(&n.burst, message, from, 1 + (uint32_t)below(UNITS_MOST), sizes[below(7)]);
    enum channel_verdict verdict = shm_send(n.sender, &n.burst, &sent, &is_held, &wakes);
    ck_assert(verdict == CHANNEL_OK || verdict == CHANNEL_CROWDED || verdict == CHANNEL_BLOCKED);
    ck_assert_uint_le(sent, n.burst.datagrams);
    held[message] += is_held ? sent : 0;
}

static void put_something(void)
{
    uint64_t message = below(MESSAGES);
    size_t size = chance(20) ? SHM_WHOLE : below(SHM_WHOLE);
    bool wakes;

    put[message] += shm_put_whole(n.sender, message, message,
                                  (struct iovec){from + below(ROOM / 2), size}, &wakes);
}

static void note_released(const struct released *r)
{
    ck_assert_uint_lt(r->message, MESSAGES);
    ck_assert(!r->is_whole || !r->has_faulted);
    ck_assert(r->is_whole || !r->has_arrived);
    if (r->is_whole)
        released[r->message]++;
    else
        come_back[r->message]++;
}

static void reap_something(void)
{
    struct released r;
    uint64_t owner;
    uint32_t count;

    while (chance(50) && (count = shm_reap_wholes(n.sender, 1 + (uint32_t)below(8), &owner)) > 0)
        for (uint32_t i = 0; i < count; i++) {
            ck_assert_uint_lt(owner + i, MESSAGES);
            released[owner + i]++;
        }
    while (shm_reap(n.sender, &r))
        note_released(&r);
}

static void take_back(uint64_t wanted)
{
    struct released r;

    while (shm_take_back(n.sender, wanted, &r))
        note_released(&r);
}

static void expect_all_released(void)
{
    for (int i = 0; i < MESSAGES; i++) {
        ck_assert_uint_eq(come_back[i], held[i]);
        ck_assert_uint_eq(released[i], put[i]);
    }
}

static void receive_whole(void)
{
    struct whole_arrived whole;

    if (!shm_whole(n.receiver, 0, &whole))
        return;
    ck_assert_uint_le(whole.size, SHM_WHOLE);
    size_t at = (size_t)(whole.bytes - n.receiver->page->staging);
    ck_assert_uint_le(at, SHM_STAGING);
    ck_assert_uint_le(whole.size, SHM_STAGING - at);
    memcpy(to + GUARD, whole.bytes, whole.size);
    (void)shm_end_whole(n.receiver, chance(80));
    (void)shm_must_tell(n.receiver);
}

static void show_and_find_credit(void)
{
    uint64_t message = below(2UL * SHM_CREDIT), size;

    if (chance(50))
        (void)shm_show_credit(n.receiver, message, below(SHM_WHOLE));
    if (!shm_find_credit(n.sender, message, &size))
        shm_want_credit(n.sender);
}

static bool is_claimed;

/* A claim and its push may be far apart. */
static void push_something(void)
{
    uint64_t message;

    if (!is_claimed) {
        is_claimed = shm_claim(n.sender);
        return;
    }
    shm_push(n.sender);
    while (shm_let_go(n.sender, &message))
        ck_assert(message < MESSAGES || message == RING_NOBODY);
    is_claimed = false;
}

static void receive_something(void)
{
    uint32_t openings = 1 + (uint32_t)below(LANDING_OPENINGS);

    (void)shm_look_late(n.receiver);

    shm_pair_plan(&n.landing, to + GUARD, openings, 1, chance(50) ? SLOT : DATA_MOST);
    int received = shm_receive(n.receiver, &n.landing);
    ck_assert_int_ge(received, 0);
    ck_assert_uint_eq(n.landing.received, (uint32_t)received);
    ck_assert_uint_le(n.landing.received, openings);
    for (uint32_t i = 0; i < n.landing.received; i++) {
        ck_assert_uint_lt(n.landing.bytes[i], LANDING_DATAGRAM);
        ck_assert(n.landing.bytes[i] == 0 || n.landing.segment[i] <= n.landing.bytes[i]);
    }
}

static void answer_something(void)
{
    uint8_t buffer[CONTROL_BYTES];
    bool wakes;
    size_t size = TRAILER_BYTES + below(CONTROL_BYTES - TRAILER_BYTES);

    memset(n.burst.control, 0x5A, size);
    datagram_tail_encode(n.burst.control + size - TAIL_BYTES, shm_pair_terms.pairing, 0,
                         DATAGRAM_REQUEST);
    burst_set_control(&n.burst, size);
    (void)shm_reply(n.receiver, &n.burst, &wakes);
    ck_assert_uint_le(shm_control(n.sender, buffer), CONTROL_BYTES);
}

static void sleep_and_wake(void)
{
    if (shm_say_asleep(n.receiver))
        shm_say_awake(n.receiver);
    if (chance(50) ? shm_say_idle(n.sender) : shm_say_asleep(n.sender)) {
        shm_say_awaited(n.sender);
        shm_say_awake(n.sender);
    }
    (void)shm_has_moved(n.sender);
    (void)shm_has_moved(n.receiver);
}

static void do_something(void)
{
    switch (below(12)) {
    case 9:
        put_something();
        break;
    case 10:
        receive_whole();
        break;
    case 11:
        show_and_find_credit();
        break;
    case 0:
    case 1:
        send_something();
        break;
    case 2:
    case 3:
        receive_something();
        break;
    case 4:
        reap_something();
        break;
    case 5:
        answer_something();
        break;
    case 6:
        sleep_and_wake();
        break;
    case 7:
        push_something();
        break;
    default:
        if (chance(20))
            take_back(chance(20) ? SHM_ANY : below(MESSAGES));
        break;
    }
}

TEST(shm__scribbled_while_units_move, .is_random = true)
{
    struct thread thread;
    uint64_t units = 0, wholes = 0;

    begin(suite_seed(_i));
    scribbler.random = ~random_state;
    ck_assert_int_eq(thread_start(&thread, "zcrp-scribbler", scribble, NULL), 0);
    for (int i = 0; i < STEPS; i++)
        do_something();
    atomic_store(&scribbler.is_over, true);
    thread_join(&thread);
    if (is_claimed)
        push_something();
    reap_something();
    take_back(SHM_ANY);
    expect_all_released();
    for (int i = 0; i < MESSAGES; i++) {
        units += held[i];
        wholes += put[i];
    }
    ck_assert_uint_gt(units, 0); /* something did move */
    ck_assert_uint_gt(wholes, 0);
    ck_assert_int_eq(shm_look(n.receiver), SHM_HERE);
    expect_own_memory();
    expect_guards();
}

/* ---- a receiver that lies ---- */

/* It is done with notes of which it has read nothing, in any order, and finds fault with others. */
static void lie_about_notes(void)
{
    static const uint32_t states[] = {RING_EMPTY, RING_DONE, RING_FAULTED, RING_REVOKED, 99};
    const struct ring_writer *w = &n.sender->out->ring;
    uint64_t head = atomic_load(&w->head), reaped = atomic_load(&w->reaped);

    for (uint64_t i = reaped; i < head; i++)
        if (chance(30))
            atomic_store(&n.receiver->page->ring.slot[i % RING_NOTES].state, states[below(5)]);
}

TEST(shm__receiver_lies, .is_random = true)
{
    begin(suite_seed(_i));
    for (int i = 0; i < STEPS; i++) {
        send_something();
        put_something();
        if (chance(70))
            lie_about_notes();
        reap_something();
        if (chance(5))
            take_back(below(MESSAGES));
        const struct ring_writer *w = &n.sender->out->ring;
        ck_assert_uint_le(atomic_load(&w->head) - atomic_load(&w->reaped), RING_NOTES);
    }
    take_back(SHM_ANY);
    expect_all_released();
    expect_own_memory();
}

/* ---- a sender that lies ---- */

static uint8_t *good; /* GOOD bytes, with nothing behind them */

/* Where the same GOOD bytes begin in the arena, which ends with them. */
static uint64_t arena_good(void)
{
    return shared_arena_bytes(n.arena[0]) - GOOD;
}

static void share_good(void)
{
    if (n.arena[0] != NULL)
        memcpy(from - shared_arena_offset(n.arena[0], from) + arena_good(), good, GOOD);
}

static struct ring_note any_note(void)
{
    static const uint32_t sizes[] = {0, 1, 31, 32, 33, 4096, 65535, 65536, UINT32_MAX};
    struct ring_note note = {.bytes = sizes[below(9)], .has_trailer = chance(50)};

    if (chance(50))
        note.bytes = (uint32_t)below(LANDING_DATAGRAM);
    note.segment = chance(70) ? 0 : (uint32_t)below(2UL * LANDING_DATAGRAM);
    bool is_in_arena = n.arena[0] != NULL && chance(50);
    note.place = is_in_arena ? RING_ARENA : RING_MEMORY;
    note.where = below(GOOD + GUARD) + (is_in_arena ? arena_good() : (uintptr_t)good);
    if (chance(20))
        note.where = chance(50) ? random_next(&random_state) : UINT64_MAX - below(100000);
    return note;
}

static bool makes_sense(const struct ring_note *note)
{
    return note->bytes >= (note->has_trailer ? TRAILER_BYTES : 1) &&
           note->bytes < LANDING_DATAGRAM && note->segment <= note->bytes &&
           (note->segment == 0 || note->bytes <= (uint64_t)BURST_UNITS * note->segment);
}

/* The bytes of it that are where it says, if all of them are there; else NULL. */
static const uint8_t *bytes_of(const struct ring_note *note)
{
    bool is_in_arena = note->place == RING_ARENA;
    uint64_t begin = is_in_arena ? arena_good() : (uintptr_t)good;
    uint64_t at = note->where - begin;
    uint32_t data = note->bytes - (note->has_trailer ? TRAILER_BYTES : 0);

    if (data == 0 && (!is_in_arena || note->where <= shared_arena_bytes(n.arena[0])))
        return good;
    return note->where >= begin && at < GOOD && data <= GOOD - at ? good + at : NULL;
}

static struct {
    struct ring_note note[RING_NOTES];
    uint32_t first, count; /* of those that make sense and were not received */
} told;

static void expect_opening(uint32_t i)
{
    const struct ring_note *note = &told.note[told.first++ % RING_NOTES];
    uint32_t tail = note->has_trailer ? TRAILER_BYTES : 0;
    const uint8_t *bytes = bytes_of(note), *landed = to + GUARD + (size_t)i * SLOT;

    told.count--;
    ck_assert_uint_eq(n.landing.bytes[i], bytes != NULL ? note->bytes : 0);
    if (bytes == NULL)
        return;
    ck_assert_uint_eq(n.landing.segment[i], note->segment);
    ck_assert(note->bytes == tail || memcmp(landed, bytes, note->bytes - tail) == 0);
    for (uint32_t k = note->bytes - tail; k < note->bytes; k++)
        ck_assert_uint_eq(landed[k], 0xA5);
}

static void receive_lies(void)
{
    shm_pair_plan(&n.landing, to + GUARD, 1 + (uint32_t)below(LANDING_OPENINGS), 1, SLOT);
    int received = shm_receive(n.receiver, &n.landing);
    ck_assert_int_ge(received, told.count > 0 ? 1 : 0);
    ck_assert_uint_le((uint32_t)received, told.count);
    for (uint32_t i = 0; i < (uint32_t)received; i++)
        expect_opening(i);
}

TEST(shm__sender_lies, .is_random = true)
{
    uint8_t trailer[TRAILER_BYTES];
    struct ring_reaped reaped;
    int lies = 0;

    begin(suite_seed(_i));
    memset(trailer, 0xA5, sizeof(trailer));
    good = mmap(NULL, GOOD + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(good, MAP_FAILED);
    for (size_t i = 0; i < GOOD; i++)
        good[i] = (uint8_t)random_next(&random_state);
    share_good();
    ck_assert_int_eq(mprotect(good + GOOD, GUARD, PROT_NONE), 0);
    while (lies < LIES || told.count > 0) {
        for (; lies < LIES && ring_has_room(&n.sender->out->ring) && chance(90); lies++) {
            struct ring_note note = any_note();
            (void)ring_offer(&n.sender->out->ring, &note, trailer,
                             &(struct ring_record){.owner = 0});
            if (makes_sense(&note))
                told.note[(told.first + told.count++) % RING_NOTES] = note;
        }
        receive_lies();
        while (ring_reap(&n.sender->out->ring, &reaped))
            continue;
    }
    ck_assert_int_eq(shm_look(n.receiver), SHM_HERE);
    expect_guards();
    ck_assert_int_eq(munmap(good, GOOD + GUARD), 0);
}
