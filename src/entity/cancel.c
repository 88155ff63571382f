/* Taking a message back. */
#include "entity.h"
#include "platform/system.h"
#include "turns.h"

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
        return message_code(m) == ZCRP_ERROR_FORKED ? ZCRP_ERROR_FORKED : ZCRP_ERROR_IDLE;
    entity_enter(e);
    bool is_cancelled = cancel(e, m);
    if (is_cancelled && e->machine.role == MACHINE_RECEIVER)
        sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
    (void)latch_wait(&m->latch, NEVER, 0, NULL, 0);
    helm_depart(e);
    return is_cancelled ? ZCRP_OK : ZCRP_ERROR_IDLE;
}
