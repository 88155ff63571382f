#include "nat.h"

#include "common/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DATAGRAM_MOST = 65536, POLL_MS = 5, BUFFER = 4 << 20 };

struct nat_datagram {
    struct nat_datagram *next;
    int64_t came, due;
    bool is_outward;
    size_t size;
    uint8_t bytes[];
};

static int open_socket(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = BUFFER;

    if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof any) != 0)
        abort();
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_in a;
    socklen_t size = sizeof a;

    return getsockname(fd, (struct sockaddr *)&a, &size) == 0 ? ntohs(a.sin_port) : 0;
}

void nat_open(struct nat *n, int port, int64_t delay_ns)
{
    *n = (struct nat){.delay_ns = delay_ns, .near = open_socket(), .outside = -1};
    n->listener = (struct sockaddr_in){.sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    n->last = &n->first;
    snprintf(n->port, sizeof n->port, "%d", port_of(n->near));
}

static void pass_out(struct nat *n, const struct nat_datagram *d)
{
    if (n->outside < 0) {
        n->outside = open_socket();
        if (connect(n->outside, (struct sockaddr *)&n->listener, sizeof n->listener) != 0)
            abort();
    }
    (void)send(n->outside, d->bytes, d->size, MSG_NOSIGNAL);
}

static void pass(struct nat *n, const struct nat_datagram *d)
{
    atomic_fetch_add(&n->passed[d->is_outward], 1);
    if (d->is_outward)
        pass_out(n, d);
    else
        (void)sendto(n->near, d->bytes, d->size, MSG_NOSIGNAL, (struct sockaddr *)&n->caller,
                     sizeof n->caller);
}

static void take(struct nat *n, bool is_outward, size_t size)
{
    int64_t came = clock_now_ns();
    if (n->see != NULL && !n->see(n->context, is_outward, n->buffer, size))
        return;
    struct nat_datagram *d = malloc(sizeof *d + size);
    if (d == NULL)
        abort();
    *d = (struct nat_datagram){
        .came = came, .due = clock_now_ns() + n->delay_ns, .is_outward = is_outward, .size = size};
    memcpy(d->bytes, n->buffer, size);
    *n->last = d;
    n->last = &d->next;
}

static void receive_all(struct nat *n, int fd, bool is_outward)
{
    struct sockaddr_in from;

    for (int i = 0; i < 64 && fd >= 0; i++) {
        socklen_t length = sizeof from;
        ssize_t size =
            recvfrom(fd, n->buffer, DATAGRAM_MOST, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
        if (size < 0)
            return;
        if (is_outward)
            n->caller = from;
        take(n, is_outward, (size_t)size);
    }
}

static void release(struct nat *n, int64_t until)
{
    while (n->first != NULL && n->first->due <= until) {
        struct nat_datagram *d = n->first;
        n->first = d->next;
        if (n->first == NULL)
            n->last = &n->first;
        pass(n, d);
        int64_t taken = clock_now_ns() - d->came;
        n->slowest_ns = taken > n->slowest_ns ? taken : n->slowest_ns;
        free(d);
    }
}

static void forget_if_asked(struct nat *n)
{
    if (!atomic_load(&n->must_forget))
        return;
    if (n->outside >= 0)
        (void)close(n->outside);
    n->outside = -1;
    atomic_store(&n->must_forget, false);
}

static void *run(void *context)
{
    struct nat *n = context;

    while (!atomic_load(&n->is_over)) {
        int64_t latest = clock_now_ns() + POLL_MS * 1000000;
        int64_t due = n->first != NULL && n->first->due < latest ? n->first->due : latest;
        int64_t wait = due - clock_now_ns();
        struct timespec limit = {.tv_nsec = wait > 0 ? wait : 0};
        struct pollfd set[] = {{.fd = n->near, .events = POLLIN},
                               {.fd = n->outside, .events = POLLIN}};
        (void)ppoll(set, 2, &limit, NULL);
        forget_if_asked(n);
        receive_all(n, n->near, true);
        receive_all(n, n->outside, false);
        release(n, clock_now_ns());
    }
    return NULL;
}

void nat_run(struct nat *n)
{
    n->buffer = malloc(DATAGRAM_MOST);
    if (n->buffer == NULL || pthread_create(&n->thread, NULL, run, n) != 0)
        abort();
}

void nat_close(struct nat *n)
{
    atomic_store(&n->is_over, true);
    pthread_join(n->thread, NULL);
    n->delay_ns = 0;
    while (n->first != NULL) {
        struct nat_datagram *d = n->first;
        n->first = d->next;
        free(d);
    }
    free(n->buffer);
    (void)close(n->near);
    if (n->outside >= 0)
        (void)close(n->outside);
}

void nat_forget(struct nat *n)
{
    atomic_store(&n->must_forget, true);
    while (atomic_load(&n->must_forget))
        (void)usleep(100);
}

int nat_port(const struct nat *n)
{
    return n->outside >= 0 ? port_of(n->outside) : 0;
}
