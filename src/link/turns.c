#include "turns.h"

#include "rx.h"
#include "timers.h"
#include "tx.h"

static const struct engine_duties duties = {
    .arrive = rx_on_arrival,
    .writable = tx_on_room,
    .send = tx_on_ready,
    .expire = timers_on_due,
    .peer_ended = timers_on_peer_ended,
};

int turns_join(struct zcrp_entity *e)
{
    bool is_sender = e->machine.role == MACHINE_SENDER;

    return engine_join(&e->member, is_sender ? ENGINE_SENDERS : ENGINE_RECEIVERS, &duties, e,
                       entity_reader(e) == e ? e->channels.in->fd : -1, e->channels.out->fd);
}

void turns_start(struct zcrp_entity *e)
{
    if (entity_reader(e) == e)
        engine_arm(&e->member);
    entity_enter(e); /* what is due from the beginning */
    if (keyed_has_datagram(e))
        tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

void turns_end(struct zcrp_entity *e)
{
    entity_enter(e);
    entity_move(e, ENTITY_STOPPING);
    lease_close(&e->link->lease);
    entity_leave(e);
    engine_stop(&e->member);
    transport_end_fetch(e->transport);
}
