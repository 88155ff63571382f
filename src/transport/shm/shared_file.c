#include "shared_file.h"

#include "platform/numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const unsigned SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/* Memory that is a file counts as one: the limit must not end this process. */
static bool is_within_limit(size_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

int shared_file_create(size_t bytes)
{
    int fd = memfd_create("zcrp", MFD_CLOEXEC | MFD_ALLOW_SEALING | NUMBER_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("zcrp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && is_within_limit(bytes) && ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

bool shared_file_seal(int fd, unsigned more)
{
    return fcntl(fd, F_ADD_SEALS, SEALS | more) == 0;
}

/* A file of large pages would end whoever reads it when the system has no more of those. */
bool shared_file_is_safe(int fd, size_t bytes)
{
    struct stat file;
    struct statfs system;
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && ((unsigned)seals & SEALS) == SEALS && fstat(fd, &file) == 0 &&
           file.st_size > 0 && (size_t)file.st_size == bytes && fstatfs(fd, &system) == 0 &&
           system.f_type == TMPFS_MAGIC;
}

void *shared_file_map(int fd, size_t bytes, int access)
{
    void *memory = mmap(NULL, bytes, access, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (memory == MAP_FAILED)
        return NULL;
    (void)madvise(memory, bytes, MADV_DONTFORK);
    return memory;
}

void shared_file_unmap(const void *memory, size_t bytes)
{
    if (memory != NULL)
        (void)munmap((void *)(uintptr_t)memory, bytes); /* NOLINT: it is not written */
}
