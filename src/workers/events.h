/* Waiting for epoll until an instant. */
#ifndef ZCRP_WORKERS_EVENTS_H
#define ZCRP_WORKERS_EVENTS_H

#include "core/instant.h"

#include <sys/epoll.h>

/* Waits until a descriptor of the epoll has something, or until then (NEVER: no limit; one in the
 * past only asks). The number of events, or -1 and errno, EINTR among others. Kernels before Linux
 * 5.11 have no epoll_pwait2, and wake up to a millisecond late. */
int events_wait(int epoll, struct epoll_event *events, int most, instant until);

#endif
