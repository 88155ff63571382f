#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older ones refuse it, and pages come one by one */
#endif

/* ---- mappings ---- */

/* What the handler looks at. A slot is free if it is NULL; its mapping is complete when it is set,
 * and nobody touches the memory any more when it is taken away. */
static _Atomic(struct mapping *) slots[MAPPINGS_MOST];
static uintptr_t page_bytes;

static struct mapping *find(uintptr_t address)
{
    for (int i = 0; i < MAPPINGS_MOST; i++) {
        struct mapping *mapping = atomic_load(&slots[i]);

        if (mapping != NULL && address >= (uintptr_t)mapping->memory &&
            address - (uintptr_t)mapping->memory < mapping->bytes)
            return mapping;
    }
    return NULL;
}

/* Only calls that a handler may make: mmap is a system call and no more. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int code = errno;
    uintptr_t page = (uintptr_t)info->si_addr & ~(page_bytes - 1);
    struct mapping *mapping = find((uintptr_t)info->si_addr);

    (void)context;
    if (mapping == NULL || mmap((void *)page, page_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        (void)signal(number, SIG_DFL); /* what is tried again ends the process */
    else
        atomic_store(&mapping->torn, true);
    errno = code;
}

void mapping_start(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_NODEFER};

    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

/* Connections of --serve map in threads of their own. */
static int put_slot(struct mapping *mapping)
{
    for (int i = 0; i < MAPPINGS_MOST; i++) {
        struct mapping *none = NULL;

        if (atomic_compare_exchange_strong(&slots[i], &none, mapping))
            return i;
    }
    return -1;
}

int mapping_init(struct mapping *mapping, int fd, uint64_t bytes, bool to_write)
{
    int protection = to_write ? PROT_READ | PROT_WRITE : PROT_READ;

    mapping->memory = NULL;
    atomic_init(&mapping->torn, false);
    if (bytes > SIZE_MAX / 2) {
        errno = EFBIG;
        return -1;
    }
    void *memory = mmap(NULL, (size_t)bytes, protection, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return -1;
    mapping->memory = memory;
    mapping->bytes = bytes;
    mapping->slot = put_slot(mapping);
    if (mapping->slot >= 0)
        return 0;
    (void)munmap(memory, (size_t)bytes);
    mapping->memory = NULL;
    errno = ENFILE;
    return -1;
}

void mapping_fini(struct mapping *mapping)
{
    if (mapping->memory == NULL)
        return;
    atomic_store(&slots[mapping->slot], NULL);
    (void)munmap(mapping->memory, (size_t)mapping->bytes);
    mapping->memory = NULL;
}

bool mapping_is_torn(const struct mapping *mapping)
{
    return atomic_load(&mapping->torn);
}

/* ---- tasks ---- */

void task_hash(const void *bytes, size_t length, uint8_t hash[HASH_BYTES])
{
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, length));
    memcpy(hash, canonical.digest, HASH_BYTES);
}

static void touch(const struct task *task)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)task->memory & ~(page - 1);

    /* That these fail is no harm: a page is then missing where data lands, and that is noticed. */
    if (task->file > 0)
        (void)fallocate(task->file, 0, (off_t)task->offset, (off_t)task->bytes);
    (void)madvise((void *)start, (uintptr_t)task->memory + task->bytes - start,
                  MADV_POPULATE_WRITE);
}

static void run(struct crew_job *job)
{
    const struct task *task = (const struct task *)((char *)job - offsetof(struct task, job));
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    if (task->leaf == 0)
        touch(task);
    for (size_t at = 0, i = 0; task->leaf > 0 && at < task->bytes; at += task->leaf, i++) {
        size_t rest = task->bytes - at;

        task_hash(task->memory + at, rest < task->leaf ? rest : task->leaf,
                  task->hashes + i * HASH_BYTES);
    }
    /* The data stays in the file. To unmap it is a sixteenth of a copy's work, and would else be
     * done in one piece in the end, by one thread. */
    if (task->lets_go && (uintptr_t)task->memory % page == 0)
        (void)madvise(task->memory, task->bytes, MADV_DONTNEED);
}

void task_start(struct crew *crew, struct task *task)
{
    task->job.work = run;
    crew_add(crew, &task->job);
}
