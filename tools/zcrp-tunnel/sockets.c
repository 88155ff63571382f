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
#include "common/complain.h"

enum { BACKLOG = 4096, ACCEPTS_AT_ONCE = 64 };

static const int64_t dial_ns = 20000000000;

static int resolve(struct addrinfo **found, const char *host, uint16_t port, int flags)
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

/* ---- doors ---- */

static void on_clients(struct watch *watch, uint32_t events)
{
    struct door *door = (struct door *)((char *)watch - offsetof(struct door, watch));

    (void)events;
    for (int i = 0; i < ACCEPTS_AT_ONCE && door->is_started; i++) {
        int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            (void)complain("cannot accept a client: %s", strerror(errno));
            door_stop(door);
        }
        if (fd < 0)
            return;
        door->on_client(door, fd);
    }
}

int door_open(struct door *door, const struct address *bind_to, const char **why)
{
    bool is_default = bind_to->host[0] == '\0' || strcmp(bind_to->host, "localhost") == 0;
    const char *host = is_default ? "127.0.0.1" : bind_to->host;
    struct addrinfo *found = NULL;
    struct sockaddr_storage bound;
    socklen_t size = sizeof(bound);
    const int on = 1;
    int code =
        resolve(&found, host[0] == '*' ? NULL : host, bind_to->port, AI_PASSIVE | AI_NUMERICHOST);

    door->watch = (struct watch){-1, on_clients};
    *why = code != 0 ? gai_strerror(code) : NULL;
    if (code != 0)
        return -1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &size) != 0)
        *why = strerror(errno);
    freeaddrinfo(found);
    door->watch.fd = fd;
    if (*why != NULL) {
        loop_close(&door->watch);
        return -1;
    }
    char port[PORT_ROOM] = "";
    (void)getnameinfo((struct sockaddr *)&bound, size, NULL, 0, port, sizeof(port), NI_NUMERICSERV);
    return atoi(port);
}

void door_start(struct door *door)
{
    door->is_started = true;
    if (!loop_watch(&door->watch, EPOLLIN))
        (void)complain("cannot poll: %s", strerror(errno));
}

void door_stop(struct door *door)
{
    door->is_started = false;
    loop_leave(&door->watch);
}

/* ---- dials ---- */

struct dial {
    struct watch watch;
    struct job job;
    struct turn turn;            /* frees it, when no event can lead to it any more */
    struct dial *before, *after; /* of all that connect */
    struct addrinfo *found, *tried;
    dial_end on_end; /* NULL: cancelled */
    void *context;
    int64_t since_ns;
    bool resolves;
    int code; /* of getaddrinfo, or errno */
    char host[HOST_ROOM];
    uint16_t port;
};

static struct dial *dials;

static void destroy(struct turn *turn)
{
    free((char *)turn - offsetof(struct dial, turn));
}

static void forget(struct dial *dial)
{
    if (dial->after != NULL)
        dial->after->before = dial->before;
    *(dial->before != NULL ? &dial->before->after : &dials) = dial->after;
    loop_close(&dial->watch);
    if (dial->found != NULL)
        freeaddrinfo(dial->found);
    loop_soon(&dial->turn);
}

static void end(struct dial *dial, int fd, enum refusal reason, const char *text)
{
    if (dial->on_end != NULL)
        dial->on_end(dial->context, fd, reason, text);
    else if (fd >= 0)
        (void)close(fd);
    forget(dial);
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

static void try_next(struct dial *dial);

static void on_connected(struct watch *watch, uint32_t events)
{
    struct dial *dial = (struct dial *)((char *)watch - offsetof(struct dial, watch));
    socklen_t size = sizeof(dial->code);
    int fd = watch->fd;

    (void)events;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &dial->code, &size) != 0)
        dial->code = errno;
    if (dial->code != 0) {
        loop_close(watch);
        try_next(dial);
        return;
    }
    loop_leave(watch);
    watch->fd = -1;
    end(dial, fd, 0, "");
}

/* Connects to the next address that there is a way to; if there is none, it is over. */
static void try_next(struct dial *dial)
{
    while (dial->tried != NULL) {
        const struct addrinfo *to = dial->tried;
        int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        dial->tried = to->ai_next;
        dial->watch.fd = fd;
        if (fd >= 0 && (connect(fd, to->ai_addr, to->ai_addrlen) == 0 || errno == EINPROGRESS) &&
            loop_watch(&dial->watch, EPOLLOUT))
            return;
        dial->code = errno;
        loop_close(&dial->watch);
    }
    fail(dial);
}

static void on_resolved(struct job *job)
{
    struct dial *dial = (struct dial *)((char *)job - offsetof(struct dial, job));

    dial->resolves = false;
    if (dial->on_end == NULL)
        forget(dial);
    else if (dial->code != 0)
        end(dial, -1, REFUSAL_HOST, gai_strerror(dial->code));
    else {
        dial->tried = dial->found;
        try_next(dial);
    }
}

static void resolve_in_thread(struct job *job)
{
    struct dial *dial = (struct dial *)((char *)job - offsetof(struct dial, job));

    dial->code = resolve(&dial->found, dial->host, dial->port, 0);
}

struct dial *dial_start(const char *host, uint16_t port, dial_end on_end, void *context)
{
    struct dial *dial = calloc(1, sizeof(*dial));

    if (dial == NULL)
        return NULL;
    *dial = (struct dial){.watch = {-1, on_connected},
                          .job = {.work = resolve_in_thread, .finish = on_resolved},
                          .turn = {.run = destroy},
                          .after = dials,
                          .on_end = on_end,
                          .context = context,
                          .since_ns = clock_now_ns(),
                          .resolves = true,
                          .port = port};
    (void)snprintf(dial->host, sizeof(dial->host), "%s", host);
    if (dials != NULL)
        dials->before = dial;
    dials = dial;
    loop_job(&dial->job);
    return dial;
}

void dial_cancel(struct dial *dial)
{
    dial->on_end = NULL;
    if (!dial->resolves)
        forget(dial);
}

void dial_tick(int64_t now_ns)
{
    struct dial *next;

    for (struct dial *dial = dials; dial != NULL; dial = next) {
        next = dial->after;
        if (dial->resolves || now_ns - dial->since_ns < dial_ns)
            continue;
        dial->code = ETIMEDOUT;
        fail(dial);
    }
}
