#include "zcrp-bench/job/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/quantity.h"

enum { CACHE_LINE = 64 };

static int no_memory(struct memory *memory, uint64_t slots, uint64_t size)
{
    char bytes[QUANTITY_ROOM];

    *memory = (struct memory){0};
    quantity_bytes(bytes, size);
    return complain("no memory for %llu messages of %s: %s", (unsigned long long)slots, bytes,
                    strerror(ENOMEM));
}

static uint64_t slot_bytes_of(uint64_t size)
{
    return (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* What the machine has; asking for more would not fail, but end in the kernel's killing somebody.
 */
static uint64_t physical_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int memory_init(struct memory *memory, uint64_t slots, uint64_t size)
{
    uint64_t slot_bytes = slot_bytes_of(size);

    if (slot_bytes < size || slots > physical_bytes() / slot_bytes)
        return no_memory(memory, slots, size);
    size_t bytes = (size_t)(slots * slot_bytes);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return no_memory(memory, slots, size);
    madvise(base, bytes, MADV_HUGEPAGE);
    memset(base, 0x5a, bytes);
    *memory = (struct memory){base, bytes, slot_bytes, slots};
    return 0;
}

int memory_refit(struct memory *memory, uint64_t slots, uint64_t size)
{
    if (memory->slots == slots && memory->slot_bytes == slot_bytes_of(size))
        return 0;
    memory_fini(memory);
    return memory_init(memory, slots, size);
}

void memory_fini(struct memory *memory)
{
    if (memory->base != NULL)
        munmap(memory->base, memory->area_bytes);
    *memory = (struct memory){0};
}

static int map(struct input *input, int fd, const char *path)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return complain("cannot look at '%s': %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return complain("'%s' is not a regular file", path);
    if (status.st_size == 0)
        return complain("'%s' is empty", path);
    /* Private and writable: nobody writes, but a message's buffer is not const. */
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return complain("cannot map '%s': %s", path, strerror(errno));
    madvise(bytes, (size_t)status.st_size, MADV_POPULATE_READ);
    *input = (struct input){bytes, (size_t)status.st_size};
    return 0;
}

int input_open(struct input *input, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    *input = (struct input){0};
    if (fd < 0)
        return complain("cannot read '%s': %s", path, strerror(errno));
    int status = map(input, fd, path);
    close(fd);
    return status;
}

void input_close(struct input *input)
{
    if (input->bytes != NULL)
        munmap(input->bytes, input->size);
    *input = (struct input){0};
}
