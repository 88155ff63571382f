/* Messages that their sender cancels while the two ends of a connection meet over shared memory: at
 * every point of the meeting, with and without keys, in one process and in two. The next message
 * arrives at once, and nobody computes when all is over. */
#include "../../support/house.h"
#include "../../support/shared_keys.h"

#include <stdlib.h>
#include <sys/resource.h>

LOAD(asleep)

enum {
    LARGE = 32 << 20,
    SMALL = 65536,
    WAYS = 8,
    POINTS = 5,   /* of the meeting, at which a message is cancelled */
    MEETINGS = 4, /* of each */
    DELAY_STEP_NS = 250 * 1000,
    IDLE_NS = 200 * 1000 * 1000,
};

/* A message of SMALL bytes takes so long at most, beside other tests; but one of all in a row of
 * the test may be late, on a machine that stands still for a while. What is repaired by a timer of
 * the protocol takes longer. */
#define LATE_NS (2 * ENDS_SECOND)
#define LIMIT_NS (20 * ENDS_SECOND)
enum { LATE_MOST = 1 };

/* One row of the test. */
struct way {
    bool has_keys, needs_memory, has_two_processes;
};

static void setup(void)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
}

FIXTURE(setup, NULL)

static int64_t processor_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * ENDS_SECOND + t.tv_nsec;
}

static void rest_ns(int64_t ns)
{
    const struct timespec t = {ns / ENDS_SECOND, ns % ENDS_SECOND};

    nanosleep(&t, NULL);
}

/* The process has nothing to do: it uses hardly any of the processor. */
static void must_idle(void)
{
    int64_t used = INT64_MAX;

    for (int i = 0; i < 5 && used >= IDLE_NS / 4; i++) { /* beside others it takes its time */
        rest_ns(IDLE_NS / 10);                           /* what is left of the last message */
        int64_t before = processor_ns();
        rest_ns(IDLE_NS);
        used = processor_ns() - before;
    }
    ck_assert_int_lt(used, IDLE_NS / 4);
}

static struct zcrp_options options_of(const struct way *way)
{
    return (struct zcrp_options){
        .channel = way->needs_memory ? ZCRP_CHANNEL_MEMORY : ZCRP_CHANNEL_AUTO,
        .keys = way->has_keys ? shared("alice", key) : NULL,
    };
}

/* The receiving end of one meeting. */
struct receiving {
    struct zcrp_entity *entity;
    struct zcrp_msg *large, *small;
};

static int late; /* messages, of this row */

static void post(const struct receiving *r)
{
    ck_assert_int_eq(zcrp_submit(r->entity, r->large, LARGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(r->entity, r->small, SMALL), ZCRP_OK);
}

/* The message that was cancelled ends, by whatever code, and the next one arrives. */
static void expect(const struct receiving *r, uint64_t seed)
{
    int64_t began = clock_now_ns();

    (void)zcrp_wait_for(r->large, LIMIT_NS);
    ck_assert_int_ne(zcrp_error(r->large), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(zcrp_wait_for(r->small, LIMIT_NS), ZCRP_OK);
    late += clock_now_ns() - began >= LATE_NS;
    ck_assert_int_le(late, LATE_MOST);
    ck_assert(pattern_holds(r->small->buffer, SMALL, seed));
}

/* Cancels a large message so long after it was submitted, and sends a small one. */
static void send_after_cancel(struct zcrp_entity *sender, struct zcrp_msg *large,
                              struct zcrp_msg *small, int64_t delay_ns, uint64_t seed)
{
    pattern_fill(small->buffer, SMALL, seed);
    ck_assert_int_eq(zcrp_submit(sender, large, LARGE), ZCRP_OK);
    if (delay_ns > 0)
        rest_ns(delay_ns);
    (void)zcrp_cancel(large);
    ck_assert_int_eq(zcrp_submit(sender, small, SMALL), ZCRP_OK);
}

/* The last round of a meeting begins when both have met. */
static int64_t delay_of(int meeting, int round)
{
    return round == 0 ? (meeting % POINTS) * DELAY_STEP_NS : (meeting / POINTS) * DELAY_STEP_NS;
}

static void send_rounds(struct zcrp_connection *c, int meeting, struct zcrp_msg *large,
                        struct zcrp_msg *small, int gate)
{
    char go;

    for (int round = 0; round < 2; round++) {
        if (gate >= 0)
            ck_assert_int_eq(read(gate, &go, 1), 1);
        send_after_cancel(zcrp_connection_sender(c), large, small, delay_of(meeting, round),
                          (uint64_t)round);
        ck_assert_int_eq(zcrp_wait_for(small, LIMIT_NS), ZCRP_OK);
    }
}

/* ---- in one process ---- */

static void meet_within(const struct way *way, struct house *house, int meeting)
{
    struct zcrp_options options = options_of(way);
    struct both b = house_meet(house, &options);
    struct receiving r = {zcrp_connection_receiver(b.here), ends_empty(LARGE), ends_empty(SMALL)};
    struct zcrp_msg *large = zcrp_alloc_msg(LARGE), *small = zcrp_alloc_msg(SMALL);

    zcrp_keys_free(options.keys);
    for (int round = 0; round < 2; round++) {
        post(&r);
        send_after_cancel(zcrp_connection_sender(b.there), large, small, delay_of(meeting, round),
                          (uint64_t)round);
        expect(&r, (uint64_t)round);
        ck_assert_int_eq(zcrp_wait_for(small, LIMIT_NS), ZCRP_OK);
    }
    if (meeting == 0)
        must_idle();
    house_part(&b);
    zcrp_free_msg(large);
    zcrp_free_msg(small);
    zcrp_free_msg(r.large);
    zcrp_free_msg(r.small);
}

/* ---- in two ---- */

/* The process that sends. It is told the port, and when buffers are posted. */
static void send_elsewhere(const struct way *way, int gate)
{
    struct zcrp_options options = options_of(way);
    struct house house = {.listener = NULL};
    struct zcrp_msg *large = zcrp_alloc_msg(LARGE), *small = zcrp_alloc_msg(SMALL);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ck_assert_int_eq(read(gate, house.port, sizeof(house.port)), sizeof(house.port));
    for (int i = 0; i < MEETINGS * POINTS; i++) {
        struct zcrp_connection *c;
        ck_assert_int_eq(house_connect(&house, &c, &options, 5 * ENDS_SECOND), ZCRP_OK);
        send_rounds(c, i, large, small, gate);
        (void)zcrp_connection_close(c);
    }
    must_idle();
    _exit(0);
}

static void receive_here(struct house *house, int gate)
{
    struct receiving r = {NULL, ends_empty(LARGE), ends_empty(SMALL)};

    ck_assert_int_eq(write(gate, house->port, sizeof(house->port)), sizeof(house->port));
    for (int i = 0; i < MEETINGS * POINTS; i++) {
        struct zcrp_connection *c;
        ck_assert_int_eq(zcrp_accept(house->listener, &c, 5 * ENDS_SECOND), ZCRP_OK);
        r.entity = zcrp_connection_receiver(c);
        for (int round = 0; round < 2; round++) {
            post(&r);
            ck_assert_int_eq(write(gate, "g", 1), 1);
            expect(&r, (uint64_t)round);
        }
        if (i == 0)
            must_idle();
        (void)zcrp_connection_close(c);
    }
    zcrp_free_msg(r.large);
    zcrp_free_msg(r.small);
}

static void meet_beyond(const struct way *way)
{
    int gate[2], status;

    ck_assert_int_eq(pipe(gate), 0);
    pid_t child = fork(); /* before this process has threads */
    ck_assert_int_ge(child, 0);
    if (child == 0)
        send_elsewhere(way, gate[0]);
    struct zcrp_options options = options_of(way);
    struct house house = house_open("127.0.0.1", &options);
    receive_here(&house, gate[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    (void)zcrp_listener_close(house.listener);
    zcrp_keys_free(options.keys);
    (void)close(gate[0]);
    (void)close(gate[1]);
}

TEST(revoked__while_they_meet, .rows = WAYS)
{
    const struct way way = {_i & 1, _i & 2, _i & 4};

    if (way.has_keys && !has_keys())
        return;
    if (way.has_two_processes) {
        meet_beyond(&way);
        return;
    }
    struct zcrp_options options = options_of(&way);
    struct house house = house_open("127.0.0.1", &options);
    for (int i = 0; i < MEETINGS * POINTS; i++)
        meet_within(&way, &house, i);
    (void)zcrp_listener_close(house.listener);
    zcrp_keys_free(options.keys);
}
