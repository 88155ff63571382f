#include "presence.h"

#include "entity.h"

/* ---- looking ---- */

static bool is_looked_at(const struct burst *b)
{
    return !b->is_seen && !b->is_control && b->segment > PRESENCE_COPIED;
}

/* What is not there after a fetch is gone, or was reclaimed. It is offered once: a read tells. */
static bool was_brought(const struct presence *p, uint64_t message, struct iovec piece)
{
    return p->fetch != NULL && p->fetched == message &&
           fetch_has_brought(p->fetch, piece.iov_base, piece.iov_len);
}

bool presence_allows(struct zcrp_entity *e, const struct burst *b)
{
    struct presence *p = &e->presence;
    size_t absent = 0;
    uint32_t unit = 0;

    if (!is_looked_at(b) || pages_of_all_are_there(&p->seen, b->iov, b->datagrams, 2, &absent))
        return true;
    for (uint32_t i = 0; i < b->pins; i++)
        for (uint32_t end = unit + b->pin[i].units; unit < end; unit++) {
            struct iovec piece = b->iov[2 * unit];
            if (unit < absent || was_brought(p, b->pin[i].message, piece) ||
                pages_are_there(piece.iov_base, piece.iov_len))
                continue;
            p->message = b->pin[i].message;
            p->missing = piece;
            return false;
        }
    return true;
}

/* ---- bringing ---- */

static void on_pages(void *context)
{
    struct zcrp_entity *e = context;

    engine_ready(&e->member);
}

bool presence_is_awaited(const struct zcrp_entity *e)
{
    const struct presence *p = &e->presence;

    return p->fetch == NULL ||
           (!fetch_is_over(p->fetch) && !was_brought(p, p->message, p->missing));
}

/* The missing piece, and all that follows it in its message. */
static struct iovec rest_of_message(struct zcrp_entity *e)
{
    const struct presence *p = &e->presence;
    struct iovec buffer = sender_buffer(e->machine.sender, p->message);
    size_t before = (size_t)((uint8_t *)p->missing.iov_base - (uint8_t *)buffer.iov_base);

    if (before >= buffer.iov_len)
        return p->missing;
    return (struct iovec){p->missing.iov_base, buffer.iov_len - before};
}

void presence_fetch(struct zcrp_entity *e)
{
    struct presence *p = &e->presence;
    struct iovec rest = rest_of_message(e);

    if (p->fetch != NULL && p->fetched == p->message && presence_is_awaited(e))
        return;
    entity_leave(e);
    fetch_leave(p->fetch);
    p->fetched = p->message;
    p->fetch = fetch_begin(rest.iov_base, rest.iov_len, on_pages, e);
    entity_enter(e);
}

void presence_end(struct zcrp_entity *e)
{
    fetch_leave(e->presence.fetch);
    e->presence.fetch = NULL;
}

void presence_abandon(struct zcrp_entity *e)
{
    fetch_abandon(e->presence.fetch);
    e->presence.fetch = NULL;
}
