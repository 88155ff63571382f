#include "sockets.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "loop.h"
#include "spec.h"

static const int64_t dial_ns = 20000000000;
static const int64_t address_ns = 5000000000; /* of one that has others behind it */

int socket_resolve(struct addrinfo **found, const char *host, uint16_t port, int flags)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    char text[PORT_ROOM];

    (void)snprintf(text, sizeof(text), "%u", (unsigned)port);
    return getaddrinfo(host, text, &hints, found);
}

/* A close resets it. */
static void set_linger(int fd, bool resets)
{
    const struct linger linger = {.l_onoff = resets};

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

void socket_prepare(int fd)
{
    const int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    set_linger(fd, true);
}

void socket_complete(int fd)
{
    set_linger(fd, false);
}

void socket_reset(int fd)
{
    set_linger(fd, true);
    (void)close(fd);
}

struct dial {
    struct watch watch;
    struct job job;
    struct dial *next; /* of all */
    struct addrinfo *found, *tried;
    dial_end on_end;       /* NULL: was called, or is not to be */
    atomic_bool is_wanted; /* or the thread need not resolve it any more */
    void *context;
    int64_t since_ns, tried_ns; /* it began, and the address that is tried */
    enum { DIAL_RESOLVES, DIAL_CONNECTS, DIAL_OVER } phase;
    int code; /* of getaddrinfo, or errno */
    char host[HOST_ROOM];
    uint16_t port;
};

static struct dial *dials;

static void tell(struct dial *dial, int fd, enum refusal reason, const char *text)
{
    dial_end on_end = dial->on_end;

    dial->on_end = NULL;
    atomic_store(&dial->is_wanted, false);
    if (on_end != NULL)
        on_end(dial->context, fd, reason, text);
}

static void end(struct dial *dial, int fd, enum refusal reason, const char *text)
{
    dial->phase = DIAL_OVER;
    loop_close(&dial->watch);
    tell(dial, fd, reason, text);
}

static void fail(struct dial *dial)
{
    int code = dial->code;
    enum refusal reason = code == ECONNREFUSED                        ? REFUSAL_CONNECTION
                          : code == ENETUNREACH                       ? REFUSAL_NETWORK
                          : code == EHOSTUNREACH || code == ETIMEDOUT ? REFUSAL_HOST
                                                                      : REFUSAL_FAILED;

    end(dial, -1, reason, strerror(code));
}

/* Connects to the next address that there is a way to; if there is none, it is over. */
static void try_next(struct dial *dial)
{
    while (dial->tried != NULL) {
        const struct addrinfo *to = dial->tried;
        int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        dial->tried = to->ai_next;
        dial->tried_ns = clock_now_ns();
        dial->watch.fd = fd;
        if (fd >= 0 && (connect(fd, to->ai_addr, to->ai_addrlen) == 0 || errno == EINPROGRESS) &&
            loop_watch(&dial->watch, EPOLLOUT))
            return;
        dial->code = errno;
        loop_close(&dial->watch);
    }
    fail(dial);
}

static void on_connected(struct watch *watch, uint32_t events)
{
    struct dial *dial = watch->context;
    socklen_t size = sizeof(dial->code);

    (void)events;
    if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &dial->code, &size) != 0)
        dial->code = errno;
    if (dial->code == 0) {
        end(dial, loop_release(watch), 0, "");
    } else {
        loop_close(watch);
        try_next(dial);
    }
}

static void on_resolved(struct job *job)
{
    struct dial *dial = (struct dial *)((char *)job - offsetof(struct dial, job));

    dial->phase = DIAL_CONNECTS;
    dial->tried = dial->found;
    if (dial->on_end == NULL || dial->code != 0)
        end(dial, -1, REFUSAL_HOST, gai_strerror(dial->code));
    else
        try_next(dial);
}

static void resolve_in_thread(struct crew_job *job)
{
    struct dial *dial = (struct dial *)((char *)job - offsetof(struct dial, job.crew));

    if (atomic_load(&dial->is_wanted))
        dial->code = socket_resolve(&dial->found, dial->host, dial->port, 0);
}

struct dial *dial_start(const char *host, uint16_t port, dial_end on_end, void *context)
{
    struct dial *dial = calloc(1, sizeof(*dial));

    if (dial == NULL)
        return NULL;
    *dial = (struct dial){.watch = {-1, on_connected, dial},
                          .job = {.crew.work = resolve_in_thread, .finish = on_resolved},
                          .next = dials,
                          .on_end = on_end,
                          .is_wanted = true,
                          .context = context,
                          .since_ns = clock_now_ns(),
                          .port = port};
    (void)snprintf(dial->host, sizeof(dial->host), "%s", host);
    dials = dial;
    dial->code = socket_resolve(&dial->found, host, port, AI_NUMERICHOST);
    if (dial->code == 0)
        loop_job_done(&dial->job); /* `on_end` may not be called before this returns */
    else
        loop_job(&dial->job, JOB_RESOLVE);
    return dial;
}

void dial_cancel(struct dial *dial)
{
    dial->on_end = NULL;
    atomic_store(&dial->is_wanted, false);
    if (dial->phase == DIAL_CONNECTS)
        end(dial, -1, 0, "");
}

void dial_tick(int64_t now_ns)
{
    struct dial *dial;

    for (struct dial **place = &dials; (dial = *place) != NULL;) {
        if (dial->phase == DIAL_OVER) {
            *place = dial->next;
            if (dial->found != NULL)
                freeaddrinfo(dial->found);
            free(dial);
            continue;
        }
        bool is_late = now_ns - dial->since_ns >= dial_ns;
        bool is_silent = dial->phase == DIAL_CONNECTS && now_ns - dial->tried_ns >= address_ns;
        if (is_late && dial->phase == DIAL_CONNECTS) {
            dial->code = ETIMEDOUT;
            fail(dial);
        } else if (is_late) { /* its thread goes on, or has not begun */
            tell(dial, -1, REFUSAL_HOST, "its name takes too long to resolve");
        } else if (is_silent && dial->tried != NULL) {
            loop_close(&dial->watch);
            try_next(dial);
        }
        place = &dial->next;
    }
}
