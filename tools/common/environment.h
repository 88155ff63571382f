/* A process's environment: variables that switch something on, read as the library reads them; and
 * the limit of its descriptors. */
#ifndef COMMON_ENVIRONMENT_H
#define COMMON_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Is the variable set, and neither empty nor 0? Never in a program with another user's rights. */
bool environment_is_set(const char *variable);

/* Raises the soft limit of descriptors to the hard one, and returns it. 0: it cannot be known. */
uint64_t environment_descriptors(void);

#endif
