#include "entropy.h"

#include "core/check.h"

#include <errno.h>
#include <sys/random.h>

enum { ENTROPY_MOST = 256 }; /* bytes that getrandom gives whole, whatever signals come */

void entropy_fill(void *out, size_t size)
{
    ssize_t got;

    CHECK(size <= ENTROPY_MOST);
    do
        got = getrandom(out, size, 0);
    while (got < 0 && errno == EINTR);
    CHECK(got == (ssize_t)size);
}
