#include "sender_timer.h"

#include "sender_state.h"

/* The receiver may hold back an acknowledgement that was asked for so long: its thread has to be
 * scheduled. */
static const duration HELD_MOST = 5 * MILLISECOND;

static const duration FIRST_HELLO = 20 * MILLISECOND;
static const duration SLOWEST_HELLO = SECOND;
static const duration KEEPALIVE = 5 * SECOND;
static const duration SLOWEST_QUESTION = 250 * MILLISECOND;
static const duration LATELY = 250 * MILLISECOND;
static const duration ANSWER_INTERVAL = MILLISECOND;
static const duration STOPPED = 200 * MILLISECOND; /* later than a starved thread usually is */
static const duration HEARS = 100 * MILLISECOND;   /* so long is heard what came meanwhile */
static const duration PARTING = 3 * SECOND;        /* without news of a peer that closes */
static const duration NO_KEYS_DOUBT = 500 * MILLISECOND; /* who said so may be a stranger */

enum {
    LAST_HELLOS = 8,    /* unanswered, after which a closing sender gives up, */
    ENOUGH_SAID = 4,    /* or one whose peer closes, too, has said enough, */
    LAST_QUESTIONS = 3, /* or one that may have been bound by a receiver, but never paired */
    UNANSWERED = 2,     /* probe timeouts, or hellos: then the receiver may be another one */
};

/* ---- when ---- */

/* Is there anything that the peer is needed for? A sender that stays needs it until it has lost it.
 */
static bool needs_peer(const struct sender *s)
{
    bool stays = s->config.stays && s->phase == SENDER_OPEN && s->ended == OUTCOME_OK;
    return s->messages.open > 0 || stays;
}

static instant connect_at(const struct sender *s)
{
    if (!needs_peer(s) || (s->session.was_paired && !s->session.is_early))
        return NEVER;
    const struct refusals *r = &s->timer.refusals;
    bool is_refused = s->session.unpaired == OUTCOME_REFUSED && s->config.refusal != 0 &&
                      refusals_mean_nobody(r, s->config.refusal);
    return is_refused ? r->last : instant_later(s->timer.connect, s->timer.put_off);
}

static instant silence_at(const struct sender *s)
{
    const struct refusals *r = &s->timer.refusals;
    if (!needs_peer(s) || !s->session.was_paired || s->session.is_early)
        return NEVER;
    bool is_gone = sender_session_is_paired(&s->session) && s->config.gone != 0 &&
                   refusals_mean_gone(r, s->timer.heard, s->config.gone);
    instant silent = s->timer.heard + s->config.silence;
    return is_gone ? r->last : instant_later(silent, s->timer.put_off);
}

/* A peer that was not heard of in the second half of the limit is not stalling but silent. */
static instant progress_at(const struct sender *s)
{
    instant since = instant_later(s->timer.progress, s->timer.unsent);
    bool is_heard = s->timer.heard - since >= s->config.progress / 2;
    instant stalled = since + s->config.progress;
    return sender_is_waiting(s) && is_heard ? instant_later(stalled, s->timer.put_off) : NEVER;
}

static duration shorter(duration a, duration b)
{
    return a < b ? a : b;
}

/* A peer that closes may not have what is left, and then acknowledges nothing. It goes on to close
 * for longer, and so hears the confirmation; or, where both ends of a connection know of the end,
 * for some round trips behind the last unit that it heard, and needs none. */
static instant parting_at(const struct sender *s)
{
    duration most = shorter(PARTING, shorter(s->config.silence, s->config.progress));
    if (!s->session.is_parting)
        return NEVER;
    return s->messages.live == 0 ? s->timer.progress
                                 : instant_later(s->timer.progress + most, s->timer.put_off);
}

/* While it waits this side speaks at least this often: a few times within the silence limit. */
static duration slowest_sign(const struct sender_config *config)
{
    duration kept = config->keepalive != 0 ? config->keepalive : KEEPALIVE;
    duration most = !config->stays ? SLOWEST_HELLO : kept > FIRST_HELLO ? kept : FIRST_HELLO;
    return shorter(config->silence / 4, most);
}

/* A hello that is not answered is repeated at least this often. */
static duration slowest_repeat(const struct sender_config *config)
{
    return shorter(config->silence / 4, config->stays ? KEEPALIVE : SLOWEST_HELLO);
}

duration sender_timer_round_trip(const struct sender *s)
{
    return rtt_probe_timeout(&s->flow.rtt, HELD_MOST, 0);
}

static instant loss_at(const struct sender *s)
{
    return s->recovery.in_transit.units == 0 ? NEVER : s->recovery.loss_at;
}

/* Doubled each time, but two units a second are no load, and a path may be back for a moment. */
static instant probe_at(const struct sender *s)
{
    if (s->recovery.in_transit.units == 0)
        return NEVER;
    duration first = sender_timer_round_trip(s);
    duration next = rtt_probe_timeout(&s->flow.rtt, HELD_MOST, s->timer.probes);
    duration slowest = shorter(s->config.silence / 4, SLOWEST_HELLO);
    duration most = first > slowest ? first : slowest;
    return s->timer.sent + (next < most ? next : most);
}

void sender_timer_note_stop(struct sender_timer *t, instant now, const struct sender *s)
{
    instant at = probe_at(s);
    if (at != NEVER && now - at >= STOPPED)
        t->resumed = now;
}

/* The system says that the peer is gone: it is asked, whatever is in transit. */
static instant doubt_at(const struct sender *s)
{
    if (!sender_session_is_admitted(&s->session) || sender_has_finished(s) || s->config.gone == 0)
        return NEVER;
    return refusals_ask_at(&s->timer.refusals, s->timer.heard, sender_timer_round_trip(s));
}

/* A peer that asks all the time is heard, and so puts off `hello`, but an idle sender says nothing
 * to it. Where the peer asks rarely `hello` is due first. */
static instant sign_at(const struct sender *s)
{
    bool is_sign = s->config.stays && sender_session_is_paired(&s->session);
    return is_sign ? s->timer.said + 2 * slowest_sign(&s->config) : NEVER;
}

/* With units in transit their acknowledgements are sign enough. A close is said at once. */
static instant hello_at(const struct sender *s)
{
    bool is_wanted = s->phase == SENDER_CLOSING || needs_peer(s);
    if (!is_wanted || s->session.due != HELLO_NONE)
        return NEVER;
    bool waits_for_keys = s->config.keyring != NULL && !sender_session_is_admitted(&s->session);
    if (s->recovery.in_transit.units > 0 || (waits_for_keys && !sender_has_finished(s)))
        return doubt_at(s);
    bool is_new = sender_has_finished(s) && s->timer.hellos == 0;
    instant due = instant_earlier(is_new ? s->timer.heard : s->timer.hello, sign_at(s));
    return instant_earlier(due, doubt_at(s));
}

instant sender_deadline(const struct sender *s)
{
    if (sender_is_over(s))
        return NEVER;
    instant first = instant_earlier(connect_at(s), instant_earlier(silence_at(s), progress_at(s)));
    first = instant_earlier(first, instant_earlier(parting_at(s), probe_at(s)));
    first = instant_earlier(first, instant_earlier(loss_at(s), hello_at(s)));
    first = instant_earlier(first, path_mtu_deadline(&s->path.mtu));
    return instant_earlier(first, pacing_deadline(&s->flow.pacing));
}

instant sender_gives_up_at(const struct sender *s)
{
    return connect_at(s);
}

bool sender_is_quiet(const struct sender *s, instant now)
{
    return sender_session_is_paired(&s->session) && s->timer.hellos == 0 && hello_at(s) <= now;
}

/* ---- what ---- */

/* Nobody is there to be told of the close: no receiver can have bound this sender, or the one that
 * did has been left, and no other asked. A peer that closes the connection, too, may not have heard
 * yet that this end knows: it gets some time, in which the receiver may say so again. */
static bool is_alone(const struct sender *s)
{
    bool has_left = s->session.left.session != 0 && !s->session.has_shown_cookie;
    bool may_be_awaited = s->session.has_shown_cookie || s->is_agreed;
    return !sender_session_is_paired(&s->session) &&
           (has_left || !may_be_awaited || s->timer.hellos >= LAST_QUESTIONS);
}

/* A hello is due: which, or is it time to give the close up? */
static enum sender_due hello_due(const struct sender *s)
{
    bool is_paired = sender_session_is_paired(&s->session);
    bool is_lost =
        !is_paired || s->timer.hellos >= UNANSWERED || sender_session_is_abandoned(&s->session);
    if (!sender_has_finished(s))
        return is_lost ? DUE_QUESTION : DUE_HELLO;
    if (is_alone(s))
        return s->session.is_untold ? DUE_END_UNCONFIRMED : DUE_END;
    if (s->is_agreed && s->session.has_closed && s->timer.hellos >= ENOUGH_SAID)
        return DUE_END;
    if (s->timer.hellos >= LAST_HELLOS)
        return DUE_END_UNCONFIRMED;
    if (is_paired)
        return DUE_HELLO;
    return s->is_agreed ? DUE_REST : DUE_QUESTION; /* at that address may be another one by now */
}

enum sender_due sender_timer_due(const struct sender *s, instant now)
{
    if (sender_is_over(s))
        return DUE_NOTHING;
    if (connect_at(s) <= now)
        return DUE_UNPAIRED;
    if (parting_at(s) <= now)
        return DUE_PARTED;
    if (silence_at(s) <= now)
        return DUE_SILENT;
    if (progress_at(s) <= now)
        return DUE_STALLED;
    if (pacing_deadline(&s->flow.pacing) <= now)
        return DUE_PACE;
    if (loss_at(s) <= now)
        return DUE_LOSS;
    if (probe_at(s) <= now)
        return DUE_PROBE;
    if (path_mtu_deadline(&s->path.mtu) <= now)
        return DUE_PATH;
    return hello_at(s) <= now ? hello_due(s) : DUE_NOTHING;
}

bool sender_timer_put_off(struct sender_timer *t, instant now, const struct sender *s,
                          enum sender_due due)
{
    instant at = due == DUE_UNPAIRED ? connect_at(s)
                 : due == DUE_PARTED ? parting_at(s)
                 : due == DUE_SILENT ? silence_at(s)
                                     : progress_at(s);
    bool is_stall = due == DUE_STALLED;
    if (t->put_off != 0 || (is_stall && t->was_eased) || now - at < STOPPED)
        return false;
    t->put_off = now + HEARS;
    t->was_eased |= is_stall;
    if (due == DUE_STALLED || due == DUE_PARTED)
        t->progress = now; /* nothing could be acknowledged meanwhile */
    return true;
}

bool sender_timer_has_spoken(const struct sender_timer *t, instant now,
                             const struct sender_config *config)
{
    return now - t->said < shorter(config->silence / 4, LATELY);
}

bool sender_timer_allows_answer(struct sender_timer *t, instant now)
{
    if (now - t->answered < ANSWER_INTERVAL)
        return false;
    t->answered = now;
    return true;
}

/* ---- facts ---- */

void sender_timer_on_leave(struct sender_timer *t, instant now)
{
    instant progress = t->progress != 0 ? t->progress : now; /* another session is none */

    *t = (struct sender_timer){.heard = now,
                               .connect = NEVER,
                               .progress = progress,
                               .sent = now,
                               .said = now,
                               .hello = now,
                               .answered = now - SECOND};
}

void sender_timer_on_outstanding(struct sender_timer *t, instant now,
                                 const struct sender_config *config, bool is_paired)
{
    t->heard = now;
    t->put_off = 0;
    t->connect = now + config->connect;
    if (is_paired)
        return;
    t->hellos = 0;
    t->hello = now;
}

void sender_timer_on_no_keys(struct sender_timer *t, instant now)
{
    t->connect = instant_earlier(t->connect, now + NO_KEYS_DOUBT);
}

void sender_timer_on_close(struct sender_timer *t, instant now)
{
    t->hellos = 0;
    t->hello = now;
}

void sender_timer_on_heard(struct sender_timer *t, instant now, const struct sender_config *config,
                           bool has_finished)
{
    t->heard = now;
    t->put_off = 0;
    refusals_on_heard(&t->refusals);
    if (has_finished)
        return;
    t->hellos = 0;
    t->hello = now + slowest_sign(config);
}

void sender_timer_on_progress(struct sender_timer *t, instant now)
{
    t->probes = 0;
    t->progress = now;
    t->was_eased = false;
}

void sender_timer_on_begin(struct sender_timer *t, instant now)
{
    t->progress = now;
    t->was_eased = false;
}

void sender_timer_on_moved(struct sender_timer *t, instant now)
{
    t->probes = t->hellos = 0;
    t->sent = now;
    refusals_on_heard(&t->refusals);
}

void sender_timer_on_sent(struct sender_timer *t, instant now)
{
    t->sent = t->said = now;
}

void sender_timer_on_unsent(struct sender_timer *t)
{
    t->unsent = t->sent;
}

void sender_timer_on_said(struct sender_timer *t, instant now)
{
    t->said = now;
}

bool sender_timer_on_probe(struct sender_timer *t, instant now)
{
    t->sent = now;
    return ++t->probes >= UNANSWERED;
}

/* How long a hello is given for its answer. */
static duration hello_wait(const struct sender *s)
{
    bool is_paired = sender_session_is_paired(&s->session);
    bool is_sign = is_paired && !sender_has_finished(s);
    uint32_t doublings = s->timer.hellos < 8 ? s->timer.hellos : 8;
    duration round_trip = sender_timer_round_trip(s);
    duration first = is_sign && round_trip > FIRST_HELLO ? round_trip : FIRST_HELLO;
    duration slowest = is_paired ? slowest_repeat(&s->config) : SLOWEST_QUESTION;
    return first << doublings < slowest ? first << doublings : slowest;
}

void sender_timer_on_hello(struct sender_timer *t, instant now, const struct sender *s)
{
    t->hello = now + hello_wait(s);
    t->hellos++;
}

void sender_timer_on_asked(struct sender_timer *t, instant now, const struct sender *s)
{
    refusals_on_asked(&t->refusals, now, sender_timer_round_trip(s));
}
