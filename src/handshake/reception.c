#include "reception.h"

#include "platform/system.h"
#include "platform/thread.h"
#include "sources.h"
#include "transport/keyed_hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum visitor_state {
    VISITOR_NONE, /* the place is free */
    VISITOR_WAITS,
    VISITOR_SERVED, /* by the thread, which leaves the mutex meanwhile; one at a time */
};

/* Lock letters: (c) constant from open to close, (m) the mutex, (k) the thread alone. */
struct visitor {
    enum visitor_state state; /* (m) */
    uint64_t peer, host;      /* (m) numbers of its address (transport/address.h) */
    uint64_t nonce;           /* (m) of its handshake, */
    uint32_t tag;             /* (m) and its tag */
    instant came, served;     /* (m) when it took the place; when the thread last was with it */
    struct caller caller;     /* (m) as heard last */
    struct letter early;      /* (m) a request, before the caller is welcome */
    struct letters letters;   /* (m) */
    struct tls_handshake *handshake; /* (k) while it is served, else (m); NULL: it has not begun */
};

struct reception {
    struct reception_rules rules; /* (c) */
    struct thread thread;         /* (c) */
    struct mutex mutex;
    struct condition has_work;
    bool is_stopping;               /* (m) */
    struct reception_counts counts; /* (m) */
    struct sources sources;         /* (m) */
    struct visitor *visitor;        /* (c) the places */
};

/* ---- places ---- */

static void see_off(struct visitor *v)
{
    tls_handshake_destroy(v->handshake);
    v->handshake = NULL;
    v->state = VISITOR_NONE;
}

static struct visitor *find(struct reception *r, uint64_t peer, uint64_t nonce)
{
    for (uint32_t i = 0; i < r->rules.places; i++) {
        struct visitor *v = &r->visitor[i];
        if (v->state != VISITOR_NONE && v->nonce == nonce && v->peer == peer)
            return v;
    }
    return NULL;
}

static uint32_t count_of_host(const struct reception *r, uint64_t host)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->rules.places; i++)
        count += r->visitor[i].state != VISITOR_NONE && r->visitor[i].host == host;
    return count;
}

static bool has_failed(const struct visitor *v)
{
    return v->handshake != NULL && tls_handshake_has_failed(v->handshake);
}

/* Is this place to be had rather than that one? One that was refused goes before all others. */
static bool is_better(const struct visitor *v, const struct visitor *other)
{
    if (other == NULL || has_failed(v))
        return true;
    return !has_failed(other) && v->came < other->came;
}

/* The place of somebody who gives way: of that host, or of anybody. NULL if nobody does. */
static struct visitor *find_way(struct reception *r, uint64_t host, bool is_of_host, instant now)
{
    struct visitor *way = NULL;

    for (uint32_t i = 0; i < r->rules.places; i++) {
        struct visitor *v = &r->visitor[i];
        bool counts = v->state == VISITOR_WAITS && (!is_of_host || v->host == host);
        if (counts && is_better(v, way))
            way = v;
    }
    bool gives_way = way != NULL && (has_failed(way) || now - way->came >= HANDSHAKE_PATIENCE);
    return gives_way ? way : NULL;
}

static struct visitor *find_place(struct reception *r, uint64_t host, instant now)
{
    bool is_of_host = count_of_host(r, host) >= r->rules.of_host;

    for (uint32_t i = 0; i < r->rules.places && !is_of_host; i++)
        if (r->visitor[i].state == VISITOR_NONE)
            return &r->visitor[i];
    return find_way(r, host, is_of_host, now);
}

/* Somebody new, who has brought a cookie. */
static struct visitor *receive(struct reception *r, uint64_t peer, uint64_t host,
                               const struct handshake_datagram *d)
{
    instant now = clock_now();
    struct visitor *v = find_place(r, host, now);

    if (v == NULL) {
        r->counts.dropped++;
        return NULL;
    }
    see_off(v);
    v->state = VISITOR_WAITS;
    v->peer = peer;
    v->host = host;
    v->nonce = d->nonce;
    v->tag = d->tag;
    v->came = v->served = now;
    v->early.size = 0;
    v->letters.count = 0;
    return v;
}

/* ---- hearing ---- */

/* A request of somebody whose handshake may have ended just now. Whether it is genuine is seen
 * later. */
static void hear_early(struct reception *r, const struct caller *caller, const uint8_t *datagram,
                       size_t size)
{
    uint64_t peer = address_number(&caller->from);

    mutex_lock(&r->mutex);
    for (uint32_t i = 0; i < r->rules.places; i++) {
        struct visitor *v = &r->visitor[i];
        bool has_begun = v->state == VISITOR_SERVED || v->handshake != NULL;
        if (has_begun && v->peer == peer)
            letter_set(&v->early, datagram, size);
    }
    mutex_unlock(&r->mutex);
}

static void hear_handshake(struct reception *r, const struct caller *caller,
                           const struct handshake_datagram *d, const uint8_t *datagram, size_t size)
{
    const struct cookie_jar jar = keyed_hash_jar();
    uint64_t peer = address_number(&caller->from), host = address_host_number(&caller->from);
    bool has_cookie = handshake_has_cookie(&jar, peer, clock_now(), datagram, size);

    mutex_lock(&r->mutex);
    struct visitor *v = find(r, peer, d->nonce);
    if (v == NULL && !has_cookie)
        r->counts.unproven++;
    else if (v == NULL && !r->is_stopping)
        v = receive(r, peer, host, d);
    if (v != NULL) {
        letters_add(&v->letters, datagram, size);
        v->caller = *caller;
    }
    mutex_unlock(&r->mutex);
    if (v != NULL)
        condition_signal(&r->has_work);
}

/* A hello is answered with a cookie. One with a good cookie is of somebody who has no keys, and is
 * told so. */
static void hear_question(struct reception *r, const struct caller *caller, const uint8_t *datagram,
                          size_t size)
{
    const struct cookie_jar jar = keyed_hash_jar();
    size_t tail = size < TRAILER_BYTES ? size : TRAILER_BYTES, bytes = 0;
    uint8_t answer[TRAILER_BYTES];
    enum listening what = listening_hear(&jar, address_number(&caller->from), clock_now(),
                                         datagram + size - tail, size, answer, &bytes);

    if (what == LISTENING_ACCEPTS)
        bytes = handshake_refuse_hello(datagram, size, answer) ? TRAILER_BYTES : 0;
    if (bytes > 0) {
        r->rules.tell(r->rules.context, caller, answer, bytes);
        return;
    }
    mutex_lock(&r->mutex);
    r->counts.strange++;
    mutex_unlock(&r->mutex);
}

void reception_hear(struct reception *r, const struct caller *caller, const uint8_t *datagram,
                    size_t size)
{
    enum datagram_type type = datagram_type(datagram[size - 1]);
    struct handshake_datagram d;
    size_t bytes;

    if (type == DATAGRAM_REQUEST)
        hear_early(r, caller, datagram, size);
    else if (type == DATAGRAM_HANDSHAKE &&
             handshake_decode(datagram, size, &d, &bytes) == VERDICT_OK)
        hear_handshake(r, caller, &d, datagram, size);
    else
        hear_question(r, caller, datagram, size);
}

void reception_take_early(struct reception *r, struct letter *early)
{
    early->size = 0;
    mutex_lock(&r->mutex);
    for (uint32_t i = 0; i < r->rules.places; i++)
        if (r->visitor[i].state == VISITOR_SERVED)
            *early = r->visitor[i].early;
    mutex_unlock(&r->mutex);
}

/* ---- the thread ---- */

/* When the thread has something to do for a visitor, none of whom is served. */
static instant due(const struct reception *r, const struct visitor *v, instant now)
{
    instant by_time = v->came + r->rules.limit;

    if (v->handshake != NULL)
        by_time = instant_earlier(by_time, handshake_deadline(&v->handshake->machine));
    if (v->letters.count == 0)
        return by_time;
    instant ready = sources_ready(&r->sources, v->host, r->rules.at_once, now);
    return v->handshake != NULL ? now : instant_earlier(by_time, ready);
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
    for (uint32_t i = 0; i < r->rules.places; i++) {
        struct visitor *v = &r->visitor[i];
        instant at = v->state == VISITOR_WAITS ? due(r, v, now) : NEVER;
        if (at <= now && is_first(r, v, chosen, now))
            chosen = v;
        *next = instant_earlier(*next, at);
    }
    return chosen;
}

/* Reads the letters, and answers. True if the handshake has ended with them, well or not. Without
 * the mutex. */
static bool attend(const struct reception_rules *rules, struct tls_handshake *h,
                   const struct letters *letters, const struct caller *caller)
{
    uint8_t datagram[HANDSHAKE_BYTES];
    bool has_ended = false;
    size_t size;

    for (uint32_t i = 0; i < letters->count; i++)
        has_ended |=
            tls_handshake_hear(h, clock_now(), letters->letter[i].bytes, letters->letter[i].size);
    handshake_expire(&h->machine, clock_now());
    while ((size = handshake_take(&h->machine, clock_now(), datagram)) > 0)
        rules->tell(rules->context, caller, datagram, size);
    if (!has_ended || h->verdict != TLS_DONE)
        return has_ended;
    struct session_keys *session_keys = tls_handshake_make_keys(h);
    if (session_keys != NULL)
        rules->welcome(rules->context, caller, session_keys);
    return true;
}

/* A visit, for which it leaves the mutex. A host is charged for each handshake that begins, and
 * gets that back if it ends well. One that has ended well, or for which there was no memory at
 * present, is over: its caller calls again if it has to. */
static void serve(struct reception *r, struct visitor *v, instant now)
{
    const struct caller caller = v->caller;
    struct letters letters;

    if (v->came + r->rules.limit <= now) {
        see_off(v);
        return;
    }
    if (v->handshake == NULL)
        sources_charge(&r->sources, v->host, now);
    letters_take(&v->letters, &letters);
    v->served = now;
    v->state = VISITOR_SERVED;
    mutex_unlock(&r->mutex);
    if (v->handshake == NULL)
        v->handshake = tls_handshake_create(r->rules.keys, false, v->tag, v->nonce);
    bool has_ended = v->handshake != NULL && attend(&r->rules, v->handshake, &letters, &caller);
    mutex_lock(&r->mutex);
    v->state = VISITOR_WAITS;
    if (v->handshake != NULL && v->handshake->verdict != TLS_DONE) {
        r->counts.refused += has_ended;
        return;
    }
    sources_refund(&r->sources, v->host);
    see_off(v);
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

/* It has no thread. A handshake that a thread of the parent's is at work on is left as it is: it
 * makes no sense. */
static void destroy(struct reception *r, bool is_in_child)
{
    if (!is_in_child) {
        condition_fini(&r->has_work);
        mutex_fini(&r->mutex);
    }
    for (uint32_t i = 0; r->visitor != NULL && i < r->rules.places; i++)
        if (r->visitor[i].state != VISITOR_SERVED)
            see_off(&r->visitor[i]);
    zcrp_keys_free(r->rules.keys);
    free(r->visitor);
    free(r);
}

int reception_open(struct reception **reception, const struct reception_rules *rules)
{
    struct reception *r = calloc(1, sizeof(*r));
    int error = -ENOMEM;

    *reception = NULL;
    if (r == NULL)
        return error;
    r->rules = *rules;
    keys_hold(rules->keys);
    mutex_init(&r->mutex);
    condition_init(&r->has_work);
    r->visitor = calloc(rules->places, sizeof(*r->visitor));
    if (r->visitor != NULL)
        error = thread_start(&r->thread, "zcrp-keys", run, r);
    if (error)
        destroy(r, false);
    else
        *reception = r;
    return error;
}

void reception_end(struct reception *r)
{
    mutex_lock(&r->mutex);
    r->is_stopping = true;
    mutex_unlock(&r->mutex);
    condition_signal(&r->has_work);
}

void reception_close(struct reception *r, bool is_in_child)
{
    if (r == NULL)
        return;
    if (!is_in_child) {
        reception_end(r);
        thread_join(&r->thread);
    }
    destroy(r, is_in_child);
}

struct reception_counts reception_count(struct reception *r)
{
    mutex_lock(&r->mutex);
    struct reception_counts counts = r->counts;
    mutex_unlock(&r->mutex);
    return counts;
}
