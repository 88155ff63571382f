#include "platform/clock.h"
#include "turns.h"

enum { TURN_RECEIVES = 64 };

/* Units of which no burst holds two follow each other datagram by datagram, so several openings can
 * be foreseen. Of smaller ones nobody knows where a burst ends and the next begins. */
static uint32_t openings(const struct zcrp_entity *e)
{
    bool is_alone = receiver_recent_bytes(e->machine.receiver) > LANDING_DATAGRAM / 2;
    return is_alone ? RECEIVING_BURSTS : 1;
}

/* With GRO one receive brings a burst, so there is one opening for all of it; without, each
 * datagram has an opening of its own, and one system call fills several. */
static void plan(struct zcrp_entity *e)
{
    if (e->in->has_gro)
        receiver_plan(e->machine.receiver, &e->landing, openings(e), LANDING_UNITS);
    else
        receiver_plan(e->machine.receiver, &e->landing, LANDING_OPENINGS, 1);
}

/* The plan is out for no longer than the call takes. */
bool receiving_once(struct zcrp_entity *e)
{
    entity_enter(e);
    bool is_ours = !e->is_arriving && !e->is_broken;
    if (is_ours) {
        e->is_arriving = true;
        plan(e);
    }
    entity_leave(e);
    if (!is_ours)
        return false;
    int received = channel_receive(e->in, &e->landing);
    entity_enter(e);
    if (received <= 0)
        e->landing.received = 0;
    receiver_landed(e->machine.receiver, clock_now(), &e->landing);
    if (received < 0)
        entity_break(e);
    e->is_arriving = false;
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
    return received > 0;
}

void receiving_turn(struct zcrp_entity *e)
{
    for (int i = 0; i < TURN_RECEIVES && receiving_once(e); i++)
        ;
}
