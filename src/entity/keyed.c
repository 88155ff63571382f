#include "keyed.h"

#include "channel/keyed_hash.h"
#include "entity.h"

#include <stdlib.h>
#include <string.h>

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

bool keyed_init(struct zcrp_entity *e, struct admission *admission, struct zcrp_keys *keys)
{
    struct keyed *k = &e->keyed;

    if (admission == NULL)
        return true;
    k->keyring = is_sender(e) ? &admission->sender : &admission->receiver;
    k->admission = admission;
    k->staging = malloc(SEAL_STAGING);
    k->greeting = keys != NULL && is_sender(e) ? begin(keys) : NULL;
    k->is_news = keys != NULL && !is_sender(e);
    bool has_all = k->staging != NULL && (k->greeting != NULL || keys == NULL || !is_sender(e));
    if (!has_all)
        keyed_fini(e);
    return has_all;
}

void keyed_fini(struct zcrp_entity *e)
{
    greeting_destroy(e->keyed.greeting);
    free(e->keyed.staging);
    e->keyed = (struct keyed){.keyring = NULL};
}

/* ---- hearing ---- */

static void fail(struct zcrp_entity *e, instant now)
{
    machine_fail(&e->machine, now, OUTCOME_KEYS);
}

/* The handshake is over for this side: the sender takes what is its own. */
static struct admission *take_keys(struct zcrp_entity *e, instant now)
{
    struct keyed *k = &e->keyed;
    struct admission *made = k->greeting->verdict == TLS_DONE ? greeting_admit(k->greeting) : NULL;

    if (made == NULL) {
        fail(e, now);
        return NULL;
    }
    k->admission->sender = made->sender;
    memcpy(k->admission->identity, made->identity, sizeof(made->identity));
    made->sender = (struct keyring){.pairing = {0, 0}};
    return made;
}

static struct admission *hear_greeting(struct zcrp_entity *e, instant now, const uint8_t *datagram,
                                       size_t size)
{
    struct greeting *g = e->keyed.greeting;
    bool has_ended = greeting_hear(g, now, datagram, size);

    if (g->handshake.phase != HANDSHAKE_ASKS)
        sender_on_keys(e->machine.sender, g->verdict == TLS_DONE);
    if (has_ended)
        return take_keys(e, now);
    if (greeting_has_failed(g))
        fail(e, now);
    return NULL;
}

/* The first word that was sealed for the session shows that the peer is through. */
static void end_greeting(struct zcrp_entity *e)
{
    struct keyed *k = &e->keyed;

    if (k->greeting == NULL || machine_link(&e->machine) != LINK_UP)
        return;
    greeting_destroy(k->greeting);
    k->greeting = NULL;
}

struct admission *keyed_hear(struct zcrp_entity *e, instant now, const uint8_t *datagram,
                             size_t size)
{
    const struct keyed *k = &e->keyed;
    enum datagram_type type = datagram_type(datagram[size - 1]);
    bool is_asking = k->greeting != NULL && !keyring_is_ready(k->keyring);

    if (k->greeting != NULL &&
        (type == DATAGRAM_HANDSHAKE || (is_asking && type == DATAGRAM_COOKIE)))
        return hear_greeting(e, now, datagram, size);
    sender_receive(e->machine.sender, now, datagram, size);
    end_greeting(e);
    return NULL;
}

bool keyed_on_arrivals(struct zcrp_entity *receiver)
{
    bool was_news = receiver->keyed.is_news;

    receiver->keyed.is_news = false;
    return was_news;
}

void keyed_confirm(struct zcrp_entity *sender, instant now)
{
    sender_admit(sender->machine.sender, now);
    end_greeting(sender);
}

void keyed_admit(struct zcrp_entity *receiver, struct admission *made, instant now)
{
    *receiver->keyed.keyring = made->receiver;
    made->receiver = (struct keyring){.pairing = {0, 0}};
    receiver_admit(receiver->machine.receiver, now);
}

/* ---- sending ---- */

bool keyed_has_datagram(const struct zcrp_entity *e)
{
    return e->keyed.greeting != NULL && handshake_has_datagram(&e->keyed.greeting->handshake);
}

bool keyed_take(struct zcrp_entity *e, instant now, struct burst *burst)
{
    if (e->keyed.greeting == NULL)
        return false;
    size_t size = handshake_take(&e->keyed.greeting->handshake, now, burst->control);
    if (size > 0)
        burst_set_control(burst, size);
    burst->pins = 0;
    return size > 0;
}

bool keyed_seal(struct zcrp_entity *e, struct burst *burst)
{
    struct keyed *k = &e->keyed;

    if (k->keyring == NULL)
        return true;
    return keyring_is_ready(k->keyring) && keyring_seal(k->keyring, burst, k->staging);
}

void keyed_skip(struct zcrp_entity *e, const struct burst *burst, uint32_t sent)
{
    if (e->keyed.keyring != NULL && !burst->is_control && sent > 0)
        sealer_skip(&e->keyed.keyring->units_out, burst->first_seq + sent);
}

/* ---- time ---- */

instant keyed_deadline(const struct zcrp_entity *e)
{
    return e->keyed.greeting != NULL ? handshake_deadline(&e->keyed.greeting->handshake) : NEVER;
}

void keyed_expire(struct zcrp_entity *e, instant now)
{
    struct greeting *g = e->keyed.greeting;

    if (g == NULL)
        return;
    handshake_expire(&g->handshake, now);
    if (greeting_has_failed(g) && machine_link(&e->machine) == LINK_ASKING)
        fail(e, now);
}
