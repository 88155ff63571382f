/* What users call on an entity: submit, cancel, collect. */
#include "core/datagram.h"
#include "entity.h"
#include "platform/clock.h"
#include "turns.h"

#include <errno.h>

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

/* Under the mutex. True if the message will end with CANCELLED. */
static bool cancel(struct zcrp_entity *e, struct message *m)
{
    if (m->is_over)
        return false;
    if (m->waits) {
        backlog_cancel(&e->backlog, m);
        return true;
    }
    return machine_cancel(&e->machine, clock_now(), m->number);
}

/* The event of a message that a burst or a plan holds comes when that call of the channel is over:
 * the latch tells. The library's threads never wait like this. */
int zcrp_cancel(struct zcrp_msg *message)
{
    struct message *m = message_of(message);

    if (m == NULL)
        return ZCRP_ERROR_ARGUMENT;
    struct zcrp_entity *e = helm_visit(m);
    if (e == NULL)
        return ZCRP_ERROR_IDLE;
    entity_enter(e);
    bool is_cancelled = cancel(e, m);
    if (is_cancelled && e->machine.role == MACHINE_RECEIVER)
        sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
    (void)latch_wait(&m->latch, NEVER, 0);
    helm_depart(e);
    return is_cancelled ? ZCRP_OK : ZCRP_ERROR_IDLE;
}

int zcrp_descriptor(struct zcrp_entity *entity)
{
    if (entity == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int fd = collection_descriptor(&entity->collection);
    if (fd < 0)
        errno = -fd;
    return fd < 0 ? ZCRP_ERROR_SYSTEM : fd;
}

struct zcrp_msg *zcrp_collect(struct zcrp_entity *entity)
{
    struct message *m = entity == NULL ? NULL : collection_take(&entity->collection);

    return m == NULL ? NULL : &m->public;
}
