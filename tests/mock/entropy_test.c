/* wrap: getrandom */
/* sources: src/platform/entropy.c src/platform/check.c */
#include "platform/entropy.h"

#include "../support/mock.h"

#include <string.h>
#include <sys/random.h>

ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags);

ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags)
{
    assert_int_equal(flags, GRND_NONBLOCK);
    memset(buffer, 0x5A, size);
    return MOCK_RESULT();
}

static const uint64_t kernels = UINT64_C(0x5A5A5A5A5A5A5A5A);

static void entropy_seed__from_the_kernel(void **state)
{
    (void)state;
    will_return(__wrap_getrandom, 8);
    assert_true(entropy_seed() == kernels);
}

static void entropy_seed__interrupted(void **state)
{
    (void)state;
    will_return(__wrap_getrandom, -EINTR);
    will_return(__wrap_getrandom, -EINTR);
    will_return(__wrap_getrandom, 8);
    assert_true(entropy_seed() == kernels);
}

static void entropy_seed__falls_back(void **state)
{
    static const int failure[] = {-ENOSYS, -EAGAIN, -EPERM, 3};
    uint64_t last = kernels;

    (void)state;
    for (size_t i = 0; i < sizeof(failure) / sizeof(failure[0]); i++) {
        will_return(__wrap_getrandom, failure[i]);
        uint64_t seed = entropy_seed();
        assert_true(seed != kernels);
        assert_true(seed != last);
        last = seed;
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(entropy_seed__from_the_kernel),
        cmocka_unit_test(entropy_seed__interrupted),
        cmocka_unit_test(entropy_seed__falls_back),
    };
    return cmocka_run_group_tests_name("entropy", test, NULL, NULL);
}
