/* Waiting for messages: one with its latch, several with the bell. */
#include "helm.h"
#include "message.h"
#include "platform/bell.h"
#include "platform/clock.h"

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
    if (message_is_in_flight(m) && !helm_wait(m, deadline_in(timeout_ns)))
        return ZCRP_ERROR_TIMEOUT;
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

int zcrp_wait_any(struct zcrp_msg *const messages[], int count, int64_t timeout_ns)
{
    if (messages == NULL || count < 0)
        return ZCRP_ERROR_ARGUMENT;
    instant deadline = deadline_in(timeout_ns);
    uint32_t heard = bell_listen();
    bool in_time = true;
    int found;
    while ((found = find_ended(messages, count)) == ZCRP_ERROR_BUSY && in_time)
        in_time = bell_wait(&heard, deadline);
    bell_leave();
    return found == ZCRP_ERROR_BUSY ? ZCRP_ERROR_TIMEOUT : found;
}
