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

static const int64_t dial_ns = 20000000000;
static const int64_t address_ns = 5000000000; /* of one that has others behind it */

struct address socket_peer(int fd)
{
    struct sockaddr_in6 peer = {0}; /* its port is where IPv4's is, too */
    struct address address = {.host = ""};
    socklen_t size = sizeof(peer);

    (void)getpeername(fd, (struct sockaddr *)&peer, &size);
    (void)getnameinfo((struct sockaddr *)&peer, size, address.host, HOST_ROOM, NULL, 0,
                      NI_NUMERICHOST);
    address.port = ntohs(peer.sin6_port);
    return address;
}

int socket_resolve(struct addrinfo **found, int type, const char *host, uint16_t port, int flags)
{
    const struct addrinfo hints = {.ai_socktype = type, .ai_flags = flags | AI_NUMERICSERV};
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
    (void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)); /* else urgent data is lost */
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
    dial_end on_end; /* NULL: was called, or is not to be */
    void *context;
    int64_t since_ns, tried_ns; /* it began, and the address that is tried */
    /* RESOLVES: its job has a thread, or waits for one. */
    enum { DIAL_RESOLVES, DIAL_CONNECTS, DIAL_OVER } phase;
    int code; /* of getaddrinfo, or errno */
    int type; /* of its sockets */
    char host[HOST_ROOM];
    uint16_t port;
};

static struct dial *dials, **last_dial = &dials; /* in the order in which they began */

static void end(struct dial *dial, int fd, enum refusal reason, const char *text)
{
    dial_end on_end = dial->on_end;

    if (dial->phase != DIAL_RESOLVES || loop_withdraw(&dial->job)) /* else its thread goes on */
        dial->phase = DIAL_OVER;
    loop_close(&dial->watch);
    dial->on_end = NULL;
    if (on_end != NULL)
        on_end(dial->context, fd, reason, text);
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
        int fd = socket(to->ai_family, dial->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

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

static void use_found(struct dial *dial)
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

    dial->code = socket_resolve(&dial->found, dial->type, dial->host, dial->port, 0);
}

static void on_resolved(struct job *job)
{
    use_found(dial_of(&job->crew));
}

/* ---- all of them ---- */

void dial_start(struct dial **started, int type, const char *host, uint16_t port, const char *asker,
                dial_end on_end, void *context)
{
    struct dial *dial = *started = calloc(1, sizeof(*dial));

    if (dial == NULL) {
        on_end(context, -1, REFUSAL_FAILED, "no memory");
        return;
    }
    *dial = (struct dial){.watch = {-1, on_connected, dial},
                          .job = {.crew.work = resolve_in_thread, .finish = on_resolved},
                          .on_end = on_end,
                          .context = context,
                          .since_ns = clock_now_ns(),
                          .type = type,
                          .port = port};
    (void)snprintf(dial->host, sizeof(dial->host), "%s", host);
    *last_dial = dial;
    last_dial = &dial->next;
    if (socket_resolve(&dial->found, type, host, port, AI_NUMERICHOST) == 0)
        use_found(dial);
    else
        loop_job(&dial->job, JOB_RESOLVE, asker);
}

void dial_cancel(struct dial *dial)
{
    dial->on_end = NULL;
    end(dial, -1, 0, "");
}

static void give_up_late(struct dial *dial, int64_t now_ns)
{
    bool is_late = now_ns - dial->since_ns >= dial_ns;
    bool is_silent = now_ns - dial->tried_ns >= address_ns;

    if (is_late && dial->phase != DIAL_CONNECTS) {
        end(dial, -1, REFUSAL_HOST, "its name takes too long to resolve");
    } else if (is_late) {
        dial->code = ETIMEDOUT;
        fail(dial);
    } else if (is_silent && dial->phase == DIAL_CONNECTS && dial->tried != NULL) {
        loop_close(&dial->watch);
        try_next(dial);
    }
}

void dial_tick(int64_t now_ns)
{
    struct dial *dial;

    for (struct dial **place = &dials; (dial = *place) != NULL; last_dial = place) {
        if (dial->phase != DIAL_OVER) {
            give_up_late(dial, now_ns);
            place = &dial->next;
            continue;
        }
        *place = dial->next;
        if (dial->found != NULL)
            freeaddrinfo(dial->found);
        free(dial);
    }
}
