/* The user's messages in a script. Each has memory of its own from before it is submitted or posted
 * until its event, so that a sanitizer sees every byte read or written beside it, or too late.
 * Every third message lies in pieces of its buffer, from the last one to the first. */
#ifndef ZCRP_TESTS_FUZZ_MESSAGES_H
#define ZCRP_TESTS_FUZZ_MESSAGES_H

#include "script.h"

#include "core/adt/pieces.h"
#include "core/check.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 64, LARGEST_MESSAGE = 5000, PIECE = 7 };

struct message {
    uint8_t *buffer;       /* NULL: over */
    struct pieces *pieces; /* of it; NULL: it is one */
    uint64_t number;
    uint64_t size;
};

struct messages {
    struct message message[MESSAGES];
    uint32_t begun, over; /* how many */
};

static inline void messages_cut(struct message *m)
{
    struct iovec piece[LARGEST_MESSAGE / PIECE + 1];
    uint32_t count = 0;
    for (uint64_t left = m->size; left > 0; count++) {
        piece[count].iov_len = left < PIECE ? left : PIECE;
        left -= piece[count].iov_len;
        piece[count].iov_base = m->buffer + left;
    }
    m->pieces = pieces_init(malloc(pieces_room(count)), piece, count);
}

/* A new message, of a size that the script says; NULL if there were MESSAGES. */
static inline struct message *messages_next(struct messages *all, struct script *script)
{
    static const uint64_t sizes[] = {0, 1, 31, 32, 33, 63, 64, 65, 500, LARGEST_MESSAGE};
    uint64_t size = sizes[script_below(script, sizeof sizes / sizeof sizes[0])];
    if (all->begun == MESSAGES)
        return NULL;
    struct message *m = &all->message[all->begun];
    *m = (struct message){.buffer = calloc(1, size == 0 ? 1 : size), .size = size};
    if (m->buffer == NULL)
        abort();
    if (all->begun % 3 == 2)
        messages_cut(m);
    return m;
}

/* The new message is under way; or it was refused, and never was. */
static inline void messages_begin(struct messages *all, struct message *m, bool is_taken)
{
    if (is_taken) {
        all->begun++;
        return;
    }
    free(m->pieces);
    free(m->buffer);
}

/* Its bytes, in one place. */
static inline const uint8_t *messages_bytes(const struct message *m)
{
    static uint8_t bytes[LARGEST_MESSAGE];
    uint8_t *to = bytes;
    struct iovec piece;
    for (uint32_t i = 0; pieces_of_memory(m->pieces, m->buffer, m->size, i, &piece); i++) {
        memcpy(to, piece.iov_base, piece.iov_len);
        to += piece.iov_len;
    }
    return bytes;
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
    free(m->pieces);
    free(m->buffer);
    m->pieces = NULL;
    m->buffer = NULL;
    all->over++;
}

#endif
