#include "keyed.h"

#include "handshake/pending.h"
#include "transport/keyed_hash.h"
#include "tx.h"

#include <errno.h>
#include <stdlib.h>

static const duration ANEW_LEAST = SECOND;         /* for a peer to answer once more */
static const duration KEYS_ARE_USED = MILLISECOND; /* by another thread */

static struct tls_handshake *begin(struct zcrp_keys *keys)
{
    struct secret secret = keyed_hash_secret();
    uint32_t tag = secret_draw_name(&secret);

    return tls_handshake_create(keys, true, tag, secret_draw_nonce(&secret));
}

bool keyed_init(struct zcrp_entity *e)
{
    struct keyed *k = &e->keyed;
    struct session_keys *session_keys = e->link->session_keys;

    if (session_keys == NULL)
        return true;
    k->anew = NEVER;
    k->keyring = entity_is_sender(e) ? &session_keys->sender : &session_keys->receiver;
    if (!entity_is_sender(e) || keyring_is_ready(k->keyring))
        return true;
    k->keys = keys_hold(e->options.keys);
    k->handshake = begin(e->options.keys);
    return k->handshake != NULL;
}

void keyed_fini(struct zcrp_entity *e)
{
    tls_handshake_destroy(e->keyed.handshake);
    pending_close(e->keyed.pending, true); /* in a child: else it was stopped */
    free(e->keyed.answers);
    zcrp_keys_free(e->keyed.keys);
    e->keyed = (struct keyed){.keyring = NULL};
}

/* ---- hearing ---- */

static void fail(struct zcrp_entity *e, instant now)
{
    machine_fail(&e->machine, now, OUTCOME_KEYS);
}

_Static_assert(EARLY_DATA + SEAL_UNIT_BYTES + TRAILER_BYTES <= HANDSHAKE_BYTES,
               "an early unit is no larger than a datagram of a handshake");
_Static_assert(EARLY_UNITS + 4 <= DATAGRAM_QUEUE_MOST, "the other side keeps as many, and more");

/* The other side may have given credit: then units leave behind the end of the handshake. What is
 * to cross from memory to memory alone waits until the two have met there. */
static void begin_early(struct zcrp_entity *sender, instant now)
{
    struct tls_credit credit = tls_credit(sender->keyed.handshake->tls);

    if (credit.count > 0 && sender->options.channel != ZCRP_CHANNEL_MEMORY)
        sender_admit_early(sender->machine.sender, now, credit.count, credit.size);
}

/* The handshake is over for this side: it has keys, and so has its receiver. */
static void take_keys(struct zcrp_entity *e, instant now)
{
    struct tls_handshake *h = e->keyed.handshake;
    struct session_keys *made = h->verdict == TLS_DONE ? tls_handshake_make_keys(h) : NULL;
    struct zcrp_entity *receiver = entity_other(e);

    if (made == NULL) {
        fail(e, now);
        return;
    }
    session_keys_move(e->link->session_keys, made);
    h->since = now;
    if (receiver == NULL)
        return;
    entity_touch(receiver);
    receiver_admit(receiver->machine.receiver, now);
    begin_early(e, now);
}

/* A datagram that was dropped does not show that the peer is there. */
static void hear_handshake(struct zcrp_entity *e, instant now, const uint8_t *datagram, size_t size)
{
    struct tls_handshake *h = e->keyed.handshake;
    uint64_t dropped = h->machine.dropped;
    bool has_ended = tls_handshake_hear(h, now, datagram, size);

    if (h->machine.dropped == dropped)
        sender_on_keys(e->machine.sender, h->verdict == TLS_DONE || h->machine.is_put_off
                                              ? OUTCOME_NOT_ADMITTED
                                              : OUTCOME_KEYS);
    if (h->machine.is_forgotten && e->keyed.anew == NEVER)
        e->keyed.anew = now;
    if (has_ended)
        take_keys(e, now);
    else if (tls_handshake_has_failed(h))
        fail(e, now);
}

static void drop_handshake(struct keyed *k)
{
    struct tls_handshake *handshake = k->handshake;

    k->handshake = NULL; /* first: a child of that moment does not destroy it again */
    tls_handshake_destroy(handshake);
}

void keyed_on_heard(struct zcrp_entity *sender)
{
    if (sender->keyed.handshake != NULL && sender_is_admitted(sender->machine.sender))
        drop_handshake(&sender->keyed);
}

bool keyed_hear_handshake(struct zcrp_entity *sender, instant now, const uint8_t *datagram,
                          size_t size)
{
    const struct keyed *k = &sender->keyed;
    enum datagram_type type = datagram_type(datagram[size - 1]);
    bool is_plain_cookie = type == DATAGRAM_COOKIE && size == TRAILER_BYTES;

    if (k->handshake == NULL || (type != DATAGRAM_HANDSHAKE && !is_plain_cookie))
        return false;
    hear_handshake(sender, now, datagram, size);
    return true;
}

bool keyed_is_news(const struct zcrp_entity *receiver)
{
    const struct zcrp_entity *sender = entity_other(receiver);

    return sender != NULL && sender->keyed.handshake != NULL;
}

void keyed_confirm(struct zcrp_entity *sender, instant now)
{
    sender_admit(sender->machine.sender, now);
    keyed_on_heard(sender);
}

/* ---- a receiver over descriptors ---- */

bool keyed_awaits_caller(const struct zcrp_entity *e)
{
    return e->keyed.pending != NULL && !keyring_is_ready(e->keyed.keyring);
}

void keyed_hear_callers(struct zcrp_entity *receiver, const struct landing_mail *mail)
{
    const struct caller caller = {.from = channels_of_units(&receiver->channels)->peer};
    const uint8_t *datagram;
    size_t at = 0, size;

    while ((size = landing_mail_next(mail, &at, &datagram)) > 0)
        pending_hear(receiver->keyed.pending, &caller, datagram, size);
}

/* There is one address to send to. */
static void send_answer(void *context, const struct caller *caller, const uint8_t *datagram,
                        size_t size)
{
    struct zcrp_entity *e = context;

    (void)caller;
    entity_enter(e);
    datagram_queue_add(e->keyed.answers, datagram, size);
    tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* The receiver has its session, and hears no other caller. */
static bool on_success(void *context, const struct caller *caller,
                       struct session_keys *session_keys)
{
    struct zcrp_entity *e = context;

    (void)caller;
    entity_enter(e);
    session_keys_move(e->link->session_keys, session_keys);
    receiver_admit(e->machine.receiver, clock_now());
    tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
    pending_end(e->keyed.pending);
    return true;
}

int keyed_start(struct zcrp_entity *e)
{
    const struct pending_rules rules = {.keys = e->options.keys,
                                        .places = 1,
                                        .of_host = 1,
                                        .at_once = 1,
                                        .limit = HANDSHAKE_LIMIT,
                                        .context = e,
                                        .send = send_answer,
                                        .on_success = on_success};

    if (rules.keys == NULL || entity_is_sender(e))
        return 0;
    e->keyed.answers = calloc(1, sizeof(*e->keyed.answers));
    return e->keyed.answers != NULL ? pending_open(&e->keyed.pending, &rules) : -ENOMEM;
}

void keyed_stop(struct zcrp_entity *e)
{
    pending_close(e->keyed.pending, false);
    e->keyed.pending = NULL;
}

/* ---- sending ---- */

bool keyed_has_datagram(const struct zcrp_entity *e)
{
    return e->keyed.handshake != NULL && handshake_has_datagram(&e->keyed.handshake->machine);
}

bool keyed_take(struct zcrp_entity *e, instant now, struct burst *burst)
{
    struct keyed *k = &e->keyed;
    size_t size = 0;

    if (k->answers != NULL)
        size = datagram_queue_take(k->answers, burst->control);
    else if (k->handshake != NULL)
        size = handshake_take(&k->handshake->machine, burst->control);
    if (size > 0 && entity_is_sender(e))
        sender_on_handshake_sent(e->machine.sender, now);
    if (size > 0)
        burst_set_control(burst, size);
    burst->pins = 0;
    return size > 0;
}

/* ---- what is known of it ---- */

const char *keyed_identity(const struct zcrp_entity *e)
{
    const struct keyed *k = &e->keyed;

    return k->keyring != NULL && keyring_is_ready(k->keyring) ? e->link->session_keys->identity
                                                              : NULL;
}

void keyed_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats)
{
    if (e->keyed.pending == NULL)
        return;
    struct pending_counts counts = pending_count(e->keyed.pending);
    stats->keys_refused = counts.refused;
    stats->drop_session += counts.strange;
    stats->drop_cookie += counts.unproven;
}

/* ---- time ---- */

/* When a sender begins anew, if nobody has answered well: its cookie may be too old by then, or
 * another process's. Not shortly before it gives up: it would forget that somebody had answered,
 * and fail as unreachable. With keys it waits as long anew, for the first sealed word: the receiver
 * has used its only session by then. A connection whose keys are ready only waits to be admitted,
 * unless its peer has forgotten the handshake. */
static instant anew_at(const struct zcrp_entity *e)
{
    const struct keyed *k = &e->keyed;
    const struct tls_handshake *h = k->handshake;
    bool is_asking = sender_is_asking(e->machine.sender) && !tls_handshake_has_failed(h);
    bool has_keys = e->machine.stays && keyring_is_ready(k->keyring);
    instant by_time = has_keys ? NEVER : h->since + HANDSHAKE_LIMIT;
    instant anew = k->anew != NEVER ? k->anew : by_time;
    bool has_time = sender_gives_up_at(e->machine.sender) - anew > ANEW_LEAST;

    return is_asking && has_time ? anew : NEVER;
}

instant keyed_deadline(const struct zcrp_entity *e)
{
    const struct tls_handshake *h = e->keyed.handshake;

    return h != NULL ? instant_earlier(handshake_deadline(&h->machine), anew_at(e)) : NEVER;
}

/* Does another thread seal or open with the keys, without the mutex? */
static bool are_keys_used(const struct zcrp_entity *e)
{
    const struct zcrp_entity *other = entity_other(e);

    return keyring_is_ready(e->keyed.keyring) &&
           (e->link->rx.is_claimed || e->is_sending || (other != NULL && other->is_sending));
}

/* The keys that there may be are known to nobody any more. Both machines go on as before they had
 * them. */
static void forget_keys(struct zcrp_entity *e, instant now)
{
    struct zcrp_entity *receiver = entity_other(e);

    if (receiver != NULL) {
        entity_touch(receiver);
        receiver_unbind(receiver->machine.receiver, now);
    }
    session_keys_clear(e->link->session_keys);
    sender_on_keys(e->machine.sender, OUTCOME_UNREACHABLE);
}

/* What was sent early may have arrived, and is not sent again. */
static void begin_anew(struct zcrp_entity *e, instant now)
{
    struct keyed *k = &e->keyed;

    if (are_keys_used(e)) {
        k->anew = now + KEYS_ARE_USED;
        return;
    }
    if (!sender_unbind(e->machine.sender, now)) {
        machine_fail(&e->machine, now, OUTCOME_RESTARTED);
        return;
    }
    k->anew = NEVER;
    drop_handshake(k);
    forget_keys(e, now);
    k->handshake = begin(k->keys);
    if (k->handshake == NULL)
        fail(e, now);
}

/* Has a connection lost its peer, or never found it? Then it asks for nothing any more. */
static bool has_ended(const struct zcrp_entity *e)
{
    return machine_end(&e->machine) != OUTCOME_CLOSED;
}

/* Also while it closes: it waits for what was sent, which fails if the keys are wrong. */
static bool is_to_be_admitted(const struct zcrp_entity *e)
{
    return !has_ended(e) && !sender_is_admitted(e->machine.sender);
}

void keyed_expire(struct zcrp_entity *e, instant now)
{
    struct tls_handshake *h = e->keyed.handshake;

    if (h == NULL)
        return;
    if (has_ended(e) && !tls_handshake_has_failed(h)) { /* a refusal is still said */
        drop_handshake(&e->keyed);
        return;
    }
    if (anew_at(e) <= now) {
        begin_anew(e, now);
        return;
    }
    handshake_expire(&h->machine, now);
    if (tls_handshake_has_failed(h) && is_to_be_admitted(e))
        fail(e, now);
}
