#include "own_move.h"

#include "core/path/address_watch.h"
#include "entity.h"
#include "link.h"
#include "peer_move.h"
#include "transport/names.h"

#include <stdlib.h>

struct own_move {
    struct address_watch watch; /* (m) */
    instant heard;              /* (m) of the peer, by the receiver */
};

bool own_move_begin(struct link *l)
{
    if (!l->half[MACHINE_SENDER]->channels.in->may_rebind)
        return true;
    l->own_move = calloc(1, sizeof(*l->own_move));
    return l->own_move != NULL;
}

void own_move_end(struct own_move *m)
{
    free(m);
}

void own_move_on_heard(struct link *l)
{
    if (l->own_move != NULL)
        l->own_move->heard = clock_now();
}

void own_move_on_homeless(struct link *l)
{
    if (l->own_move != NULL)
        address_watch_on_homeless(&l->own_move->watch);
}

/* ---- when ---- */

static struct address_watch_facts facts_of(const struct link *l)
{
    const struct sender *s = l->half[MACHINE_SENDER]->machine.sender;
    struct receiver *r = l->half[MACHINE_RECEIVER]->machine.receiver;

    return (struct address_watch_facts){
        .is_awaited = sender_is_in_transit(s) || receiver_awaits_more(r),
        .heard = instant_later(sender_awaits_since(s), l->own_move->heard),
        .round_trip = sender_gauges(s).rtt_smoothed,
        .blocked = sender_blocked_message(s),
        .rarest = l->half[MACHINE_SENDER]->options.keepalive_ns,
    };
}

/* Only a session has an address to be found at. */
instant own_move_deadline(const struct link *l)
{
    const struct own_move *m = l->own_move;

    if (m == NULL || l->is_broken || l->half[MACHINE_SENDER] == NULL ||
        l->half[MACHINE_RECEIVER] == NULL ||
        sender_pairing(l->half[MACHINE_SENDER]->machine.sender).session == 0)
        return NEVER;
    const struct address_watch_facts facts = facts_of(l);
    return address_watch_deadline(&m->watch, &facts);
}

/* ---- what ---- */

void own_move_expire(struct zcrp_entity *e, instant now)
{
    struct link *l = e->link;

    if (own_move_deadline(l) > now)
        return;
    struct zcrp_entity *sender = l->half[MACHINE_SENDER];
    const struct address_watch_facts facts = facts_of(l);
    address_watch_on_look(&l->own_move->watch, now, &facts);
    link_touch(l, MACHINE_SENDER);
    sender_show(sender->machine.sender);
    if (!move_claim_all(l)) {
        address_watch_on_homeless(&l->own_move->watch); /* it is tried again soon */
        return;
    }
    const union address peer = sender->channels.in->peer;
    int fd = sender->channels.in->fd;
    entity_leave_to_send(e);
    bool has_moved = udp_bind_anew(fd, &peer);
    entity_enter(e);
    move_release_all(l, has_moved);
}
