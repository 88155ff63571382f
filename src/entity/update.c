/* The sender's arriving turn: one datagram from the receiver after the other. */
#include "platform/system.h"
#include "turns.h"

enum { TURN_DATAGRAMS = 64 };

static bool claim(struct zcrp_entity *e)
{
    entity_enter(e);
    bool is_ours = !e->is_arriving && !e->is_broken;
    e->is_arriving = e->is_arriving || is_ours;
    entity_leave(e);
    return is_ours;
}

bool update_once(struct zcrp_entity *e)
{
    if (!claim(e))
        return false;
    int size = channel_receive_control(e->in, e->arrivals, e->arrival_bytes);
    entity_enter(e);
    if (size > 0)
        sender_receive(e->machine.sender, clock_now(), e->arrivals, (size_t)size);
    else if (size < 0)
        entity_break(e);
    entity_pass_hints(e);
    e->is_arriving = false;
    bool has_sent = sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
    return size > 0 || has_sent;
}

void update_turn(struct zcrp_entity *e)
{
    for (int i = 0; i < TURN_DATAGRAMS && update_once(e); i++)
        ;
}
