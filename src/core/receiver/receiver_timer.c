/* All policy of time on the receiver. The other files report facts; this one decides when something
 * is due, and does it.
 *
 *     silence  the peer was not heard of for too long: what is posted fails
 *     ack      units arrived and nobody has said so yet
 *     request  the sender may not know what is posted, or may not be there
 *     closing  the close has not been confirmed */
#include "receiver_state.h"

static const duration ACK_DELAY = MILLISECOND;
static const duration ACK_DELAY_THIN = 25 * MILLISECOND; /* RFC 9000, 18.2 */
static const duration FIRST_REQUEST = 20 * MILLISECOND;
static const duration SLOWEST_REQUEST = SECOND;
static const duration FIRST_CLOSING = 20 * MILLISECOND;

enum {
    ACK_PARTS = 128,    /* acknowledgements nobody asked for cost such a part of what arrives */
    ACK_CREDIT = 10240, /* bytes: so much may be saved up */
    ACK_OVERHEAD = 28,  /* bytes of IPv4 and UDP */
    ACK_UNITS = 1024,   /* acknowledged at once when so many arrived that nobody asked for */
    REQUEST_FEW = 16,   /* announced at once while the sender knows of fewer, */
    REQUEST_MANY = 32,  /* or when so many are to be announced; */
    LAST_CLOSINGS = 8,  /* unanswered, after which a closing receiver gives up */
};
static const duration REQUEST_DELAY = MILLISECOND; /* else after this */

static bool is_outstanding(const struct receiver *r)
{
    return !messages_in_is_idle(&r->messages);
}

static instant silence_at(const struct receiver *r)
{
    return is_outstanding(r) && r->was_bound ? r->timers.heard + r->config.silence : NEVER;
}

static instant request_at(const struct receiver *r)
{
    bool is_wanted = r->phase == RECEIVER_OPEN && r->session.pairing.session != 0 &&
                     is_outstanding(r) && !r->request_due;
    return is_wanted ? r->timers.request : NEVER;
}

static instant closing_at(const struct receiver *r)
{
    return r->phase == RECEIVER_CLOSING && !r->closing_due ? r->timers.closing : NEVER;
}

instant receiver_deadline(const struct receiver *r)
{
    if (r->phase == RECEIVER_CLOSED)
        return NEVER;
    instant first = instant_earlier(silence_at(r), r->ack.at);
    return instant_earlier(first, instant_earlier(request_at(r), closing_at(r)));
}

static void expire_closing(struct receiver *r)
{
    if (r->timers.closings >= LAST_CLOSINGS)
        r->phase = RECEIVER_CLOSED;
    else
        r->closing_due = true;
}

void receiver_expire(struct receiver *r, instant now)
{
    if (r->phase == RECEIVER_CLOSED)
        return;
    if (silence_at(r) <= now) {
        receiver_fail(r, now, OUTCOME_SILENT);
        return;
    }
    if (request_at(r) <= now)
        receiver_announce(r, r->session.requested < r->messages.next ? r->session.requested
                                                                     : receiver_unknown(r));
    if (closing_at(r) <= now)
        expire_closing(r);
}

/* While the sender may not know everything the request is repeated soon, then ever more slowly;
 * later it only asks whether the sender is still there. */
static duration request_interval(const struct receiver *r)
{
    duration alive = r->config.silence / 4;
    duration slowest = alive < SLOWEST_REQUEST ? alive : SLOWEST_REQUEST;
    duration interval = FIRST_REQUEST << (r->timers.requests < 8 ? r->timers.requests : 8);
    bool is_known = r->session.known >= r->messages.next && r->messages.withdrawn == 0;
    return is_known || interval > slowest ? slowest : interval;
}

void receiver_timer_on_heard(struct receiver *r, instant now)
{
    r->timers.heard = now;
    r->timers.requests = 0;
    if (r->session.requested == r->messages.next)
        r->timers.request = now + request_interval(r);
}

void receiver_timer_on_outstanding(struct receiver *r, instant now)
{
    r->timers.heard = now;
}

void receiver_timer_on_posted(struct receiver *r, instant now)
{
    uint64_t unsaid = r->messages.next - r->session.requested;
    bool knows_few = r->session.requested <= r->messages.base ||
                     r->session.requested - r->messages.base < REQUEST_FEW;
    if (knows_few || unsaid >= REQUEST_MANY)
        receiver_announce(r, r->session.requested);
    else if (unsaid == 1)
        r->timers.request = instant_earlier(r->timers.request, now + REQUEST_DELAY);
}

/* Is there credit for an acknowledgement of the size that it would have? The way back may be far
 * slower than the way here, and has to carry what was asked for. */
static bool has_credit(const struct receiver *r)
{
    uint64_t bytes =
        ACK_OVERHEAD + TRAILER_BYTES + 2 * ACK_BOUND_BYTES * (uint64_t)r->ack.arrived.count;
    return r->ack.credit >= (bytes < CONTROL_BYTES ? bytes : CONTROL_BYTES);
}

void receiver_timer_on_arrived(struct receiver *r, instant now, uint32_t units, uint64_t bytes)
{
    r->ack.unsaid += units;
    r->ack.credit += bytes / ACK_PARTS;
    if (r->ack.credit > ACK_CREDIT)
        r->ack.credit = ACK_CREDIT;
    if (r->ack.unsaid >= ACK_UNITS)
        receiver_timer_on_disorder(r, now);
    duration delay = has_credit(r) ? ACK_DELAY : ACK_DELAY_THIN;
    r->ack.at = instant_earlier(r->ack.at, now + delay);
}

void receiver_timer_on_asked(struct receiver *r, instant now)
{
    r->ack.at = now;
}

void receiver_timer_on_disorder(struct receiver *r, instant now)
{
    if (has_credit(r))
        r->ack.at = now;
}

void receiver_timer_on_ack(struct receiver *r, uint64_t bytes)
{
    bytes += ACK_OVERHEAD;
    r->ack.credit -= bytes < r->ack.credit ? bytes : r->ack.credit;
}

void receiver_timer_on_request(struct receiver *r, instant now)
{
    r->timers.request = now + request_interval(r);
    r->timers.requests++;
}

void receiver_timer_on_closing(struct receiver *r, instant now)
{
    r->timers.closing = now + (FIRST_CLOSING << r->timers.closings);
    r->timers.closings++;
}

void receiver_timer_on_unbind(struct receiver *r, instant now)
{
    r->ack.credit = ACK_CREDIT;
    r->timers = (struct receiver_timers){.heard = now,
                                         .request = now,
                                         .closing = now,
                                         .answered = now - SECOND,
                                         .closings = r->timers.closings};
}
