#include "presence.h"

/* ---- looking ---- */

static bool is_looked_at(const struct burst *b)
{
    return !b->is_present && !b->is_control && b->segment > PRESENCE_COPIED;
}

/* What is not there after a fetch is gone, or was reclaimed. It is offered once: a read tells. */
static bool was_brought(const struct presence *p, uint64_t message, struct iovec piece)
{
    return p->fetch != NULL && p->fetched == message &&
           fetch_has_brought(p->fetch, piece.iov_base, piece.iov_len);
}

bool presence_allows(struct presence *p, const struct burst *b)
{
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

bool presence_is_awaited(const struct presence *p)
{
    return p->fetch == NULL ||
           (!fetch_is_over(p->fetch) && !was_brought(p, p->message, p->missing));
}

void presence_fetch(struct presence *p, struct iovec rest, void (*told)(void *context),
                    void *context)
{
    if (p->fetch != NULL && p->fetched == p->message && presence_is_awaited(p))
        return;
    fetch_leave(p->fetch);
    p->fetched = p->message;
    p->fetch = fetch_begin(rest.iov_base, rest.iov_len, told, context);
}

void presence_end(struct presence *p)
{
    fetch_leave(p->fetch);
    p->fetch = NULL;
}

void presence_abandon(struct presence *p)
{
    fetch_abandon(p->fetch);
    p->fetch = NULL;
}
