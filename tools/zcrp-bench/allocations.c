#include "allocations.h"

#include <dlfcn.h>
#include <stddef.h>

void allocations_begin(void)
{
    void (*begin)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "zcrp_allocations_begin");

    if (begin != NULL)
        begin();
}

struct allocations allocations_read(void)
{
    void (*read)(uint64_t *, uint64_t *) =
        (void (*)(uint64_t *, uint64_t *))dlsym(RTLD_DEFAULT, "zcrp_allocations_read");
    struct allocations now = {.calls = ALLOCATIONS_UNKNOWN};

    if (read != NULL)
        read(&now.calls, &now.peak_bytes);
    return now;
}
