/* Switches of the environment, read as the library reads them. */
#ifndef COMMON_ENVIRONMENT_H
#define COMMON_ENVIRONMENT_H

#include <stdbool.h>

/* Is the variable set, and neither empty nor 0? Never in a program with another user's rights. */
bool environment_is_set(const char *variable);

#endif
