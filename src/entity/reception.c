#include "reception.h"

#include "platform/system.h"

#include <stdlib.h>

bool reception_init(struct reception *r, struct zcrp_keys *keys, duration limit)
{
    mutex_init(&r->mutex);
    r->keys = keys_hold(keys);
    r->limit = limit;
    r->visitors = keys != NULL ? calloc(RECEPTION_MOST, sizeof(*r->visitors)) : NULL;
    return keys == NULL || r->visitors != NULL;
}

static void see_off(struct visitor *v)
{
    greeting_destroy(v->greeting);
    v->greeting = NULL;
}

void reception_abandon(struct reception *r)
{
    for (int i = 0; r->visitors != NULL && i < RECEPTION_MOST; i++)
        see_off(&r->visitors[i]);
    free(r->visitors);
    zcrp_keys_free(r->keys);
}

void reception_fini(struct reception *r)
{
    reception_abandon(r);
    mutex_fini(&r->mutex);
}

/* ---- places ---- */

static struct visitor *find(struct reception *r, const struct caller *caller, uint64_t nonce)
{
    for (int i = 0; i < RECEPTION_MOST; i++) {
        struct visitor *v = &r->visitors[i];
        if (v->greeting != NULL && v->greeting->handshake.nonce == nonce &&
            address_is_same(&v->caller.from, &caller->from))
            return v;
    }
    return NULL;
}

static uint32_t count_of_host(const struct reception *r, const struct caller *caller)
{
    uint32_t count = 0;

    for (int i = 0; i < RECEPTION_MOST; i++)
        count += r->visitors[i].greeting != NULL &&
                 address_has_host(&r->visitors[i].caller.from, &caller->from.any);
    return count;
}

/* Is this place to be had rather than that one? One that was refused goes before all others. */
static bool is_better(const struct visitor *v, const struct visitor *other)
{
    if (other == NULL || greeting_has_failed(v->greeting))
        return true;
    return !greeting_has_failed(other->greeting) && v->greeting->began < other->greeting->began;
}

/* The place of somebody who gives way; NULL if nobody does. */
static struct visitor *find_way(struct reception *r, const struct caller *caller, bool is_of_host)
{
    struct visitor *way = NULL;

    for (int i = 0; i < RECEPTION_MOST; i++) {
        struct visitor *v = &r->visitors[i];
        bool counts = v->greeting != NULL &&
                      (!is_of_host || address_has_host(&v->caller.from, &caller->from.any));
        if (counts && is_better(v, way))
            way = v;
    }
    if (way == NULL || greeting_has_failed(way->greeting))
        return way;
    return clock_now() - way->greeting->began >= GREETING_PATIENCE ? way : NULL;
}

static struct visitor *find_place(struct reception *r, const struct caller *caller)
{
    bool is_of_host = count_of_host(r, caller) >= RECEPTION_OF_HOST;

    for (int i = 0; i < RECEPTION_MOST && !is_of_host; i++)
        if (r->visitors[i].greeting == NULL)
            return &r->visitors[i];
    return find_way(r, caller, is_of_host);
}

/* Somebody new, who has brought a cookie. */
static struct visitor *receive(struct reception *r, const struct caller *caller,
                               const struct handshake_datagram *d)
{
    struct visitor *v = caller->has_cookie ? find_place(r, caller) : NULL;

    if (v == NULL) {
        r->dropped += caller->has_cookie;
        return NULL;
    }
    see_off(v);
    v->greeting = greeting_create(r->keys, false, d->tag, d->nonce);
    return v->greeting != NULL ? v : NULL;
}

/* ---- talking ---- */

static void talk(const struct visitor *v, const struct listen_socket *socket, instant now)
{
    uint8_t datagram[HANDSHAKE_BYTES];
    size_t size;

    while ((size = handshake_take(&v->greeting->handshake, now, datagram)) > 0)
        listen_tell(socket, &v->caller, datagram, size);
}

static struct admission *hear(struct reception *r, struct visitor *v,
                              const struct listen_socket *socket)
{
    instant now = clock_now();
    bool has_ended = greeting_hear(v->greeting, now, v->caller.hello, v->caller.hello_bytes);
    bool is_through = has_ended && v->greeting->verdict == TLS_DONE;

    r->refused += has_ended && !is_through;
    talk(v, socket, now);
    if (!is_through)
        return NULL;
    struct admission *admission = greeting_admit(v->greeting);
    see_off(v);
    return admission;
}

struct admission *reception_hear(struct reception *r, const struct listen_socket *socket,
                                 const struct caller *caller)
{
    struct handshake_datagram d;
    struct admission *admission = NULL;
    size_t bytes;

    if (handshake_decode(caller->hello, caller->hello_bytes, &d, &bytes) != VERDICT_OK)
        return NULL;
    mutex_lock(&r->mutex);
    struct visitor *v = find(r, caller, d.nonce);
    if (v == NULL)
        v = receive(r, caller, &d);
    if (v != NULL) {
        v->caller = *caller;
        admission = hear(r, v, socket);
    }
    mutex_unlock(&r->mutex);
    return admission;
}

instant reception_expire(struct reception *r, const struct listen_socket *socket)
{
    instant now = clock_now(), next = NEVER;

    mutex_lock(&r->mutex);
    for (int i = 0; r->visitors != NULL && i < RECEPTION_MOST; i++) {
        struct visitor *v = &r->visitors[i];
        if (v->greeting == NULL)
            continue;
        instant end = v->greeting->began + r->limit;
        handshake_expire(&v->greeting->handshake, now);
        talk(v, socket, now);
        if (end <= now)
            see_off(v);
        else
            next = instant_earlier(
                next, instant_earlier(end, handshake_deadline(&v->greeting->handshake)));
    }
    mutex_unlock(&r->mutex);
    return next;
}

void reception_count(struct reception *r, uint64_t *refused, uint64_t *dropped)
{
    mutex_lock(&r->mutex);
    *refused = r->refused;
    *dropped = r->dropped;
    mutex_unlock(&r->mutex);
}
