/* Mutual exclusion. Not recursive; waiting for it has no limit, so nothing holds one over a system
 * call, a wait, or user code. Misuse ends the process where it can be seen (CHECKed). */
#ifndef ZCRP_PLATFORM_MUTEX_H
#define ZCRP_PLATFORM_MUTEX_H

#include <pthread.h>

struct mutex {
    pthread_mutex_t handle;
};

void mutex_init(struct mutex *m);
void mutex_fini(struct mutex *m); /* nobody holds it */

void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);

#endif
