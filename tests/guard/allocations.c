/* Counts what a program takes from the heap: a library to preload (LD_PRELOAD). zcrp-bench finds
 * the two functions at the end by name and writes what they say into its JSON. Everything in the
 * process is counted, what the C library allocates for itself included. */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

/* glibc's own, below the names that this library takes over. Those have parameters of other names
 * in glibc's headers. */
// NOLINTBEGIN(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static _Atomic uint64_t calls;
static _Atomic uint64_t in_use;
static _Atomic uint64_t peak;

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

EXPORTED void *malloc(size_t size)
{
    return note(__libc_malloc(size));
}

EXPORTED void *calloc(size_t count, size_t size)
{
    return note(__libc_calloc(count, size));
}

/* Memory that could not be moved stays in use. */
EXPORTED void *realloc(void *memory, size_t size)
{
    uint64_t bytes = memory != NULL ? malloc_usable_size(memory) : 0;
    void *moved = __libc_realloc(memory, size);

    if (moved == NULL && size > 0)
        return NULL;
    atomic_fetch_sub(&in_use, bytes);
    return note(moved);
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
    return note(__libc_memalign(alignment, size));
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

EXPORTED int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = memalign(alignment, size);
    return *memory != NULL ? 0 : ENOMEM;
}

EXPORTED void free(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub(&in_use, malloc_usable_size(memory));
    __libc_free(memory);
}

/* Counts from 0 again. What is in use stays. */
EXPORTED void zcrp_allocations_begin(void);
void zcrp_allocations_begin(void)
{
    atomic_store(&calls, 0);
    atomic_store(&peak, atomic_load(&in_use));
}

/* Allocations since zcrp_allocations_begin, and the most bytes that were in use at once. */
EXPORTED void zcrp_allocations_read(uint64_t *count, uint64_t *most_bytes);
void zcrp_allocations_read(uint64_t *count, uint64_t *most_bytes)
{
    *count = atomic_load(&calls);
    *most_bytes = atomic_load(&peak);
}
// NOLINTEND(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
