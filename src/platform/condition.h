/* Waiting for a change of what a mutex guards, with a deadline on the monotonic clock. */
#ifndef ZCRP_PLATFORM_CONDITION_H
#define ZCRP_PLATFORM_CONDITION_H

#include "core/instant.h"
#include "mutex.h"

#include <stdbool.h>

struct condition {
    pthread_cond_t handle;
};

void condition_init(struct condition *c);
void condition_fini(struct condition *c); /* nobody waits */

/* Releases the mutex, which the caller holds, waits, and holds it again at the end. False once the
 * deadline has passed (NEVER: no limit). True says nothing: test the predicate again. */
bool condition_wait(struct condition *c, struct mutex *m, instant deadline);

/* Wakes one waiter; all of them. */
void condition_signal(struct condition *c);
void condition_broadcast(struct condition *c);

#endif
