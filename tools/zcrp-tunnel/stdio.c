/* --stdio: one stream, from standard input and to standard output, through a standing far end. For
 * ssh: ProxyCommand zcrp-tunnel --keys FILE --stdio HOST %h:%p */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/complain.h"
#include "tunnel.h"

/* A terminal is not only this program's: it gets its flags back. */
static struct {
    int terminal; /* -1: it is none */
    int flags;
} before[2];

static void do_not_block(int fd)
{
    before[fd].flags = fcntl(fd, F_GETFL);
    before[fd].terminal = isatty(fd) ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    (void)fcntl(fd, F_SETFL, before[fd].flags | O_NONBLOCK);
}

static void block_again(int fd)
{
    if (before[fd].terminal >= 0)
        (void)fcntl(before[fd].terminal, F_SETFL, before[fd].flags);
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
    if (was != STREAM_IDLE && code != 0)
        (void)complain("%s: %s", stream->name, zcrp_strerror(code));
    loop_stop(stream->is_up ? STATUS_REFUSED : STATUS_BROKEN);
}

static const struct stream_owner owner = {on_control, on_idle, on_dead, NULL, NULL};
static const struct loop_calls calls = {stream_on_completion, stream_tick, stream_tell_counts,
                                        stream_drop_all};

int stdio_run(const struct options *options, const char *word)
{
    struct address target;
    const char *why;

    if (spec_address(&target, word, 0) != 0 || target.host[0] == '\0') {
        (void)complain("the target: '%s' is not HOST:PORT", word);
        return STATUS_USAGE;
    }
    struct zcrp_keys *keys = meeting_server_keys(options->keys);
    if (keys == NULL || loop_open(&calls) != 0)
        return STATUS_BROKEN;
    struct zcrp_options zcrp = stream_setup(&options->streams, keys);
    zcrp.connect_ns = 0; /* that nobody is there is known soon */
    const struct control open = control_make(CONTROL_OPEN, 0, target.port, target.host);
    struct stream *stream = stream_connect(&options->stdio, &zcrp, &owner, &why);
    if (stream == NULL) {
        (void)complain("cannot connect to %s: %s", options->stdio.host, why);
        return STATUS_BROKEN;
    }
    (void)snprintf(stream->name, sizeof(stream->name), "%s", word);
    do_not_block(STDIN_FILENO);
    do_not_block(STDOUT_FILENO);
    stream_open(stream, &open, STDIN_FILENO, STDOUT_FILENO);
    int status = loop_run();
    block_again(STDOUT_FILENO);
    block_again(STDIN_FILENO); /* last: if both are one terminal, these are its flags */
    zcrp_keys_free(keys);
    return status;
}
