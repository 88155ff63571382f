/* Time, as the core sees it: an argument. Nothing in src/core reads a clock; the caller reads a
 * monotonic one once a turn and hands the reading in. Both types count nanoseconds. */
#ifndef ZCRP_CORE_INSTANT_H
#define ZCRP_CORE_INSTANT_H

#include <stdint.h>

typedef int64_t instant;  /* a point in time, ns since some fixed moment of the caller's */
typedef int64_t duration; /* a length of time, ns */

#define NEVER INT64_MAX /* the instant that does not come */
#define MICROSECOND ((duration)1000)
#define MILLISECOND ((duration)1000000)
#define SECOND ((duration)1000000000)

static inline instant instant_earlier(instant a, instant b)
{
    return a < b ? a : b;
}

static inline instant instant_later(instant a, instant b)
{
    return a > b ? a : b;
}

#endif
