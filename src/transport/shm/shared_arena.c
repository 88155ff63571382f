#include "shared_arena.h"

#include "core/check.h"
#include "platform/numbers.h"
#include "platform/system.h"
#include "platform/thread.h"
#include "shared_file.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* What was taken, by its place. */
struct piece {
    size_t at, bytes;
    struct piece *next; /* further back */
};

struct shared_arena {
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
static bool map(struct shared_arena *a)
{
    int flags = MAP_SHARED | MAP_NORESERVE;
    void *memory = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, flags, a->fd, 0);

    if (memory == MAP_FAILED)
        return false;
    a->memory = memory;
    return shared_file_seal(a->fd, NUMBER_SEAL_FUTURE_WRITE);
}

static bool is_in_child(const struct shared_arena *a)
{
    return a->generation != forked_generation();
}

/* In a child a thread that is not there may have been about to change the list: that is left. */
static void free_pieces(struct shared_arena *a)
{
    struct piece *piece = mutex_is_free(&a->mutex) ? a->first : NULL;

    while (piece != NULL) {
        struct piece *next = piece->next;
        free(piece);
        piece = next;
    }
}

static void destroy(struct shared_arena *a)
{
    if (a->memory != NULL)
        (void)munmap(a->memory, a->bytes);
    if (a->fd >= 0)
        (void)close(a->fd);
    if (is_in_child(a))
        free_pieces(a);
    else
        mutex_fini(&a->mutex);
    free(a);
}

struct shared_arena *shared_arena_create(uint64_t bytes)
{
    struct shared_arena *a = bytes <= PTRDIFF_MAX - PAGE ? calloc(1, sizeof(*a)) : NULL;

    if (a == NULL)
        return NULL;
    mutex_init(&a->mutex);
    a->bytes = ((size_t)bytes + PAGE - 1) / PAGE * PAGE;
    a->holders = 1;
    a->generation = forked_generation();
    a->fd = shared_file_create(a->bytes);
    if (a->fd >= 0 && map(a))
        return a;
    destroy(a);
    return NULL;
}

struct shared_arena *shared_arena_hold(struct shared_arena *a)
{
    if (a != NULL)
        atomic_fetch_add(&a->holders, 1);
    return a;
}

void shared_arena_let_go(struct shared_arena *a)
{
    if (a != NULL && atomic_fetch_sub(&a->holders, 1) == 1)
        destroy(a);
}

/* ---- taking and giving ---- */

/* Puts the piece where it fits first. False if it fits nowhere. */
static bool put(struct shared_arena *a, struct piece *piece)
{
    struct piece **link = &a->first;
    size_t at = 0;

    while (*link != NULL && (*link)->at - at < piece->bytes) {
        at = (*link)->at + (*link)->bytes;
        link = &(*link)->next;
    }
    if (*link == NULL && a->bytes - at < piece->bytes)
        return false;
    piece->at = at;
    piece->next = *link;
    *link = piece;
    return true;
}

void *shared_arena_take(struct shared_arena *a, size_t bytes)
{
    bool may_fit = !is_in_child(a) && bytes <= a->bytes;
    struct piece *piece = may_fit ? malloc(sizeof(*piece)) : NULL;

    if (piece == NULL)
        return NULL;
    piece->bytes = bytes > 0 ? (bytes + PAGE - 1) / PAGE * PAGE : PAGE;
    mutex_lock(&a->mutex);
    bool fits = put(a, piece);
    mutex_unlock(&a->mutex);
    if (!fits) {
        free(piece);
        return NULL;
    }
    (void)shared_arena_hold(a);
    return a->memory + piece->at;
}

/* Within the process that made it: the place may be taken again. */
static void free_place(struct shared_arena *a, const void *memory)
{
    struct piece **link = &a->first;

    mutex_lock(&a->mutex);
    while (*link != NULL && a->memory + (*link)->at != memory)
        link = &(*link)->next;
    struct piece *piece = *link;
    CHECK(piece != NULL);
    *link = piece->next;
    mutex_unlock(&a->mutex);
    free(piece);
}

void shared_arena_give(struct shared_arena *a, void *memory)
{
    if (!is_in_child(a))
        free_place(a, memory);
    shared_arena_let_go(a);
}

/* ---- where ---- */

bool shared_arena_has(const struct shared_arena *a, const void *at, size_t bytes)
{
    if (a == NULL || (uintptr_t)at < (uintptr_t)a->memory)
        return false;
    size_t offset = (uintptr_t)at - (uintptr_t)a->memory;
    return offset <= a->bytes && bytes <= a->bytes - offset;
}

uint64_t shared_arena_offset(const struct shared_arena *a, const void *at)
{
    return (uintptr_t)at - (uintptr_t)a->memory;
}

int shared_arena_descriptor(const struct shared_arena *a)
{
    return a->fd;
}

size_t shared_arena_bytes(const struct shared_arena *a)
{
    return a->bytes;
}
