#include "reception.h"

#include "platform/system.h"

#include <stdlib.h>
#include <string.h>

/* ---- places ---- */

static void see_off(struct visitor *v)
{
    greeting_destroy(v->greeting);
    v->greeting = NULL;
    v->is_here = false;
}

static struct visitor *find(struct reception *r, const struct caller *caller, uint64_t nonce)
{
    for (int i = 0; i < RECEPTION_MOST; i++) {
        struct visitor *v = &r->visitors[i];
        if (v->is_here && v->nonce == nonce && address_is_same(&v->caller.from, &caller->from))
            return v;
    }
    return NULL;
}

static uint32_t count_of_host(const struct reception *r, uint64_t host)
{
    uint32_t count = 0;

    for (int i = 0; i < RECEPTION_MOST; i++)
        count += r->visitors[i].is_here && r->visitors[i].host == host;
    return count;
}

/* Is this place to be had rather than that one? One that was refused goes before all others. */
static bool is_better(const struct visitor *v, const struct visitor *other)
{
    if (other == NULL || v->has_failed)
        return true;
    return !other->has_failed && v->came < other->came;
}

/* The place of somebody who gives way: of that host, or of anybody. NULL if nobody does. */
static struct visitor *find_way(struct reception *r, uint64_t host, bool is_of_host)
{
    struct visitor *way = NULL;

    for (int i = 0; i < RECEPTION_MOST; i++) {
        struct visitor *v = &r->visitors[i];
        bool counts = v->is_here && !v->is_served && (!is_of_host || v->host == host);
        if (counts && is_better(v, way))
            way = v;
    }
    if (way == NULL || way->has_failed)
        return way;
    return clock_now() - way->came >= GREETING_PATIENCE ? way : NULL;
}

static struct visitor *find_place(struct reception *r, uint64_t host)
{
    bool is_of_host = count_of_host(r, host) >= RECEPTION_OF_HOST;

    for (int i = 0; i < RECEPTION_MOST && !is_of_host; i++)
        if (!r->visitors[i].is_here)
            return &r->visitors[i];
    return find_way(r, host, is_of_host);
}

/* Somebody new, who has brought a cookie. */
static struct visitor *receive(struct reception *r, const struct caller *caller,
                               const struct handshake_datagram *d)
{
    uint64_t host = address_host_number(&caller->from);
    struct visitor *v = caller->has_cookie ? find_place(r, host) : NULL;

    if (v == NULL) {
        r->dropped += caller->has_cookie;
        return NULL;
    }
    see_off(v);
    v->is_here = true;
    v->has_begun = v->has_failed = v->has_early = false;
    v->host = host;
    v->nonce = d->nonce;
    v->tag = d->tag;
    v->came = v->served = clock_now();
    v->due = NEVER;
    v->letters.count = 0;
    return v;
}

/* ---- hearing ---- */

static void hear_early(struct reception *r, const struct caller *caller)
{
    mutex_lock(&r->mutex);
    for (int i = 0; i < RECEPTION_MOST; i++) {
        struct visitor *v = &r->visitors[i];
        if (!v->is_here || !v->has_begun || !address_is_same(&v->caller.from, &caller->from))
            continue;
        v->early = *caller;
        v->has_early = true;
    }
    mutex_unlock(&r->mutex);
}

void reception_hear(struct reception *r, const struct caller *caller)
{
    struct handshake_datagram d;
    size_t bytes;

    if (caller->is_early) {
        hear_early(r, caller);
        return;
    }
    if (handshake_decode(caller->hello, caller->hello_bytes, &d, &bytes) != VERDICT_OK)
        return;
    mutex_lock(&r->mutex);
    struct visitor *v = find(r, caller, d.nonce);
    if (v == NULL)
        v = receive(r, caller, &d);
    if (v != NULL) {
        letters_add(&v->letters, caller->hello, caller->hello_bytes);
        v->caller = *caller;
    }
    mutex_unlock(&r->mutex);
    if (v != NULL)
        condition_signal(&r->has_work);
}

bool reception_take_early(struct reception *r, const struct caller *of, struct caller *early)
{
    bool has_early = false;

    mutex_lock(&r->mutex);
    for (int i = 0; i < RECEPTION_MOST && !has_early; i++) {
        const struct visitor *v = &r->visitors[i];
        has_early = v->is_here && v->has_early && address_is_same(&v->caller.from, &of->from);
        if (has_early)
            *early = v->early;
    }
    mutex_unlock(&r->mutex);
    return has_early;
}

/* ---- the thread ---- */

/* When the thread has something to do for a visitor. */
static instant due(const struct reception *r, const struct visitor *v, instant now)
{
    instant by_time = instant_earlier(v->due, v->came + r->limit);

    if (v->letters.count == 0)
        return by_time;
    return v->has_begun ? now : instant_earlier(by_time, sources_ready(&r->sources, v->host, now));
}

/* Is it the turn of this one rather than of that one? Hosts that have failed come last. */
static bool is_first(const struct reception *r, const struct visitor *v,
                     const struct visitor *other, instant now)
{
    if (other == NULL)
        return true;
    instant debt = sources_debt(&r->sources, v->host, now);
    instant other_debt = sources_debt(&r->sources, other->host, now);
    return debt != other_debt ? debt < other_debt : v->served < other->served;
}

/* Whose turn it is; NULL: nobody's before `*next`. */
static struct visitor *choose(struct reception *r, instant now, instant *next)
{
    struct visitor *chosen = NULL;

    *next = NEVER;
    for (int i = 0; i < RECEPTION_MOST; i++) {
        struct visitor *v = &r->visitors[i];
        instant at = v->is_here ? due(r, v, now) : NEVER;
        if (at <= now && is_first(r, v, chosen, now))
            chosen = v;
        *next = instant_earlier(*next, at);
    }
    return chosen;
}

/* What a visit came to. */
struct visit {
    struct caller caller;
    bool has_ended; /* just now, well or not */
    struct admission *admission;
};

static void talk(const struct reception *r, const struct visitor *v, const struct caller *caller)
{
    uint8_t datagram[HANDSHAKE_BYTES];
    instant now = clock_now();
    size_t size;

    while ((size = handshake_take(&v->greeting->handshake, now, datagram)) > 0)
        listen_tell(r->socket, caller, datagram, size);
}

/* Reads the visitor's letters, and answers. Without the mutex. */
static void attend(struct reception *r, struct visitor *v, struct visit *visit)
{
    if (v->greeting == NULL)
        v->greeting = greeting_create(r->keys, false, v->tag, v->nonce);
    if (v->greeting == NULL)
        return;
    for (uint32_t i = 0; i < r->reading.count; i++)
        visit->has_ended |= greeting_hear(v->greeting, clock_now(), r->reading.letter[i].bytes,
                                          r->reading.letter[i].size);
    handshake_expire(&v->greeting->handshake, clock_now());
    talk(r, v, &visit->caller);
    if (visit->has_ended && v->greeting->verdict == TLS_DONE)
        visit->admission = greeting_admit(v->greeting);
    if (visit->admission != NULL)
        r->welcome(r->context, &visit->caller, visit->admission);
}

/* Begins a visit, and charges the host for one that begins. */
static void take_letters(struct reception *r, struct visitor *v, struct visit *visit, instant now)
{
    v->is_served = true;
    v->served = now;
    visit->caller = v->caller;
    letters_take(&v->letters, &r->reading);
    if (!v->has_begun)
        sources_charge(&r->sources, v->host, now);
    v->has_begun = true;
}

static void end_visit(struct reception *r, struct visitor *v, const struct visit *visit)
{
    bool is_through = v->greeting == NULL || v->greeting->verdict == TLS_DONE;

    v->is_served = false;
    r->refused += visit->has_ended && !is_through;
    if (is_through) {
        sources_refund(&r->sources, v->host);
        see_off(v);
        return;
    }
    v->has_failed = greeting_has_failed(v->greeting);
    v->due = handshake_deadline(&v->greeting->handshake);
}

/* Leaves the mutex meanwhile. */
static void serve(struct reception *r, struct visitor *v, instant now)
{
    struct visit visit = {.has_ended = false};

    if (v->came + r->limit <= now) {
        see_off(v);
        return;
    }
    take_letters(r, v, &visit, now);
    mutex_unlock(&r->mutex);
    attend(r, v, &visit);
    mutex_lock(&r->mutex);
    end_visit(r, v, &visit);
}

static void run(void *context)
{
    struct reception *r = context;
    instant next;

    mutex_lock(&r->mutex);
    while (!r->is_stopping) {
        instant now = clock_now();
        struct visitor *v = choose(r, now, &next);
        if (v != NULL)
            serve(r, v, now);
        else
            (void)condition_wait(&r->has_work, &r->mutex, next);
    }
    mutex_unlock(&r->mutex);
}

/* ---- life ---- */

bool reception_init(struct reception *r, struct zcrp_keys *keys, duration limit)
{
    mutex_init(&r->mutex);
    condition_init(&r->has_work);
    r->keys = keys_hold(keys);
    r->limit = limit;
    r->visitors = keys != NULL ? calloc(RECEPTION_MOST, sizeof(*r->visitors)) : NULL;
    return keys == NULL || r->visitors != NULL;
}

int reception_start(struct reception *r, const struct listen_socket *socket,
                    reception_welcome welcome, void *context)
{
    if (r->keys == NULL)
        return 0;
    r->socket = socket;
    r->welcome = welcome;
    r->context = context;
    int error = thread_start(&r->thread, "zcrp-keys", run, r);
    r->is_running = error == 0;
    return error;
}

void reception_stop(struct reception *r)
{
    if (!r->is_running)
        return;
    mutex_lock(&r->mutex);
    r->is_stopping = true;
    mutex_unlock(&r->mutex);
    condition_signal(&r->has_work);
    thread_join(&r->thread);
    r->is_running = false;
}

/* A greeting that the parent's thread is at work on is left as it is: it makes no sense. */
void reception_abandon(struct reception *r)
{
    for (int i = 0; r->visitors != NULL && i < RECEPTION_MOST; i++)
        if (!r->visitors[i].is_served)
            see_off(&r->visitors[i]);
    free(r->visitors);
    zcrp_keys_free(r->keys);
}

void reception_fini(struct reception *r)
{
    reception_abandon(r);
    condition_fini(&r->has_work);
    mutex_fini(&r->mutex);
}

void reception_count(struct reception *r, uint64_t *refused, uint64_t *dropped)
{
    mutex_lock(&r->mutex);
    *refused = r->refused;
    *dropped = r->dropped;
    mutex_unlock(&r->mutex);
}
