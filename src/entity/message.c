#include "message.h"

#include "collection.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    CACHE_LINE_BYTES = 64,
    HUGE_PAGE_BYTES = 2 << 20,
};

int message_code(const struct message *m)
{
    if (latch_is_open(&m->latch))
        return m->code;
    return m->generation == forked_generation() ? ZCRP_ERROR_BUSY : ZCRP_ERROR_FORKED;
}

void message_begin(struct message *m, struct zcrp_entity *entity, nlong size)
{
    m->entity = entity;
    m->generation = forked_generation();
    m->size = size;
    m->waits = false;
    m->is_over = false;
    m->blanks = 0;
    latch_reset(&m->latch);
}

void message_end(struct message *m, int code, nlong length)
{
    m->code = code;
    m->public.length = length;
    latch_open(&m->latch);
}

static struct message *message_create(void *buffer, nlong size)
{
    struct message *m = malloc(sizeof(*m));

    if (m == NULL)
        return NULL;
    *m = (struct message){
        .public = {.buffer = buffer, .message_size = size, .buffer_size = size},
        .code = ZCRP_ERROR_IDLE,
    };
    latch_reset(&m->latch);
    latch_open(&m->latch);
    return m;
}

/* Large buffers get large pages where the system gives them: fewer faults, fewer TLB misses. */
static void *buffer_create(nlong size)
{
    bool is_huge = size >= HUGE_PAGE_BYTES;
    size_t bytes = size > 0 ? (size_t)size : 1;
    void *memory;

    if (size > PTRDIFF_MAX ||
        posix_memalign(&memory, is_huge ? HUGE_PAGE_BYTES : CACHE_LINE_BYTES, bytes) != 0)
        return NULL;
    if (is_huge)
        (void)madvise(memory, bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
    return memory;
}

struct zcrp_msg *zcrp_alloc_msg(nlong size)
{
    void *memory = buffer_create(size);
    struct message *m = memory == NULL ? NULL : message_create(memory, size);

    if (m == NULL) {
        free(memory);
        return NULL;
    }
    m->memory = memory;
    return &m->public;
}

struct zcrp_msg *zcrp_wrap_msg(void *buffer, nlong size)
{
    struct message *m = buffer == NULL && size > 0 ? NULL : message_create(buffer, size);

    if (m == NULL)
        return NULL;
    m->is_wrapped = true;
    return &m->public;
}

int zcrp_rewrap_msg(struct zcrp_msg *message, void *buffer, nlong size)
{
    struct message *m = message_of(message);

    if (m == NULL || !m->is_wrapped || (buffer == NULL && size > 0))
        return ZCRP_ERROR_ARGUMENT;
    if (message_is_in_flight(m))
        return ZCRP_ERROR_BUSY;
    m->public = (struct zcrp_msg){.buffer = buffer, .message_size = size, .buffer_size = size};
    return ZCRP_OK;
}

void zcrp_free_msg(struct zcrp_msg *message)
{
    struct message *m = message_of(message);

    if (m == NULL || message_is_in_flight(m))
        return;
    collection_withdraw(m);
    free(m->memory);
    free(m);
}
