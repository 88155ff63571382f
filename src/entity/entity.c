#include "turns.h"

#include "platform/system.h"
#include "platform/waking.h"

enum { ENDINGS = 32 };

/* How a message ended, on its way from the locked section to those who wait. */
struct ending {
    struct message *message;
    int code;
    nlong length;
};

/* Whom a locked section has to wake. */
struct calls {
    bool sending, timeout, progress, helm;
};

void entity_enter(struct zcrp_entity *e)
{
    mutex_lock(&e->mutex);
}

/* What ends a message from within: the core knows of no channel. */
static int closed_code(const struct zcrp_entity *e)
{
    return e->is_broken ? ZCRP_ERROR_CHANNEL : ZCRP_ERROR_CLOSED;
}

static int code_of(const struct zcrp_entity *e, enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_OK:
        return ZCRP_OK;
    case OUTCOME_TOO_LARGE:
        return ZCRP_ERROR_TOO_LARGE;
    case OUTCOME_CANCELLED:
        return ZCRP_ERROR_CANCELLED;
    case OUTCOME_PEER_CANCELLED:
        return ZCRP_ERROR_PEER_CANCELLED;
    case OUTCOME_FAULT:
        return ZCRP_ERROR_FAULT;
    case OUTCOME_REFUSED:
        return ZCRP_ERROR_REFUSED;
    case OUTCOME_UNREACHABLE:
        return ZCRP_ERROR_UNREACHABLE;
    case OUTCOME_VERSION:
        return ZCRP_ERROR_VERSION;
    case OUTCOME_SILENT:
        return ZCRP_ERROR_SILENT;
    case OUTCOME_STALLED:
        return ZCRP_ERROR_STALLED;
    case OUTCOME_PROTOCOL:
        return ZCRP_ERROR_PROTOCOL;
    case OUTCOME_RESTARTED:
        return ZCRP_ERROR_RESTARTED;
    case OUTCOME_PEER_CLOSED:
        return ZCRP_ERROR_PEER_CLOSED;
    case OUTCOME_CLOSED:
        break;
    }
    return closed_code(e);
}

/* Ends of the whole session: what waits in the backlog was meant for it too. */
static bool is_end_of_session(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_REFUSED:
    case OUTCOME_UNREACHABLE:
    case OUTCOME_VERSION:
    case OUTCOME_SILENT:
    case OUTCOME_STALLED:
    case OUTCOME_PROTOCOL:
    case OUTCOME_RESTARTED:
    case OUTCOME_PEER_CLOSED:
        return true;
    case OUTCOME_OK:
    case OUTCOME_TOO_LARGE:
    case OUTCOME_CANCELLED:
    case OUTCOME_PEER_CANCELLED:
    case OUTCOME_FAULT:
    case OUTCOME_CLOSED:
        break;
    }
    return false;
}

/* The next message that the machine is done with; events of blanks are passed over. */
static bool ending_from_machine(struct zcrp_entity *e, struct ending *ending)
{
    struct event event = {.user = NULL};

    while (event.user == NULL)
        if (!machine_event(&e->machine, &event))
            return false;
    *ending = (struct ending){
        .message = event.user, .code = code_of(e, event.outcome), .length = event.length};
    if (is_end_of_session(event.outcome))
        backlog_fail(&e->backlog, ending->code);
    return true;
}

/* What ended there. Once nothing is sent any more, the others too, behind what the machine
 * had. */
static bool ending_from_backlog(struct zcrp_entity *e, struct ending *ending)
{
    struct message *m = backlog_take_ended(&e->backlog);

    *ending = (struct ending){.message = m, .code = m != NULL ? m->reason : ZCRP_OK};
    if (m != NULL || !e->is_over)
        return m != NULL;
    while (m == NULL && !backlog_is_empty(&e->backlog)) {
        m = backlog_head(&e->backlog);
        backlog_take(&e->backlog);
    }
    *ending = (struct ending){.message = m, .code = closed_code(e)};
    return m != NULL;
}

static uint32_t take_endings(struct zcrp_entity *e, struct ending ending[ENDINGS])
{
    uint32_t count = 0;

    while (count < ENDINGS &&
           (ending_from_machine(e, &ending[count]) || ending_from_backlog(e, &ending[count]))) {
        ending[count].message->is_over = true;
        if (ending[count].code == ZCRP_OK)
            e->messages++;
        else
            e->failures++;
        e->bytes += ending[count].length;
        count++;
    }
    return count;
}

/* Room in the machine's table comes with events, but also without: a message that was taken back
 * keeps its place behind its event. So this is tried always. True if any went up; then there may be
 * new events. */
static bool move_backlog_up(struct zcrp_entity *e)
{
    bool any = false;

    while (!e->is_over && !backlog_is_empty(&e->backlog)) {
        if (!machine_submit(&e->machine, clock_now(), backlog_head(&e->backlog)))
            break;
        backlog_take(&e->backlog);
        any = true;
    }
    return any;
}

static void tell_endings(struct zcrp_entity *e, const struct ending *ending, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        collection_put(&e->collection, ending[i].message);
        message_end(ending[i].message, ending[i].code, ending[i].length);
    }
    if (count > 0) {
        collection_ring(&e->collection);
        bell_ring();
        if (atomic_load(&e->helm.sleeps))
            wake_signal(&e->helm.wake);
    }
}

bool entity_is_sending_due(struct zcrp_entity *e)
{
    if (e->is_broken || e->is_sending || e->machine.role != MACHINE_SENDER)
        return false;
    return e->is_blocked != CHANNEL_OK || sender_has_burst(e->machine.sender);
}

instant entity_deadline(const struct zcrp_entity *e)
{
    return e->is_broken ? NEVER : machine_deadline(&e->machine);
}

/* Whoever is at the helm sees to what is due, and to what is to be sent unless it sleeps. A thread
 * that is called counts as awake, so that it is called once. */
static struct calls whom_to_wake(struct zcrp_entity *e)
{
    instant deadline = entity_deadline(e);
    struct calls calls = {
        .sending = e->sending_sleeps && (e->is_stopping || entity_is_sending_due(e)),
        .timeout = e->is_stopping || deadline < e->timeout_at,
        .progress = e->is_closing,
        .helm = e->helm.is_taken && atomic_load(&e->helm.sleeps) && deadline < e->helm.due,
    };

    if ((calls.sending || calls.timeout) && !e->is_stopping && !e->is_closing) {
        bool is_minded = helm_is_minded(e);
        calls.sending = calls.sending && !is_minded;
        calls.timeout = calls.timeout && !is_minded && !e->helm.is_taken;
    }
    if (calls.sending)
        e->sending_sleeps = false;
    if (calls.timeout)
        e->timeout_at = INT64_MIN;
    return calls;
}

static void wake(struct zcrp_entity *e, struct calls calls)
{
    if (calls.sending)
        condition_signal(&e->sending_due);
    if (calls.timeout)
        condition_signal(&e->timeout_due);
    if (calls.progress)
        condition_broadcast(&e->progress);
    if (calls.helm)
        wake_signal(&e->helm.wake);
}

void entity_leave(struct zcrp_entity *e)
{
    struct ending ending[ENDINGS];

    for (;;) {
        uint32_t count = take_endings(e, ending);
        bool is_all = !move_backlog_up(e) && count < ENDINGS;
        struct calls calls = whom_to_wake(e);
        if (e->options.trace != NULL)
            stats_trace(e);
        mutex_unlock(&e->mutex);
        wake(e, calls);
        tell_endings(e, ending, count);
        if (is_all)
            return;
        mutex_lock(&e->mutex);
    }
}

void entity_break(struct zcrp_entity *e)
{
    if (e->is_broken)
        return;
    e->is_broken = true;
    e->is_over = true;
    machine_fail(&e->machine, clock_now(), OUTCOME_CLOSED);
}
