/* Messages that go as a whole, and credit for them. */
#include "core/number.h"
#include "sender_steps.h"

bool sender_whole(struct sender *s, uint32_t most, struct whole *whole)
{
    struct message_out *message =
        sender_session_is_paired(&s->session) ? recovery_whole(&s->recovery, most) : NULL;
    if (message == NULL)
        return false;
    *whole = (struct whole){.number = message->number,
                            .in_session = message->number - s->session.message_base,
                            .user = message->user,
                            .buffer = message->buffer,
                            .pieces = message->pieces,
                            .size = message->size};
    return true;
}

void sender_put_whole(struct sender *s, const struct whole *whole)
{
    recovery_put_whole(messages_out_find(&s->messages, whole->number));
    s->session.has_sent = true;
    s->counters.wholes++;
}

_Static_assert(SENDER_UNKNOWN == POSTED_UNKNOWN, "as the table of messages says it"); /* NOLINT */
_Static_assert(SENDER_UNKNOWN < REQUEST_WITHDRAWN, "what is known is below");

bool sender_lets_pass(struct sender *s)
{
    const struct messages_out *m = &s->messages;
    struct units_to_send *u = &s->recovery.to_send;
    return s->phase == SENDER_OPEN && s->ended == OUTCOME_OK &&
           sender_session_is_paired(&s->session) && !s->session.is_parting && u->count == 0 &&
           m->requested >= m->next && (u->cursor >= m->next || units_to_send_is_done(u));
}

bool sender_next_whole(struct sender *s, struct whole *whole, uint64_t *posted)
{
    struct messages_out *m = &s->messages;
    if (!(s->config.stays || m->open > 0) || !messages_out_is_next(m, posted))
        return false;
    whole->number = m->next;
    whole->in_session = m->next - s->session.message_base;
    return true;
}

void sender_submit_whole(struct sender *s, const struct whole *whole, uint64_t posted)
{
    (void)messages_out_add_whole(&s->messages, whole->user, whole->buffer, whole->size, posted);
    s->recovery.to_send.cursor = s->messages.next;
    s->session.has_sent = true;
    s->counters.wholes++;
}

void sender_pin_whole(struct sender *s, uint64_t number)
{
    messages_out_pin(messages_out_find(&s->messages, number), 1);
}

bool sender_is_whole(struct sender *s, uint64_t number)
{
    const struct message_out *message = messages_out_find_for(&s->messages, number, false);
    return message != NULL && message->is_whole;
}

void sender_whole_arrived(struct sender *s, instant now, uint64_t number)
{
    const struct message_out *message = messages_out_find_for(&s->messages, number, false);
    if (message == NULL)
        return;
    s->counters.bytes += message->size;
    recovery_whole_arrived(&s->recovery, number);
    sender_timer_on_progress(&s->timer, now);
    sender_finish(s);
}

uint32_t sender_wholes_arrived(struct sender *s, instant now, uint64_t number, uint32_t count,
                               void *user[])
{
    uint64_t bytes = 0;
    uint32_t done = s->phase != SENDER_OPEN
                        ? 0
                        : messages_out_finish(&s->messages, number, count, user, &bytes);
    s->counters.bytes += bytes;
    if (done > 0)
        sender_timer_on_progress(&s->timer, now);
    for (uint32_t i = done; i < count; i++)
        sender_whole_arrived(s, now, number + i);
    return done;
}

/* It is waited for from now on, as if it had just been submitted. */
void sender_whole_came_back(struct sender *s, instant now, uint64_t number)
{
    bool was_waiting = sender_is_waiting(s);
    recovery_whole_came_back(&s->recovery, number);
    sender_wait(s, now, was_waiting);
}

bool sender_credit(struct sender *s, uint64_t in_session, uint64_t size)
{
    uint64_t number = s->session.message_base + in_session;
    bool is_far = number - s->messages.base >= s->messages.capacity * MESSAGES_OUT_AHEAD;
    if (is_far || s->session.is_parting)
        return false;
    if (messages_out_announce(&s->messages, number, size))
        units_to_send_match(&s->recovery.to_send, number);
    return true;
}

bool sender_lacks_buffer(struct sender *s, uint64_t *in_session)
{
    if (!sender_session_is_paired(&s->session) || messages_out_unannounced(&s->messages) == NULL)
        return false;
    *in_session = s->messages.requested - s->session.message_base;
    return true;
}

uint64_t sender_blocked_message(const struct sender *s)
{
    bool awaits = sender_session_is_paired(&s->session) && s->messages.requested < s->messages.next;
    return awaits ? s->messages.requested + 1 : 0;
}
