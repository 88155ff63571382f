/* What both ends on one host have beside UDP and TCP: AF_UNIX sockets, and pipes that are handed
 * over through one. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/transports/stream.h"

/* A stream between AF_UNIX sockets, as programs of one host use it. It asks for the best buffer of
 * those that a process without rights may have, which are 64 KiB to 4 MiB as the kernel counts
 * them. With 256 KiB messages of 16 KiB to 1 MiB are a tenth faster than with the system's 208 KiB;
 * above 400 KiB they are slower, because what is under way leaves the cache. */
enum { NO_PORT = 1, UNIX_BYTES = 128 << 10 /* the kernel doubles it */ };

struct name {
    struct sockaddr_un address;
    socklen_t length;
};

static int failed(const struct transport *transport, const char *doing)
{
    return complain("%s: cannot %s: %s", transport->kind->name, doing, strerror(errno));
}

/* A socket, and the name of the listening one: outside the file system, so that nothing is left
 * behind. A control connection opens one channel at a time: the ports of its two ends make the
 * name, the listening end's first. */
static int create(struct transport *transport, bool is_listening, struct name *name)
{
    struct address ends[2]; /* here and there */
    char *path = &name->address.sun_path[1];
    int first = is_listening ? 0 : 1;

    if (address_local(transport->control->fd, &ends[0]) < 0 ||
        address_peer(transport->control->fd, 0, &ends[1]) < 0)
        return -1;
    *name = (struct name){.address.sun_family = AF_UNIX};
    int length = snprintf(path, sizeof name->address.sun_path - 1, "zcrp-bench/%s/%s",
                          ends[first].port, ends[1 - first].port);
    name->length = (socklen_t)(path - (char *)&name->address + length);
    transport->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return transport->fd >= 0 ? 0 : failed(transport, "make a socket");
}

/* What this end sends waits in a buffer of this end. */
static void tune(struct transport *transport)
{
    int buffer = (int)transport->settings->buffer_bytes;

    if (buffer == 0)
        buffer = UNIX_BYTES;
    setsockopt(transport->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    connection_limit(transport->fd, STREAM_PAUSE_MS * INT64_C(1000000));
}

static int unix_offer(struct transport *transport)
{
    struct name name;

    if (create(transport, true, &name) < 0)
        return -1;
    if (bind(transport->fd, (const struct sockaddr *)&name.address, name.length) < 0 ||
        listen(transport->fd, 1) < 0)
        return failed(transport, "listen");
    return NO_PORT;
}

static int unix_accept(struct transport *transport)
{
    int listener = transport->fd;

    transport->fd = connection_accept(listener, (int64_t)transport->settings->limit_ns);
    close(listener);
    if (transport->fd < 0)
        return -1;
    tune(transport);
    return 0;
}

/* The channel of a kind with a buffer of its own: "unix/256K". */
static void unix_name(struct transport *transport, uint64_t buffer_bytes)
{
    char buffer[QUANTITY_ROOM];

    quantity_bytes(buffer, buffer_bytes);
    snprintf(transport->channel, sizeof transport->channel, "%.8s/%.24s", transport->kind->name,
             buffer);
}

static int unix_connect(struct transport *transport)
{
    struct name name;
    int buffer = 0;
    socklen_t size = sizeof buffer;

    if (create(transport, false, &name) < 0)
        return -1;
    if (connect(transport->fd, (const struct sockaddr *)&name.address, name.length) < 0)
        return failed(transport, "connect");
    tune(transport);
    getsockopt(transport->fd, SOL_SOCKET, SO_SNDBUF, &buffer, &size);
    unix_name(transport, (uint64_t)buffer);
    return NO_PORT;
}

const struct transport_kind transport_unix = {
    .name = "unix",
    .is_local = true,
    .offer = unix_offer,
    .accept = unix_accept,
    .connect = unix_connect,
    STREAM_CALLS(&stream_of_socket),
};

/* Two pipes, one for each direction, written and read with blocking calls. The connecting end makes
 * them, and hands the other end its two through an AF_UNIX socket. vmsplice would save a copy, but
 * does not tell when the memory of a message may be used again. */

/* Older C libraries have no name for the thread that a timer is to interrupt. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { PIPE_BYTES = 512 << 10, LEAST_BYTES = 64 << 10, NS_A_MILLISECOND = 1000000 };

struct pipe_end {
    int out; /* written; transport->fd is the one that is read */
};

static int pipe_failed(const char *doing)
{
    return complain("pipe: cannot %s: %s", doing, strerror(errno));
}

/* A call on a pipe has no time limit, and poll before it costs half a round trip. So each thread
 * has a timer while it moves a job's messages: a signal that ends a call, and nothing else. */
static _Thread_local struct {
    timer_t timer;
    bool is_on;
} beat;

static void on_beat(int signal)
{
    (void)signal;
}

static int begin_beat(struct transport *transport)
{
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD_ID,
        .sigev_signo = SIGALRM,
        .sigev_notify_thread_id = (pid_t)syscall(SYS_gettid),
    };
    const struct timespec pause = {.tv_nsec = STREAM_PAUSE_MS * NS_A_MILLISECOND};
    const struct itimerspec every = {.it_interval = pause, .it_value = pause};

    (void)transport;
    if (timer_create(CLOCK_MONOTONIC, &event, &beat.timer) < 0)
        return pipe_failed("make a timer");
    beat.is_on = true;
    return timer_settime(beat.timer, 0, &every, NULL) < 0 ? pipe_failed("start a timer") : 0;
}

static void end_beat(struct transport *transport)
{
    (void)transport;
    if (beat.is_on)
        timer_delete(beat.timer);
    beat.is_on = false;
}

/* Both ends: `in` and `out` are this end's, from now on the transport's. A reader that is gone is
 * an error of the call. */
static int start(struct transport *transport, int in, int out)
{
    const struct sigaction action = {.sa_handler = on_beat};
    struct pipe_end *end = calloc(1, sizeof *end);

    close(transport->fd);
    transport->fd = in;
    transport->state = end;
    if (end == NULL) {
        close(out);
        return complain("pipe: no memory");
    }
    end->out = out;
    signal(SIGPIPE, SIG_IGN);
    return sigaction(SIGALRM, &action, NULL) < 0 ? pipe_failed("take a signal") : 0;
}

/* What --buffers says, or the fastest: a process without rights may have 1 MiB, but that is a sixth
 * slower, because what is under way leaves the cache. Less if it has so many pipes already that it
 * may not. */
static int widen(int fd, const struct settings *settings)
{
    int bytes = settings->buffer_bytes != 0 ? (int)settings->buffer_bytes : PIPE_BYTES;

    while (fcntl(fd, F_SETPIPE_SZ, bytes) < 0 && bytes > LEAST_BYTES)
        bytes /= 2;
    return fcntl(fd, F_GETPIPE_SZ);
}

/* There is always one byte with descriptors: the message of a stream must not be empty. */
union rights {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(2 * sizeof(int))];
};

static struct msghdr message_of(struct iovec *byte, union rights *rights)
{
    return (struct msghdr){
        .msg_iov = byte,
        .msg_iovlen = 1,
        .msg_control = rights->bytes,
        .msg_controllen = sizeof rights->bytes,
    };
}

static int hand_over(int fd, const int pipes[2])
{
    union rights rights = {0};
    struct iovec byte = {"", 1};
    struct msghdr message = message_of(&byte, &rights);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(header), pipes, 2 * sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL) == 1 ? 0 : pipe_failed("hand over its other end");
}

static int take_over(int fd, int pipes[2])
{
    union rights rights = {0};
    char room;
    struct iovec byte = {&room, 1};
    struct msghdr message = message_of(&byte, &rights);
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    if (got < 0)
        return pipe_failed("get its other end");
    if (header == NULL || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(2 * sizeof(int)))
        return complain("pipe: the other end hands over no pipes");
    memcpy(pipes, CMSG_DATA(header), 2 * sizeof(int));
    return 0;
}

static int accept_both(struct transport *transport)
{
    int pipes[2] = {-1, -1};

    if (unix_accept(transport) < 0 || take_over(transport->fd, pipes) < 0)
        return -1;
    return start(transport, pipes[0], pipes[1]);
}

/* Keeps one end of each pipe, hands over the others. */
static int share(struct transport *transport, const int there[2], const int back[2])
{
    const int others[2] = {there[0], back[1]};
    int bytes = widen(there[1], transport->settings);
    int status = hand_over(transport->fd, others);

    widen(back[1], transport->settings);
    unix_name(transport, (uint64_t)bytes);
    close(there[0]);
    close(back[1]);
    return start(transport, back[0], there[1]) < 0 ? -1 : status;
}

static int connect_both(struct transport *transport)
{
    int there[2];
    int back[2];
    int own = unix_connect(transport);

    if (own < 0)
        return -1;
    if (pipe2(there, O_CLOEXEC) < 0)
        return pipe_failed("make pipes");
    if (pipe2(back, O_CLOEXEC) < 0) {
        pipe_failed("make pipes");
        close(there[0]);
        close(there[1]);
        return -1;
    }
    return share(transport, there, back) < 0 ? -1 : own;
}

static ssize_t write_some(struct transport *transport, const void *bytes, size_t size)
{
    const struct pipe_end *end = transport->state;

    return stream_sent(transport, write(end->out, bytes, size));
}

static const struct stream stream = {write_some, stream_read, STREAM_PIECES};

static void close_end(struct transport *transport)
{
    struct pipe_end *end = transport->state;

    if (end == NULL)
        return;
    close(end->out);
    free(end);
}

const struct transport_kind transport_pipe = {
    .name = "pipe",
    .is_local = true,
    .offer = unix_offer,
    .accept = accept_both,
    .connect = connect_both,
    .begin = begin_beat,
    .end = end_beat,
    STREAM_CALLS(&stream),
    .close = close_end,
};
