#include "commons.h"

#include "core/check.h"
#include "platform/system.h"
#include "platform/thread.h"
#include "shared_file.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { PAGE = 4096 };

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

/* ---- a life ---- */

/* Mapped first: the seal keeps everybody from mapping it to write. */
static bool map(struct commons *c)
{
    int flags = MAP_SHARED | MAP_NORESERVE;
    void *memory = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, flags, c->fd, 0);

    if (memory == MAP_FAILED)
        return false;
    c->memory = memory;
    return shared_file_seal(c->fd, F_SEAL_FUTURE_WRITE);
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
    c->fd = shared_file_create(c->bytes);
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
