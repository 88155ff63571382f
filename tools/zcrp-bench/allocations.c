#include "allocations.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic uint64_t calls;
static _Atomic uint64_t in_use;
static _Atomic uint64_t peak;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void __real_free(void *memory);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
void __wrap_free(void *memory);

void allocations_begin(void)
{
    atomic_store(&calls, 0);
    atomic_store(&peak, atomic_load(&in_use));
}

struct allocations allocations_read(void)
{
    return (struct allocations){atomic_load(&calls), atomic_load(&peak)};
}

static void *note(void *memory)
{
    uint64_t bytes = memory != NULL ? malloc_usable_size(memory) : 0;
    uint64_t now = atomic_fetch_add(&in_use, bytes) + bytes;
    uint64_t before = atomic_load(&peak);

    atomic_fetch_add(&calls, 1);
    while (now > before && !atomic_compare_exchange_weak(&peak, &before, now))
        ;
    return memory;
}

static void forget(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub(&in_use, malloc_usable_size(memory));
}

void *__wrap_malloc(size_t size)
{
    return note(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return note(__real_calloc(count, size));
}

/* What could not be moved stays in use, and is counted on. */
void *__wrap_realloc(void *memory, size_t size)
{
    uint64_t bytes = memory != NULL ? malloc_usable_size(memory) : 0;
    void *moved = __real_realloc(memory, size);

    if (moved == NULL && size > 0)
        return NULL;
    atomic_fetch_sub(&in_use, bytes);
    return note(moved);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return note(__real_aligned_alloc(alignment, size));
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    int error = __real_posix_memalign(memory, alignment, size);

    if (error == 0)
        note(*memory);
    return error;
}

void __wrap_free(void *memory)
{
    forget(memory);
    __real_free(memory);
}
