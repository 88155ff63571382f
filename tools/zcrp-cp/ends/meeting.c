#include "meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/complain.h"
#include "ends.h"

enum {
    FACT_ROOM = 128,
    PORT_ROOM = 8,
    WORDS_MOST = 64,   /* of --rsh */
    STRANGE_MOST = 64, /* lines of the remote shell before the answer */
    WAITS = 300,       /* of 10 ms: so long may the far end take to end */
    NOT_FOUND = 127,   /* a shell's status for a command that it does not find */
    NOT_TOLD = 126,    /* of a child that cannot even say why it does not run the command */
    FAREWELL_S = 2,    /* of a far end whose near end is gone */
};

static const char prefix[] = "zcrp-cp ";

void meeting_make(struct meeting *meeting, uint16_t port)
{
    randombytes_buf(meeting->key, MEETING_KEY_BYTES);
    randombytes_buf(meeting->near_proof, PROOF_BYTES);
    randombytes_buf(meeting->far_proof, PROOF_BYTES);
    meeting->host = meeting_host();
    meeting->port = port;
}

void meeting_forget(struct meeting *meeting)
{
    explicit_bzero(meeting, sizeof(*meeting));
}

/* ---- lines ---- */

static char *put_digits(char *to, const uint8_t *bytes, size_t count)
{
    return sodium_bin2hex(to, 2 * count + 1, bytes, count) + 2 * count;
}

static bool take_digits(const char **from, uint8_t *bytes, size_t count)
{
    size_t length = 0;

    (void)sodium_hex2bin(bytes, count, *from, strnlen(*from, 2 * count), NULL, &length, from);
    return length == count;
}

void meeting_write(const struct meeting *meeting, char line[MEETING_ROOM])
{
    int length = snprintf(line, MEETING_ROOM, "%s%d ", prefix, RECORD_VERSION);
    char *to = put_digits(line + length, meeting->key, MEETING_KEY_BYTES);

    *to++ = ' ';
    to = put_digits(to, meeting->near_proof, PROOF_BYTES);
    to = put_digits(to, meeting->far_proof, PROOF_BYTES);
    (void)snprintf(to, (size_t)(line + MEETING_ROOM - to), " %016" PRIx64 " %u\n", meeting->host,
                   (unsigned)meeting->port);
}

bool meeting_read(struct meeting *meeting, const char *line)
{
    int version = 0, length = 0;
    unsigned port = 0;

    if (sscanf(line, "zcrp-cp %d %n", &version, &length) != 1 || version != RECORD_VERSION)
        return false;
    line += length;
    if (!take_digits(&line, meeting->key, MEETING_KEY_BYTES) || *line++ != ' ' ||
        !take_digits(&line, meeting->near_proof, PROOF_BYTES) ||
        !take_digits(&line, meeting->far_proof, PROOF_BYTES) ||
        sscanf(line, " %" SCNx64 " %u", &meeting->host, &port) != 2 || port > UINT16_MAX)
        return false;
    meeting->port = (uint16_t)port;
    return true;
}

void meeting_write_port(uint16_t port, bool is_one_host, char line[MEETING_ROOM])
{
    (void)snprintf(line, MEETING_ROOM, "%s%d %u %u\n", prefix, RECORD_VERSION, (unsigned)port,
                   is_one_host ? (unsigned)port : 0);
}

bool meeting_read_port(const char *line, uint16_t *port, bool *is_one_host)
{
    int version = 0;
    unsigned first = 0, second = 0;

    if (sscanf(line, "zcrp-cp %d %u %u", &version, &first, &second) != 3 ||
        version != RECORD_VERSION || first == 0 || first > UINT16_MAX || second > UINT16_MAX)
        return false;
    *port = (uint16_t)first;
    *is_one_host = second != 0;
    return true;
}

bool meeting_is_line(const char *line)
{
    return strncmp(line, prefix, sizeof(prefix) - 1) == 0;
}

/* ---- one host ---- */

uint64_t meeting_host(void)
{
    char facts[2 * FACT_ROOM] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!read(fd, facts, FACT_ROOM);
        (void)close(fd);
    }
    (void)!readlink("/proc/self/ns/net", facts + FACT_ROOM, FACT_ROOM);
    return XXH3_64bits(facts, sizeof(facts));
}

/* ---- secrets ---- */

struct zcrp_keys *meeting_keys(const struct meeting *meeting)
{
    struct zcrp_keys *keys = NULL;
    int code = zcrp_keys_psk(&keys, "zcrp-cp", meeting->key, MEETING_KEY_BYTES);

    if (code != 0)
        (void)complain("cannot make a key: %s", zcrp_explain(code));
    return keys;
}

struct zcrp_keys *meeting_server_keys(const char *path)
{
    struct zcrp_keys *keys = NULL;
    int code = zcrp_keys_read(&keys, path);

    if (code != 0)
        (void)complain("%s", zcrp_explain(code));
    return keys;
}

int meeting_listen(struct zcrp_listener **listener, const char *address, uint64_t port,
                   unsigned connections, struct zcrp_keys *keys)
{
    const struct zcrp_options options = {.connections = connections, .keys = keys};
    char text[PORT_ROOM];

    if (keys == NULL)
        return -1;
    (void)snprintf(text, sizeof(text), "%u", (unsigned)port);
    int code = zcrp_listen(listener, address, text, &options);
    if (code != 0)
        (void)complain("cannot listen on UDP port %s%s%s: %s", text, address != NULL ? " of " : "",
                       address != NULL ? address : "", zcrp_explain(code));
    zcrp_keys_free(keys);
    return code == 0 ? 0 : -1;
}

/* ---- starting ---- */

/* The words of the command, in `text`, which it cuts. */
static int cut(char *text, char *words[WORDS_MOST])
{
    int count = 0;

    for (char *word = strtok(text, " \t"); word != NULL; word = strtok(NULL, " \t")) {
        if (count == WORDS_MOST - 4)
            return complain("--rsh has too many words");
        words[count++] = word;
    }
    return count > 0 ? count : complain("--rsh has no command");
}

/* The child's. If the command cannot be run, `failed` gets errno. */
_Noreturn static void become(char **words, int in, int out, int failed)
{
    (void)dup2(in, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)execvp(words[0], words);
    int code = errno;
    _exit(write(failed, &code, sizeof(code)) == (ssize_t)sizeof(code) ? NOT_FOUND : NOT_TOLD);
}

/* Waits until the child runs the command, or cannot: `failed` is its pipe. */
static int check_command(const char *command, int failed)
{
    int code = 0;
    ssize_t count;

    do
        count = read(failed, &code, sizeof(code));
    while (count < 0 && errno == EINTR);
    if (count <= 0)
        return 0;
    if (code == ENOENT && strcmp(command, "ssh") == 0)
        return complain("needs ssh: apt install openssh-client");
    return complain("cannot run %s: %s", command, strerror(code));
}

static void close_both(const int ends[2])
{
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* in, out, failed: all or none. */
static int make_pipes(int pipes[3][2])
{
    for (int i = 0; i < 3; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) == 0)
            continue;
        int code = errno;
        while (i-- > 0)
            close_both(pipes[i]);
        return complain("cannot make a pipe: %s", strerror(code));
    }
    return 0;
}

static int start(struct remote *remote, char **words)
{
    int pipes[3][2];

    if (make_pipes(pipes) != 0)
        return -1;
    remote->pid = fork();
    if (remote->pid == 0)
        become(words, pipes[0][0], pipes[1][1], pipes[2][1]);
    int code = remote->pid < 0 ? complain("cannot fork: %s", strerror(errno)) : 0;
    (void)close(pipes[0][0]), (void)close(pipes[1][1]), (void)close(pipes[2][1]);
    remote->in = pipes[0][1];
    remote->out = pipes[1][0];
    if (remote->pid < 0)
        remote->pid = 0;
    else
        code = check_command(words[0], pipes[2][0]);
    (void)close(pipes[2][0]);
    return code;
}

int remote_start(struct remote *remote, const char *shell, const char *login, const char *program)
{
    char *words[WORDS_MOST], *text = strdup(shell);
    int count = text != NULL ? cut(text, words) : complain("no memory");
    char *host = strdup(login), *far = strdup(program), option[] = "--far";

    *remote = (struct remote){.in = -1, .out = -1, .login = login};
    if (count > 0) {
        words[count] = host;
        words[count + 1] = far;
        words[count + 2] = option;
        words[count + 3] = NULL;
        count = start(remote, words) == 0 ? count : -1;
    }
    free(far), free(host), free(text);
    return count > 0 ? 0 : -1;
}

/* ---- answering ---- */

static int write_line(int fd, const char *line)
{
    size_t length = strlen(line);

    return write(fd, line, length) == (ssize_t)length ? 0 : -1;
}

/* A line without its newline, cut to the room. Byte by byte: it comes once. False at the end, or
 * after a signal. */
static bool read_line(int fd, char line[MEETING_ROOM])
{
    size_t length = 0;
    char c;

    for (;;) {
        ssize_t count = read(fd, &c, 1);

        if (count <= 0)
            return false;
        if (c == '\n')
            break;
        if (length < MEETING_ROOM - 1)
            line[length++] = c;
    }
    line[length] = '\0';
    return true;
}

static int complain_of_end(struct remote *remote)
{
    int status = 0;

    (void)close(remote->in); /* a far end that waits for it ends, too */
    remote->in = -1;
    if (waitpid(remote->pid, &status, 0) == remote->pid)
        remote->pid = 0;
    if (WIFSIGNALED(status))
        return complain("%s: the remote shell was ended by signal %d", remote->login,
                        WTERMSIG(status));
    return complain(
        "%s: the remote shell ended without an answer, with status %d%s", remote->login,
        WEXITSTATUS(status),
        WEXITSTATUS(status) == NOT_FOUND ? ": is zcrp-cp there? --far-program says where" : "");
}

int remote_meet(struct remote *remote, const struct meeting *meeting, uint16_t *port,
                bool *is_one_host)
{
    char line[MEETING_ROOM];

    meeting_write(meeting, line);
    /* If it cannot be written, what can be read says why. */
    (void)write_line(remote->in, line);
    explicit_bzero(line, sizeof(line));
    errno = 0;
    for (int i = 0; i < STRANGE_MOST && read_line(remote->out, line); i++) {
        if (meeting_read_port(line, port, is_one_host))
            return 0;
        if (meeting_is_line(line))
            return complain("%s: the far end is another version of zcrp-cp", remote->login);
    }
    return errno == EINTR ? -1 : complain_of_end(remote);
}

/* ---- watching ---- */

struct watch {
    int fd;
    struct line *line;
    enum line_stop why;
    bool ends_process; /* if that takes longer than FAREWELL_S by itself */
};

static void *watch(void *context)
{
    struct watch *seen = context;
    char nothing[MEETING_ROOM];
    ssize_t count;

    (void)pthread_setname_np(pthread_self(), "zcrp-cp watch");
    do
        count = read(seen->fd, nothing, sizeof(nothing));
    while (count > 0 || (count < 0 && errno == EINTR));
    line_end_waits(seen->line, seen->why);
    if (seen->ends_process) {
        (void)sleep(FAREWELL_S);
        _exit(STATUS_BROKEN);
    }
    free(seen);
    return NULL;
}

static int start_watch(const struct watch *wanted)
{
    struct watch *seen = malloc(sizeof(*seen));
    pthread_t thread;

    if (seen == NULL)
        return complain("no memory");
    *seen = *wanted;
    int code = pthread_create(&thread, NULL, watch, seen);
    if (code != 0) {
        free(seen);
        return complain("cannot start a thread: %s", strerror(code));
    }
    (void)pthread_detach(thread);
    return 0;
}

int remote_watch(struct remote *remote, struct line *line)
{
    return start_watch(&(struct watch){remote->out, line, LINE_LEFT, false});
}

int remote_watch_near(struct line *line)
{
    return start_watch(&(struct watch){STDIN_FILENO, line, LINE_INTERRUPTED, true});
}

/* ---- the end ---- */

void remote_end(struct remote *remote)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    int status;

    if (remote->in >= 0)
        (void)close(remote->in);
    remote->in = -1;
    for (int i = 0; remote->pid > 0 && i < WAITS; i++) {
        if (waitpid(remote->pid, &status, WNOHANG) != 0)
            remote->pid = 0;
        else
            (void)nanosleep(&moment, NULL);
    }
    if (remote->pid > 0) {
        (void)kill(remote->pid, SIGTERM);
        (void)waitpid(remote->pid, &status, 0);
        remote->pid = 0;
    }
}
