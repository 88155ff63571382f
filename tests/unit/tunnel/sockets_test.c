#include "zcrp-tunnel/loop.h"
#include "zcrp-tunnel/sockets.h"

#include "../../support/suite.h"
#include "common/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const int64_t second_ns = 1000000000;

static int ends, end_fd;
static int64_t tick_ns;

static void on_end(void *context, int fd, enum refusal reason, const char *text)
{
    (void)context;
    (void)reason;
    (void)text;
    ends++;
    end_fd = fd;
}

static void on_completion(const struct zcrp_completion *completion)
{
    (void)completion;
}

static void on_tick(int64_t now_ns)
{
    tick_ns = tick_ns == 0 ? now_ns : tick_ns;
    if (now_ns - tick_ns > second_ns)
        loop_stop(0);
}

static void nothing(void)
{
}

static const struct loop_calls calls = {on_completion, on_tick, nothing, nothing};

/* One thread has the loop, of which a process has one. */
static bool begin(void)
{
    const char *no_fork = getenv("CK_FORK");

    if (no_fork != NULL && strcmp(no_fork, "no") == 0)
        return false;
    ck_assert_int_eq(loop_open(&calls), 0);
    return true;
}

/* The limit holds while a name is looked up, too. What its thread finds afterwards tells nobody. */
TEST(dial_tick__a_name_that_takes_long)
{
    if (!begin())
        return;
    ck_assert_ptr_nonnull(dial_start("localhost", 1, on_end, NULL));
    dial_tick(clock_now_ns() + 15 * second_ns);
    ck_assert_int_eq(ends, 0);
    dial_tick(clock_now_ns() + 25 * second_ns);
    ck_assert_int_eq(ends, 1);
    ck_assert_int_eq(end_fd, -1);
    (void)loop_run();
    dial_tick(clock_now_ns());
    ck_assert_int_eq(ends, 1);
}

/* An address waits for no thread, and ends after its start has returned. */
TEST(dial_start__an_address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (!begin())
        return;
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    ck_assert_ptr_nonnull(dial_start("127.0.0.1", ntohs(at.sin_port), on_end, NULL));
    ck_assert_int_eq(ends, 0);
    (void)loop_run();
    ck_assert_int_eq(ends, 1);
    ck_assert_int_ge(end_fd, 0);
    (void)close(end_fd);
    (void)close(listener);
    dial_tick(clock_now_ns());
}
