/* A thread of the provider's own. It takes none of the program's signals. */
#ifndef FABRIC_HELPER_H
#define FABRIC_HELPER_H

#include <pthread.h>

/* 0, or a system's error, positive. */
int helper_start(pthread_t *thread, const char *name, void *(*run)(void *), void *context);

#endif
