#include "presence.h"

/* ---- looking ---- */

static bool is_looked_at(const struct burst *b)
{
    return !b->is_present && !b->is_control && b->segment > PRESENCE_COPIED;
}

/* Are all there, as one call tells? If not, units below `*absent` are. */
static bool are_all_there(struct presence *p, const struct burst *b, size_t *absent)
{
    *absent = 0;
    return !b->is_scattered && pages_of_all_are_there(&p->seen, b->iov, b->datagrams, 2, absent);
}

/* What is not there after a fetch is gone, or was reclaimed. It is offered once: a read tells. */
static bool was_brought(const struct presence *p, uint64_t message, struct iovec piece)
{
    return p->fetch != NULL && p->fetched == message &&
           fetch_has_brought(p->fetch, piece.iov_base, piece.iov_len);
}

/* Where the unit's pieces end, without its trailer. */
static uint32_t end_of_data(const struct burst *b, uint32_t unit)
{
    return burst_first(b, unit + 1) - 1;
}

/* The units [unit, end) of a message: behind which of their pieces nothing was fetched. What lies
 * before was there, or was fetched before: where two are gone, neither is fetched for ever. */
static uint32_t fetched_end(const struct presence *p, const struct burst *b, uint64_t message,
                            uint32_t unit, uint32_t end)
{
    uint32_t at = end_of_data(b, end - 1), first = burst_first(b, unit);

    while (at > first && !was_brought(p, message, b->iov[at - 1]))
        at--;
    return at;
}

/* The first piece of those units that is to come; false: none. */
static bool find_missing(const struct presence *p, const struct burst *b, uint64_t message,
                         uint32_t unit, uint32_t end, struct iovec *missing)
{
    uint32_t fetched = fetched_end(p, b, message, unit, end);

    for (; unit < end; unit++)
        for (uint32_t i = burst_first(b, unit); i < end_of_data(b, unit); i++) {
            *missing = b->iov[i];
            if (i >= fetched && !pages_are_there(missing->iov_base, missing->iov_len))
                return true;
        }
    return false;
}

bool presence_allows(struct presence *p, const struct burst *b)
{
    size_t absent;
    uint32_t unit = 0;

    if (!is_looked_at(b) || are_all_there(p, b, &absent))
        return true;
    for (uint32_t i = 0; i < b->pins; i++) {
        uint32_t end = unit + b->pin[i].units;
        uint32_t from = unit < absent ? (uint32_t)absent : unit;
        unit = end;
        if (from < end && find_missing(p, b, b->pin[i].message, from, end, &p->missing)) {
            p->message = b->pin[i].message;
            return false;
        }
    }
    return true;
}

/* ---- bringing ---- */

bool presence_is_awaited(const struct presence *p)
{
    return p->fetch == NULL ||
           (!fetch_is_over(p->fetch) && !was_brought(p, p->message, p->missing));
}

/* Forgets it first, so that a child of that moment has none that is gone. */
void presence_end(struct presence *p)
{
    struct fetch *fetch = p->fetch;

    p->fetch = NULL;
    fetch_leave(fetch);
}

void presence_fetch(struct presence *p, struct iovec rest, void (*told)(void *context),
                    void *context)
{
    if (p->fetch != NULL && p->fetched == p->message && presence_is_awaited(p))
        return;
    presence_end(p);
    p->fetched = p->message;
    p->fetch = fetch_begin(rest.iov_base, rest.iov_len, told, context);
}

void presence_abandon(struct presence *p)
{
    fetch_abandon(p->fetch);
    p->fetch = NULL;
}
