/* AF_UNIX streams and pipes between two ends of one process, each row of a test with another of the
 * two: every byte arrives, round trips come back, and an end that is gone or stands still is told.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../support/suite.h"
#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/ends/trips.h"
#include "zcrp-bench/transports/transport.h"

LOAD(asleep)

enum { KINDS = 2, SIZE = 70001, COUNT = 50, SLOTS = 4, TIMES = 20, MUCH = 8 << 20 };

static const struct transport_kind *const kinds[KINDS] = {&transport_unix, &transport_pipe};

static const int64_t patience_ns = 10000000000;

static struct settings settings;
static struct control controls[2]; /* of the connecting and of the listening end */
static struct transport near, far;
static struct job sent, got;
static _Atomic uint64_t passed;
static int listener;

static void setup(void)
{
    struct address here = {.host = "127.0.0.1", .port = "0"};

    complain_silently();
    settings = (struct settings){.depth = SLOTS, .limit_ns = (uint64_t)patience_ns};
    listener = connection_listen(&here);
    ck_assert_int_eq(address_local(listener, &here), 0);
    controls[0].fd = connection_open(&here, "", patience_ns);
    controls[1].fd = connection_accept(listener, patience_ns);
    ck_assert_int_ge(controls[1].fd, 0);
    near = (struct transport){.settings = &settings, .control = &controls[0], .fd = -1};
    far = (struct transport){.settings = &settings, .control = &controls[1], .fd = -1};
}

static void teardown(void)
{
    transport_close(&near);
    transport_close(&far);
    memory_fini(&sent.memory);
    memory_fini(&got.memory);
    close(controls[0].fd);
    close(controls[1].fd);
    close(listener);
}

FIXTURE(setup, teardown)

static void use(int row)
{
    near.kind = far.kind = kinds[row];
}

static void *run_far(void *function)
{
    int (*const *run)(void) = function;

    return (*run)() == 0 ? &far : NULL;
}

/* Both at once, `there` in a thread of its own. 0 if both have done it. */
static int at_both_ends(int (*here)(void), int (*there)(void))
{
    pthread_t thread;
    void *done;

    ck_assert_int_eq(pthread_create(&thread, NULL, run_far, &there), 0);
    int status = here();
    pthread_join(thread, &done);
    return done != NULL ? status : -1;
}

static int open_near(void)
{
    return transport_open(&near);
}

static int accept_far(void)
{
    return control_expect(&controls[1], "open") != NULL ? transport_answer(&far) : -1;
}

static void open_channel(int row)
{
    use(row);
    ck_assert_int_eq(at_both_ends(open_near, accept_far), 0);
}

static struct job job_of(uint64_t size, uint64_t count)
{
    struct job job = {
        .size = size,
        .count = count,
        .depth = SLOTS,
        .passed = &passed,
        .course = {.look = COURSE_FIXED},
        .is_verified = true,
        .seed = 7,
    };

    ck_assert_int_eq(memory_refit(&job.memory, SLOTS, size), 0);
    return job;
}

static int move(struct transport *end, struct job *job,
                int (*part)(struct transport *transport, struct job *job))
{
    int status = transport_begin(end) < 0 ? -1 : part(end, job);

    transport_end(end);
    return status;
}

static int send_near(void)
{
    return move(&near, &sent, near.kind->send);
}

static int receive_far(void)
{
    return move(&far, &got, far.kind->receive);
}

static struct histogram trips;

static int ask_near(void)
{
    return trips_ask(&near, &near, &sent, &trips);
}

static int answer_far(void)
{
    return trips_answer(&far, &far, &got);
}

TEST(unix__every_byte_arrives_in_its_place, .rows = KINDS)
{
    open_channel(_i);
    sent = job_of(SIZE, COUNT);
    got = job_of(SIZE, COUNT);
    ck_assert_int_eq(at_both_ends(send_near, receive_far), 0);
    ck_assert_int_eq(job_verdict(&got), VERDICT_SAME);
}

static int send_far(void)
{
    return move(&far, &sent, far.kind->send);
}

static int receive_near(void)
{
    return move(&near, &got, near.kind->receive);
}

TEST(unix__the_other_way_too, .rows = KINDS)
{
    open_channel(_i);
    sent = job_of(1, COUNT);
    got = job_of(1, COUNT);
    ck_assert_int_eq(at_both_ends(receive_near, send_far), 0);
    ck_assert_int_eq(job_verdict(&got), VERDICT_SAME);
}

TEST(unix__messages_come_back, .rows = KINDS)
{
    open_channel(_i);
    sent = job_of(SIZE, TIMES);
    got = job_of(SIZE, TIMES);
    sent.depth = got.depth = SLOTS / 2;
    for (uint64_t slot = 0; slot < SLOTS; slot++)
        memset(memory_slot(&sent.memory, slot), (int)slot, SIZE);
    trips = (struct histogram){0};
    ck_assert_int_eq(at_both_ends(ask_near, answer_far), 0);
    ck_assert_uint_eq(trips.count, TIMES);
    for (uint64_t slot = 0; slot < SLOTS; slot += 2)
        ck_assert_mem_eq(memory_slot(&sent.memory, slot), memory_slot(&sent.memory, slot + 1),
                         SIZE);
}

/* The kernel doubles what a socket is given, and a pipe has what it asks for. */
TEST(unix_name__has_the_buffer, .rows = KINDS)
{
    static const char *const names[KINDS] = {"unix/128K", "pipe/64K"};

    settings.buffer_bytes = 64 << 10;
    open_channel(_i);
    ck_assert_str_eq(near.channel, names[_i]);
}

TEST(unix_name__has_the_usual_buffer, .rows = KINDS)
{
    open_channel(_i);
    ck_assert_mem_eq(near.channel, _i == 0 ? "unix/" : "pipe/", 5);
    ck_assert_int_gt(atoi(&near.channel[5]), 0);
}

TEST(unix_receive__the_other_end_is_gone, .rows = KINDS)
{
    open_channel(_i);
    transport_close(&near);
    got = job_of(SIZE, 1);
    ck_assert_int_eq(receive_far(), -1);
    ck_assert_ptr_nonnull(strstr(complain_last(), ": the connection ended in the middle of a job"));
}

TEST(unix_send__the_other_end_is_gone, .rows = KINDS)
{
    open_channel(_i);
    transport_close(&far);
    sent = job_of(SIZE, 1);
    ck_assert_int_eq(send_near(), -1);
    ck_assert_ptr_nonnull(strstr(complain_last(), ": cannot send: Broken pipe"));
}

TEST(unix_receive__the_other_end_stands_still, .rows = KINDS)
{
    open_channel(_i);
    settings.limit_ns = 1;
    got = job_of(SIZE, 1);
    ck_assert_int_eq(receive_far(), -1);
    ck_assert_ptr_nonnull(strstr(complain_last(), ": nothing moves"));
}

TEST(unix_send__the_other_end_stands_still, .rows = KINDS)
{
    open_channel(_i);
    settings.limit_ns = 1;
    sent = job_of(MUCH, 1);
    ck_assert_int_eq(send_near(), -1);
    ck_assert_ptr_nonnull(strstr(complain_last(), ": nothing moves"));
}

/* Whichever of the two finds out first. */
TEST(unix_hear__the_other_end_says_why, .rows = KINDS)
{
    open_channel(_i);
    sent = job_of(SIZE, TIMES);
    ck_assert_int_eq(control_say(&controls[1], "failed it is tired"), 0);
    ck_assert_int_eq(ask_near(), -1);
    ck_assert_str_eq(complain_last(), "the other end failed: it is tired");
}

TEST(unix_connect__nobody_is_there, .rows = KINDS)
{
    use(_i);
    ck_assert_int_eq(near.kind->connect(&near), -1);
    ck_assert_ptr_nonnull(strstr(complain_last(), ": cannot connect: Connection refused"));
}

TEST(unix_offer__one_at_a_time, .rows = KINDS)
{
    struct transport other = far;

    use(_i);
    other.kind = kinds[_i];
    ck_assert_int_gt(far.kind->offer(&far), 0);
    ck_assert_int_eq(other.kind->offer(&other), -1);
    ck_assert_ptr_nonnull(strstr(complain_last(), ": cannot listen: Address already in use"));
    transport_close(&other);
}

TEST(unix_accept__nobody_comes, .rows = KINDS)
{
    use(_i);
    settings.limit_ns = 1;
    ck_assert_int_gt(far.kind->offer(&far), 0);
    ck_assert_int_eq(far.kind->accept(&far), -1);
    ck_assert_str_eq(complain_last(), "nobody connected within 0 s");
}

/* One end is an AF_UNIX stream, the other one pipes. */
TEST(pipe_accept__no_pipes_come)
{
    use(1);
    ck_assert_int_gt(far.kind->offer(&far), 0);
    ck_assert_int_gt(transport_unix.connect(&near), 0);
    ck_assert_int_eq(send(near.fd, "", 1, MSG_NOSIGNAL), 1);
    ck_assert_int_eq(far.kind->accept(&far), -1);
    ck_assert_str_eq(complain_last(), "pipe: the other end hands over no pipes");
}

TEST(pipe_accept__nothing_comes)
{
    use(1);
    ck_assert_int_gt(far.kind->offer(&far), 0);
    ck_assert_int_gt(transport_unix.connect(&near), 0);
    ck_assert_int_eq(far.kind->accept(&far), -1);
    ck_assert_ptr_nonnull(strstr(complain_last(), "pipe: cannot get its other end: "));
}

/* More than the system allows: what it allows. */
TEST(pipe_connect__too_large_a_buffer)
{
    settings.buffer_bytes = INT32_MAX;
    open_channel(1);
    ck_assert_mem_eq(near.channel, "pipe/", 5);
    ck_assert_int_gt(atoi(&near.channel[5]), 0);
}
