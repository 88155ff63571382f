/* --stdio: one stream, from standard input and to standard output, through a standing far end. For
 * ssh: ProxyCommand zcrp-tunnel --keys FILE --stdio HOST %h:%p */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/complain.h"
#include "sockets.h"
#include "tunnel.h"

enum { PATH_ROOM = 32 };

/* What is not only this program's, and cannot be opened anew, gets its flags back. */
static struct {
    int kept; /* another descriptor of it; -1: it needs nothing back */
    int flags;
} before[2] = {{.kept = -1}, {.kept = -1}};

static const char *target_word; /* of the command line */
static struct address target, far;
static struct zcrp_options zcrp;
static struct dial *finding;
static struct stream *running; /* NULL: it has ended, or not begun */

/* A pipe that is opened anew has flags of its own. False: it is none, or is another user's, or
 * nobody reads it. */
static bool open_anew(int fd, int flags)
{
    char path[PATH_ROOM];
    struct stat status;

    if (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode))
        return false;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int own = open(path, (flags & O_ACCMODE) | O_NONBLOCK | O_CLOEXEC);
    if (own < 0)
        return false;
    bool is_fine = dup2(own, fd) == fd;
    (void)close(own);
    return is_fine;
}

static void do_not_block(int fd)
{
    before[fd].flags = fcntl(fd, F_GETFL);
    if (open_anew(fd, before[fd].flags))
        return;
    before[fd].kept = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    (void)fcntl(fd, F_SETFL, before[fd].flags | O_NONBLOCK);
}

static void block_again(int fd)
{
    if (before[fd].kept < 0)
        return;
    (void)fcntl(before[fd].kept, F_SETFL, before[fd].flags);
    (void)close(before[fd].kept);
    before[fd].kept = -1;
}

/* Who reads a pipe knows its end only when nothing here has it any more. */
static void on_tick(int64_t now_ns)
{
    if (running != NULL && running->out.fd < 0)
        block_again(STDOUT_FILENO);
    stream_tick(now_ns);
}

static void on_control(struct stream *stream, const struct control *control)
{
    if (control->kind == CONTROL_REFUSED && stream->phase == STREAM_ASKED) {
        (void)complain("%s: refused: %s", stream->name, control->text);
        loop_stop(STATUS_REFUSED);
    } else if (control->kind != CONTROL_FINE || stream->phase != STREAM_RUNNING) {
        stream_accuse(stream);
    }
}

static void on_idle(struct stream *stream)
{
    (void)stream;
    loop_stop(STATUS_FINE);
}

static void on_dead(struct stream *stream, enum stream_phase was, int code)
{
    running = NULL;
    if (was != STREAM_IDLE && code != 0 && stream->is_up)
        (void)complain("%s: %s", stream->name, stream_explain(code, was != STREAM_ASKED));
    else if (was != STREAM_IDLE && code != 0)
        (void)complain("cannot connect to %s, UDP port %u: %s", far.host, (unsigned)far.port,
                       zcrp_strerror(code));
    loop_stop(stream->is_up ? STATUS_REFUSED : STATUS_BROKEN);
}

static const struct stream_owner owner = {on_control, on_idle, on_dead, NULL, NULL};
static const struct loop_calls calls = {stream_on_completion, on_tick, stream_tell_counts,
                                        stream_drop_all};

static void on_found(void *context, int fd, enum refusal reason, const char *why)
{
    const struct control open = control_make(CONTROL_OPEN, 0, target.port, target.host);
    struct stream *stream = NULL;

    (void)context;
    (void)reason;
    if (fd >= 0) {
        const struct address found = socket_peer(fd);

        (void)close(fd);
        stream = stream_connect(&found, &zcrp, &owner, &why);
    }
    if (stream == NULL) {
        (void)complain("cannot connect to %s: %s", far.host, why);
        loop_stop(STATUS_BROKEN);
        return;
    }
    (void)snprintf(stream->name, sizeof(stream->name), "%s", target_word);
    do_not_block(STDIN_FILENO);
    do_not_block(STDOUT_FILENO);
    running = stream;
    stream_open(stream, &open, STDIN_FILENO, STDOUT_FILENO);
}

int stdio_run(const struct options *options, const char *word)
{
    target_word = word;
    if (spec_peer(&target, word, 0) != 0 || !spec_is_name(target.host)) {
        (void)complain("the target: '%s' is not HOST:PORT", word);
        return STATUS_USAGE;
    }
    struct zcrp_keys *keys = meeting_server_keys(options->keys);
    if (keys == NULL || loop_open(&calls) != 0)
        return STATUS_BROKEN;
    zcrp = stream_setup(&options->streams, keys);
    zcrp.connect_ns = 0; /* that nobody is there is known soon */
    far = options->stdio;
    if (options->address != NULL)
        (void)snprintf(far.host, sizeof(far.host), "%s", options->address);
    dial_start(&finding, SOCK_DGRAM, far.host, far.port, "", on_found, NULL);
    int status = loop_run();
    block_again(STDOUT_FILENO);
    block_again(STDIN_FILENO); /* last: if both are one terminal, these are its flags */
    return status;
}
