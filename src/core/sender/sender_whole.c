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
                            .size = message->size};
    return true;
}

void sender_put_whole(struct sender *s, const struct whole *whole)
{
    recovery_put_whole(messages_out_find(&s->messages, whole->number));
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

/* It is waited for from now on, as if it had just been submitted. */
void sender_whole_came_back(struct sender *s, instant now, uint64_t number)
{
    bool is_waiting = s->recovery.in_transit.units > 0 || s->recovery.to_send.count > 0;
    if (recovery_whole_came_back(&s->recovery, number) && !is_waiting)
        sender_timer_on_begin(&s->timer, now);
}

bool sender_credit(struct sender *s, uint64_t in_session, uint64_t size)
{
    uint64_t number = s->session.message_base + in_session;
    if (number - s->messages.base >= s->messages.capacity * MESSAGES_OUT_AHEAD)
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
