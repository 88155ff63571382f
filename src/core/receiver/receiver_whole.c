/* Messages that come as a whole, and the credit that lets them. */
#include "core/check.h"
#include "core/number.h"
#include "receiver_steps.h"

/* ---- landing ---- */

static bool may_land(const struct message_in *message, uint64_t size)
{
    return message->state == MESSAGE_IN_POSTED && size <= message->size &&
           (!message->is_length_known || message->length == size);
}

/* It does not land: is it over, or has it to come in units? */
static enum whole_use leave_out(struct receiver *r, uint64_t number)
{
    const struct message_in *message = messages_in_find(&r->messages, number);
    if (message != NULL && message->state != MESSAGE_IN_ENDED)
        return WHOLE_DECLINED;
    r->counters.drop_duplicate++;
    return WHOLE_OVER;
}

/* Numbers of the session are below `next`, so a sender's that are do not wrap around. */
enum whole_use receiver_whole(struct receiver *r, uint64_t in_session, uint64_t size,
                              struct whole_place *place)
{
    const struct messages_in *m = &r->messages;
    uint64_t number = r->session.message_base + in_session;
    CHECK(!r->is_planned);
    if (!receiver_session_is_bound(&r->session) || r->phase != RECEIVER_OPEN || r->is_held ||
        in_session >= m->next - r->session.message_base)
        return WHOLE_DECLINED;
    struct message_in *message = messages_in_at(m, number);
    if (number < m->base || !may_land(message, size))
        return leave_out(r, number);
    *place = (struct whole_place){.number = number,
                                  .user = message->user,
                                  .buffer = message->buffer,
                                  .pieces = message->pieces,
                                  .message = message};
    return WHOLE_LANDS;
}

void receiver_whole_begin(struct receiver *r)
{
    CHECK(!r->is_planned && !r->is_held);
    r->is_planned = true;
    r->plans++;
    r->planned = (struct interval){.first = 0, .last = 0};
}

void receiver_whole_end(struct receiver *r)
{
    CHECK(r->is_planned);
    r->is_planned = false;
}

static struct message_in *find_posted(struct receiver *r, uint64_t number)
{
    struct message_in *message = messages_in_find(&r->messages, number);
    CHECK(message != NULL && message->state == MESSAGE_IN_POSTED);
    return message;
}

static void count_landed(struct receiver *r, uint64_t number, uint64_t size)
{
    r->session.has_units = true;
    r->session.known = greater(r->session.known, number + 1);
    r->counters.wholes++;
    r->counters.bytes += size;
}

/* Where something of it had come before, that may lie behind its end. */
void receiver_whole_landed(struct receiver *r, uint64_t number, uint64_t size)
{
    struct message_in *message = find_posted(r, number);
    if (message->missing.bytes < message->size)
        message->scribbled = greater(message->scribbled, message->landed);
    message->is_length_known = true;
    message->length = size;
    messages_in_end(&r->messages, message, OUTCOME_OK);
    count_landed(r, number, size);
}

bool receiver_whole_ends(struct receiver *r, const struct whole_place *place, uint64_t size,
                         struct event *event)
{
    if (r->is_planned || r->is_held ||
        !messages_in_finish(&r->messages, place->message, size, event)) {
        receiver_whole_landed(r, place->number, size);
        return false;
    }
    count_landed(r, place->number, size);
    return true;
}

void receiver_whole_revoked(struct receiver *r, uint64_t number, uint64_t size)
{
    struct message_in *message = find_posted(r, number);
    message->scribbled = greater(message->scribbled, size);
}

void receiver_on_wholes(struct receiver *r, instant now)
{
    r->session.nonce = 0;
    r->session.is_unheard = false;
    r->timer.heard = now;
    r->timer.put_off = 0;
    r->timer.requests = 0;
    refusals_on_heard(&r->timer.refusals);
    receiver_timer_on_known(&r->timer, now, r);
}

/* ---- credit ---- */

bool receiver_set_credit(struct receiver *r, bool has_credit)
{
    bool had_credit = r->has_credit;
    r->has_credit = has_credit;
    return had_credit && !has_credit && r->messages.next > r->session.requested;
}

bool receiver_publish(struct receiver *r, uint64_t most, struct credit *credit)
{
    uint64_t *next = &r->session.requested;
    if (!r->has_credit || !receiver_session_is_bound(&r->session) || r->phase != RECEIVER_OPEN)
        return false;
    for (; *next < r->messages.next && *next - lesser(r->messages.base, *next) < most; ++*next) {
        const struct message_in *message = messages_in_find(&r->messages, *next);
        if (message == NULL || message->state != MESSAGE_IN_POSTED)
            continue; /* what was withdrawn is requested */
        *credit = (struct credit){.in_session = (*next)++ - r->session.message_base,
                                  .size = message->size,
                                  .user = message->user};
        return true;
    }
    return false;
}

/* What is due by a sign of the peer's is due no earlier than this. */
static instant signs_at(const struct receiver *r)
{
    return instant_earlier(r->timer.request, r->timer.heard + r->config.silence);
}

bool receiver_lets_pass(const struct receiver *r, instant looked_at)
{
    return r->has_credit && receiver_session_is_bound(&r->session) && r->phase == RECEIVER_OPEN &&
           r->session.requested == r->messages.next && looked_at <= signs_at(r) &&
           !r->timer.refusals.is_doubted;
}

bool receiver_next_credit(const struct receiver *r, uint64_t most, uint64_t *in_session)
{
    const struct messages_in *m = &r->messages;
    if (m->next - m->base >= most)
        return false;
    *in_session = m->next - r->session.message_base;
    return true;
}

bool receiver_post_shown(struct receiver *r, instant now, void *user, uint8_t *buffer,
                         uint64_t size, uint64_t *number)
{
    bool was_idle = messages_in_is_idle(&r->messages);
    struct message_in *message = messages_in_add(&r->messages, user, buffer, size);
    if (message == NULL)
        return false;
    *number = message->number;
    r->session.requested = r->messages.next;
    if (was_idle)
        receiver_timer_on_outstanding(&r->timer, now);
    return true;
}

void receiver_call(struct receiver *r)
{
    receiver_announce(r, receiver_unknown(r));
}

void receiver_call_soon(struct receiver *r, instant now)
{
    receiver_timer_on_ask(&r->timer, now);
}
