/* wrap: munmap */
#include "platform/system.h"

#include "../support/mock.h"

#include <sys/mman.h>

enum { BYTES = 1 << 20 };

static bool lacks_mappings;

int __real_munmap(void *memory, size_t bytes);
int __wrap_munmap(void *memory, size_t bytes)
{
    if (!lacks_mappings)
        return __real_munmap(memory, bytes);
    errno = ENOMEM;
    return -1;
}

/* The process has as many mappings as it may have, and the kernel has joined this one with others.
 */
TEST(memory_release__where_a_mapping_cannot_be_cut)
{
    char *memory = memory_reserve(BYTES);

    assert_non_null(memory);
    memory[0] = 1;
    lacks_mappings = true;
    memory_release(memory, BYTES);
    lacks_mappings = false;
    assert_int_equal(memory[0], 0); /* its page is gone */
    memory_release(memory, BYTES);
}
