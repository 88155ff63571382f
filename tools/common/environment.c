#include "environment.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "complain.h"

bool environment_is_set(const char *variable)
{
    const char *text = secure_getenv(variable);

    return text != NULL && *text != '\0' && strcmp(text, "0") != 0;
}

uint64_t environment_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

int pin_to(int core)
{
    cpu_set_t set;

    if (core == PIN_NONE)
        return 0;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        return complain("cannot run on core %d: %s", core,
                        errno == EINVAL ? "no such core, or this process may not use it"
                                        : strerror(errno));
    return 0;
}
