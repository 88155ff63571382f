/* The one clock: monotonic, so that nobody who sets the date ends a timeout. And the date, to
 * compare with dates of the kernel's. */
#ifndef ZCRP_PLATFORM_CLOCK_H
#define ZCRP_PLATFORM_CLOCK_H

#include "core/instant.h"

#include <time.h>

/* Reads CLOCK_MONOTONIC. Cannot fail; about 20 ns, no system call where the kernel has a vDSO. */
instant clock_now(void);

/* Nanoseconds since 1970 (CLOCK_REALTIME); jumps when somebody sets it. Likewise. */
instant clock_date(void);

/* The same point in time as the system writes it. An instant below 0 lies in the past in any case
 * and becomes 0, because the kernel refuses negative times. */
struct timespec clock_timespec(instant t);

#endif
