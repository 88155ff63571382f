/* The parting: the peer closes, and this side learns what became of its messages.
 *
 * The acknowledgement that closes tells of the newest numbers only: it has no room for more
 * intervals, and the peer may have forgotten older ones. On a path that loses much, the peer may
 * have a whole message of which it can tell nothing any more, because all earlier acknowledgements
 * of one of its units were lost. So what may be there is repeated. The peer acknowledges it if it
 * was there before the close, and each time says the close again.
 *
 *     PAIRED --close tells all--------------------------------> left
 *        \--close does not--> parting --acknowledged, or not--/ */
#include "sender_steps.h"

void sender_part(struct sender *s, instant now)
{
    bool is_confirmation = s->session.has_closed;
    sender_fail(s, now, OUTCOME_PEER_CLOSED);
    if (is_confirmation)
        s->phase = SENDER_CONFIRMED;
    else
        sender_session_set_due(&s->session, HELLO_CONFIRMS);
}

/* No new message has a buffer any more. */
static void begin(struct sender *s, instant now)
{
    s->session.is_parting = true;
    messages_out_forget(&s->messages, s->messages.next);
    sender_timer_on_progress(&s->timer, now);
}

void sender_on_peer_closed(struct sender *s, instant now, uint64_t first)
{
    bool is_first = !s->session.is_parting;
    if (is_first && recovery_end_missing(&s->recovery, first, OUTCOME_CUT_OFF))
        begin(s, now);
    if (s->messages.live == 0)
        sender_part(s, now);
}
