#include "timers.h"

#include "own_move.h"
#include "peer_move.h"
#include "rx.h"
#include "tx.h"

/* Within a locked section: does what is due. A connection that is quiet gives memory back. */
static void expire(struct zcrp_entity *e, instant now)
{
    struct zcrp_entity *other = entity_other(e);

    if (other != NULL && machine_is_quiet(&e->machine, now)) {
        machine_rest(&e->machine);
        machine_rest(&other->machine);
    }
    machine_expire(&e->machine, now);
    keyed_expire(e, now);
    peer_move_expire(e, now);
    own_move_expire(e, now);
}

/* Within a locked section. */
static void expire_if_due(struct zcrp_entity *e, instant now)
{
    if (e == NULL || entity_deadline(e) > now)
        return;
    entity_touch(e);
    expire(e, now);
    tx_drain(e, SENDING_BURSTS);
}

void timers_turn(struct zcrp_entity *reader, instant now)
{
    (void)link_note_time(reader->link, now);
    expire_if_due(reader, now);
    expire_if_due(entity_other(reader), now);
}

/* Within a locked section: the machine has buffers again, or so it is hoped. */
static void unblock(struct zcrp_entity *e, instant now)
{
    if (now < e->unblock_at)
        return;
    e->unblock_at = NEVER;
    e->blocked = CHANNEL_OK;
}

/* A connection ends with its sender, of which the receiver learns. Within a locked section. */
static void end_for_death(struct zcrp_entity *e, instant now)
{
    struct zcrp_entity *half = entity_other(e) != NULL ? e->link->half[MACHINE_SENDER] : e;

    entity_touch(half);
    if (entity_is_sender(half))
        ways_reap_wholes(half); /* what it had read */
    machine_fail(&half->machine, now, OUTCOME_DIED);
}

/* Somebody looks at memory now. Not locked. */
static void ask_for_look(struct zcrp_entity *e)
{
    lease_wake(&e->link->lease);
    rx_come(entity_reader(e));
}

/* Is anything unread that the peer has written, or is a thread about it? Locked. */
static bool has_unread(const struct link *l)
{
    bool has = l->rx.is_claimed;

    for (int role = 0; role < LINK_HALVES && !has; role++)
        has = l->half[role] != NULL && transport_has_unread(l->half[role]->transport);
    return has && !l->is_broken;
}

/* It is time to end for the peer's death, but a busy machine has kept those that receive from what
 * the peer has left. This thread leaves it to them: a copy may take long, and deadlines of other
 * links would wait. True: ask_for_look. Locked. */
static bool puts_off_end(struct zcrp_entity *e, instant now)
{
    return now >= e->transport->ended_at && has_unread(e->link) &&
           transport_put_off_peer_end(e->transport, now);
}

/* It may have written to memory, and not lived to wake anybody: somebody looks now. */
void timers_on_peer_ended(void *client)
{
    struct zcrp_entity *reader = client, *other = entity_other(reader);

    entity_enter(reader);
    transport_on_peer_ended(reader->transport);
    if (other != NULL) {
        entity_touch(other);
        transport_on_peer_ended(other->transport);
    }
    entity_leave(reader);
    ask_for_look(reader);
}

void timers_on_due(void *client)
{
    struct zcrp_entity *e = client;
    instant now = clock_now();

    entity_enter(e);
    (void)link_note_time(e->link, now);
    e->due = NEVER;
    notice_expire(e, now);
    unblock(e, now);
    if (flush_is_for(&e->flush, FLUSH_ANSWER) && now >= flush_at(&e->flush))
        answering_on_late(&e->answering);
    if (flush_is_for(&e->flush, FLUSH_MORE) && now >= flush_at(&e->flush))
        collection_set_more(&e->collection, false); /* its user does other things */
    bool was_late = e->transport->is_late;
    if (was_late)
        ways_look_late(e);
    bool must_arm =
        entity_reader(e) == e && lease_return_if_due(&e->link->lease, now) && !e->link->is_broken;
    must_arm |= was_late && !e->transport->is_late &&
                entity_reader(e) == e; /* nobody has looked meanwhile */
    if (entity_reader(e) == e && entity_other(e) != NULL)
        entity_touch(entity_other(e)); /* its time may be one that only the lease's holder knew */
    bool must_look = puts_off_end(e, now);
    if (transport_take_peer_end(e->transport, now))
        end_for_death(e, now);
    if (entity_deadline(e) <= now)
        expire(e, now);
    tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
    if (must_arm)
        rx_arm(e);
    if (must_look)
        ask_for_look(e);
}
