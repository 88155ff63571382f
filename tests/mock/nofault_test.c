/* Memory of the user's, read and written where the system forbids the calls that copy between
 * processes, as a container may. */
/* wrap: process_vm_readv process_vm_writev */
#include "../support/mock.h"

#include "platform/nofault.h"

#include <string.h>
#include <sys/mman.h>

enum { BYTES = NOFAULT_LITTLE, LARGE = 1 << 20 };

static uint8_t from[LARGE], to[LARGE];

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                                const struct iovec *there, unsigned long theres,
                                unsigned long flags)
{
    (void)pid, (void)here, (void)heres, (void)there, (void)theres, (void)flags;
    errno = EPERM;
    return -1;
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *here, unsigned long heres,
                                 const struct iovec *there, unsigned long theres,
                                 unsigned long flags)
{
    return __wrap_process_vm_readv(pid, here, heres, there, theres, flags);
}

static void setup(void)
{
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 2654435761u >> 24);
    memset(to, 0, sizeof(to));
}

FIXTURE(setup, NULL)

TEST(nofault_read__goes_over_the_file)
{
    const struct iovec one = {from, BYTES}, two[] = {{from, 100}, {from + 200, 50}};

    assert_int_equal(nofault_read(to, &one, 1, BYTES), BYTES);
    assert_memory_equal(to, from, BYTES);
    assert_int_equal(nofault_read(to, two, 2, 150), 150);
    assert_memory_equal(to, from, 100);
    assert_memory_equal(to + 100, from + 200, 50);
}

TEST(nofault_write__goes_over_the_file)
{
    const struct iovec here = {to, BYTES}, there = {from, BYTES};

    assert_int_equal(nofault_write(&here, 1, &there, 1, BYTES), BYTES);
    assert_memory_equal(to, from, BYTES);
}

TEST(nofault_read__memory_that_is_gone)
{
    void *gone = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct iovec there = {gone, BYTES};

    assert_ptr_not_equal(gone, MAP_FAILED);
    assert_int_equal(mprotect(gone, BYTES, PROT_NONE), 0);
    assert_int_equal(nofault_read(to, &there, 1, BYTES), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(nofault_write(&there, 1, &(struct iovec){from, BYTES}, 1, BYTES), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(munmap(gone, BYTES), 0);
}

/* So much goes by the calls alone. */
TEST(nofault_read__too_much_for_the_file)
{
    const struct iovec there = {from, LARGE};

    assert_int_equal(nofault_read(to, &there, 1, LARGE), -1);
    assert_int_equal(errno, EPERM);
}
