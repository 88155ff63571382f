/* The user's messages in a script. Each has memory of its own from before it is submitted or posted
 * until its event, so that a sanitizer sees every byte read or written beside it, or too late. */
#ifndef ZCRP_TESTS_FUZZ_MESSAGES_H
#define ZCRP_TESTS_FUZZ_MESSAGES_H

#include "script.h"

#include "core/check.h"

#include <stdlib.h>

enum { MESSAGES = 64 };

struct message {
    uint8_t *buffer; /* NULL: over */
    uint64_t number;
    uint64_t size;
};

struct messages {
    struct message message[MESSAGES];
    uint32_t begun, over; /* how many */
};

/* A new message, of a size that the script says; NULL if there were MESSAGES. */
static inline struct message *messages_next(struct messages *all, struct script *script)
{
    static const uint64_t sizes[] = {0, 1, 31, 32, 33, 63, 64, 65, 500, 5000};
    uint64_t size = sizes[script_below(script, sizeof sizes / sizeof sizes[0])];
    if (all->begun == MESSAGES)
        return NULL;
    struct message *m = &all->message[all->begun];
    *m = (struct message){.buffer = calloc(1, size == 0 ? 1 : size), .size = size};
    if (m->buffer == NULL)
        abort();
    return m;
}

/* The new message is under way; or it was refused, and never was. */
static inline void messages_begin(struct messages *all, struct message *m, bool is_taken)
{
    if (is_taken)
        all->begun++;
    else
        free(m->buffer);
}

/* The message that the script points at; NULL if it points at none. */
static inline const struct message *messages_some(const struct messages *all, struct script *script)
{
    uint32_t which = script_below(script, MESSAGES);
    return which < all->begun ? &all->message[which] : NULL;
}

/* Its one event came. */
static inline void messages_end(struct messages *all, struct message *m)
{
    CHECK(m->buffer != NULL);
    free(m->buffer);
    m->buffer = NULL;
    all->over++;
}

#endif
