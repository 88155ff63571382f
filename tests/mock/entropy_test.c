/* wrap: getrandom */
#include "platform/system.h"

#include "../support/mock.h"

#include <string.h>
#include <sys/random.h>

ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags)
{
    assert_int_equal(flags, 0); /* waits until there are some, and never gives others */
    memset(buffer, 0x5A, size);
    return MOCK_RESULT();
}

TEST(entropy_fill__from_the_kernel)
{
    uint8_t bytes[17] = {0};

    will_return(__wrap_getrandom, 16);
    entropy_fill(bytes, 16);
    assert_int_equal(bytes[15], 0x5A);
    assert_int_equal(bytes[16], 0);
}

TEST(entropy_fill__interrupted)
{
    uint8_t bytes[16] = {0};

    will_return(__wrap_getrandom, -EINTR);
    will_return(__wrap_getrandom, -EINTR);
    will_return(__wrap_getrandom, 16);
    entropy_fill(bytes, sizeof(bytes));
    assert_int_equal(bytes[0], 0x5A);
}
