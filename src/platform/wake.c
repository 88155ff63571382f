#include "wake.h"

#include "core/check.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int wake_init(struct wake *w)
{
    w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return w->fd < 0 ? -errno : 0;
}

void wake_fini(struct wake *w)
{
    (void)close(w->fd);
    w->fd = -1;
}

int wake_fd(const struct wake *w)
{
    return w->fd;
}

/* EAGAIN: the counter is full, hence readable, which is all we want. */
void wake_signal(struct wake *w)
{
    const uint64_t one = 1;
    ssize_t put;

    do
        put = write(w->fd, &one, sizeof(one));
    while (put < 0 && errno == EINTR);
    CHECK(put == (ssize_t)sizeof(one) || errno == EAGAIN);
}

/* EAGAIN: nobody had signalled. */
void wake_clear(struct wake *w)
{
    uint64_t signals;
    ssize_t got;

    do
        got = read(w->fd, &signals, sizeof(signals));
    while (got < 0 && errno == EINTR);
    CHECK(got == (ssize_t)sizeof(signals) || errno == EAGAIN);
}
