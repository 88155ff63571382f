#include "environment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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
