/* The far end of one copy, in a process of its own as a remote shell starts it, while others call
 * its port. */
#include "common/meeting.h"
#include "zcrp-cp/ends/ends.h"
#include "zcrp-cp/files/memory.h"

#include "../../support/shared_keys.h"
#include "../../support/suite.h"
#include "common/complain.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(asleep)

enum { PORT_ROOM = 8 };

static const int64_t second_ns = 1000000000;

static char folder[64];
static struct meeting meeting;
static uint16_t port;
static pid_t far;
static int to_far;
static struct crew crew;

/* A process without threads, before this one has any. */
static void start_far(const char *no_memory)
{
    int in[2], out[2];
    bool is_one_host = false;

    ck_assert_int_eq(setenv("ZCRP_NO_MEMORY", no_memory, 1), 0);
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
    meeting_make(&meeting, 0);
    meeting_write(&meeting, &program_of_copies, line);
    ck_assert_int_eq(write(to_far, line, strlen(line)), (ssize_t)strlen(line));
    ck_assert_int_gt(read(out[0], line, sizeof(line) - 1), 0);
    ck_assert_int_eq(line[0], '\n'); /* what a login script has printed may lack it */
    ck_assert(meeting_read_port(&program_of_copies, line + 1, &port, &is_one_host));
    ck_assert(is_one_host);
    (void)close(out[0]);
}

static void setup(void)
{
    complain_silently();
    strcpy(folder, "/tmp/zcrp-far-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)signal(SIGPIPE, SIG_IGN);
    mapping_start();
}

static void teardown(void)
{
    char command[128];

    if (far > 0) {
        (void)close(to_far);
        (void)kill(far, SIGKILL);
        (void)waitpid(far, NULL, 0);
    }
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(setenv("ZCRP_NO_MEMORY", "1", 1), 0);
}

FIXTURE(setup, teardown)

static int connect_far(struct zcrp_connection **connection, struct zcrp_keys *keys)
{
    const struct zcrp_options options = {.keys = keys};
    char text[PORT_ROOM];

    (void)snprintf(text, sizeof(text), "%u", (unsigned)port);
    int code = zcrp_connect(connection, "127.0.0.1", text, &options,
                            keys == NULL ? second_ns / 2 : 10 * second_ns);
    zcrp_keys_free(keys);
    return code;
}

static enum line_end copy(struct line *line)
{
    char file[128], there[128];
    const char *paths[] = {there};
    struct session_wishes wishes = {.paths = paths, .path_count = 1, .proof = meeting.near_proof};
    struct walk walk = {0};
    enum line_end end = LINE_FAILED;

    (void)snprintf(file, sizeof(file), "%s/file", folder);
    (void)snprintf(there, sizeof(there), "%s/there/", folder);
    FILE *made = fopen(file, "w");
    ck_assert_ptr_nonnull(made);
    (void)fputs("content", made);
    (void)fclose(made);
    ck_assert_int_eq(walk_add(&walk, -1, file), 0);
    int code = session_open(line, &wishes, 10 * second_ns);
    if (code == 0)
        end = source_run(line, &crew, &walk, NULL);
    walk_fini(&walk);
    ck_assert_int_eq(code, 0);
    return end;
}

/* The near end is heard, whoever else calls: without the key, or with another one. By UDP, and from
 * memory to memory. */
TEST(far__amid_those_without_the_key, .needs = has_keys, .rows = 2)
{
    const char *no_fork = getenv("CK_FORK");
    struct zcrp_connection *strangers[2] = {NULL}, *connection = NULL;
    struct meeting other;
    struct line line = {0};
    int status = -1;

    if (no_fork != NULL && strcmp(no_fork, "no") == 0)
        return; /* the far end would be a fork of a process with threads */
    start_far(_i == 0 ? "1" : "0");
    ck_assert_int_eq(crew_init(&crew, "zcrp-cp crew", CREW_THREADS), 0);
    meeting_make(&other, 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_ne(
            connect_far(&strangers[i], i == 0 ? NULL : meeting_keys(&other, &program_of_copies)),
            0);
    ck_assert_int_eq(connect_far(&connection, meeting_keys(&meeting, &program_of_copies)), 0);
    line_init(&line, connection);
    ck_assert_int_eq(copy(&line), LINE_FINE);
    line_fini(&line);
    crew_fini(&crew);
    ck_assert_int_eq(waitpid(far, &status, 0), far);
    ck_assert_int_eq(status, 0);
    for (int i = 0; i < 2; i++)
        (void)zcrp_connection_close(strangers[i]);
}
