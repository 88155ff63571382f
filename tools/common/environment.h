/* A process's environment: variables that switch something on, read as the library reads them; the
 * limit of its descriptors; and the core that it runs on. */
#ifndef COMMON_ENVIRONMENT_H
#define COMMON_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#define PIN_NONE (-1)

/* Is the variable set, and neither empty nor 0? Never in a program with another user's rights. */
bool environment_is_set(const char *variable);

/* Raises the soft limit of descriptors to the hard one, and returns it. 0: it cannot be known. */
uint64_t environment_descriptors(void);

/* From now on this process, with all threads that it starts, runs on that core alone; with PIN_NONE
 * wherever the system likes. 0, or -1 with a complaint. */
int pin_to(int core);

#endif
