/* The far end of one copy, in a process of its own as a remote shell starts it, while others call
 * the port that its near end may use without the key. */
#include "zcrp-cp/ends/ends.h"
#include "zcrp-cp/ends/meeting.h"
#include "zcrp-cp/ends/session.h"
#include "zcrp-cp/files/memory.h"

#include "../../support/suite.h"
#include "common/complain.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(asleep)

enum { PORT_ROOM = 8, STRANGERS_MOST = 24 };

static const int64_t second_ns = 1000000000;

static char folder[64];
static struct meeting meeting;
static uint16_t port, memory_port;
static pid_t far;
static int to_far;
static struct crew crew;
static struct zcrp_connection *strangers[STRANGERS_MOST];

/* A process without threads, before this one has any. */
static void start_far(void)
{
    int in[2], out[2];

    ck_assert_int_eq(pipe(in), 0);
    ck_assert_int_eq(pipe(out), 0);
    far = fork();
    ck_assert_int_ge(far, 0);
    if (far == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(in[1]);
        mapping_start();
        _exit(far_run());
    }
    (void)close(in[0]);
    (void)close(out[1]);
    to_far = in[1];
    char line[MEETING_ROOM] = "";
    ck_assert_int_eq(meeting_make(&meeting, 0), 0);
    meeting_write(&meeting, line);
    ck_assert_int_eq(write(to_far, line, strlen(line)), (ssize_t)strlen(line));
    ck_assert_int_gt(read(out[0], line, sizeof(line) - 1), 0);
    ck_assert(meeting_read_ports(line, &port, &memory_port));
    (void)close(out[0]);
}

static void setup(void)
{
    complain_silently();
    ck_assert_int_eq(setenv("ZCRP_NO_MEMORY", "0", 1), 0); /* memory is what this is about */
    strcpy(folder, "/tmp/zcrp-far-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)signal(SIGPIPE, SIG_IGN);
    start_far();
    mapping_start();
    ck_assert_int_eq(crew_init(&crew), 0);
}

static void teardown(void)
{
    char command[128];

    crew_fini(&crew);
    (void)close(to_far);
    (void)kill(far, SIGKILL);
    (void)waitpid(far, NULL, 0);
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(setenv("ZCRP_NO_MEMORY", "1", 1), 0);
}

FIXTURE(setup, teardown)

static int connect_to(struct zcrp_connection **connection, bool by_memory, int64_t most_ns)
{
    struct zcrp_options options = {.channel = by_memory ? ZCRP_CHANNEL_MEMORY : ZCRP_CHANNEL_AUTO};
    char text[PORT_ROOM];

    if (!by_memory)
        options.keys = meeting_keys(&meeting);
    (void)snprintf(text, sizeof(text), "%u", (unsigned)(by_memory ? memory_port : port));
    int code = zcrp_connect(connection, "127.0.0.1", text, &options, most_ns);
    zcrp_keys_free(options.keys);
    return code;
}

/* They say nothing. Eight are heard, or wait to be; the others are on their way. */
static void connect_strangers(int count)
{
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(connect_to(&strangers[i], true, i < 8 ? 10 * second_ns : 0), 0);
}

/* Closes those that have ended, and connects again. */
static void *reconnect_strangers(void *over)
{
    while (!atomic_load((atomic_bool *)over)) {
        for (int i = 0; i < STRANGERS_MOST && !atomic_load((atomic_bool *)over); i++) {
            int code = zcrp_connection_status(strangers[i]);

            if (strangers[i] == NULL || code == 0 || code == ZCRP_ERROR_BUSY)
                continue;
            (void)zcrp_connection_close(strangers[i]);
            (void)connect_to(&strangers[i], true, second_ns / 10);
        }
        (void)poll(NULL, 0, 1);
    }
    return NULL;
}

static enum line_end copy(struct line *line)
{
    char file[128], there[128];
    const char *paths[] = {there};
    struct session_wishes wishes = {.paths = paths, .path_count = 1};
    struct walk walk = {0};
    enum line_end end = LINE_FAILED;

    (void)snprintf(file, sizeof(file), "%s/file", folder);
    (void)snprintf(there, sizeof(there), "%s/there/", folder);
    FILE *made = fopen(file, "w");
    ck_assert_ptr_nonnull(made);
    (void)fputs("content", made);
    (void)fclose(made);
    ck_assert_int_eq(walk_add(&walk, -1, file), 0);
    memcpy(wishes.near_proof, meeting.near_proof, PROOF_BYTES);
    memcpy(wishes.far_proof, meeting.far_proof, PROOF_BYTES);
    int code = session_open(line, &wishes, 10 * second_ns);
    if (code == 0)
        end = source_run(line, &crew, &walk, NULL);
    walk_fini(&walk);
    ck_assert_int_eq(code, 0);
    return end;
}

static const struct {
    int strangers;
    bool by_memory;
} amid[] = {{0, false}, {0, true}, {8, false}, {8, true}, {STRANGERS_MOST, false}};

/* The near end is heard, whoever else calls, at either listener. */
TEST(far__amid_strangers, .rows = ROWS(amid))
{
    const char *no_fork = getenv("CK_FORK");
    struct zcrp_connection *connection = NULL;
    struct line line = {0};
    pthread_t caller;
    atomic_bool is_over = false;
    int status = -1;

    if (no_fork != NULL && strcmp(no_fork, "no") == 0)
        return; /* the far end would be a fork of a process with threads */
    connect_strangers(amid[_i].strangers);
    ck_assert_int_eq(pthread_create(&caller, NULL, reconnect_strangers, &is_over), 0);
    ck_assert_int_eq(connect_to(&connection, amid[_i].by_memory, 10 * second_ns), 0);
    line_init(&line, connection);
    ck_assert_int_eq(copy(&line), LINE_FINE);
    line_fini(&line);
    ck_assert_int_eq(waitpid(far, &status, 0), far);
    ck_assert_int_eq(status, 0);
    atomic_store(&is_over, true);
    ck_assert_int_eq(pthread_join(caller, NULL), 0);
    for (int i = 0; i < amid[_i].strangers; i++)
        (void)zcrp_connection_close(strangers[i]);
}

/* Those who call the listener with the key, and have none, or another one. */
TEST(far__amid_those_without_the_key)
{
    const char *no_fork = getenv("CK_FORK");
    struct zcrp_connection *connection = NULL;
    struct meeting other;
    struct line line = {0};
    int status = -1;

    if (no_fork != NULL && strcmp(no_fork, "no") == 0)
        return; /* as above */
    ck_assert_int_eq(meeting_make(&other, 0), 0);
    for (int i = 0; i < 2; i++) {
        struct zcrp_options options = {.keys = i == 0 ? NULL : meeting_keys(&other)};
        char text[PORT_ROOM];

        (void)snprintf(text, sizeof(text), "%u", (unsigned)port);
        ck_assert_int_ne(zcrp_connect(&strangers[i], "127.0.0.1", text, &options, second_ns / 2),
                         0);
        zcrp_keys_free(options.keys);
    }
    ck_assert_int_eq(connect_to(&connection, false, 10 * second_ns), 0);
    line_init(&line, connection);
    ck_assert_int_eq(copy(&line), LINE_FINE);
    line_fini(&line);
    ck_assert_int_eq(waitpid(far, &status, 0), far);
    ck_assert_int_eq(status, 0);
}
