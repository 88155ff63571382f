/* The receiver's arriving turn: plans, receives, lands. */
#include "platform/system.h"
#include "turns.h"

enum { TURN_RECEIVES = 64 };

static void plan(struct zcrp_entity *e)
{
    struct receiver *r = e->machine.receiver;
    struct openings_choice choice = openings_choose(&e->openings, receiver_recent_bytes(r));

    receiver_plan(r, &e->landing, choice.openings, choice.units);
}

/* Only what belongs to the pairing tells how others like it will come. */
static void land(struct zcrp_entity *e)
{
    struct receiver_arrivals arrivals =
        receiver_landed(e->machine.receiver, clock_now(), &e->landing);

    if (arrivals.openings == 0)
        return;
    openings_learn(&e->openings, &e->landing);
    gather_came(&e->gather, arrivals.openings, arrivals.bytes);
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
    if (received == CHANNEL_FAULT)
        entity_on_plan_fault(e);
    land(e);
    if (received == CHANNEL_BROKEN)
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
