#include "events.h"

#include "platform/system.h"

#include <errno.h>
#include <stddef.h>

int events_wait(int epoll, struct epoll_event *events, int most, instant until)
{
    if (until == NEVER)
        return epoll_wait(epoll, events, most, -1);
    duration left = until > 0 ? until - clock_now() : 0;
    if (left <= 0)
        return epoll_wait(epoll, events, most, 0);
    struct timespec limit = clock_timespec(left);
    int count = epoll_pwait2(epoll, events, most, &limit, NULL);
    if (count < 0 && errno == ENOSYS)
        count = epoll_wait(epoll, events, most, (int)(left / MILLISECOND) + 1);
    return count;
}
