#include "buffers.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { AT_ONCE = 16, WARM_MOST = 32 };

static struct buffers warm, cold; /* free ones: with memory, and without */
static uint64_t extra, limit;

void buffers_add(struct buffers *buffers, struct buffer *buffer)
{
    buffer->next = NULL;
    if (buffers->last != NULL)
        buffers->last->next = buffer;
    else
        buffers->first = buffer;
    buffers->last = buffer;
    buffers->count++;
}

struct buffer *buffers_take(struct buffers *buffers)
{
    struct buffer *buffer = buffers->first;

    if (buffer == NULL)
        return NULL;
    buffers->first = buffer->next;
    if (buffers->first == NULL)
        buffers->last = NULL;
    buffers->count--;
    buffer->next = NULL;
    return buffer;
}

/* Without huge pages: one byte that lands would bring two megabytes. */
static void make_some(void)
{
    size_t size = (size_t)AT_ONCE * STREAM_BYTES;
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED)
        return;
    (void)madvise(bytes, size, MADV_NOHUGEPAGE);
    for (int i = 0; i < AT_ONCE; i++) {
        struct buffer *buffer = calloc(1, sizeof(*buffer));
        struct zcrp_msg *message = zcrp_wrap_msg(bytes + (size_t)i * STREAM_BYTES, STREAM_BYTES);

        if (buffer == NULL || message == NULL) {
            free(buffer);
            zcrp_free_msg(message);
            return; /* the rest of the memory was never touched */
        }
        buffer->message = message;
        buffers_add(&cold, buffer);
    }
}

struct buffer *buffer_create(bool is_needed)
{
    if (!is_needed && extra + STREAM_BYTES > limit)
        return NULL;
    struct buffer *buffer = buffers_take(&warm);
    if (buffer == NULL && cold.first == NULL)
        make_some();
    if (buffer == NULL)
        buffer = buffers_take(&cold);
    if (buffer == NULL)
        return NULL;
    buffer->is_extra = !is_needed;
    extra += is_needed ? 0 : STREAM_BYTES;
    buffer->done = 0;
    return buffer;
}

void buffer_destroy(struct buffer *buffer)
{
    extra -= buffer->is_extra ? STREAM_BYTES : 0;
    if (warm.count < WARM_MOST) {
        buffers_add(&warm, buffer);
        return;
    }
    (void)madvise(buffer->message->buffer, STREAM_BYTES, MADV_DONTNEED);
    buffers_add(&cold, buffer);
}

void buffers_limit(uint64_t most)
{
    limit = most;
}

uint64_t buffers_extra(void)
{
    return extra;
}
