#include "copies.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES_BYTES = 1 << 20 }; /* that the copies of one sender may take */

/* The bytes lie behind the message. */
struct copy {
    struct copy *previous;
    struct copy *next;
    struct message message;
};

static struct copy *copy_of(struct message *m)
{
    return (struct copy *)((char *)m - offsetof(struct copy, message));
}

static uint64_t bytes_with(nlong size)
{
    return sizeof(struct copy) + size;
}

struct message *copy_create(const void *bytes, nlong size)
{
    struct copy *copy = malloc((size_t)bytes_with(size));

    if (copy == NULL)
        return NULL;
    copy->message = (struct message){
        .public = {.buffer = (nbyte *)(copy + 1), .message_size = size, .buffer_size = size},
        .is_copy = true,
    };
    if (size > 0)
        memcpy(copy->message.public.buffer, bytes, (size_t)size);
    return &copy->message;
}

void copy_destroy(struct message *copy)
{
    free(copy_of(copy));
}

bool copies_have_room(const struct copies *c, nlong size)
{
    return c->bytes + bytes_with(size) <= COPIES_BYTES;
}

void copies_add(struct copies *c, struct message *m)
{
    struct copy *copy = copy_of(m);

    copy->previous = NULL;
    copy->next = c->first;
    if (c->first != NULL)
        c->first->previous = copy;
    c->first = copy;
    c->bytes += bytes_with(m->public.message_size);
}

void copies_end(struct copies *c, struct message *m)
{
    struct copy *copy = copy_of(m);

    if (copy->previous != NULL)
        copy->previous->next = copy->next;
    else
        c->first = copy->next;
    if (copy->next != NULL)
        copy->next->previous = copy->previous;
    c->bytes -= bytes_with(m->public.message_size);
    free(copy);
}

void copies_abandon(struct copies *c)
{
    for (struct copy *copy = c->first, *next; copy != NULL; copy = next) {
        next = copy->next;
        free(copy);
    }
    *c = (struct copies){.first = NULL};
}
