#include "pending.h"

#include "platform/system.h"
#include "platform/thread.h"
#include "sources.h"
#include "transport/keyed_hash.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum pending_state {
    PENDING_NONE, /* the place is free */
    PENDING_WAITS,
    PENDING_SERVED, /* by the thread, without the mutex; one at a time */
};

/* Lock letters: (c) constant from open to close, (m) the mutex, (k) the thread alone. */
struct pending_handshake {
    enum pending_state state; /* (m) */
    uint64_t peer, host;      /* (m) numbers of its address (transport/address.h) */
    uint64_t nonce;           /* (m) of its handshake, */
    uint32_t tag;             /* (m) and its tag */
    instant came;             /* (m) when it took the place */
    instant heard;            /* as `tls`: when it last said something that it has sealed */
    instant served;           /* (m) when the thread last was with it */
    instant again;            /* (m) when room is looked for again, if it asks for that (asks_at);
                                 NEVER: it is not known yet */
    struct caller caller;     /* (m) as heard last */
    struct datagram_queue *early; /* (m) what came for its connection; NULL: nothing so far */
    struct datagram_queue queue;  /* (m) what has come for it */
    struct tls_handshake *tls;    /* (k) while it is served, else (m); NULL: it has not begun */
};

struct pending {
    struct pending_rules rules; /* (c) */
    struct thread thread;       /* (c) */
    struct mutex mutex;
    struct condition has_work;
    bool is_stopping;                /* (m) */
    struct pending_counts counts;    /* (m) */
    struct sources sources;          /* (m) */
    struct pending_handshake *place; /* (c) the places */
};

/* ---- places ---- */

/* A child that is forked in between leaves the place alone: its thread was at work on it. */
static void free_place(struct pending_handshake *h)
{
    h->state = PENDING_SERVED;
    atomic_thread_fence(memory_order_seq_cst);
    tls_handshake_destroy(h->tls);
    h->tls = NULL;
    free(h->early);
    h->early = NULL;
    atomic_thread_fence(memory_order_seq_cst);
    h->state = PENDING_NONE;
}

static struct pending_handshake *find(struct pending *p, uint64_t peer, uint64_t nonce)
{
    for (uint32_t i = 0; i < p->rules.places; i++) {
        struct pending_handshake *h = &p->place[i];
        if (h->state != PENDING_NONE && h->nonce == nonce && h->peer == peer)
            return h;
    }
    return NULL;
}

static uint32_t count_of_host(const struct pending *p, uint64_t host)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < p->rules.places; i++)
        count += p->place[i].state != PENDING_NONE && p->place[i].host == host;
    return count;
}

static bool has_failed(const struct pending_handshake *h)
{
    return h->tls != NULL && tls_handshake_has_failed(h->tls);
}

/* Has its key been accepted, and it only waits for room? */
static bool is_known(const struct pending_handshake *h)
{
    return h->again != NEVER;
}

/* May a new caller have this place? Who waits for room may have spoken, and not be heard yet. */
static bool gives_way(const struct pending_handshake *h, instant now)
{
    if (is_known(h))
        return h->queue.count == 0 && now - h->heard >= ROOM_PATIENCE;
    return has_failed(h) || now - h->came >= HANDSHAKE_PATIENCE;
}

/* Is this place to be had rather than that one? One that was refused goes before all others, one
 * whose key was accepted behind them. */
static bool is_better(const struct pending_handshake *h, const struct pending_handshake *other)
{
    if (other == NULL || has_failed(h))
        return true;
    if (is_known(h) != is_known(other))
        return is_known(other);
    return !has_failed(other) && h->came < other->came;
}

/* When it loses its place. Who waits for room keeps it as long as it asks for that. */
static instant ends_at(const struct pending *p, const struct pending_handshake *h)
{
    return (is_known(h) ? h->heard : h->came) + p->rules.limit;
}

/* The place that a new caller gets when there is none left, or none for its host: one of that host,
 * or of any. NULL: there is none. */
static struct pending_handshake *find_oldest(struct pending *p, uint64_t host, bool is_of_host,
                                             instant now)
{
    struct pending_handshake *oldest = NULL;

    for (uint32_t i = 0; i < p->rules.places; i++) {
        struct pending_handshake *h = &p->place[i];
        bool counts = h->state == PENDING_WAITS && (!is_of_host || h->host == host);
        if (counts && gives_way(h, now) && is_better(h, oldest))
            oldest = h;
    }
    return oldest;
}

static struct pending_handshake *find_place(struct pending *p, uint64_t host, instant now)
{
    bool is_of_host = count_of_host(p, host) >= p->rules.of_host;

    for (uint32_t i = 0; i < p->rules.places && !is_of_host; i++)
        if (p->place[i].state == PENDING_NONE)
            return &p->place[i];
    return find_oldest(p, host, is_of_host, now);
}

/* A new caller, which has brought a cookie. Its answers leave from where that came to: what comes
 * later under its name may be anybody's. */
static struct pending_handshake *take_place(struct pending *p, const struct caller *caller,
                                            uint64_t peer, uint64_t host,
                                            const struct handshake_datagram *d)
{
    instant now = clock_now();
    struct pending_handshake *h = find_place(p, host, now);

    if (h == NULL) {
        p->counts.dropped++;
        return NULL;
    }
    free_place(h);
    h->state = PENDING_WAITS;
    h->caller = *caller;
    h->peer = peer;
    h->host = host;
    h->nonce = d->nonce;
    h->tag = d->tag;
    h->came = h->heard = h->served = now;
    h->again = NEVER;
    h->queue.count = 0;
    return h;
}

/* ---- hearing ---- */

/* Keeps a datagram, if there is memory. A new request says all that the one before said. */
static void keep(struct pending_handshake *h, const uint8_t *datagram, size_t size)
{
    enum datagram_type type = datagram_type(datagram[size - 1]);
    struct datagram_queue *early = h->early != NULL ? h->early : calloc(1, sizeof(*early));

    h->early = early;
    if (early == NULL)
        return;
    for (uint32_t i = 0; type == DATAGRAM_REQUEST && i < early->count; i++) {
        struct datagram_copy *other = &early->datagram[i];
        if (datagram_type(other->bytes[other->size - 1]) != DATAGRAM_REQUEST)
            continue;
        datagram_copy_set(other, datagram, size);
        return;
    }
    datagram_queue_add(early, datagram, size);
}

/* A request of a caller whose handshake may have ended just now, or a unit, for which it has credit
 * by then. Its connection sees later whether it is genuine. */
static void hear_early(struct pending *p, const struct caller *caller, const uint8_t *datagram,
                       size_t size)
{
    uint64_t peer = address_number(&caller->from);

    mutex_lock(&p->mutex);
    for (uint32_t i = 0; i < p->rules.places; i++) {
        struct pending_handshake *h = &p->place[i];
        bool has_begun = h->state == PENDING_SERVED || h->tls != NULL;
        if (has_begun && h->peer == peer)
            keep(h, datagram, size);
    }
    mutex_unlock(&p->mutex);
}

/* Writes what is said at once to a caller that has no place: of a handshake that is not known here,
 * or no more, or for which there is no room. False: nothing, as to a refusal. */
static bool answer_outsider(const struct cookie_jar *jar, uint64_t peer, bool has_cookie,
                            const struct handshake_datagram *d, uint8_t answer[TRAILER_BYTES])
{
    if ((d->flags & HANDSHAKE_REFUSES) != 0)
        return false;
    if (has_cookie)
        handshake_put_off(d, answer);
    return has_cookie || handshake_disown(jar, peer, clock_now(), d, answer);
}

/* A caller without a place is told so. */
static void hear_handshake(struct pending *p, const struct caller *caller,
                           const struct handshake_datagram *d, const uint8_t *datagram, size_t size)
{
    const struct cookie_jar jar = keyed_hash_jar();
    uint64_t peer = address_number(&caller->from), host = address_host_number(&caller->from);
    bool has_cookie = handshake_has_cookie(&jar, peer, clock_now(), datagram, size);
    uint8_t answer[TRAILER_BYTES];

    mutex_lock(&p->mutex);
    struct pending_handshake *h = find(p, peer, d->nonce);
    bool is_open = !p->is_stopping, is_refusal = (d->flags & HANDSHAKE_REFUSES) != 0;
    if (h == NULL && !has_cookie)
        p->counts.unproven++;
    else if (h == NULL && is_open && !is_refusal)
        h = take_place(p, caller, peer, host, d);
    if (h != NULL)
        datagram_queue_add(&h->queue, datagram, size);
    mutex_unlock(&p->mutex);
    if (h != NULL)
        condition_signal(&p->has_work);
    else if (is_open && answer_outsider(&jar, peer, has_cookie, d, answer))
        p->rules.send(p->rules.context, caller, answer, sizeof(answer));
}

/* A hello is answered with a cookie. A hello with a good cookie is of a caller without keys, and is
 * refused. */
static void hear_hello(struct pending *p, const struct caller *caller, const uint8_t *datagram,
                       size_t size)
{
    const struct cookie_jar jar = keyed_hash_jar();
    uint8_t answer[TRAILER_BYTES];
    size_t bytes = 0;
    enum listening what = listening_hear(&jar, address_number(&caller->from), clock_now(), datagram,
                                         size, answer, &bytes);

    if (what == LISTENING_ACCEPTS)
        bytes = handshake_refuse_hello(datagram, size, answer) ? TRAILER_BYTES : 0;
    if (bytes > 0) {
        p->rules.send(p->rules.context, caller, answer, bytes);
        return;
    }
    mutex_lock(&p->mutex);
    p->counts.strange++;
    mutex_unlock(&p->mutex);
}

void pending_hear(struct pending *p, const struct caller *caller, const uint8_t *datagram,
                  size_t size)
{
    enum datagram_type type = datagram_type(datagram[size - 1]);
    struct handshake_datagram d;
    size_t bytes;

    if ((type == DATAGRAM_REQUEST || type == DATAGRAM_UNIT) && size <= HANDSHAKE_BYTES)
        hear_early(p, caller, datagram, size);
    else if (type == DATAGRAM_HANDSHAKE &&
             handshake_decode(datagram, size, &d, &bytes) == VERDICT_OK)
        hear_handshake(p, caller, &d, datagram, size);
    else
        hear_hello(p, caller, datagram, size);
}

void pending_take_early(struct pending *p, struct datagram_queue *early)
{
    early->count = 0;
    mutex_lock(&p->mutex);
    for (uint32_t i = 0; i < p->rules.places; i++)
        if (p->place[i].state == PENDING_SERVED && p->place[i].early != NULL)
            datagram_queue_take_all(p->place[i].early, early);
    mutex_unlock(&p->mutex);
}

/* ---- the thread ---- */

/* When room is looked for again. A caller that waits for it repeats its last bytes. One that does
 * not may be gone, and is served when it speaks. */
static instant asks_at(const struct pending_handshake *h)
{
    return is_known(h) && h->again - h->heard <= HANDSHAKE_PATIENCE ? h->again : NEVER;
}

/* When the thread has something to do for a handshake, none of which is served. */
static instant due(const struct pending *p, const struct pending_handshake *h, instant now)
{
    instant by_time = instant_earlier(ends_at(p, h), asks_at(h));

    if (h->tls != NULL)
        by_time = instant_earlier(by_time, handshake_deadline(&h->tls->machine));
    if (h->queue.count == 0)
        return by_time;
    instant ready = sources_ready(&p->sources, h->host, p->rules.at_once, now);
    return h->tls != NULL ? now : instant_earlier(by_time, ready);
}

/* Is it the turn of this handshake rather than of the other? Hosts that have failed come last. */
static bool is_first(const struct pending *p, const struct pending_handshake *h,
                     const struct pending_handshake *other, instant now)
{
    if (other == NULL)
        return true;
    instant debt = sources_debt(&p->sources, h->host, now);
    instant other_debt = sources_debt(&p->sources, other->host, now);
    return debt != other_debt ? debt < other_debt : h->served < other->served;
}

/* Whose turn it is; NULL: nobody's before `*next`. */
static struct pending_handshake *choose(struct pending *p, instant now, instant *next)
{
    struct pending_handshake *chosen = NULL;

    *next = NEVER;
    for (uint32_t i = 0; i < p->rules.places; i++) {
        struct pending_handshake *h = &p->place[i];
        instant at = h->state == PENDING_WAITS ? due(p, h, now) : NEVER;
        if (at <= now && is_first(p, h, chosen, now))
            chosen = h;
        *next = instant_earlier(*next, at);
    }
    return chosen;
}

/* Has a handshake that was to begin, or to go on, had no memory for that? */
static bool has_lacked(const struct pending_handshake *h)
{
    return h->tls == NULL || h->tls->verdict == TLS_LACKS;
}

/* Reads what has come, and answers: nothing, if there was no memory to finish the answer. True if
 * the handshake has ended with it, well or not. Only what the caller has sealed shows that it is
 * there. Without the mutex. */
static bool go_on(const struct pending_rules *rules, struct pending_handshake *h,
                  const struct datagram_queue *came, const struct caller *caller)
{
    struct tls_handshake *tls = h->tls;
    uint64_t proven = tls->machine.proven;
    uint8_t datagram[HANDSHAKE_BYTES];
    bool has_ended = false;
    size_t size;

    for (uint32_t i = 0; i < came->count; i++)
        has_ended |=
            tls_handshake_hear(tls, clock_now(), came->datagram[i].bytes, came->datagram[i].size);
    if (tls->machine.proven > proven)
        h->heard = clock_now();
    if (has_lacked(h))
        return has_ended;
    handshake_expire(&tls->machine, clock_now());
    while ((size = handshake_take(&tls->machine, datagram)) > 0)
        rules->send(rules->context, caller, datagram, size);
    return has_ended;
}

/* A caller with an accepted key. False: it may be gone, or there is no room for it now, or no
 * memory. Without the mutex. */
static bool admit(const struct pending_rules *rules, const struct pending_handshake *h,
                  const struct caller *caller)
{
    if (clock_now() - h->heard > HANDSHAKE_PATIENCE ||
        (rules->has_room != NULL && !rules->has_room(rules->context, caller)))
        return false;
    struct session_keys *session_keys = tls_handshake_make_keys(h->tls);

    return session_keys != NULL && rules->on_success(rules->context, caller, session_keys);
}

static struct tls_handshake *begin(const struct pending_rules *rules, uint32_t tag, uint64_t nonce)
{
    struct tls_handshake *tls = tls_handshake_create(rules->keys, false, tag, nonce);

    if (tls != NULL)
        tls_give_credit(tls->tls, rules->credit);
    return tls;
}

/* A caller whose key was accepted has begun anew: nobody speaks for what it had begun before. */
static void free_before(struct pending *p, const struct pending_handshake *newest)
{
    for (uint32_t i = 0; i < p->rules.places; i++) {
        struct pending_handshake *h = &p->place[i];
        if (h != newest && h->state == PENDING_WAITS && is_known(h) && h->peer == newest->peer)
            free_place(h);
    }
}

/* Goes on with a handshake, for which it leaves the mutex. A host is charged for each handshake
 * that begins, and gets that back if it ends well, or if there was no memory to begin. One that
 * cannot go on for want of memory is over, and charged, because the caller's bytes may have caused
 * that: the caller says again what began it, or learns that it is forgotten, and begins anew. One
 * that has ended well is over once its caller is admitted. */
static void serve(struct pending *p, struct pending_handshake *h, instant now)
{
    const struct caller caller = h->caller;
    struct datagram_queue came;

    if (ends_at(p, h) <= now && (h->queue.count == 0 || !is_known(h))) {
        free_place(h);
        return;
    }
    if (h->tls == NULL)
        sources_charge(&p->sources, h->host, now);
    datagram_queue_take_all(&h->queue, &came);
    h->served = now;
    h->state = PENDING_SERVED;
    mutex_unlock(&p->mutex);
    if (h->tls == NULL)
        h->tls = begin(&p->rules, h->tag, h->nonce);
    bool has_ended = h->tls != NULL && go_on(&p->rules, h, &came, &caller);
    bool lacks = has_lacked(h), is_done = !lacks && h->tls->verdict == TLS_DONE;
    bool is_over = lacks || (is_done && admit(&p->rules, h, &caller));
    mutex_lock(&p->mutex);
    h->state = PENDING_WAITS;
    if (h->tls == NULL || (is_done && has_ended))
        sources_refund(&p->sources, h->host);
    if (is_done && has_ended)
        free_before(p, h);
    if (is_done)
        h->again = clock_now() + PENDING_PAUSE;
    else
        p->counts.refused += has_ended && !lacks;
    if (is_over || ends_at(p, h) <= now)
        free_place(h);
}

static void run(void *context)
{
    struct pending *p = context;
    instant next;

    mutex_lock(&p->mutex);
    while (!p->is_stopping) {
        instant now = clock_now();
        struct pending_handshake *h = choose(p, now, &next);
        if (h != NULL)
            serve(p, h, now);
        else
            (void)condition_wait(&p->has_work, &p->mutex, next);
    }
    mutex_unlock(&p->mutex);
}

/* ---- life ---- */

/* It has no thread. In a child, a handshake that the parent's thread was at work on is left alone:
 * it is half changed. */
static void destroy(struct pending *p, bool is_in_child)
{
    if (!is_in_child) {
        condition_fini(&p->has_work);
        mutex_fini(&p->mutex);
    }
    for (uint32_t i = 0; p->place != NULL && i < p->rules.places; i++)
        if (p->place[i].state != PENDING_SERVED)
            free_place(&p->place[i]);
    zcrp_keys_free(p->rules.keys);
    free(p->place);
    free(p);
}

int pending_open(struct pending **pending, const struct pending_rules *rules)
{
    struct pending *p = calloc(1, sizeof(*p));
    int error = -ENOMEM;

    *pending = NULL;
    if (p == NULL)
        return error;
    p->rules = *rules;
    keys_hold(rules->keys);
    mutex_init(&p->mutex);
    condition_init(&p->has_work);
    p->place = calloc(rules->places, sizeof(*p->place));
    if (p->place != NULL)
        error = thread_start(&p->thread, "zcrp-keys", run, p);
    if (error)
        destroy(p, false);
    else
        *pending = p;
    return error;
}

void pending_end(struct pending *p)
{
    mutex_lock(&p->mutex);
    p->is_stopping = true;
    mutex_unlock(&p->mutex);
    condition_signal(&p->has_work);
}

void pending_close(struct pending *p, bool is_in_child)
{
    if (p == NULL)
        return;
    if (!is_in_child) {
        pending_end(p);
        thread_join(&p->thread);
    }
    destroy(p, is_in_child);
}

struct pending_counts pending_count(struct pending *p)
{
    mutex_lock(&p->mutex);
    struct pending_counts counts = p->counts;
    mutex_unlock(&p->mutex);
    return counts;
}
