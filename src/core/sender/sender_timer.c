/* All policy of time on the sender. The other files report facts; this one decides when something
 * is due, and does it.
 *
 *     connect  no receiver was found in time: what is outstanding fails
 *     silence  the peer was not heard of for too long: likewise
 *     progress the peer is heard of, but has acknowledged nothing for too long: likewise
 *     loss     a unit is late enough to count as lost
 *     probe    nothing came back for what was sent last: the oldest units go again (RFC 9002, 6.2)
 *     pace     the next burst may leave
 *     path     a larger datagram was sent to see if it arrives, and no answer came (path_mtu.h)
 *     hello    nothing is in transit, and something has to be heard from the peer */
#include "sender_state.h"

/* What the receiver may hold an acknowledgement back that was asked for at once: its thread has to
 * be scheduled. */
static const duration HELD_MOST = 5 * MILLISECOND;

static const duration FIRST_HELLO = 20 * MILLISECOND;
static const duration SLOWEST_HELLO = SECOND;
static const duration SLOWEST_QUESTION = 250 * MILLISECOND;

enum {
    LAST_HELLOS = 8,    /* unanswered, after which a closing sender gives up, */
    LAST_QUESTIONS = 3, /* or one that may have been bound by a receiver, but never paired */
    UNANSWERED = 2,     /* probe timeouts, or hellos: then the receiver may be another one */
};

static bool is_outstanding(const struct sender *s)
{
    return s->messages.open > 0;
}

static instant connect_at(const struct sender *s)
{
    return is_outstanding(s) && !s->was_paired ? s->timers.connect : NEVER;
}

static instant silence_at(const struct sender *s)
{
    return is_outstanding(s) && s->was_paired ? s->timers.heard + s->config.silence : NEVER;
}

/* A peer that was not heard of in the second half of the limit is not stalling but silent. */
static instant progress_at(const struct sender *s)
{
    bool is_waiting = s->in_transit.units > 0 || s->to_send.count > 0;
    bool is_heard = s->timers.heard - s->timers.progress >= s->config.progress / 2;
    return is_waiting && is_heard ? s->timers.progress + s->config.progress : NEVER;
}

/* The slowest that this side speaks while it waits: a few times within the silence limit. */
static duration slowest_sign(const struct sender *s)
{
    duration quarter = s->config.silence / 4;
    return quarter < SLOWEST_HELLO ? quarter : SLOWEST_HELLO;
}

duration sender_timer_round_trip(const struct sender *s)
{
    return rtt_probe_timeout(&s->rtt, HELD_MOST, 0);
}

/* Doubled each time, but two units a second are no load, and a path may be back for a moment. */
static instant probe_at(const struct sender *s)
{
    if (s->in_transit.units == 0)
        return NEVER;
    duration first = sender_timer_round_trip(s);
    duration next = rtt_probe_timeout(&s->rtt, HELD_MOST, s->timers.probes);
    duration most = first > slowest_sign(s) ? first : slowest_sign(s);
    return s->timers.sent + (next < most ? next : most);
}

static instant loss_at(const struct sender *s)
{
    return s->in_transit.units == 0 ? NEVER : s->timers.loss;
}

/* With units in transit their acknowledgements are sign enough. A close is said at once. */
static instant hello_at(const struct sender *s)
{
    bool is_wanted = s->phase == SENDER_CLOSING || is_outstanding(s);
    if (!is_wanted || s->hello_due || s->in_transit.units > 0)
        return NEVER;
    return sender_has_finished(s) && s->timers.hellos == 0 ? s->timers.heard : s->timers.hello;
}

instant sender_deadline(const struct sender *s)
{
    if (s->phase == SENDER_CLOSED)
        return NEVER;
    instant first = instant_earlier(connect_at(s), instant_earlier(silence_at(s), progress_at(s)));
    first = instant_earlier(first, probe_at(s));
    first = instant_earlier(first, instant_earlier(loss_at(s), hello_at(s)));
    first = instant_earlier(first, path_mtu_deadline(&s->path));
    return instant_earlier(first, pacing_deadline(&s->pacing));
}

uint32_t sender_timer_repeat_oldest(struct sender *s, uint32_t units)
{
    uint64_t seq = s->in_transit.base;
    uint32_t length = 0;
    for (uint32_t i = 0; i < units; i++) {
        const struct transit_unit *unit =
            units_in_transit_find(&s->in_transit, &seq, s->in_transit.next);
        if (unit == NULL)
            break;
        length = unit->length > length ? unit->length : length;
        sender_probe_unit(s, seq);
    }
    s->probe_credit = units;
    return length;
}

static void probe(struct sender *s, instant now)
{
    s->counters.probes++;
    s->timers.probes++;
    ecn_path_on_timeout(&s->ecn);
    s->timers.sent = now;
    uint32_t units = path_mtu_is_in_doubt(&s->path) ? PROBE_UNITS - 1 : PROBE_UNITS;
    uint32_t length = sender_timer_repeat_oldest(s, units);
    sender_path_on_timeout(s, now, length + TRAILER_BYTES);
    if (s->timers.probes >= UNANSWERED)
        sender_ask(s);
}

static void close_unconfirmed(struct sender *s)
{
    s->phase = SENDER_CLOSED;
    s->hello_due = false;
}

/* Nobody is there to be told of the close: no receiver can have bound this sender, or the one that
 * did has been left. */
static bool is_alone(const struct sender *s)
{
    if (sender_is_paired(s))
        return false;
    return s->session.left.session != 0 || !s->session.has_shown_cookie ||
           s->timers.hellos >= LAST_QUESTIONS;
}

static void expire_hello(struct sender *s)
{
    bool is_lost = !sender_is_paired(s) || s->timers.hellos >= UNANSWERED;
    if (sender_has_finished(s) && is_alone(s)) {
        close_unconfirmed(s);
        s->is_confirmed = true;
    } else if (sender_has_finished(s) && s->timers.hellos >= LAST_HELLOS) {
        close_unconfirmed(s);
    } else if (is_lost && (!sender_has_finished(s) || !sender_is_paired(s))) {
        sender_ask(s);
    } else {
        s->hello_due = true;
    }
}

/* A limit has passed: what is outstanding fails. */
static bool expire_limits(struct sender *s, instant now)
{
    enum outcome outcome = OUTCOME_OK;
    if (connect_at(s) <= now)
        outcome = s->unpaired;
    else if (silence_at(s) <= now)
        outcome = OUTCOME_SILENT;
    else if (progress_at(s) <= now)
        outcome = OUTCOME_STALLED;
    if (outcome == OUTCOME_OK)
        return false;
    sender_fail(s, now, outcome);
    if (s->phase == SENDER_CLOSING)
        close_unconfirmed(s);
    return true;
}

void sender_expire(struct sender *s, instant now)
{
    if (s->phase == SENDER_CLOSED || expire_limits(s, now))
        return;
    pacing_expire(&s->pacing, now);
    if (loss_at(s) <= now)
        sender_detect_losses(s, now, s->newest);
    if (probe_at(s) <= now)
        probe(s, now);
    if (path_mtu_deadline(&s->path) <= now)
        sender_path_expire(s, now);
    if (hello_at(s) <= now)
        expire_hello(s);
}

/* How long a hello is given for its answer. */
static duration hello_wait(const struct sender *s)
{
    uint32_t doublings = s->timers.hellos < 8 ? s->timers.hellos : 8;
    bool is_sign = sender_is_paired(s) && !sender_has_finished(s);
    duration round_trip = sender_timer_round_trip(s);
    duration first = is_sign && round_trip > FIRST_HELLO ? round_trip : FIRST_HELLO;
    duration slowest = sender_is_paired(s) ? slowest_sign(s) : SLOWEST_QUESTION;
    return first << doublings < slowest ? first << doublings : slowest;
}

/* Something of the pairing arrived: the receiver is there, and no other need be asked for. */
void sender_timer_on_heard(struct sender *s, instant now)
{
    s->timers.heard = now;
    sender_stop_asking(s);
    if (sender_has_finished(s))
        return;
    s->timers.hellos = 0;
    s->timers.hello = now + slowest_sign(s);
}

void sender_timer_on_progress(struct sender *s, instant now)
{
    s->timers.probes = 0;
    s->timers.progress = now;
}

void sender_timer_on_begin(struct sender *s, instant now)
{
    s->timers.progress = now;
}

void sender_timer_on_sent(struct sender *s, instant now)
{
    s->timers.sent = now;
}

void sender_timer_on_hello(struct sender *s, instant now)
{
    s->timers.hello = now + hello_wait(s);
    s->timers.hellos++;
}

void sender_timer_on_outstanding(struct sender *s, instant now)
{
    s->timers.heard = now;
    s->timers.connect = now + s->config.connect;
    s->unpaired = OUTCOME_UNREACHABLE;
    if (!sender_is_paired(s)) {
        s->timers.hellos = 0;
        s->timers.hello = now;
    }
}

void sender_timer_on_leave(struct sender *s, instant now)
{
    s->timers = (struct sender_timers){.heard = now,
                                       .connect = NEVER,
                                       .progress = now,
                                       .sent = now,
                                       .loss = NEVER,
                                       .hello = now,
                                       .answered = now - SECOND};
}
