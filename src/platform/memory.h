/* Can memory of the user's be accessed? The kernel finds out; this process does not touch it. */
#ifndef ZCRP_PLATFORM_MEMORY_H
#define ZCRP_PLATFORM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum memory_access { MEMORY_READ, MEMORY_WRITE };

/* True if all of [at, at + size) can be accessed so, or if the kernel (before Linux 5.14) cannot
 * tell. Nothing is changed, but pages that were not there yet are. */
bool memory_is_accessible(const void *at, size_t size, enum memory_access access);

#endif
