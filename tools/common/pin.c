#include "pin.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "complain.h"

int pin_to(int core)
{
    cpu_set_t set;

    if (core == PIN_NONE)
        return 0;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        return complain("cannot run on core %d: %s", core,
                        errno == EINVAL ? "there is none, or it is not for this process"
                                        : strerror(errno));
    return 0;
}
