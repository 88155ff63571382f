#include "waker.h"

#include <errno.h>
#include <poll.h>
#include <rdma/fi_errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static int watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0 ? -1 : 0;
}

int waker_init(struct waker *w, struct domain *d, enum fi_wait_obj kind)
{
    *w = (struct waker){.domain = d, .kind = kind, .descriptor = -1, .bell = -1};
    if (kind == FI_WAIT_NONE)
        return 0;
    if (kind != FI_WAIT_UNSPEC && kind != FI_WAIT_FD && kind != FI_WAIT_YIELD)
        return -FI_ENOSYS;
    w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->descriptor = epoll_create1(EPOLL_CLOEXEC);
    if (w->bell >= 0 && w->descriptor >= 0 && watch(w->descriptor, w->bell) == 0 &&
        watch(w->descriptor, zcrp_queue_descriptor(d->queue)) == 0)
        return 0;
    int error = errno;
    waker_fini(w);
    return error != 0 ? -error : -FI_EIO;
}

void waker_fini(struct waker *w)
{
    if (w->descriptor >= 0)
        (void)close(w->descriptor);
    if (w->bell >= 0)
        (void)close(w->bell);
    w->descriptor = w->bell = -1;
}

void waker_arm(struct waker *w)
{
    eventfd_t rings;

    if (w->bell < 0)
        return;
    if (!w->is_armed)
        (void)eventfd_read(w->bell, &rings);
    w->is_armed = true;
}

void waker_ring(struct waker *w)
{
    if (w->is_armed)
        (void)eventfd_write(w->bell, 1);
    w->is_armed = false;
}

void waker_sleep(const struct waker *w, int timeout_ms)
{
    struct pollfd fd = {.fd = w->descriptor, .events = POLLIN};

    (void)poll(&fd, 1, timeout_ms);
}

int waker_control(const struct waker *w, int command, void *argument)
{
    if (argument == NULL)
        return -FI_EINVAL;
    if (command == FI_GETWAITOBJ) {
        *(enum fi_wait_obj *)argument = w->kind;
        return 0;
    }
    if (command != FI_GETWAIT || w->descriptor < 0)
        return -FI_ENOSYS;
    *(int *)argument = w->descriptor;
    return 0;
}

int64_t waker_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int waker_left(int64_t began_ns, int timeout_ms)
{
    if (timeout_ms < 0)
        return -1;
    int64_t passed = (waker_now() - began_ns) / 1000000;
    return passed >= timeout_ms ? 0 : (int)(timeout_ms - passed);
}
