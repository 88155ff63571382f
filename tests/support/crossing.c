#include "crossing.h"

#include "common/clock.h"
#include "core/adt/random.h"
#include "loopback.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DATAGRAM_MOST = 65536,
    AT_ONCE = 64, /* events, and datagrams of a socket */
    PORTS = 65536,
    BUFFER = 4 << 20, /* bytes of each socket: nothing is lost but by the seed */
};

#define SECOND_NS INT64_C(1000000000)

/* Either end of a connection speaks more often; one that was quiet for so long is over. */
#define QUIET_NS (8 * SECOND_NS)

/* At its port of 127.0.0.1. */
struct caller {
    bool is_there;
    int far;
    uint64_t number; /* in the order in which they came */
    int64_t heard;   /* by either end */
};

struct held {
    int64_t came, due;
    int port;        /* the caller's */
    uint64_t caller; /* its number: if another one has the port now the datagram is too late */
    bool is_back;
    size_t size;
    struct held *next;
    uint8_t bytes[];
};

struct crossing {
    struct crossing_faults faults;
    struct sockaddr_in listener;
    char port[8];
    int near, poll;
    struct caller caller[PORTS];
    int64_t looked;     /* for those that are over */
    int last_port;      /* of who came last, */
    _Atomic int mapped; /* and its socket's */
    uint64_t callers;
    int64_t came, slowest_ns; /* the datagram that is treated; see crossing_close */
    /* Those on time, and those that are late, each in the order of their time. */
    struct held *first[2], **last[2];
    uint64_t random;
    uint64_t passed, lost, doubled, late, refused;
    uint8_t buffer[DATAGRAM_MOST];
    _Atomic bool must_forget, is_over;
    pthread_t thread;
};

static void must(bool is_so)
{
    if (is_so)
        return;
    perror("crossing");
    abort();
}

/* As many as this process may have. */
static void allow_descriptors(void)
{
    struct rlimit limit;

    must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static struct sockaddr_in here(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons((uint16_t)port)};
}

static int bound(void)
{
    const int bytes = BUFFER;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const struct sockaddr_in any = here(0);

    must(fd >= 0 && bind(fd, (const struct sockaddr *)&any, sizeof any) == 0);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_in own;
    socklen_t size = sizeof own;

    must(getsockname(fd, (struct sockaddr *)&own, &size) == 0);
    return ntohs(own.sin_port);
}

static void watch(struct crossing *c, int how, int fd, int port)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = port};

    must(epoll_ctl(c->poll, how, fd, &event) == 0);
}

/* ---- callers ---- */

static void let_go(struct crossing *c, int64_t until)
{
    for (int port = 0; port < PORTS; port++) {
        if (!c->caller[port].is_there || c->caller[port].heard > until)
            continue;
        close(c->caller[port].far);
        c->caller[port].is_there = false;
    }
}

static int new_far(struct crossing *c, int port)
{
    int far = bound();

    must(connect(far, (const struct sockaddr *)&c->listener, sizeof c->listener) == 0);
    watch(c, EPOLL_CTL_ADD, far, port);
    return far;
}

/* A new caller. */
static void come(struct crossing *c, int port)
{
    struct caller *last = &c->caller[c->last_port];

    if (c->faults.is_one && last->is_there) {
        c->caller[port] = *last;
        last->is_there = false;
        watch(c, EPOLL_CTL_MOD, c->caller[port].far, port);
    } else {
        c->caller[port] =
            (struct caller){.is_there = true, .far = new_far(c, port), .number = ++c->callers};
    }
    c->last_port = port;
    atomic_store(&c->mapped, port_of(c->caller[port].far));
}

static void hear_of(struct crossing *c, int port)
{
    struct caller *caller = &c->caller[port];
    int64_t at = clock_now_ns();

    if (at - c->looked > SECOND_NS) {
        c->looked = at;
        let_go(c, at - QUIET_NS);
    }
    if (!caller->is_there)
        come(c, port);
    caller->heard = at;
}

static void forget_if_asked(struct crossing *c)
{
    if (!atomic_load(&c->must_forget))
        return;
    for (int port = 0; port < PORTS; port++) {
        if (!c->caller[port].is_there)
            continue;
        int before = c->caller[port].far;
        c->caller[port].far = new_far(c, port);
        close(before); /* last: so it has another port */
        if (port == c->last_port)
            atomic_store(&c->mapped, port_of(c->caller[port].far));
    }
    atomic_store(&c->must_forget, false);
}

/* ---- datagrams ---- */

static void pass(struct crossing *c, const struct held *h)
{
    const struct caller *caller = &c->caller[h->port];
    const struct sockaddr_in to = here(h->port);
    ssize_t sent;

    if (!caller->is_there || caller->number != h->caller)
        return;
    if (h->is_back)
        sent = sendto(c->near, h->bytes, h->size, MSG_NOSIGNAL, (const struct sockaddr *)&to,
                      sizeof to);
    else
        sent = send(caller->far, h->bytes, h->size, MSG_NOSIGNAL);
    c->passed += sent == (ssize_t)h->size;
    c->refused += sent < 0;
    int64_t taken = clock_now_ns() - h->came;
    c->slowest_ns = taken > c->slowest_ns ? taken : c->slowest_ns;
}

static bool happens(struct crossing *c, unsigned chance)
{
    return random_next(&c->random) % 1000 < chance;
}

static void hold(struct crossing *c, int port, bool is_back, size_t size, bool is_late)
{
    struct held *h = malloc(sizeof *h + size);
    int64_t delay = c->faults.delay_ns + (is_late ? c->faults.late_ns : 0);

    must(h != NULL);
    *h = (struct held){.came = c->came,
                       .due = clock_now_ns() + delay,
                       .port = port,
                       .caller = c->caller[port].number,
                       .is_back = is_back,
                       .size = size};
    memcpy(h->bytes, c->buffer, size);
    *c->last[is_late] = h;
    c->last[is_late] = &h->next;
}

static void treat(struct crossing *c, int port, bool is_back, size_t size)
{
    c->came = clock_now_ns();
    if (c->faults.see != NULL && !c->faults.see(c->faults.context, !is_back, c->buffer, size))
        return;
    bool is_lost = happens(c, c->faults.lost);
    bool is_doubled = happens(c, c->faults.doubled);
    bool is_late = happens(c, c->faults.late);

    c->lost += is_lost;
    if (is_lost)
        return;
    c->doubled += is_doubled;
    c->late += is_late;
    for (int i = 0; i < 1 + is_doubled; i++)
        hold(c, port, is_back, size, is_late);
}

static void hear_callers(struct crossing *c)
{
    struct sockaddr_in from;
    socklen_t from_size = sizeof from;
    ssize_t size;

    for (int i = 0; i < AT_ONCE; i++, from_size = sizeof from) {
        size =
            recvfrom(c->near, c->buffer, sizeof c->buffer, 0, (struct sockaddr *)&from, &from_size);
        if (size < 0 && errno == EAGAIN)
            return;
        if (size < 0)
            continue; /* a caller is gone */
        hear_of(c, ntohs(from.sin_port));
        treat(c, ntohs(from.sin_port), false, (size_t)size);
    }
}

static void hear_listener(struct crossing *c, int port)
{
    struct caller *caller = &c->caller[port];
    ssize_t size;

    for (int i = 0; i < AT_ONCE && caller->is_there; i++) {
        size = recv(caller->far, c->buffer, sizeof c->buffer, 0);
        if (size < 0 && errno == EAGAIN)
            return;
        if (size < 0)
            continue; /* its connection is closed */
        hear_of(c, port);
        treat(c, port, true, (size_t)size);
    }
}

static void release(struct crossing *c, int queue, int64_t until)
{
    struct held *h;

    while ((h = c->first[queue]) != NULL && h->due <= until) {
        c->first[queue] = h->next;
        if (h->next == NULL)
            c->last[queue] = &c->first[queue];
        if (until != INT64_MAX)
            pass(c, h);
        free(h);
    }
}

/* ---- the thread ---- */

static struct timespec until_next(const struct crossing *c)
{
    int64_t wait = SECOND_NS / 50, at = clock_now_ns();

    for (int i = 0; i < 2; i++)
        if (c->first[i] != NULL && c->first[i]->due - at < wait)
            wait = c->first[i]->due - at;
    return (struct timespec){.tv_nsec = wait > 0 ? wait : 0};
}

static void *run(void *context)
{
    struct crossing *c = context;
    struct epoll_event event[AT_ONCE];

    while (!atomic_load(&c->is_over)) {
        struct timespec wait = until_next(c);
        (void)ppoll(&(struct pollfd){.fd = c->poll, .events = POLLIN}, 1, &wait, NULL);
        int count = epoll_wait(c->poll, event, AT_ONCE, 0);
        for (int i = 0; i < count; i++) {
            if (event[i].data.fd < 0)
                hear_callers(c);
            else
                hear_listener(c, event[i].data.fd);
        }
        forget_if_asked(c);
        release(c, 0, clock_now_ns());
        release(c, 1, clock_now_ns());
    }
    return NULL;
}

struct crossing *crossing_open(int port, const struct crossing_faults *faults, uint64_t seed)
{
    struct crossing *c = calloc(1, sizeof *c);

    allow_descriptors();
    must(c != NULL);
    c->faults = *faults;
    c->random = seed;
    c->listener = here(port);
    c->last[0] = &c->first[0];
    c->last[1] = &c->first[1];
    c->near = bound();
    c->poll = epoll_create1(EPOLL_CLOEXEC);
    must(c->poll >= 0);
    snprintf(c->port, sizeof c->port, "%d", port_of(c->near));
    watch(c, EPOLL_CTL_ADD, c->near, -1);
    must(pthread_create(&c->thread, NULL, run, c) == 0);
    return c;
}

const char *crossing_port(const struct crossing *c)
{
    return c->port;
}

void crossing_forget(struct crossing *c)
{
    atomic_store(&c->must_forget, true);
    while (atomic_load(&c->must_forget))
        (void)usleep(100);
}

int crossing_mapped(const struct crossing *c)
{
    return atomic_load(&c->mapped);
}

void crossing_tell(const struct crossing *c, const uint8_t *datagram, size_t size)
{
    const struct sockaddr_in to = here(c->last_port);

    (void)sendto(c->near, datagram, size, MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof to);
}

int64_t crossing_close(struct crossing *c)
{
    atomic_store(&c->is_over, true);
    pthread_join(c->thread, NULL);
    printf("crossing: %lu passed, %lu lost, %lu doubled, %lu late, %lu refused\n",
           (unsigned long)c->passed, (unsigned long)c->lost, (unsigned long)c->doubled,
           (unsigned long)c->late, (unsigned long)c->refused);
    release(c, 0, INT64_MAX);
    release(c, 1, INT64_MAX);
    let_go(c, INT64_MAX);
    close(c->near);
    close(c->poll);
    int64_t slowest_ns = c->slowest_ns;
    free(c);
    return slowest_ns;
}
