#include "zcrp-tunnel/loop.h"
#include "zcrp-tunnel/sockets.h"

#include "../../support/suite.h"
#include "common/clock.h"
#include "lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const int64_t second_ns = 1000000000;

static int ends, end_fd, ends_of_loop; /* before the slow names had an answer */
static int wanted;                     /* ends: for these the loop goes on for up to 20 s */
static int64_t tick_ns;
static atomic_bool is_slow = true; /* the lookup of "slow" */

int lookup_hangs = -1;

/* As getaddrinfo, for which the linker takes it; "slow" has no answer while is_slow (lookup.h). */
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **found);
int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **found);

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **found)
{
    static atomic_int asked;
    bool is_name = host != NULL && (hints->ai_flags & AI_NUMERICHOST) == 0;
    bool is_once = is_name && strcmp(host, "once") == 0;

    if (is_once && atomic_fetch_add(&asked, 1) == 0)
        return __real_getaddrinfo("127.0.0.1", port, hints, found);
    if (!is_once && (!is_name || strcmp(host, "slow") != 0))
        return __real_getaddrinfo(host, port, hints, found);
    (void)!write(lookup_hangs, "", 1);
    while (atomic_load(&is_slow))
        (void)usleep(1000);
    return EAI_NONAME;
}

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
    if (now_ns - tick_ns > (ends < wanted ? 20 : 1) * second_ns)
        loop_stop(0);
}

static void nothing(void)
{
}

static void on_loop_end(void)
{
    ends_of_loop = ends;
    atomic_store(&is_slow, false);
}

static const struct loop_calls calls = {on_completion, on_tick, nothing, on_loop_end};

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
    struct dial *dial;

    if (!begin())
        return;
    dial_start(&dial, SOCK_STREAM, "localhost", 1, "", on_end, NULL);
    dial_tick(clock_now_ns() + 15 * second_ns);
    ck_assert_int_eq(ends, 0);
    dial_tick(clock_now_ns() + 25 * second_ns);
    ck_assert_int_eq(ends, 1);
    ck_assert_int_eq(end_fd, -1);
    (void)loop_run();
    dial_tick(clock_now_ns());
    ck_assert_int_eq(ends, 1);
}

/* An address waits for no thread. */
TEST(dial_start__an_address)
{
    struct dial *dial;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (!begin())
        return;
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    wanted = 1;
    dial_start(&dial, SOCK_STREAM, "127.0.0.1", ntohs(at.sin_port), "", on_end, NULL);
    ck_assert_ptr_nonnull(dial);
    (void)loop_run();
    ck_assert_int_eq(ends, 1);
    ck_assert_int_ge(end_fd, 0);
    (void)close(end_fd);
    (void)close(listener);
    dial_tick(clock_now_ns());
}

/* One asker's slow names take not all threads: another asker's name is looked up at once. Hosts of
 * one IPv6 network are one asker. */
TEST(dial_start__slow_names_of_one_asker, .rows = 2)
{
    struct dial *slow[2 * CREW_THREADS_MOST], *other;
    char asker[64] = "192.0.2.1";

    if (!begin())
        return;
    wanted = 1;
    for (int i = 0; i < ROWS(slow); i++) {
        if (_i == 1)
            (void)snprintf(asker, sizeof(asker), "2001:db8::%x", (unsigned)i);
        dial_start(&slow[i], SOCK_STREAM, "slow", 1, asker, on_end, NULL);
    }
    dial_start(&other, SOCK_STREAM, "localhost", 1, _i == 0 ? "192.0.2.2" : "2001:db8:0:1::1",
               on_end, NULL);
    for (int i = CREW_THREADS_MOST; i < ROWS(slow); i++)
        dial_cancel(slow[i]); /* those that wait for a thread, too */
    (void)loop_run();
    ck_assert_int_eq(ends_of_loop, 1);
    dial_tick(clock_now_ns());
}
