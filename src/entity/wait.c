/* Waiting for messages: one with its latch, several with the bell. */
#include "entity.h"
#include "platform/system.h"
#include "platform/waking.h"

static instant deadline_in(int64_t timeout_ns)
{
    instant now = clock_now();

    return timeout_ns < 0 || timeout_ns >= NEVER - now ? NEVER : now + timeout_ns;
}

int zcrp_wait_for(struct zcrp_msg *message, int64_t timeout_ns)
{
    struct message *m = message_of(message);

    if (m == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (!message_is_in_flight(m))
        return message_code(m);
    switch (helm_wait(m, deadline_in(timeout_ns))) {
    case HELM_TIMEOUT:
        return ZCRP_ERROR_TIMEOUT;
    case HELM_INTERRUPTED:
        return ZCRP_ERROR_INTERRUPTED;
    case HELM_ENDED:
        break;
    }
    return m->code;
}

/* The index of a message that has ended, ZCRP_ERROR_BUSY if there is none but one is in flight,
 * else ZCRP_ERROR_IDLE. */
static int find_ended(struct zcrp_msg *const messages[], int count)
{
    int result = ZCRP_ERROR_IDLE;

    for (int i = 0; i < count; i++) {
        int code = messages[i] == NULL ? ZCRP_ERROR_IDLE : message_code(message_of(messages[i]));
        if (code == ZCRP_ERROR_BUSY)
            result = code;
        else if (code != ZCRP_ERROR_IDLE)
            return i;
    }
    return result;
}

/* Was the entity of any of them interrupted? Says so to one of those that were. */
static bool is_interrupted(struct zcrp_msg *const messages[], int count)
{
    bool is_so = false;

    for (int i = 0; interrupt_is_known() && i < count && !is_so; i++) {
        struct zcrp_entity *e = messages[i] != NULL ? helm_visit(message_of(messages[i])) : NULL;
        if (e == NULL)
            continue;
        is_so = interrupt_is_due(&e->interrupt, interrupt_begin(&e->interrupt));
        if (is_so)
            interrupt_tell(&e->interrupt);
        helm_depart(e);
    }
    return is_so;
}

int zcrp_wait_any(struct zcrp_msg *const messages[], int count, int64_t timeout_ns)
{
    if (messages == NULL || count < 0)
        return ZCRP_ERROR_ARGUMENT;
    instant deadline = deadline_in(timeout_ns);
    uint32_t heard = bell_listen();
    bool in_time = true, has_stopped = false;
    int found;
    while ((found = find_ended(messages, count)) == ZCRP_ERROR_BUSY && in_time && !has_stopped) {
        has_stopped = is_interrupted(messages, count);
        in_time = has_stopped || bell_wait(&heard, deadline);
    }
    bell_leave();
    if (found != ZCRP_ERROR_BUSY)
        return found;
    return has_stopped ? ZCRP_ERROR_INTERRUPTED : ZCRP_ERROR_TIMEOUT;
}
