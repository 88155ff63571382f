#include "commons.h"

#include "core/check.h"
#include "platform/system.h"
#include "platform/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { PAGE = 4096 };

static const unsigned SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

/* What was taken, by its place. */
struct piece {
    size_t at, bytes;
    struct piece *next; /* further back */
};

struct commons {
    struct mutex mutex;
    uint8_t *memory;     /* (c) */
    size_t bytes;        /* (c) whole pages */
    int fd;              /* (c) */
    uint32_t generation; /* (c) of the process that made them (platform/system.h) */
    struct piece *first; /* (m) */
    _Atomic uint32_t holders;
};

/* ---- the file ---- */

/* Memory that is a file counts as one: the limit must not end this process. */
static bool is_within_limit(size_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

int commons_file(size_t bytes)
{
    int fd = memfd_create("zcrp", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("zcrp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && is_within_limit(bytes) && ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* ---- a life ---- */

/* Mapped first: the seal keeps everybody from mapping it to write. */
static bool map(struct commons *c)
{
    int flags = MAP_SHARED | MAP_NORESERVE;
    void *memory = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, flags, c->fd, 0);

    if (memory == MAP_FAILED)
        return false;
    c->memory = memory;
    return fcntl(c->fd, F_ADD_SEALS, SEALS) == 0;
}

static void destroy(struct commons *c)
{
    if (c->memory != NULL)
        (void)munmap(c->memory, c->bytes);
    if (c->fd >= 0)
        (void)close(c->fd);
    mutex_fini(&c->mutex);
    free(c);
}

struct commons *commons_create(size_t bytes)
{
    struct commons *c = bytes <= PTRDIFF_MAX - PAGE ? calloc(1, sizeof(*c)) : NULL;

    if (c == NULL)
        return NULL;
    mutex_init(&c->mutex);
    c->bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    c->holders = 1;
    c->generation = forked_generation();
    c->fd = commons_file(c->bytes);
    if (c->fd >= 0 && map(c))
        return c;
    destroy(c);
    return NULL;
}

struct commons *commons_hold(struct commons *c)
{
    if (c != NULL)
        atomic_fetch_add(&c->holders, 1);
    return c;
}

void commons_let_go(struct commons *c)
{
    if (c != NULL && c->generation == forked_generation() && atomic_fetch_sub(&c->holders, 1) == 1)
        destroy(c);
}

/* ---- taking and giving ---- */

/* Puts the piece where it fits first. False if it fits nowhere. */
static bool put(struct commons *c, struct piece *piece)
{
    struct piece **link = &c->first;
    size_t at = 0;

    while (*link != NULL && (*link)->at - at < piece->bytes) {
        at = (*link)->at + (*link)->bytes;
        link = &(*link)->next;
    }
    if (*link == NULL && c->bytes - at < piece->bytes)
        return false;
    piece->at = at;
    piece->next = *link;
    *link = piece;
    return true;
}

void *commons_take(struct commons *c, size_t bytes)
{
    struct piece *piece = bytes <= c->bytes ? malloc(sizeof(*piece)) : NULL;

    if (piece == NULL)
        return NULL;
    piece->bytes = bytes > 0 ? (bytes + PAGE - 1) / PAGE * PAGE : PAGE;
    mutex_lock(&c->mutex);
    bool fits = put(c, piece);
    mutex_unlock(&c->mutex);
    if (!fits) {
        free(piece);
        return NULL;
    }
    (void)commons_hold(c);
    return c->memory + piece->at;
}

void commons_give(struct commons *c, void *memory)
{
    struct piece **link = &c->first;

    if (c->generation != forked_generation())
        return;
    mutex_lock(&c->mutex);
    while (*link != NULL && c->memory + (*link)->at != memory)
        link = &(*link)->next;
    struct piece *piece = *link;
    CHECK(piece != NULL);
    *link = piece->next;
    mutex_unlock(&c->mutex);
    free(piece);
    commons_let_go(c);
}

/* ---- where ---- */

bool commons_has(const struct commons *c, const void *at, size_t bytes)
{
    if (c == NULL || (uintptr_t)at < (uintptr_t)c->memory)
        return false;
    size_t offset = (uintptr_t)at - (uintptr_t)c->memory;
    return offset <= c->bytes && bytes <= c->bytes - offset;
}

uint64_t commons_offset(const struct commons *c, const void *at)
{
    return (uintptr_t)at - (uintptr_t)c->memory;
}

int commons_descriptor(const struct commons *c)
{
    return c->fd;
}

size_t commons_bytes(const struct commons *c)
{
    return c->bytes;
}

/* ---- the peer's side ---- */

/* Can all of it be read, whatever the peer does? A file that becomes shorter would end whoever
 * reads its end, and so would one of large pages when the system has no more of those. */
static bool is_safe(int fd, size_t bytes)
{
    struct stat file;
    struct statfs system;
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && ((unsigned)seals & F_SEAL_SHRINK) && fstat(fd, &file) == 0 &&
           file.st_size > 0 && (size_t)file.st_size == bytes && fstatfs(fd, &system) == 0 &&
           system.f_type == TMPFS_MAGIC;
}

const uint8_t *commons_map(int descriptor, size_t bytes)
{
    if (!is_safe(descriptor, bytes))
        return NULL;
    int flags = MAP_SHARED | MAP_NORESERVE;
    void *memory = mmap(NULL, bytes, PROT_READ, flags, descriptor, 0);
    if (memory == MAP_FAILED)
        return NULL;
    (void)madvise(memory, bytes, MADV_DONTFORK);
    return memory;
}

void commons_unmap(const uint8_t *commons, size_t bytes)
{
    if (commons != NULL)
        (void)munmap((void *)(uintptr_t)commons, bytes); /* NOLINT: it is not written */
}
