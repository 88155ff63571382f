/* Small messages on one host, which cross shared memory as a whole: which do, what each end sees of
 * them, and what happens when the peer does not read. */
#include "../../support/ends.h"
#include "../../support/random.h"
#include "../../support/suite.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MANY = 100, MEETINGS = 200, LARGEST_WHOLE = 4096, LARGE = 100000 };

/* The environment of the suites says no. */
static void setup(void)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
}

FIXTURE(setup, NULL)

/* Messages until one has crossed as a whole: whoever does so has met. */
static void meet(const struct ends *e)
{
    for (uint64_t i = 0; i < MEETINGS && ends_stats(e->receiver).messages_whole == 0; i++)
        ends_move(e, LARGE * (i % 2), i);
    ck_assert_uint_gt(ends_stats(e->receiver).messages_whole, 0);
}

static struct ends open_and_meet(void)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);

    meet(&e);
    return e;
}

/* Buffers are posted, and then as many messages sent, of these sizes in turns; all arrive. How many
 * did so as a whole. */
static uint64_t move_many(const struct ends *e, const nlong *sizes, uint32_t count)
{
    struct zcrp_msg *in[MANY], *out[MANY];
    uint64_t before = ends_stats(e->receiver).messages_whole;

    for (uint32_t i = 0; i < MANY; i++) {
        nlong size = sizes[i % count];
        in[i] = ends_empty(size + 10);
        out[i] = ends_filled(size, i);
        ck_assert_int_eq(zcrp_submit(e->receiver, in[i], size + 10), 0);
    }
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_eq(zcrp_submit(e->sender, out[i], sizes[i % count]), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        for (nlong k = sizes[i % count]; ends_wait(in[i]) == ZCRP_OK && k < in[i]->buffer_size; k++)
            ck_assert(((uint8_t *)in[i]->buffer)[k] == 0xEE || ((uint8_t *)in[i]->buffer)[k] == 0);
        ends_finish(in[i], out[i], sizes[i % count], i);
    }
    return ends_stats(e->receiver).messages_whole - before;
}

/* A process that waits long for a processor has some of them sent in units. */
TEST(whole__small_messages_are)
{
    static const nlong sizes[] = {64, 0, 1, 1000, LARGEST_WHOLE};
    struct ends e = open_and_meet();
    struct zcrp_stats before = ends_stats(e.sender);

    uint64_t wholes = move_many(&e, sizes, ROWS(sizes));
    ck_assert_uint_ge(wholes, MANY / 2);
    struct zcrp_stats after = ends_stats(e.sender);
    ck_assert_uint_ge(after.messages_whole - before.messages_whole, wholes);
    ck_assert_uint_le(after.units - before.units, MANY / 2);
    ck_assert_uint_eq(after.messages - before.messages, MANY);
    ends_close(&e);
}

/* ---- a sender that nobody waits for ---- */

enum { FEW = 8 };

/* Whoever asks is told, in whatever way: each of the messages was taken by the receiver. */
static void wait_for_any(struct zcrp_entity *sender, struct zcrp_msg *out[FEW])
{
    (void)sender;
    for (int i = 0; i < FEW; i++)
        ck_assert_int_eq(zcrp_wait_any(&out[i], 1, 10000000000), 0);
}

static void probe(struct zcrp_entity *sender, struct zcrp_msg *out[FEW])
{
    (void)sender;
    for (int i = 0; i < FEW; i++)
        for (int looks = 0; zcrp_probe(out[i]) == 0; looks++)
            ck_assert_int_lt(looks, 1000000);
}

static void count(struct zcrp_entity *sender, struct zcrp_msg *out[FEW])
{
    for (int looks = 0; zcrp_error(out[FEW - 1]) == ZCRP_ERROR_BUSY; looks++) {
        ck_assert_int_lt(looks, 1000000);
        ck_assert_uint_eq(ends_stats(sender).messages_failed, 0);
    }
}

static void collect(struct zcrp_entity *sender, struct zcrp_msg *out[FEW])
{
    struct pollfd ready = {.fd = zcrp_descriptor(sender), .events = POLLIN};

    (void)out;
    for (int i = 0; i < FEW;)
        if (zcrp_collect(sender) != NULL)
            i++;
        else
            ck_assert_int_eq(poll(&ready, 1, 10000), 1);
}

TEST(whole__that_nobody_waits_for, .rows = 4)
{
    static void (*const ask[])(struct zcrp_entity *, struct zcrp_msg *[FEW]) = {wait_for_any, probe,
                                                                                count, collect};
    struct ends e = open_and_meet();
    struct zcrp_msg *in[FEW], *out[FEW];

    if (ask[_i] == collect)
        ck_assert_int_ge(zcrp_descriptor(e.sender), 0);
    for (uint64_t round = 0; round < 10; round++) {
        for (uint64_t i = 0; i < FEW; i++)
            in[i] = ends_empty(64);
        for (uint64_t i = 0; i < FEW; i++)
            ends_submit(&e, in[i], out[i] = ends_filled(64, i), 64);
        for (int i = 0; i < FEW; i++)
            ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ask[_i](e.sender, out);
        for (uint64_t i = 0; i < FEW; i++)
            ends_finish(in[i], out[i], 64, i);
    }
    ends_close(&e);
}

/* ---- a receiver that sleeps ---- */

enum { APART = 100000 }; /* us: longer than a sender watches whether its peer reads */

static struct zcrp_msg *submit_own(struct zcrp_entity *sender)
{
    struct zcrp_msg *out = ends_filled(64, 1);

    ck_assert_int_eq(zcrp_submit(sender, out, 64), 0);
    return out;
}

static struct zcrp_msg *submit_brought(struct zcrp_entity *sender)
{
    static uint8_t there[64];
    struct zcrp_msg *out = zcrp_wrap_msg(there, sizeof(there));

    ck_assert_int_eq(zcrp_submit(sender, out, 64), 0);
    return out;
}

static struct zcrp_msg *send_copy(struct zcrp_entity *sender)
{
    static const uint8_t bytes[64];

    ck_assert_int_eq(zcrp_send_copy(sender, bytes, sizeof(bytes)), 0);
    return NULL;
}

/* It is woken at once by a message that comes alone. Of nine, so that a busy machine does not
 * matter, the fifth counts: the sender looks after 50 ms whether its peer has read. */
TEST(whole__comes_alone, .rows = 3)
{
    enum { ALONE = 9 };
    static struct zcrp_msg *(*const submit[])(struct zcrp_entity *) = {submit_own, submit_brought,
                                                                       send_copy};
    struct ends e = open_and_meet();
    struct pollfd ready = {.fd = zcrp_descriptor(e.receiver), .events = POLLIN};
    int late = 0;

    for (int i = 0; i < ALONE; i++) {
        struct zcrp_msg *in = ends_empty(64);
        ck_assert_int_eq(zcrp_submit(e.receiver, in, 64), 0);
        usleep(APART);
        int64_t began = clock_now_ns();
        struct zcrp_msg *out = submit[_i](e.sender);
        ck_assert_int_eq(poll(&ready, 1, 10000), 1);
        late += clock_now_ns() - began > 40 * ENDS_MILLISECOND;
        ck_assert_ptr_eq(zcrp_collect(e.receiver), in);
        ck_assert(out == NULL || ends_wait(out) == ZCRP_OK);
        zcrp_free_msg(in);
        zcrp_free_msg(out);
    }
    ck_assert_int_lt(late, ALONE / 2);
    ends_close(&e);
}

TEST(whole__large_messages_are_not)
{
    static const nlong sizes[] = {LARGEST_WHOLE + 1, LARGE};
    struct ends e = open_and_meet();

    ck_assert_uint_eq(move_many(&e, sizes, ROWS(sizes)), 0);
    ends_close(&e);
}

/* A message in memory that the user brought, filled for the receiver's check. */
static struct zcrp_msg *brought(uint8_t *memory, nlong size, uint64_t seed)
{
    struct zcrp_msg *m = zcrp_wrap_msg(memory, size);

    ck_assert_ptr_nonnull(m);
    pattern_fill(memory, size, seed);
    return m;
}

/* So are those in memory that the user brought, while there are few: at the receiver, at the
 * sender, at both. */
TEST(whole__from_and_to_what_the_user_brought, .rows = 3)
{
    static uint8_t here[LARGEST_WHOLE], there[LARGEST_WHOLE];
    struct ends e = open_and_meet();
    uint64_t before = ends_stats(e.sender).messages_whole;

    for (uint64_t i = 0; i < MANY; i++) {
        nlong size = i % 3 == 0 ? 64 : i % 3 == 1 ? LARGEST_WHOLE : 0;
        struct zcrp_msg *in = _i == 1 ? ends_empty(size) : zcrp_wrap_msg(here, sizeof(here));
        struct zcrp_msg *out = _i == 0 ? ends_filled(size, i) : brought(there, size, i);
        ends_submit(&e, in, out, size);
        ends_finish(in, out, size, i);
    }
    ck_assert_uint_ge(ends_stats(e.sender).messages_whole - before, MANY / 2);
    ends_close(&e);
}

/* Its memory is gone: both ends learn it, and the messages around it are well. */
TEST(whole__from_or_to_a_hole, .rows = 2)
{
    uint8_t *hole = mmap(NULL, 64, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ends e = open_and_meet();

    for (uint64_t i = 0; i < 20; i++) {
        struct zcrp_msg *in = _i == 0 ? zcrp_wrap_msg(hole, 64) : ends_empty(64);
        struct zcrp_msg *out = _i == 1 ? zcrp_wrap_msg(hole, 64) : ends_filled(64, i);
        ends_submit(&e, in, out, 64);
        ck_assert_int_eq(ends_wait(in), ZCRP_ERROR_FAULT);
        ck_assert_int_ne(ends_wait(out), ZCRP_OK);
        zcrp_free_msg(in);
        zcrp_free_msg(out);
        ends_move(&e, 64, i);
    }
    ck_assert_int_eq(munmap(hole, 64), 0);
    ends_close(&e);
}

/* One call copies several: one of these is in vain, or ends early. */
TEST(whole__to_a_hole_among_others)
{
    enum { COUNT = 40 };
    static uint8_t here[COUNT][64];
    uint8_t *hole = mmap(NULL, 64, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ends e = open_and_meet();
    struct zcrp_msg *in[COUNT], *out[COUNT];

    for (uint64_t round = 0; round < 20; round++) {
        uint64_t bad = round * 2;
        for (uint64_t i = 0; i < COUNT; i++) {
            bool is_brought = i == bad || i == bad + 1;
            in[i] = is_brought ? zcrp_wrap_msg(i == bad ? hole : here[i], 64) : ends_empty(64);
            out[i] = ends_filled(64, i);
            ck_assert_int_eq(zcrp_submit(e.receiver, in[i], 64), 0);
        }
        for (uint64_t i = 0; i < COUNT; i++)
            ck_assert_int_eq(zcrp_submit(e.sender, out[i], 64), 0);
        for (uint64_t i = 0; i < COUNT; i++) {
            ck_assert_int_eq(ends_wait(in[i]), i == bad ? ZCRP_ERROR_FAULT : ZCRP_OK);
            ck_assert((ends_wait(out[i]) == ZCRP_OK) == (i != bad));
            ck_assert(i == bad || pattern_holds(in[i]->buffer, 64, i));
            zcrp_free_msg(in[i]);
            zcrp_free_msg(out[i]);
        }
    }
    ck_assert_int_eq(munmap(hole, 64), 0);
    ends_close(&e);
}

/* Messages end in the order in which they were sent, whatever way each takes, and whichever thread
 * ends them. */
TEST(whole__keep_their_order)
{
    static const nlong sizes[] = {64, LARGE, 0, LARGE, LARGE, 100, 4096, 5000};
    struct ends e = open_and_meet();
    struct zcrp_msg *in[MANY], *out[MANY];

    ck_assert_int_ge(zcrp_descriptor(e.receiver), 0);
    for (int i = 0; i < MANY; i++) {
        in[i] = ends_empty(LARGE);
        out[i] = ends_filled(sizes[i % ROWS(sizes)], (uint64_t)i);
        ck_assert_int_eq(zcrp_submit(e.receiver, in[i], LARGE), 0);
    }
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(zcrp_submit(e.sender, out[i], sizes[i % ROWS(sizes)]), 0);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert_ptr_eq(zcrp_collect(e.receiver), in[i]);
        ends_finish(in[i], out[i], sizes[i % ROWS(sizes)], (uint64_t)i);
    }
    ends_close(&e);
}

TEST(whole__too_large_for_its_buffer)
{
    struct ends e = open_and_meet();
    struct zcrp_msg *in = ends_empty(10), *out = ends_filled(20, 1);

    ends_submit(&e, in, out, 20);
    ck_assert_int_eq(ends_wait(in), ZCRP_ERROR_TOO_LARGE);
    ck_assert_int_eq(ends_wait(out), ZCRP_ERROR_TOO_LARGE);
    ck_assert_uint_eq(in->length, 20);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    ends_move(&e, 20, 2);
    ends_close(&e);
}

/* A sender that waits for a buffer is told of it, also while it sleeps. */
TEST(whole__before_there_is_a_buffer)
{
    struct ends e = open_and_meet();

    for (uint64_t i = 0; i < 20; i++) {
        struct zcrp_msg *in = ends_empty(64), *out = ends_filled(64, i);
        ck_assert_int_eq(zcrp_submit(e.sender, out, 64), 0);
        ck_assert_int_eq(zcrp_wait_for(out, (int64_t)i * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
        int64_t began = clock_now_ns();
        ck_assert_int_eq(zcrp_submit(e.receiver, in, 64), 0);
        ends_finish(in, out, 64, i);
        ck_assert_int_lt(clock_now_ns() - began, 5 * ENDS_SECOND);
    }
    ends_close(&e);
}

enum { LATES = 30, LATE_US = 2000 };

/* A receiver that always posts late answers each message with a request, which the sender reads
 * before it looks for a buffer. */
TEST(whole__to_one_that_posts_late, .rows = 5)
{
    static const struct zcrp_options in_memory = {.channel = ZCRP_CHANNEL_MEMORY};
    struct ends e = ends_open(LOOPBACK_UDP4, false, &in_memory);

    for (uint64_t i = 0; i < LATES; i++) {
        struct zcrp_msg *in = ends_empty(64), *out = ends_filled(64, i);
        ck_assert_int_eq(zcrp_submit(e.sender, out, 64), 0);
        usleep(LATE_US);
        ck_assert_int_eq(zcrp_submit(e.receiver, in, 64), 0);
        ends_finish(in, out, 64, i);
    }
    ck_assert_uint_ge(ends_stats(e.receiver).messages_whole, LATES / 2);
    ends_close(&e);
}

/* ---- taking back ---- */

/* Whoever takes a message back, at whatever moment: either both ends have it, or neither. */
TEST(whole__is_cancelled, .rows = 2)
{
    struct ends e = open_and_meet();
    uint32_t cancelled = 0;

    for (uint64_t i = 0; i < 500; i++) {
        struct zcrp_msg *in = ends_empty(64), *out = ends_filled(64, i);
        ends_submit(&e, in, out, 64);
        bool is_ours = zcrp_cancel(_i == 0 ? out : in) == ZCRP_OK;
        int of_receiver = ends_wait(in), of_sender = ends_wait(out);
        cancelled += is_ours;
        if (!is_ours) {
            ends_finish(in, out, 64, i);
            continue;
        }
        ck_assert_int_eq(of_sender, _i == 0 ? ZCRP_ERROR_CANCELLED : ZCRP_ERROR_PEER_CANCELLED);
        ck_assert_int_eq(of_receiver, _i == 1 ? ZCRP_ERROR_CANCELLED : ZCRP_ERROR_PEER_CANCELLED);
        zcrp_free_msg(in);
        zcrp_free_msg(out);
    }
    ends_move(&e, 64, 7);
    (void)printf("%u of 500 taken back\n", cancelled);
    ends_close(&e);
}

/* ---- a peer that does not read ---- */

/* Receives messages, whose bytes tell which each is. When it says so the next buffer is posted. */
static void be_receiver(const struct loopback *sockets, int done)
{
    struct zcrp_entity *e;
    struct zcrp_msg *both[2] = {ends_empty(LARGE), ends_empty(LARGE)};
    bool is_right = zcrp_open_receiver(&e, sockets->receiver, NULL) == 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    is_right = is_right && zcrp_submit(e, both[0], LARGE) == 0;
    for (uint64_t i = 0; is_right; i++) {
        struct zcrp_msg *m = both[i % 2];
        is_right = zcrp_submit(e, both[(i + 1) % 2], LARGE) == 0 && zcrp_wait_for(m, -1) == ZCRP_OK;
        is_right = is_right && pattern_holds(m->buffer, m->length, i);
        if (is_right && write(done, &i, sizeof(i)) != (ssize_t)sizeof(i))
            break;
    }
    _exit(1);
}

static void expect_done(int done, uint64_t which)
{
    uint64_t i;

    ck_assert_int_eq(read(done, &i, sizeof(i)), (ssize_t)sizeof(i));
    ck_assert_uint_eq(i, which);
}

/* Messages until some have crossed as a whole; how many. */
static uint64_t meet_child(struct zcrp_entity *e, int done)
{
    uint64_t sent = 0;

    for (; sent < MEETINGS && ends_stats(e).messages_whole < 5; sent++) {
        struct zcrp_msg *m = ends_filled(64, sent);
        ck_assert_int_eq(zcrp_submit(e, m, 64), 0);
        ck_assert_int_eq(ends_wait(m), ZCRP_OK);
        expect_done(done, sent);
        zcrp_free_msg(m);
    }
    ck_assert_uint_ge(ends_stats(e).messages_whole, 5);
    return sent;
}

/* Until units leave again, which take the socket. */
static void wait_for_units(struct zcrp_entity *e, uint64_t before)
{
    int64_t began = clock_now_ns();

    while (ends_stats(e).units == before && clock_now_ns() - began < 10 * ENDS_SECOND)
        usleep(1000);
    ck_assert_uint_gt(ends_stats(e).units, before);
}

/* A receiver that is stopped for a while has all messages once, in their order, when it goes on:
 * what it had not read by then has come by the socket. */
TEST(whole__beside_a_receiver_that_is_stopped)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    const struct zcrp_options options = {.flags = ZCRP_ALLOW_PTRACE};
    struct zcrp_msg *out[5];
    struct zcrp_entity *e;
    int done[2];

    ck_assert_int_eq(pipe(done), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        be_receiver(&sockets, done[1]);
    ck_assert_int_eq(zcrp_open_sender(&e, sockets.sender, &options), 0);
    uint64_t sent = meet_child(e, done[0]);
    ck_assert_int_eq(kill(child, SIGSTOP), 0);
    uint64_t units = ends_stats(e).units;
    for (uint64_t i = 0; i < ROWS(out); i++) {
        out[i] = ends_filled(64, sent + i);
        ck_assert_int_eq(zcrp_submit(e, out[i], 64), 0);
    }
    wait_for_units(e, units);
    for (uint64_t i = 0; i < ROWS(out); i++)
        ck_assert_int_eq(zcrp_error(out[i]), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(kill(child, SIGCONT), 0);
    for (uint64_t i = 0; i < ROWS(out); i++) {
        expect_done(done[0], sent + i);
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
        zcrp_free_msg(out[i]);
    }
    (void)kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    (void)zcrp_close(e);
    (void)close(done[0]);
    (void)close(done[1]);
    loopback_close(&sockets);
}

/* ---- the end ---- */

/* A close waits for what is on its way. */
TEST(whole__and_then_a_close)
{
    for (int i = 0; i < 20; i++) {
        struct ends e = open_and_meet();
        struct zcrp_msg *in[MANY], *out[MANY];

        for (uint64_t k = 0; k < MANY; k++) {
            in[k] = ends_empty(64);
            out[k] = ends_filled(64, k);
            ck_assert_int_eq(zcrp_submit(e.receiver, in[k], 64), 0);
        }
        for (uint64_t k = 0; k < MANY; k++)
            ck_assert_int_eq(zcrp_submit(e.sender, out[k], 64), 0);
        ck_assert_int_eq(zcrp_close(e.sender), 0);
        for (uint64_t k = 0; k < MANY; k++)
            ends_finish(in[k], out[k], 64, k);
        ck_assert_int_eq(zcrp_close(e.receiver), 0);
        loopback_close(&e.sockets);
    }
}

/* A receiver that closes as soon as it has a message: the sender knows that it arrived. */
TEST(whole__and_then_the_receiver_closes)
{
    for (uint64_t i = 0; i < 50; i++) {
        struct ends e = open_and_meet();
        struct zcrp_msg *in = ends_empty(64), *out = ends_filled(64, i);

        ends_submit(&e, in, out, 64);
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        (void)zcrp_close(e.receiver);
        ends_finish(in, out, 64, i);
        (void)zcrp_close(e.sender);
        loopback_close(&e.sockets);
    }
}

/* ---- by chance ---- */

enum { FLIGHT = 24, ROUNDS = 3000 };

/* Messages of all kinds in flight, some taken back by either end: each ends as it should, once. One
 * in units may be there when its sender takes it back. */
static void move_by_chance(const struct ends *e, uint64_t random)
{
    static uint8_t here[FLIGHT][LARGE], there[FLIGHT][LARGE];
    struct zcrp_msg *in[FLIGHT] = {NULL}, *out[FLIGHT] = {NULL};
    bool is_cancelled[FLIGHT];

    for (uint64_t i = 0; i < ROUNDS + FLIGHT; i++) {
        uint64_t k = i % FLIGHT;
        if (in[k] != NULL) {
            int of_receiver = ends_wait(in[k]), of_sender = ends_wait(out[k]);
            ck_assert(is_cancelled[k] || (of_receiver == ZCRP_OK && of_sender == ZCRP_OK));
            ck_assert(!is_cancelled[k] || of_receiver != ZCRP_OK || of_sender != ZCRP_OK);
            if (of_receiver == ZCRP_OK)
                ck_assert(pattern_holds(in[k]->buffer, in[k]->length, i - FLIGHT));
            zcrp_free_msg(in[k]);
            zcrp_free_msg(out[k]);
            in[k] = NULL;
        }
        if (i >= ROUNDS)
            continue;
        nlong size = random_below(&random, random_chance(&random, 80) ? 5000 : LARGE);
        in[k] = random_chance(&random, 90) ? ends_empty(LARGE) : zcrp_wrap_msg(here[k], LARGE);
        out[k] = random_chance(&random, 90) ? ends_filled(size, i) : brought(there[k], size, i);
        bool is_early = random_chance(&random, 50);
        if (is_early)
            ck_assert_int_eq(zcrp_submit(e->receiver, in[k], LARGE), 0);
        ck_assert_int_eq(zcrp_submit(e->sender, out[k], size), 0);
        if (!is_early)
            ck_assert_int_eq(zcrp_submit(e->receiver, in[k], LARGE), 0);
        is_cancelled[k] = random_chance(&random, 10) &&
                          zcrp_cancel(random_chance(&random, 50) ? in[k] : out[k]) == ZCRP_OK;
    }
}

TEST(whole__by_chance, .is_random = true)
{
    struct ends e = open_and_meet();

    move_by_chance(&e, suite_seed(_i));
    ends_close(&e);
}
