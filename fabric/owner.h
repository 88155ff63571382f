/* From a member to its struct. libfabric's headers had a macro for it until version 2. */
#ifndef FABRIC_OWNER_H
#define FABRIC_OWNER_H

#include <stddef.h>

/* The struct of type `type` whose member `member` is at `at`. */
#define OWNER(at, type, member) ((type *)((char *)(at)-offsetof(type, member)))

#endif
