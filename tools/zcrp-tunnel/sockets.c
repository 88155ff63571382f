#include "sockets.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "loop.h"
#include "spec.h"

enum { SHARES = 64 };

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
    struct dial *next;    /* of all */
    struct dial *waiting; /* the next of its share that waits for a thread */
    struct share *share;  /* of its asker */
    struct addrinfo *found, *tried;
    dial_end on_end; /* NULL: was called, or is not to be */
    void *context;
    int64_t since_ns, tried_ns; /* it began, and the address that is tried */
    enum { DIAL_WAITS, DIAL_RESOLVES, DIAL_CONNECTS, DIAL_OVER } phase;
    int code; /* of getaddrinfo, or errno */
    char host[HOST_ROOM];
    uint16_t port;
};

static struct dial *dials;

/* The askers whose names have the same hash, and how many threads resolve names for them. */
static struct share {
    struct dial *first, *last; /* what waits for a thread */
    int resolving;
} shares[SHARES];

static int resolving; /* of all shares */

static void tell(struct dial *dial, int fd, enum refusal reason, const char *text)
{
    dial_end on_end = dial->on_end;

    dial->on_end = NULL;
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

static void on_resolved(struct dial *dial)
{
    dial->phase = DIAL_CONNECTS;
    dial->tried = dial->found;
    if (dial->on_end == NULL || dial->code != 0)
        end(dial, -1, REFUSAL_HOST, gai_strerror(dial->code));
    else
        try_next(dial);
}

/* ---- names ---- */

static struct dial *dial_of(struct crew_job *job)
{
    return (struct dial *)((char *)job - offsetof(struct dial, job.crew));
}

static void resolve_in_thread(struct crew_job *job)
{
    struct dial *dial = dial_of(job);

    dial->code = socket_resolve(&dial->found, dial->host, dial->port, 0);
}

static struct dial *take_waiting(struct share *share)
{
    struct dial *dial = share->first;

    share->first = dial->waiting;
    return dial;
}

/* No share has more threads than are free: one whose names are slow leaves half of the threads to
 * the others, two leave a third. */
static void resolve_waiting(void)
{
    for (struct share *share = shares; share < shares + SHARES; share++) {
        while (share->first != NULL && share->resolving < CREW_THREADS_MOST - resolving) {
            struct dial *dial = take_waiting(share);

            if (dial->phase == DIAL_OVER) { /* nobody wants it any more */
                dial->share = NULL;
                continue;
            }
            dial->phase = DIAL_RESOLVES;
            share->resolving++;
            resolving++;
            loop_job(&dial->job, JOB_RESOLVE);
        }
    }
}

static void on_name(struct job *job)
{
    struct dial *dial = dial_of(&job->crew);

    dial->share->resolving--;
    dial->share = NULL;
    resolving--;
    on_resolved(dial);
    resolve_waiting();
}

static void on_address(struct job *job)
{
    on_resolved(dial_of(&job->crew));
}

static void wait_for_thread(struct dial *dial, const char *asker)
{
    uint32_t hash = 0;

    while (*asker != '\0')
        hash = 31 * hash + (uint8_t)*asker++;
    struct share *share = dial->share = &shares[hash % SHARES];
    if (share->first != NULL)
        share->last->waiting = dial;
    else
        share->first = dial;
    share->last = dial;
    resolve_waiting();
}

struct dial *dial_start(const char *host, uint16_t port, const char *asker, dial_end on_end,
                        void *context)
{
    struct dial *dial = calloc(1, sizeof(*dial));

    if (dial == NULL)
        return NULL;
    *dial = (struct dial){.watch = {-1, on_connected, dial},
                          .job = {.crew.work = resolve_in_thread, .finish = on_name},
                          .next = dials,
                          .on_end = on_end,
                          .context = context,
                          .since_ns = clock_now_ns(),
                          .port = port};
    (void)snprintf(dial->host, sizeof(dial->host), "%s", host);
    dials = dial;
    dial->code = socket_resolve(&dial->found, host, port, AI_NUMERICHOST);
    if (dial->code != 0) {
        wait_for_thread(dial, asker);
    } else { /* `on_end` may not be called before this returns */
        dial->job.finish = on_address;
        dial->phase = DIAL_RESOLVES;
        loop_job_done(&dial->job);
    }
    return dial;
}

void dial_cancel(struct dial *dial)
{
    dial->on_end = NULL;
    if (dial->phase != DIAL_RESOLVES) /* its thread goes on */
        end(dial, -1, 0, "");
}

void dial_tick(int64_t now_ns)
{
    struct dial *dial;

    for (struct dial **place = &dials; (dial = *place) != NULL;) {
        if (dial->phase == DIAL_OVER && dial->share == NULL) {
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
        } else if (is_late) { /* its thread goes on, if it has one */
            if (dial->phase == DIAL_WAITS)
                dial->phase = DIAL_OVER;
            tell(dial, -1, REFUSAL_HOST, "its name takes too long to resolve");
        } else if (is_silent && dial->tried != NULL) {
            loop_close(&dial->watch);
            try_next(dial);
        }
        place = &dial->next;
    }
}
