#include "receiver_timer.h"

#include "receiver.h"
#include "receiver_state.h"

static const duration ACK_DELAY = MILLISECOND; /* at least, */
static const duration ACK_DELAY_MOST = 5 * MILLISECOND;
static const duration ACK_DELAY_THIN = 25 * MILLISECOND; /* RFC 9000, 18.2 */
static const duration FIRST_REQUEST = 20 * MILLISECOND;
static const duration SLOWEST_REQUEST = SECOND;
static const duration KEEPALIVE = 5 * SECOND;
static const duration FIRST_CLOSING = 20 * MILLISECOND;
static const duration ANSWER_INTERVAL = MILLISECOND;
static const duration REQUEST_DELAY = 256 * MILLISECOND;  /* of what is posted, at most */
static const duration REQUEST_GATHERS = 50 * MICROSECOND; /* what is posted in a row */
static const duration STOPPED = 200 * MILLISECOND;        /* as of a sender */
static const duration HEARS = 100 * MILLISECOND;
static const duration CALM = 4 * MILLISECOND; /* between messages that come calmly */

enum {
    ACK_DELAY_PART = 8, /* of the round trip */
    ACK_PARTS = 128,    /* acknowledgements nobody asked for cost such a part of what arrives */
    ACK_CREDIT = 10240, /* bytes: so much may be saved up */
    ACK_OVERHEAD = 28,  /* bytes of IPv4 and UDP */
    ACK_UNITS = 1024,   /* acknowledged at once when so many arrived that nobody asked for */
    REQUEST_LEAST = 8,  /* announced in any case when the sender knows of fewer, */
    REQUEST_FEW = 16,   /* with the next post when it knows of fewer, */
    REQUEST_PART = 4,   /* or when such a part of those that it knows is to be announced; */
    REQUEST_TIMES = 3,  /* or, while it uses none, so many times as many; */
    REQUEST_AGE = 8,    /* or with the next arrival after such a part of the time that messages
                           have been posted when they arrive */
    CALM_TRIPS = 2,     /* round trips, between messages that come calmly, */
    CALM_UNITS = 1024,  /* of which so many units have come in order */
    LAST_CLOSINGS = 8,  /* unanswered, after which a closing receiver gives up, */
    ENOUGH_SAID = 4,    /* or one whose peer knows already has said enough, */
    ENOUGH_MOST = 7,    /* but on a long path it goes on, so often at most, */
    ASKED_TRIPS = 8,    /* for these round trips: the peer may ask what has arrived, twice */
};

/* ---- how many ---- */

/* So many messages were posted and not announced; of so many the sender knows, if no request was
 * lost. */
static uint64_t unannounced(const struct receiver *r)
{
    return r->messages.next - r->session.requested;
}

static uint64_t announced(const struct receiver *r)
{
    return r->session.requested - lesser(r->messages.base, r->session.requested);
}

/* How long messages have been posted when they arrive, lately. */
static duration age(const struct receiver_timer *t, instant now)
{
    duration present = now - t->aging_since;
    return present > t->age ? present : t->age;
}

/* Do messages come one after the other, with time between them, on a path that loses nothing? Then
 * the sender needs one buffer at a time. */
static bool is_calm(const struct receiver *r)
{
    const struct receiver_timer *t = &r->timer;
    uint64_t posted = announced(r) + unannounced(r);
    bool is_slow = posted > 0 && t->age >= CALM * (duration)posted;
    return is_slow && r->steady >= CALM_UNITS && t->round_trip > 0 &&
           t->age / (duration)posted >= CALM_TRIPS * t->round_trip;
}

/* Has the sender used none of the buffers since the last request? Then it is in no need of more.
 * The oldest message may only miss a unit that got lost: then others come behind it. */
static bool is_unused(const struct receiver *r)
{
    const struct receiver_timer *t = &r->timer;
    return t->oldest == r->messages.base && t->expected == r->prediction.message &&
           announced(r) > 0;
}

bool receiver_timer_is_urgent(const struct receiver *r)
{
    uint64_t known = announced(r);
    if (is_calm(r))
        return known < unannounced(r);
    if (is_unused(r) && known > 1)
        return unannounced(r) >= greater(known * REQUEST_TIMES, REQUEST_FEW);
    return known < REQUEST_FEW || unannounced(r) >= known / REQUEST_PART;
}

bool receiver_timer_gathers(const struct receiver *r)
{
    return unannounced(r) > 0 && is_unused(r) && !is_calm(r) && unannounced(r) >= announced(r) / 2;
}

bool receiver_timer_may_announce(const struct receiver *r, instant now)
{
    bool is_old = now - r->timer.posted >= age(&r->timer, now) / REQUEST_AGE;
    return r->phase == RECEIVER_OPEN && unannounced(r) > 0 && is_old;
}

/* The sender uses up what it knows, and the user posts nothing that would bring a request. */
static bool is_used_up(const struct receiver *r)
{
    uint64_t least = is_calm(r) ? 1 : REQUEST_LEAST;
    return unannounced(r) > 0 && announced(r) < least;
}

/* ---- when ---- */

static bool is_outstanding(const struct receiver *r)
{
    return !messages_in_is_idle(&r->messages);
}

static instant silence_at(const struct receiver *r)
{
    const struct receiver_timer *t = &r->timer;
    bool is_awaited = r->config.stays && r->session.is_unheard; /* its sender knows how long */
    if (!is_outstanding(r) || !r->session.was_bound || is_awaited)
        return NEVER;
    bool is_gone = receiver_session_is_bound(&r->session) && r->config.gone != 0 &&
                   refusals_mean_gone(&t->refusals, t->heard, r->config.gone);
    instant silent = instant_later(t->heard + r->config.silence, t->put_off);
    return is_gone ? t->refusals.last : silent;
}

/* In what time what is sent now should be answered, by what is known; 0: it is not known. */
static duration round_trip(const struct receiver *r)
{
    return 2 * r->timer.round_trip; /* of which the shortest is known */
}

/* The system says that the sender is gone: when is that one asked? */
static instant doubt_at(const struct receiver *r)
{
    return is_outstanding(r) && r->config.gone != 0
               ? refusals_ask_at(&r->timer.refusals, r->timer.heard, round_trip(r))
               : NEVER;
}

static instant request_at(const struct receiver *r)
{
    bool is_wanted = r->phase == RECEIVER_OPEN && receiver_session_is_bound(&r->session) &&
                     (is_outstanding(r) || receiver_awaits_offer(r) || r->session.is_unheard) &&
                     !receiver_is_due(r, REPLY_REQUESTS);
    if (!is_wanted)
        return NEVER;
    if (is_used_up(r))
        return is_unused(r) ? r->timer.posted + REQUEST_GATHERS : r->timer.heard;
    instant announced_at = unannounced(r) > 0 ? r->timer.posted + REQUEST_DELAY : NEVER;
    return instant_earlier(instant_earlier(r->timer.request, doubt_at(r)), announced_at);
}

static instant closing_at(const struct receiver *r)
{
    bool is_wanted = r->phase == RECEIVER_CLOSING && !receiver_is_due(r, REPLY_CLOSES);
    return is_wanted ? r->timer.closing : NEVER;
}

instant receiver_acks_at(const struct receiver *r)
{
    return receiver_is_over(r) ? NEVER : r->timer.ack;
}

instant receiver_deadline(const struct receiver *r)
{
    if (receiver_is_over(r))
        return NEVER;
    instant first = instant_earlier(silence_at(r), r->timer.ack);
    return instant_earlier(first, instant_earlier(request_at(r), closing_at(r)));
}

bool receiver_timer_has_said_enough(const struct receiver *r)
{
    return r->is_agreed && r->timer.has_said;
}

/* How often the close is said, and waited for: n times take 2^n - 1 of the first interval. */
static uint32_t closings_most(const struct receiver *r)
{
    duration asked = ASKED_TRIPS * r->timer.round_trip;
    uint32_t most = ENOUGH_SAID;
    if (!r->is_agreed)
        return LAST_CLOSINGS;
    while (most < ENOUGH_MOST && (FIRST_CLOSING << most) - FIRST_CLOSING < asked)
        most++;
    return most;
}

enum receiver_due receiver_timer_due(const struct receiver *r, instant now)
{
    if (receiver_is_over(r))
        return RECEIVER_DUE_NOTHING;
    if (silence_at(r) <= now)
        return RECEIVER_DUE_SILENT;
    if (request_at(r) <= now)
        return RECEIVER_DUE_REQUEST;
    if (closing_at(r) > now)
        return RECEIVER_DUE_NOTHING;
    return r->timer.closings >= closings_most(r) ? RECEIVER_DUE_END : RECEIVER_DUE_CLOSING;
}

bool receiver_timer_put_off(struct receiver_timer *t, instant now, const struct receiver *r)
{
    if (t->put_off != 0 || now - silence_at(r) < STOPPED)
        return false;
    t->put_off = now + HEARS;
    return true;
}

bool receiver_timer_asks(const struct receiver *r, instant now)
{
    return r->timer.request <= now || doubt_at(r) <= now;
}

bool receiver_timer_allows_answer(const struct receiver_timer *t, instant now)
{
    return now - t->answered >= ANSWER_INTERVAL;
}

/* ---- facts ---- */

void receiver_timer_on_leave(struct receiver_timer *t, instant now)
{
    *t = (struct receiver_timer){.heard = now,
                                 .ack = NEVER,
                                 .request = now,
                                 .closing = now,
                                 .answered = now - SECOND,
                                 .credit = ACK_CREDIT,
                                 .asked = NEVER,
                                 .nonce = t->nonce,
                                 .given = t->given,
                                 .aging_since = now,
                                 .closings = t->closings,
                                 .has_said = t->has_said};
}

void receiver_timer_on_outstanding(struct receiver_timer *t, instant now)
{
    t->heard = now;
    t->put_off = 0;
}

bool receiver_timer_times_post(const struct receiver *r)
{
    return unannounced(r) == 0 || r->timer.aging < r->messages.base;
}

void receiver_timer_on_posted(struct receiver_timer *t, instant now, const struct receiver *r)
{
    if (unannounced(r) == 1)
        t->posted = now;
    if (t->aging >= r->messages.base)
        return;
    t->age = now - t->aging_since;
    t->aging = r->messages.next - 1;
    t->aging_since = now;
}

/* While the sender may not know everything the request is repeated soon, then ever more slowly;
 * later it only asks whether the sender is still there. A sender that has buffers left does not
 * answer, so where messages come calmly the next one is awaited first. */
static duration request_interval(const struct receiver *r, uint32_t requests)
{
    duration quarter = r->config.silence / 4;
    duration kept = r->config.keepalive != 0 ? r->config.keepalive : KEEPALIVE;
    duration alive = kept > FIRST_REQUEST ? kept : FIRST_REQUEST;
    bool is_known = receiver_is_known(r) && !receiver_awaits_offer(r) && !r->session.is_unheard;
    duration slowest = is_known && r->config.stays ? alive : SLOWEST_REQUEST;
    duration first = is_calm(r) ? REQUEST_DELAY : FIRST_REQUEST;
    duration interval = first << lesser(requests, 8);
    slowest = quarter < slowest ? quarter : slowest;
    return is_known || interval > slowest ? slowest : interval;
}

void receiver_timer_on_ask(struct receiver_timer *t, instant now)
{
    t->requests = 0;
    t->request = now;
}

/* Until the request is repeated. */
static void wait_for_sign(struct receiver_timer *t, instant now, const struct receiver *r)
{
    t->request = now + request_interval(r, t->requests);
}

void receiver_timer_on_heard(struct receiver_timer *t, instant now, const struct receiver *r)
{
    t->heard = now;
    t->put_off = 0;
    t->requests = 0;
    refusals_on_heard(&t->refusals);
    wait_for_sign(t, now, r);
}

/* Is there credit for an acknowledgement of the size that it would have? */
static bool has_credit(const struct receiver_timer *t, uint32_t intervals)
{
    uint64_t bytes = ACK_OVERHEAD + TRAILER_BYTES + 2 * ACK_BOUND_BYTES * (uint64_t)intervals;
    return t->credit >= lesser(bytes, CONTROL_BYTES);
}

/* A part of the round trip, at least a millisecond. BBR's window has room for it (bbr.c). */
static duration ack_delay(const struct receiver_timer *t)
{
    duration part = t->round_trip / ACK_DELAY_PART;
    if (part < ACK_DELAY)
        return ACK_DELAY;
    return part < ACK_DELAY_MOST ? part : ACK_DELAY_MOST;
}

void receiver_timer_on_arrived(struct receiver_timer *t, instant now, uint32_t units,
                               uint64_t bytes, uint32_t intervals)
{
    t->unsaid += units;
    t->credit = lesser(t->credit + bytes / ACK_PARTS, ACK_CREDIT);
    if (t->unsaid >= ACK_UNITS)
        receiver_timer_on_disorder(t, now, intervals);
    duration delay = has_credit(t, intervals) ? ack_delay(t) : ACK_DELAY_THIN;
    t->ack = instant_earlier(t->ack, now + delay);
}

void receiver_timer_on_asked(struct receiver_timer *t, instant now)
{
    t->ack = now;
}

void receiver_timer_on_disorder(struct receiver_timer *t, instant now, uint32_t intervals)
{
    if (has_credit(t, intervals))
        t->ack = now;
}

void receiver_timer_on_answer(struct receiver_timer *t, instant now)
{
    t->answered = now;
}

void receiver_timer_on_ack(struct receiver_timer *t, uint64_t bytes)
{
    t->credit -= lesser(bytes + ACK_OVERHEAD, t->credit);
    t->ack = NEVER;
    t->unsaid = 0;
}

void receiver_timer_on_request(struct receiver_timer *t, instant now, const struct receiver *r,
                               bool is_answered)
{
    t->request = now + request_interval(r, t->requests);
    t->requests++;
    t->oldest = r->messages.base;
    t->expected = r->prediction.message;
    if (is_answered && t->asked == NEVER) {
        t->asked = now;
        t->asked_for = r->messages.next;
    }
}

void receiver_timer_on_question(struct receiver_timer *t, instant now, const struct receiver *r)
{
    refusals_on_asked(&t->refusals, now, round_trip(r));
}

static void note_round_trip(struct receiver_timer *t, duration taken)
{
    t->round_trip = t->round_trip == 0 || taken < t->round_trip ? taken : t->round_trip;
}

void receiver_timer_on_cookie(struct receiver_timer *t, instant now, uint64_t nonce)
{
    if (nonce == t->nonce)
        return; /* a question is repeated: its first cookie counts */
    t->nonce = nonce;
    t->given = now;
}

void receiver_timer_on_bound(struct receiver_timer *t, instant now, uint64_t nonce)
{
    if (nonce == t->nonce)
        note_round_trip(t, now - t->given);
}

void receiver_timer_on_known(struct receiver_timer *t, instant now, const struct receiver *r)
{
    uint64_t known = r->session.known;

    wait_for_sign(t, now, r);
    if (t->asked == NEVER || known < t->asked_for)
        return;
    note_round_trip(t, now - t->asked);
    t->asked = NEVER;
}

void receiver_timer_on_closing(struct receiver_timer *t, instant now)
{
    t->closing = now + (FIRST_CLOSING << t->closings);
    t->closings++;
    t->has_said |= t->closings >= ENOUGH_SAID;
}

void receiver_timer_on_close(struct receiver_timer *t, instant now)
{
    t->closing = now;
}

void receiver_timer_on_late_unit(struct receiver_timer *t)
{
    t->closings = 0;
}
