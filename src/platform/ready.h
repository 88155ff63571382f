/* Waiting for descriptors, with a deadline. */
#ifndef ZCRP_PLATFORM_READY_H
#define ZCRP_PLATFORM_READY_H

#include "core/instant.h"

#include <poll.h>

/* Waits until one of the descriptors is ready (their `revents` say for what) or until the deadline
 * (NEVER: no limit; one in the past only asks). The number of ready ones, 0 after the deadline, or
 * the system's negative error number (-ENOMEM). Signals do not end the wait. */
__attribute__((warn_unused_result)) int ready_wait(struct pollfd *set, nfds_t count,
                                                   instant deadline);

#endif
