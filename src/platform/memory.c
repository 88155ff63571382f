#include "memory.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* 0, or an error number. */
static int populate(const void *at, size_t size, enum memory_access access)
{
    int advice = access == MEMORY_READ ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)at / page * page;
    int result;

    do
        result = madvise((void *)first, (uintptr_t)at + size - first, advice);
    while (result != 0 && (errno == EINTR || errno == EAGAIN));
    return result == 0 ? 0 : errno;
}

/* EINVAL says that the pages do not allow it, or that the kernel does not know the question: then
 * it says so of any page. */
bool memory_is_accessible(const void *at, size_t size, enum memory_access access)
{
    char any = 0;
    int error = size == 0 ? 0 : populate(at, size, access);

    return error == 0 || (error == EINVAL && populate(&any, sizeof(any), access) == EINVAL);
}
