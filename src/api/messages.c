/* Making messages, over memory of the library's, of a connection's or of the user's; and freeing
 * them. */
#include "accept/connection.h"
#include "link/codes.h"
#include "link/collection.h"
#include "link/message.h"
#include "platform/reason.h"
#include "transport/shm/shared_arena.h"

#include <errno.h>
#include <stdint.h>

/* ---- in one place ---- */

struct zcrp_msg *zcrp_alloc_msg(nlong size)
{
    struct message *m = message_create(size);

    return m != NULL ? &m->public : NULL;
}

/* From the shared arena, if it has one with room. */
struct zcrp_msg *zcrp_connection_alloc_msg(struct zcrp_connection *connection, nlong size)
{
    struct shared_arena *arena = connection != NULL ? connection->arena : NULL;
    void *memory =
        arena != NULL && size <= PTRDIFF_MAX ? shared_arena_take(arena, (size_t)size) : NULL;

    if (connection == NULL || memory == NULL)
        return connection != NULL ? zcrp_alloc_msg(size) : NULL;
    struct message *m = message_create_over(memory, size);
    if (m == NULL) {
        shared_arena_give(arena, memory);
        return NULL;
    }
    m->memory = memory;
    m->arena = arena;
    return &m->public;
}

struct zcrp_msg *zcrp_wrap_msg(void *buffer, nlong size)
{
    struct message *m = buffer == NULL && size > 0 ? NULL : message_create_over(buffer, size);

    if (m == NULL)
        return NULL;
    m->is_wrapped = true;
    return &m->public;
}

int zcrp_rewrap_msg(struct zcrp_msg *message, void *buffer, nlong size)
{
    struct message *m = message_of(message);

    if (m == NULL || (buffer == NULL && size > 0))
        return code_of_null(m == NULL ? "message" : "buffer");
    if (!m->is_wrapped)
        return reason_say(ZCRP_ERROR_ARGUMENT,
                          "message was not made by zcrp_wrap_msg or zcrp_wrap_iov");
    int code = message_refusal(m);
    if (code != ZCRP_OK)
        return code;
    if ((size_t)size != size) /* a size_t may have 32 bits */
        return reason_say(ZCRP_ERROR_ARGUMENT, "size is more than a process can have");
    m->public = (struct zcrp_msg){
        .buffer = buffer, .message_size = size, .buffer_size = size, .context = m->public.context};
    m->pieces = NULL;
    m->seen_bytes = 0;
    return ZCRP_OK;
}

/* ---- in several pieces ---- */

_Static_assert((int)ZCRP_PIECES_MOST == (int)PIECES_MOST, "as many as the library keeps");

/* Can the piece be one of a message, behind others with so many bytes? */
static int check_piece(const struct iovec *piece, int i, size_t behind)
{
    uintptr_t at = (uintptr_t)piece->iov_base;

    if (piece->iov_len == 0)
        return ZCRP_OK;
    if (at == 0)
        return reason_say(ZCRP_ERROR_ARGUMENT, "pieces[%d] is NULL, and has %zu bytes", i,
                          piece->iov_len);
    if (piece->iov_len > PTRDIFF_MAX - behind)
        return reason_say(ZCRP_ERROR_ARGUMENT,
                          "pieces[%d] has %zu bytes; together they have to be at most %td", i,
                          piece->iov_len, PTRDIFF_MAX);
    if (piece->iov_len > UINTPTR_MAX - at)
        return reason_say(ZCRP_ERROR_ARGUMENT, "pieces[%d] ends behind the last address", i);
    return ZCRP_OK;
}

static int check_pieces(const struct iovec *pieces, int count)
{
    size_t bytes = 0;

    if (count < 0 || count > ZCRP_PIECES_MOST)
        return reason_say(ZCRP_ERROR_ARGUMENT, "count is %d; it has to be 0 to %d", count,
                          ZCRP_PIECES_MOST);
    if (pieces == NULL && count > 0)
        return code_of_null("pieces");
    for (int i = 0; i < count; i++) {
        int code = check_piece(&pieces[i], i, bytes);
        if (code != ZCRP_OK)
            return code;
        bytes += pieces[i].iov_len;
    }
    return ZCRP_OK;
}

struct zcrp_msg *zcrp_wrap_iov(const struct iovec *pieces, int count)
{
    if (check_pieces(pieces, count) != ZCRP_OK) {
        errno = EINVAL;
        return NULL;
    }
    struct message *m = message_create_over_pieces(pieces, (uint32_t)count);
    if (m == NULL)
        return NULL;
    m->is_wrapped = true;
    return &m->public;
}

/* ---- freeing ---- */

void zcrp_free_msg(struct zcrp_msg *message)
{
    struct message *m = message_of(message);

    if (m == NULL || m->is_lent || message_is_in_flight(m))
        return;
    collection_withdraw(m);
    if (m->arena != NULL) {
        shared_arena_give(m->arena, m->memory);
        m->memory = NULL;
    }
    message_destroy(m);
}
