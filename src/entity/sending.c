/* Bursts go from the machine to the channel, and the machine learns what became of them. */
#include "platform/system.h"
#include "turns.h"

/* The interface refuses datagrams of this size: units get smaller. False if they cannot; then the
 * burst is as good as lost, so that time goes by before it is tried again. */
static bool narrow(struct zcrp_entity *e, uint32_t refused)
{
    return e->machine.role == MACHINE_SENDER &&
           sender_on_refused_size(e->machine.sender, clock_now(), refused);
}

/* Tells the machine what became of the burst. A receiver's answer that found no room is dropped:
 * the machine says it again in time. */
static void settle(struct zcrp_entity *e, enum channel_verdict verdict, uint32_t sent)
{
    switch (verdict) {
    case CHANNEL_OK:
        break;
    case CHANNEL_BLOCKED:
    case CHANNEL_CROWDED:
        if (e->machine.role == MACHINE_SENDER)
            e->is_blocked = verdict;
        break;
    case CHANNEL_TOO_BIG:
        if (!narrow(e, e->burst.segment))
            sent = e->burst.datagrams;
        e->hints = channel_count(e->out, CHANNEL_TOO_BIGS); /* this was none */
        break;
    case CHANNEL_REFUSED:
        sent = e->burst.datagrams;
        break;
    case CHANNEL_FAULT:
        entity_on_burst_fault(e);
        break;
    case CHANNEL_BROKEN:
        entity_break(e);
        break;
    }
    entity_pass_hints(e);
    machine_sent(&e->machine, clock_now(), &e->burst, sent);
}

/* The path may turn out not to carry what marks congestion. */
static bool wants_ecn(const struct zcrp_entity *e)
{
    return e->machine.role != MACHINE_SENDER || sender_wants_ecn(e->machine.sender);
}

static bool may_send(const struct zcrp_entity *e)
{
    return !e->is_broken && e->is_blocked == CHANNEL_OK;
}

bool sending_drain(struct zcrp_entity *e, int bursts)
{
    int i;

    if (e->is_sending)
        return false;
    e->is_sending = true;
    for (i = 0; i < bursts && may_send(e); i++) {
        uint32_t sent;
        if (!machine_take(&e->machine, clock_now(), &e->burst))
            break;
        bool has_ecn = wants_ecn(e);
        entity_leave(e);
        if (!has_ecn)
            channel_leave_ecn(e->out);
        enum channel_verdict verdict = channel_send(e->out, &e->burst, &sent);
        entity_enter(e);
        settle(e, verdict, sent);
    }
    e->is_sending = false;
    return i > 0;
}

void sending_turn(struct zcrp_entity *e)
{
    entity_enter(e);
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* The channel had no room: waits until it has. */
static void wait_for_room(struct zcrp_entity *e, enum channel_verdict verdict)
{
    int result = channel_wait_writable(e->out, verdict, wake_fd(&e->stop), NEVER);

    entity_enter(e);
    e->is_blocked = CHANNEL_OK;
    if (result == CHANNEL_BROKEN)
        entity_break(e);
    entity_leave(e);
}

bool sending_rest(struct zcrp_entity *e)
{
    entity_enter(e);
    while (!e->is_stopping && !entity_is_sending_due(e)) {
        e->sending_sleeps = true;
        (void)condition_wait(&e->sending_due, &e->mutex, NEVER);
        e->sending_sleeps = false;
    }
    bool is_stopping = e->is_stopping;
    enum channel_verdict verdict = e->is_blocked;
    entity_leave(e);
    if (!is_stopping && verdict != CHANNEL_OK)
        wait_for_room(e, verdict);
    return !is_stopping;
}
