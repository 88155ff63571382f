/* A server and its clients: who has the key and says nothing keeps nobody out. */
#include "zcrp-cp/ends/ends.h"
#include "zcrp-cp/files/memory.h"

#include "../../support/suite.h"
#include "common/complain.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

LOAD(asleep)

enum { PORT_ROOM = 8, CLIENTS = 3 };

static const int64_t second_ns = 1000000000;

static struct server server;
static pthread_t thread;
static struct line lines[2 * CLIENTS];
static atomic_int line_count;
static int ended;
static FILE *log_file;

static void *run(void *unused)
{
    ended = server_run(&server);
    return unused;
}

static void start(int64_t idle_ns)
{
    server = (struct server){.clients_most = CLIENTS, .idle_ns = idle_ns, .log = log_file};
    server.rules.directory = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(server.rules.directory, 0);
    ck_assert_int_eq(zcrp_listen(&server.listener, "127.0.0.1", "0", NULL), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, run, NULL), 0);
}

static void setup(void)
{
    complain_silently();
    mapping_start();
    memset(lines, 0, sizeof(lines));
    line_count = 0;
    log_file = NULL;
}

/* The server ends, and with it its clients. */
static void teardown(void)
{
    ck_assert_int_eq(zcrp_listener_interrupt(server.listener), 0);
    while (line_count > 0) {
        if (lines[--line_count].connection != NULL)
            line_fini(&lines[line_count]);
    }
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(ended, ZCRP_ERROR_INTERRUPTED);
    (void)zcrp_listener_close(server.listener);
    (void)close(server.rules.directory);
}

FIXTURE(setup, teardown)

/* A client that has its answer, and wants what is below a path. 0, or the code of the call. */
static int connect_for(const char *path, int64_t most_ns)
{
    const struct zcrp_options patient = {.connect_ns = 60 * second_ns};
    const struct session_wishes wishes = {.flags = OPEN_PULL, .paths = &path, .path_count = 1};
    struct zcrp_connection *connection = NULL;
    char port[PORT_ROOM];

    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(server.listener));
    int code = zcrp_connect(&connection, "127.0.0.1", port, &patient, most_ns);
    if (code != 0)
        return code;
    line_init(&lines[line_count], connection);
    return session_open(&lines[line_count++], &wishes, most_ns);
}

static int connect_client(int64_t most_ns)
{
    return connect_for(".", most_ns);
}

TEST(server__idle_clients_give_way)
{
    start(second_ns / 5);
    for (int i = 0; i < 2 * CLIENTS; i++)
        ck_assert_int_eq(connect_client(30 * second_ns), 0);
}

static void *connect_once_more(void *code)
{
    atomic_store((_Atomic int *)code, connect_client(30 * second_ns));
    return NULL;
}

/* Those that may be idle stay, and another one waits for its answer. */
TEST(server__a_caller_waits_for_a_place)
{
    pthread_t caller;
    _Atomic int code = -1;

    start(3600 * second_ns);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(connect_client(30 * second_ns), 0);
    ck_assert_int_eq(pthread_create(&caller, NULL, connect_once_more, &code), 0);
    (void)usleep(300000);
    ck_assert_int_eq(atomic_load(&code), -1);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(zcrp_connection_status(lines[i].connection), 0);
    line_fini(&lines[0]);
    ck_assert_int_eq(pthread_join(caller, NULL), 0);
    ck_assert_int_eq(code, 0);
}

TEST(server_clients__as_many_as_there_are_descriptors_for)
{
    struct rlimit limit, before;

    start(second_ns);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = limit.rlim_max = 1024;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(server_clients(), 3);
    limit.rlim_cur = limit.rlim_max = 128;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(server_clients(), 1);
}

/* What is in the log once it has so many lines. */
static const char *log_of(int wanted)
{
    static char text[4096];

    for (int count = 0; count < wanted; (void)usleep(10000)) {
        ssize_t length = pread(fileno(log_file), text, sizeof(text) - 1, 0);

        ck_assert_int_ge(length, 0);
        text[length] = '\0';
        count = 0;
        for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n'))
            count++;
        ck_assert_int_le(count, wanted);
    }
    return text;
}

/* A line for each, in which nothing of the client's ends it. */
TEST(server__logs_each_session)
{
    ck_assert_ptr_nonnull(log_file = tmpfile());
    start(second_ns);
    ck_assert_int_eq(connect_for("../a\n\033[2J", 30 * second_ns), LINE_REFUSED);
    const char *text = log_of(1);
    ck_assert_ptr_nonnull(strstr(text, "Z 127.0.0.1:"));
    ck_assert_ptr_nonnull(
        strstr(text, " (no key) was refused: ../a\\012\\033[2J: a server refuses"));
    ck_assert_int_eq(connect_client(30 * second_ns), 0);
    line_fini(&lines[1]);
    text = log_of(2);
    ck_assert_ptr_nonnull(
        strstr(text, " (no key) read .: 0 copied, 0 there already, 0 failed, 0 "));
    ck_assert_ptr_nonnull(strstr(text, " s; the copy broke off: "));
}
