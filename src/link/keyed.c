#include "keyed.h"

#include "handshake/letters.h"
#include "transport/keyed_hash.h"
#include "tx.h"

#include <stdlib.h>
#include <string.h>

static const duration GREETING_MOST = 5 * SECOND; /* a cookie is good for longer */

/* The thread that does the handshakes of a receiver that is alone, one after the other. It takes
 * the greeting away from the entity, and the datagrams that have come for it, and puts it back. */
struct keyed_thread {
    struct thread thread;
    bool is_running;        /* (c) from start to stop */
    bool is_stopping;       /* (m) */
    bool has_greeting;      /* (m) it is at work on the greeting */
    uint64_t nonce;         /* (m) of the caller that the greeting is with; 0: there is none */
    struct letters letters; /* (m) from this caller */
    struct letters reading; /* of the thread */
};

static bool is_sender(const struct zcrp_entity *e)
{
    return e->machine.role == MACHINE_SENDER;
}

static struct greeting *begin(struct zcrp_keys *keys)
{
    struct secret secret = keyed_hash_secret();
    uint32_t tag = secret_draw_name(&secret);

    return greeting_create(keys, true, tag, secret_draw_nonce(&secret));
}

/* Is it no half of a connection? */
static bool is_alone(const struct zcrp_entity *e)
{
    return !e->machine.stays;
}

bool keyed_init(struct zcrp_entity *e)
{
    struct keyed *k = &e->keyed;
    struct admission *admission = e->link->admission;

    if (admission == NULL)
        return true;
    k->keyring = is_sender(e) ? &admission->sender : &admission->receiver;
    bool has_all = true;
    if (is_alone(e))
        k->keys = keys_hold(e->options.keys);
    if (is_sender(e) && !keyring_is_ready(k->keyring)) {
        k->greeting = begin(e->options.keys);
        has_all = k->greeting != NULL;
    }
    if (!is_sender(e) && is_alone(e)) {
        k->thread = calloc(1, sizeof(*k->thread));
        has_all = k->thread != NULL;
    }
    if (!has_all)
        keyed_fini(e);
    return has_all;
}

void keyed_fini(struct zcrp_entity *e)
{
    greeting_destroy(e->keyed.greeting);
    free(e->keyed.thread);
    zcrp_keys_free(e->keyed.keys);
    e->keyed = (struct keyed){.keyring = NULL};
}

/* ---- hearing ---- */

static void fail(struct zcrp_entity *e, instant now)
{
    machine_fail(&e->machine, now, OUTCOME_KEYS);
}

/* The handshake is over for this side: it has keys, and so has its receiver. */
static void take_keys(struct zcrp_entity *e, instant now)
{
    struct greeting *g = e->keyed.greeting;
    struct admission *made = g->verdict == TLS_DONE ? greeting_admit(g) : NULL;
    struct zcrp_entity *receiver = entity_other(e);

    if (made == NULL) {
        fail(e, now);
        return;
    }
    admission_move(e->link->admission, made);
    if (receiver == NULL)
        return;
    entity_touch(receiver);
    receiver_admit(receiver->machine.receiver, now);
}

static void hear_greeting(struct zcrp_entity *e, instant now, const uint8_t *datagram, size_t size)
{
    struct greeting *g = e->keyed.greeting;
    bool has_ended = greeting_hear(g, now, datagram, size);

    if (g->handshake.phase != HANDSHAKE_ASKS)
        sender_on_keys(e->machine.sender, g->verdict == TLS_DONE);
    if (has_ended)
        take_keys(e, now);
    else if (greeting_has_failed(g))
        fail(e, now);
}

static void drop_greeting(struct keyed *k)
{
    greeting_destroy(k->greeting);
    k->greeting = NULL;
    if (k->thread != NULL)
        k->thread->nonce = 0;
}

/* The first word that was sealed for the session shows that the peer is through. */
static void end_greeting(struct zcrp_entity *e)
{
    if (e->keyed.greeting != NULL && sender_link(e->machine.sender) == LINK_UP)
        drop_greeting(&e->keyed);
}

void keyed_hear(struct zcrp_entity *sender, instant now, const uint8_t *datagram, size_t size)
{
    const struct keyed *k = &sender->keyed;
    enum datagram_type type = datagram_type(datagram[size - 1]);
    bool is_asking = k->greeting != NULL && !keyring_is_ready(k->keyring);

    if (k->greeting != NULL &&
        (type == DATAGRAM_HANDSHAKE || (is_asking && type == DATAGRAM_COOKIE))) {
        hear_greeting(sender, now, datagram, size);
        return;
    }
    sender_receive(sender->machine.sender, now, datagram, size);
    end_greeting(sender);
}

bool keyed_is_news(const struct zcrp_entity *receiver)
{
    const struct zcrp_entity *sender = entity_other(receiver);

    return sender != NULL && sender->keyed.greeting != NULL;
}

void keyed_confirm(struct zcrp_entity *sender, instant now)
{
    sender_admit(sender->machine.sender, now);
    end_greeting(sender);
}

/* ---- a receiver that is alone ---- */

bool keyed_awaits_caller(const struct zcrp_entity *e)
{
    return e->keyed.keys != NULL && !is_sender(e) && !keyring_is_ready(e->keyed.keyring);
}

static uint64_t peer_number(struct zcrp_entity *receiver)
{
    return address_number(&channels_of_units(&receiver->channels)->peer);
}

/* The hello of a sender without keys is refused, like any other only if it has a cookie. */
static void hear_question(struct zcrp_entity *e, instant now, const uint8_t *datagram, size_t size)
{
    const struct cookie_jar jar = keyed_hash_jar();
    struct keyed *k = &e->keyed;
    size_t tail = size < TRAILER_BYTES ? size : TRAILER_BYTES, bytes = 0;

    if (k->answers == KEYED_ANSWERS)
        return;
    uint8_t *answer = k->answer[k->answers];
    enum listening what =
        listening_hear(&jar, peer_number(e), now, datagram + size - tail, size, answer, &bytes);
    if (what == LISTENING_ACCEPTS)
        bytes = handshake_refuse_hello(datagram, size, answer) ? TRAILER_BYTES : 0;
    k->answer_bytes[k->answers] = (uint8_t)bytes;
    k->answers += bytes > 0;
    k->strange += bytes == 0;
}

/* Somebody has brought a cookie back, and begins. Who began before is given some time; and behind
 * one who failed there is a pause, which bounds what a peer with a wrong key makes this side
 * compute. */
static bool begin_with_caller(struct zcrp_entity *e, instant now,
                              const struct handshake_datagram *d)
{
    struct keyed *k = &e->keyed;

    bool has_failed = k->greeting != NULL && greeting_has_failed(k->greeting);
    duration patience = has_failed ? HANDSHAKE_PAUSE : GREETING_PATIENCE;

    if (k->thread->has_greeting)
        return false;
    if (k->greeting != NULL && now - k->greeting->began < patience)
        return false;
    drop_greeting(k);
    k->thread->letters.count = 0;
    k->greeting = greeting_create(k->keys, false, d->tag, d->nonce);
    k->thread->nonce = k->greeting != NULL ? d->nonce : 0;
    return k->greeting != NULL;
}

static void hear_caller(struct zcrp_entity *e, instant now, const uint8_t *datagram, size_t size)
{
    const struct cookie_jar jar = keyed_hash_jar();
    struct keyed *k = &e->keyed;
    struct handshake_datagram d;
    size_t bytes;

    if (handshake_decode(datagram, size, &d, &bytes) != VERDICT_OK) {
        k->strange++;
        return;
    }
    bool is_known = k->thread->nonce == d.nonce;
    if (!is_known && !handshake_has_cookie(&jar, peer_number(e), now, datagram, size)) {
        k->unproven++;
        return;
    }
    if (!is_known && !begin_with_caller(e, now, &d))
        return;
    letters_add(&k->thread->letters, datagram, size);
    condition_signal(&e->has_letters);
}

void keyed_hear_callers(struct zcrp_entity *receiver, instant now, const struct landing_mail *mail)
{
    const uint8_t *datagram;
    size_t at = 0, size;

    while ((size = landing_mail_next(mail, &at, &datagram)) > 0 && keyed_awaits_caller(receiver))
        if (datagram_type(datagram[size - 1]) == DATAGRAM_HANDSHAKE)
            hear_caller(receiver, now, datagram, size);
        else
            hear_question(receiver, now, datagram, size);
}

/* ---- the thread of a receiver that is alone ---- */

/* Takes the greeting and what came for it, once something has. False: there is no more to do. */
static bool take_letters(struct zcrp_entity *e, struct greeting **greeting)
{
    struct keyed *k = &e->keyed;
    struct keyed_thread *t = k->thread;

    mutex_lock(&e->link->mutex);
    while (!t->is_stopping && keyed_awaits_caller(e) && t->letters.count == 0)
        (void)condition_wait(&e->has_letters, &e->link->mutex, NEVER);
    bool has_more = !t->is_stopping && keyed_awaits_caller(e);
    if (has_more) {
        letters_take(&t->letters, &t->reading);
        *greeting = k->greeting;
        k->greeting = NULL;
        t->has_greeting = *greeting != NULL;
    }
    mutex_unlock(&e->link->mutex);
    return has_more;
}

/* True if the handshake has come to its end with these. Not locked: the user's lookup runs here. */
static bool read_letters(struct greeting *g, const struct letters *letters)
{
    bool has_ended = false;

    for (uint32_t i = 0; i < letters->count; i++)
        has_ended |=
            greeting_hear(g, clock_now(), letters->letter[i].bytes, letters->letter[i].size);
    return has_ended;
}

/* The handshake is over: the receiver takes its keys. Without any, because there is no memory at
 * present, the caller calls again. Locked. */
static void end_with_caller(struct zcrp_entity *e, struct admission *made)
{
    drop_greeting(&e->keyed);
    if (made == NULL)
        return;
    admission_move(e->link->admission, made);
    receiver_admit(e->machine.receiver, clock_now());
}

static void put_back(struct zcrp_entity *e, struct greeting *g, bool has_ended)
{
    bool is_through = has_ended && g->verdict == TLS_DONE;
    struct admission *made = is_through ? greeting_admit(g) : NULL;

    entity_enter(e);
    e->keyed.greeting = g;
    e->keyed.thread->has_greeting = false;
    e->keyed.refused += has_ended && !is_through;
    if (is_through)
        end_with_caller(e, made);
    tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

static void run(void *context)
{
    struct zcrp_entity *e = context;
    struct greeting *greeting = NULL;

    while (take_letters(e, &greeting))
        if (greeting != NULL)
            put_back(e, greeting, read_letters(greeting, &e->keyed.thread->reading));
}

int keyed_start(struct zcrp_entity *e)
{
    struct keyed_thread *t = e->keyed.thread;

    if (t == NULL)
        return 0;
    int error = thread_start(&t->thread, "zcrp-keys", run, e);
    t->is_running = error == 0;
    return error;
}

void keyed_stop(struct zcrp_entity *e)
{
    struct keyed_thread *t = e->keyed.thread;

    if (t == NULL || !t->is_running)
        return;
    mutex_lock(&e->link->mutex);
    t->is_stopping = true;
    mutex_unlock(&e->link->mutex);
    condition_signal(&e->has_letters);
    thread_join(&t->thread);
    t->is_running = false;
}

/* ---- sending ---- */

bool keyed_has_datagram(const struct zcrp_entity *e)
{
    return e->keyed.greeting != NULL && handshake_has_datagram(&e->keyed.greeting->handshake);
}

static size_t take_answer(struct keyed *k, uint8_t *out)
{
    size_t size = k->answer_bytes[--k->answers];

    memcpy(out, k->answer[k->answers], size);
    return size;
}

bool keyed_take(struct zcrp_entity *e, instant now, struct burst *burst)
{
    struct keyed *k = &e->keyed;
    size_t size = 0;

    if (k->answers > 0)
        size = take_answer(k, burst->control);
    else if (k->greeting != NULL)
        size = handshake_take(&k->greeting->handshake, now, burst->control);
    if (size > 0)
        burst_set_control(burst, size);
    burst->pins = 0;
    return size > 0;
}

/* ---- what is known of it ---- */

const char *keyed_identity(const struct zcrp_entity *e)
{
    const struct keyed *k = &e->keyed;

    return k->keyring != NULL && keyring_is_ready(k->keyring) ? e->link->admission->identity : NULL;
}

void keyed_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats)
{
    stats->keys_refused = e->keyed.refused;
    stats->drop_session += e->keyed.strange;
    stats->drop_cookie += e->keyed.unproven;
}

/* ---- time ---- */

/* A handshake that is not over by then is over without a result. That of a connection has only the
 * limit that the connection has. */
static instant greeting_end(const struct zcrp_entity *e)
{
    const struct greeting *g = e->keyed.greeting;
    bool is_asking =
        !is_sender(e) || (sender_link(e->machine.sender) == LINK_ASKING && !greeting_has_failed(g));

    return e->keyed.keys != NULL && is_asking ? g->began + GREETING_MOST : NEVER;
}

instant keyed_deadline(const struct zcrp_entity *e)
{
    const struct greeting *g = e->keyed.greeting;

    return g != NULL ? instant_earlier(handshake_deadline(&g->handshake), greeting_end(e)) : NEVER;
}

/* Nothing has been sealed with the keys that there may be. */
static void begin_anew(struct zcrp_entity *e)
{
    struct keyed *k = &e->keyed;

    drop_greeting(k);
    if (!is_sender(e))
        return;
    admission_clear(e->link->admission);
    sender_on_keys(e->machine.sender, true); /* nothing is known of whoever is there now */
    k->greeting = begin(k->keys);
    if (k->greeting == NULL)
        fail(e, clock_now());
}

void keyed_expire(struct zcrp_entity *e, instant now)
{
    struct greeting *g = e->keyed.greeting;

    if (g == NULL)
        return;
    if (greeting_end(e) <= now) {
        begin_anew(e);
        return;
    }
    handshake_expire(&g->handshake, now);
    if (is_sender(e) && greeting_has_failed(g) && sender_link(e->machine.sender) == LINK_ASKING)
        fail(e, now);
}
