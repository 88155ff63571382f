/* Submitting a message, to be sent or to be received into. */
#include "core/wire/datagram.h"
#include "entity.h"
#include "platform/clock.h"
#include "turns.h"

/* Under the mutex: what goes first goes first, so nothing passes the backlog. */
static void queue(struct zcrp_entity *e, struct message *m, nlong size)
{
    collection_withdraw(m);
    message_begin(m, e, size);
    if (!backlog_is_empty(&e->backlog) || !machine_submit(&e->machine, clock_now(), m))
        backlog_add(&e->backlog, m);
}

/* With nothing under way the caller's thread sends itself: no other has to be woken. While
 * something is, what is submitted gathers, and goes out in bursts. A receiver's request goes out at
 * once when the machine says so. */
static void send_at_once(struct zcrp_entity *e)
{
    bool is_sender = e->machine.role == MACHINE_SENDER;
    if (!is_sender || sender_gauges(e->machine.sender).in_transit == 0)
        sending_drain(e, is_sender ? SENDING_AT_ONCE : SENDING_BURSTS);
}

int zcrp_submit(struct zcrp_entity *entity, struct zcrp_msg *message, nlong size)
{
    struct message *m = message_of(message);
    int code = ZCRP_OK;

    if (entity == NULL || m == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (entity_is_forked(entity))
        return ZCRP_ERROR_FORKED;
    if (message_is_in_flight(m))
        return ZCRP_ERROR_BUSY;
    if (size > m->public.message_size || size > MESSAGE_BYTES_MAX)
        return ZCRP_ERROR_SIZE;
    entity_enter(entity);
    if (entity->is_broken)
        code = ZCRP_ERROR_CHANNEL;
    else if (entity->is_closing)
        code = ZCRP_ERROR_CLOSED;
    else
        queue(entity, m, size);
    send_at_once(entity);
    entity_leave(entity);
    return code;
}
