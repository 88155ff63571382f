#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-cp/user/options.h"

enum {
    WORDS_MOST = 64,   /* of --rsh */
    STRANGE_MOST = 64, /* lines of the remote shell before the answer */
    WAITS = 300,       /* of 10 ms: so long may the far end take to end */
    NOT_FOUND = 127,   /* a shell's status for a command that it does not find */
    NOT_TOLD = 126,    /* of a child that cannot even say why it does not run the command */
    FAREWELL_S = 2,    /* of a far end whose near end is gone */
};

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

/* ---- meeting ---- */

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
                uint16_t *memory_port)
{
    char line[MEETING_ROOM];

    meeting_write(meeting, line);
    /* If it cannot be written, what can be read says why. */
    (void)write_line(remote->in, line);
    explicit_bzero(line, sizeof(line));
    errno = 0;
    for (int i = 0; i < STRANGE_MOST && read_line(remote->out, line); i++) {
        if (meeting_read_ports(line, port, memory_port))
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
