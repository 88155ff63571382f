/* What a connection that has nothing to do keeps of the memory: resident bytes of the process of
 * one end, for each connection, after a message each way.
 *
 * Both ends are processes of their own, and each counts its own pages. The first connections and
 * their messages bring in what all connections share. */
#include "../../support/ends.h"
#include "../../support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 20, MORE = 200, ALL = FIRST + MORE };

static struct zcrp_connection *connection[ALL];
static struct zcrp_msg *in, *out;
static nlong bytes;        /* of a message */
static bool counts_shared; /* memory that both ends share counts, too */

/* Resident bytes; without those that are shared, as files are, if these do not count. */
static size_t resident(void)
{
    unsigned long all, pages, shared;
    FILE *file = fopen("/proc/self/statm", "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu %lu %lu", &all, &pages, &shared), 3);
    fclose(file);
    return (counts_shared ? pages : pages - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

static void exchange(struct zcrp_connection *c)
{
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(c), in, bytes), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(c), out, bytes), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
}

/* Resident bytes once the connections rest, which they do when a sign of life is due; on a busy
 * machine some of them later. */
static size_t resident_at_rest(const struct zcrp_options *options)
{
    size_t was = SIZE_MAX;

    usleep((useconds_t)(options->silence_ns / 4 / 1000 * 2));
    for (size_t now = resident(); now < was; now = resident()) {
        was = now;
        usleep(100000);
    }
    return was;
}

/* KiB that one of the later connections has made resident. */
static double kib_each(size_t before, const struct zcrp_options *options)
{
    return ((double)resident_at_rest(options) - (double)before) / (int)MORE / 1024;
}

/* The other end: accepts, and tells the port, then what its connections have cost. */
static _Noreturn void serve(int tell, const struct zcrp_options *options)
{
    struct zcrp_listener *listener;
    size_t before = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", "0", options), ZCRP_OK);
    int port = zcrp_listener_port(listener);
    ck_assert_int_eq(write(tell, &port, sizeof port), sizeof port);
    for (int i = 0; i < ALL; i++) {
        if (i == FIRST)
            before = resident_at_rest(options);
        ck_assert_int_eq(zcrp_accept(listener, &connection[i], 10 * ENDS_SECOND), ZCRP_OK);
        exchange(connection[i]);
    }
    double kib = kib_each(before, options);
    ck_assert_int_eq(write(tell, &kib, sizeof kib), sizeof kib);
    pause();
    _exit(EXIT_SUCCESS);
}

/* What the connections of either end have cost: KiB for each, `most` at most. */
static void measure(const struct zcrp_options *options, double most)
{
    double connected, accepted;
    size_t before = 0;
    int tell[2], port;
    char text[8];

    in = ends_empty(bytes);
    out = ends_filled(bytes, 1);
    ck_assert_int_eq(pipe(tell), 0);
    pid_t other = fork();
    if (other == 0)
        serve(tell[1], options);
    ck_assert_int_eq(read(tell[0], &port, sizeof port), sizeof port);
    snprintf(text, sizeof text, "%d", port);
    for (int i = 0; i < ALL; i++) {
        if (i == FIRST)
            before = resident_at_rest(options);
        ck_assert_int_eq(zcrp_connect(&connection[i], "127.0.0.1", text, options, 10 * ENDS_SECOND),
                         ZCRP_OK);
        exchange(connection[i]);
    }
    ck_assert_int_eq(read(tell[0], &accepted, sizeof accepted), sizeof accepted);
    connected = kib_each(before, options);
    kill(other, SIGKILL);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    printf("KiB for each: %.1f connected, %.1f accepted\n", connected, accepted);
    ck_assert_double_le(connected, most);
    ck_assert_double_le(accepted, most);
}

/* Row 1: of units that an Ethernet carries many are in transit at once, and their table grows. When
 * nothing has happened for a quarter of the silence limit its memory is given back. */
TEST(idle__keeps_few_pages, .rows = 2)
{
    static const struct zcrp_options row[] = {
        {.connections = 2 * ALL},
        {.connections = 2 * ALL, .unit_bytes = 1472, .silence_ns = 4 * ENDS_SECOND}};

    bytes = 1 << 20;
    if (!IS_SANITIZED)         /* that has memory of its own for each byte */
        measure(&row[_i], 24); /* 15 to 18 on a quiet machine */
}

/* On one host, with a small message each way. */
TEST(idle__touches_little_of_shared_memory)
{
    static const struct zcrp_options options = {.connections = 2 * ALL};

    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    bytes = 64;
    counts_shared = true;
    if (!IS_SANITIZED)
        measure(&options, 40); /* 34 to 37; one more page each way would be 8 more */
}
