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

static const struct sockets_duties looks = {.arrive = rx_on_look,
                                            .glance = rx_on_glance,
                                            .rest = rx_on_rest,
                                            .holds = rx_on_holds,
                                            .resume = rx_on_resume};

void turns_enter(struct zcrp_entity *e, struct sockets *s)
{
    struct zcrp_entity *reader = entity_reader(e);
    const struct sockets_client client = {.duties = &looks,
                                          .client = reader,
                                          .fd = reader->channels.in->fd,
                                          .patience = reader->options.spin_ns};

    (void)sockets_add(s, &e->link->sockets, &client);
}

void turns_leave(struct zcrp_entity *e, struct sockets *s)
{
    if (sockets_remove(s, &e->link->sockets))
        rx_arm(entity_reader(e));
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
