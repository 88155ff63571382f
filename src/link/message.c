#include "message.h"

#include "collection.h"
#include "core/check.h"
#include "platform/nofault.h"
#include "platform/reason.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SEEN_FOR SECOND

enum {
    CACHE_LINE_BYTES = 64,
    HUGE_PAGE_BYTES = 2 << 20,
};

/* ---- making ---- */

static void init_over(struct message *m, void *buffer, nlong size)
{
    *m = (struct message){
        .public = {.buffer = buffer, .message_size = size, .buffer_size = size},
        .code = ZCRP_ERROR_IDLE,
    };
    latch_reset(&m->latch);
    latch_open(&m->latch);
}

struct message *message_create_over(void *buffer, nlong size)
{
    bool is_possible = (size_t)size == size; /* a size_t may have 32 bits */
    struct message *m = is_possible ? malloc(sizeof(*m)) : NULL;

    if (m != NULL)
        init_over(m, buffer, size);
    return m;
}

/* What lies in one place is as if it had been given so. */
struct message *message_create_over_pieces(const struct iovec *piece, uint32_t count)
{
    struct message *m = malloc(sizeof(*m) + pieces_room(count));

    if (m == NULL)
        return NULL;
    const struct pieces *pieces = pieces_init(m + 1, piece, count);
    init_over(m, pieces->count == 1 ? pieces->piece[0].at : NULL, pieces->bytes);
    m->pieces = pieces->count > 1 ? pieces : NULL;
    return m;
}

/* Large buffers get large pages where the system gives them: fewer faults, fewer TLB misses. */
static void *create_buffer(nlong size)
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

struct message *message_create(nlong size)
{
    void *memory = create_buffer(size);
    struct message *m = memory == NULL ? NULL : message_create_over(memory, size);

    if (m == NULL) {
        free(memory);
        return NULL;
    }
    m->memory = memory;
    return m;
}

void message_destroy(struct message *m)
{
    collection_withdraw(m);
    free(m->memory);
    free(m);
}

/* ---- a flight ---- */

int message_say_refused(void)
{
    return reason_say(ZCRP_ERROR_REFUSED, "%s", zcrp_strerror(ZCRP_ERROR_REFUSED));
}

bool message_is_unseen(const struct message *m, nlong size, instant now)
{
    return m->is_wrapped && (size > m->seen_bytes || now - m->seen_at > SEEN_FOR);
}

void message_note_seen(struct message *m, nlong size, instant now)
{
    m->is_unseen = message_is_unseen(m, size, now);
    m->seen_at = m->is_unseen ? now : m->seen_at;
}

void message_begin(struct message *m, struct zcrp_entity *entity, nlong size)
{
    m->entity = entity;
    m->generation = forked_generation();
    m->size = size;
    m->life = MESSAGE_IDLE;
    m->blanks = 0;
    latch_reset(&m->latch);
}

__attribute__((noinline)) void message_clear(const struct message *m, uint64_t first, uint64_t last)
{
    struct iovec piece[PIECES_MOST];

    if (!m->is_wrapped) {
        pieces_clear(m->pieces, m->public.buffer, first, last);
    } else if (m->pieces == NULL) {
        nofault_clear(m->public.buffer + first, last - first);
    } else {
        uint32_t count = pieces_list(m->pieces, first, last, piece, PIECES_MOST);
        for (uint32_t i = 0; i < count; i++)
            nofault_clear(piece[i].iov_base, piece[i].iov_len);
    }
}

void message_decide(struct message *m, int code, nlong length)
{
    message_move(m, MESSAGE_ENDED);
    m->code = code;
    m->public.length = length;
    m->seen_bytes = code == ZCRP_OK ? length : 0;
}

void message_move(struct message *m, enum message_life life)
{
    CHECK(life > m->life);
    m->life = life;
}

void list_add(struct list *l, struct message *message)
{
    message->links = (struct list_links){.previous = l->last};
    if (l->last != NULL)
        l->last->links.next = message;
    else
        l->first = message;
    l->last = message;
}

void list_remove(struct list *l, struct message *message)
{
    const struct list_links links = message->links;

    if (links.previous != NULL)
        links.previous->links.next = links.next;
    else
        l->first = links.next;
    if (links.next != NULL)
        links.next->links.previous = links.previous;
    else
        l->last = links.previous;
}
