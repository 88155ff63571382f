#include "peer.h"

#include "av.h"
#include "ep.h"

#include <stdlib.h>
#include <string.h>

static struct peer *find(const struct ep *ep, const struct address *a)
{
    for (struct list *link = ep->peers.next; link != &ep->peers; link = link->next) {
        struct peer *p = OWNER(link, struct peer, in);
        if (address_is_same(&p->address, a))
            return p;
    }
    return NULL;
}

struct peer *peer_at(struct ep *ep, const struct address *a)
{
    struct peer *p = find(ep, a);

    if (p != NULL)
        return p;
    p = calloc(1, sizeof(*p));
    if (p == NULL)
        return NULL;
    p->address = *a;
    p->fi_addr = av_number(ep->av, a);
    p->is_known = p->fi_addr != FI_ADDR_NOTAVAIL;
    list_add(&ep->peers, &p->in);
    return p;
}

/* ---- by number ---- */

static bool make_room(struct ep *ep, fi_addr_t number)
{
    size_t room = ep->named_room > 0 ? ep->named_room : 64;

    while (room <= number)
        room *= 2;
    if (room == ep->named_room)
        return true;
    struct peer **named = realloc(ep->named, room * sizeof(struct peer *));
    if (named == NULL)
        return false;
    memset(named + ep->named_room, 0, (room - ep->named_room) * sizeof(struct peer *));
    ep->named = named;
    ep->named_room = room;
    return true;
}

struct peer *peer_named(struct ep *ep, fi_addr_t number)
{
    if (number < ep->named_room && ep->named[number] != NULL)
        return ep->named[number];
    const struct address *a = av_address(ep->av, number);
    if (a == NULL || !make_room(ep, number))
        return NULL;
    struct peer *p = peer_at(ep, a);
    if (p != NULL)
        p->is_known = true;
    ep->named[number] = p;
    return p;
}

void ep_on_inserted(struct ep *ep, const struct address *a, fi_addr_t number)
{
    struct peer *p = find(ep, a);

    if (p == NULL)
        return;
    bool is_new = !p->is_known;
    if (is_new)
        p->lost = ZCRP_OK; /* it may be another rank's that has the address now */
    p->is_known = true;
    if (p->fi_addr == FI_ADDR_NOTAVAIL)
        p->fi_addr = number;
    if (is_new)
        match_retry(ep); /* what it has sent has room of its own now */
}

void ep_on_removed(struct ep *ep, fi_addr_t number)
{
    if (number < ep->named_room)
        ep->named[number] = NULL;
    LIST_EACH(link, &ep->peers)
    {
        struct peer *p = OWNER(link, struct peer, in);
        if (p->fi_addr != number)
            continue;
        p->fi_addr = av_number(ep->av, &p->address);
        p->is_known = p->fi_addr != FI_ADDR_NOTAVAIL;
        peer_let_go(ep, p);
    }
}

/* ---- end ---- */

void peer_let_go(struct ep *ep, struct peer *p)
{
    if (p->is_known || p->ways > 0 || p->held > 0 || match_awaits(ep, p))
        return;
    list_remove(&p->in);
    free(p);
}

void peer_free_all(struct ep *ep)
{
    LIST_EACH(link, &ep->peers)
    free(OWNER(link, struct peer, in));
    list_init(&ep->peers);
    free(ep->named);
    ep->named = NULL;
    ep->named_room = 0;
}
