/* What a queue tells, and how its takers wait. */
#include "accept/connection.h"
#include "link/codes.h"
#include "link/message.h"
#include "link/process.h"
#include "link/tx.h"
#include "platform/reason.h"
#include "platform/sleep.h"
#include "queue.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>

enum {
    IN_A_ROW = 64,     /* completions of one place: then others have their turn */
    LOOKS_A_YIELD = 8, /* of the core */
    GLANCES = 32,      /* at memory alone, in a row, where others have sockets only, */
    GLANCES_A_CLOCK = 16,
};

/* A call of take. */
struct taking {
    struct taker taker; /* while it glances */
    struct zcrp_queue *queue;
    char *out;        /* the next completion, */
    size_t size;      /* as large as the caller knows it */
    int left;         /* that there is room for */
    int taken;        /* so far, */
    bool has_refused; /* ZCRP_ERROR_REFUSED among them */
    uint32_t begun;   /* of the interrupt */
    instant deadline; /* 0: it only asks */
};

/* ---- telling ---- */

static void tell(struct taking *t, const struct zcrp_completion *completion)
{
    if (t->size == sizeof(*completion)) {
        memcpy(t->out, completion, sizeof(*completion));
    } else {
        memset(t->out, 0, t->size);
        memcpy(t->out, completion, t->size < sizeof(*completion) ? t->size : sizeof(*completion));
    }
    t->out += t->size;
    t->left--;
    t->taken++;
    t->has_refused |= completion->code == ZCRP_ERROR_REFUSED;
}

/* A message that has ended by this taker's own hand. */
static void tell_ended(struct taker *taker, struct place *p, void *message, int code)
{
    struct taking *t = (struct taking *)taker;
    const struct zcrp_completion as = {.kind = ZCRP_MESSAGE_ENDED,
                                       .code = code,
                                       .context = p->context,
                                       .entity = queue_entity(p),
                                       .connection = p->owner,
                                       .message = message};

    tell(t, &as);
    taker->left = t->left;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* What is submitted now gathers until the taker is back. A program that polls need not come back,
 * so nothing gathers for it. Under the completions' mutex, (k), as the next ones, unless they say
 * otherwise. */
static void begin_gathering(struct taking *t, struct zcrp_entity *e)
{
    if (!entity_is_sender(e) || atomic_load(&t->queue->is_on))
        return;
    collection_set_more(&e->collection, true);
    completions_note_busy(&t->queue->completions, &e->collection.place);
}

/* Tells of messages that have ended. False: there are no more. */
static bool tell_messages(struct taking *t, struct place *p, struct zcrp_completion *as)
{
    struct zcrp_entity *e = queue_entity(p);
    int told = 0;

    as->kind = ZCRP_MESSAGE_ENDED;
    for (int most = least(t->left, IN_A_ROW); told < most; told++) {
        struct message *m = collection_take_locked(&e->collection, &as->code);
        if (m == NULL)
            break;
        as->message = &m->public;
        tell(t, as);
    }
    as->message = NULL;
    bool has_more = collection_has_any_locked(&e->collection);
    if (told > 1 || (told > 0 && has_more))
        begin_gathering(t, e);
    return has_more;
}

/* False: there are no more. */
static bool tell_callers(struct taking *t, struct place *p)
{
    const struct zcrp_completion as = {
        .kind = ZCRP_PEER_CALLED, .context = p->context, .listener = p->owner};

    for (int most = least(t->left, IN_A_ROW); most > 0 && p->callers > 0; most--) {
        tell(t, &as);
        p->callers--;
    }
    return p->callers > 0;
}

/* Has it a message to tell of that ended well? A failed one does not count: what is posted after
 * the connection's end fails at once, and would put that end off for ever. Locked, (k). */
static bool has_good(const struct completions *c, const struct zcrp_entity *e)
{
    return atomic_load(&e->collection.place.in) == c && collection_has_good_locked(&e->collection);
}

/* Leaves the mutex to ask how the connection stands, for which it is visited. It may be out of the
 * queue by then, or have been added anew, or another taker may have told. The user closes a
 * connection when it is told of the end. So what both halves have that ended well is told first:
 * their places are ready, and have their turns before the connection is asked again. */
static void tell_link(struct taking *t, struct place *p, struct zcrp_completion *as)
{
    struct completions *c = &t->queue->completions;
    struct zcrp_entity *e = queue_visit(p);

    completions_unlock();
    int code = connection_look(as->connection);
    completions_lock();
    bool was_told = p->told != ZCRP_OK && p->told != ZCRP_ERROR_BUSY; /* that it has ended */
    bool is_in = atomic_load(&p->in) == c && p->owner == as->connection;
    bool is_news = is_in && !was_told && code != p->told && code != ZCRP_ERROR_BUSY;
    bool is_early =
        is_news && code != ZCRP_OK && (has_good(c, e) || has_good(c, as->connection->receiver));
    if (is_early) /* with others that are ready: so there is nobody to ring for */
        (void)place_note_locked(p, FACT_LINK);
    if (is_news && !is_early) {
        p->told = code;
        as->context = p->context;
        as->kind = code == ZCRP_OK ? ZCRP_CONNECTION_UP : ZCRP_CONNECTION_ENDED;
        as->code = code;
        tell(t, as);
    }
    entity_depart(e);
}

/* How a connection stands is told of its sender alone. */
static bool has_link_to_tell(const struct place *p, const struct zcrp_entity *e)
{
    return (p->facts & FACT_LINK) && p->owner != NULL && entity_is_sender(e);
}

static void tell_entity(struct taking *t, struct place *p)
{
    struct zcrp_entity *e = queue_entity(p);
    struct zcrp_completion as = {.context = p->context, .entity = e, .connection = p->owner};
    bool asks = has_link_to_tell(p, e);
    uint32_t facts =
        p->facts & (asks ? FACT_ENDED | FACT_OFFER | FACT_LINK : FACT_ENDED | FACT_OFFER);

    if ((facts & FACT_ENDED) && !tell_messages(t, p, &as))
        facts &= ~(uint32_t)FACT_ENDED;
    as.message = NULL;
    as.code = ZCRP_OK;
    if ((facts & FACT_OFFER) && t->left > 0) {
        as.kind = ZCRP_OFFER_CAME;
        tell(t, &as);
        facts &= ~(uint32_t)FACT_OFFER;
    }
    asks = asks && t->left > 0;
    completions_put_back(&t->queue->completions, p, asks ? facts & ~(uint32_t)FACT_LINK : facts);
    if (asks)
        tell_link(t, p, &as);
}

static void tell_place(struct taking *t, struct place *p)
{
    if (!p->is_backlog) {
        tell_entity(t, p);
        return;
    }
    bool has_more = tell_callers(t, p);
    completions_put_back(&t->queue->completions, p, has_more ? FACT_CALLER : 0);
}

/* Tells what there is, as much as there is room for. Not locked. */
static void tell_all(struct taking *t)
{
    struct completions *c = &t->queue->completions;
    struct place *p;

    bool is_empty = t->deadline == 0 && !completions_are_ready(c); /* who sleeps asks for sure */
    if (is_empty) {
        queue_clear_descriptor(t->queue);
        return;
    }
    completions_lock();
    while (t->left > 0 && (p = completions_first(c)) != NULL)
        tell_place(t, p);
    is_empty = completions_first(c) == NULL;
    completions_unlock();
    if (is_empty)
        queue_clear_descriptor(t->queue);
}

/* ---- waiting ---- */

/* Has something happened that ends a wait? A look, which the taker does not forget. */
static bool is_done(const struct taking *t)
{
    const struct zcrp_queue *q = t->queue;

    return t->taken > 0 || atomic_load(&q->is_closing) || interrupt_is_due(&q->interrupt, t->begun);
}

/* Why a taker that has nothing does not wait: how many it has, or a code; BUSY: it does. */
static int end_of(struct taking *t)
{
    struct zcrp_queue *q = t->queue;

    if (t->taken > 0)
        return t->taken;
    if (atomic_load(&q->is_closing))
        return ZCRP_ERROR_CLOSED;
    if (interrupt_is_due(&q->interrupt, t->begun)) {
        interrupt_tell(&q->interrupt);
        queue_clear_descriptor(q);
        return ZCRP_ERROR_INTERRUPTED;
    }
    return t->deadline == 0 || clock_now() >= t->deadline ? 0 : ZCRP_ERROR_BUSY;
}

/* Another taker looks: sleeps until there are news, or it gives the lease back. */
static void wait_for_news(struct taking *t, uint32_t seen)
{
    struct zcrp_queue *q = t->queue;

    atomic_fetch_add(&q->sleepers, 1);
    if (lease_is_taken(&q->lease)) /* whoever gives it back behind this sees a sleeper */
        (void)futex_wait_either(&q->news, seen, &q->interrupt.raised, t->begun, t->deadline);
    atomic_fetch_sub(&q->sleepers, 1);
}

/* Has the taker looked for so long in vain that it sleeps? Where waits are long it sleeps at once,
 * because that looks, too. */
static bool is_to_sleep(const struct taking *t, instant since, uint32_t looks)
{
    if (t->deadline == 0 || is_done(t) || sockets_are_polled(&t->queue->sockets))
        return false;
    duration limit = spinning_limit(&t->queue->spinning);
    instant now = clock_now();
    if (now >= t->deadline)
        return false;
    return limit == 0 || (looks > 1 && now - since >= limit);
}

/* One look of a taker that does not sleep. After some in vain the core goes to others instead: the
 * peer may be waiting for this very one. A taker that was away has not spun (queue_take_lease). */
static void look_once(struct zcrp_queue *q)
{
    if (q->vain < LOOKS_A_YIELD) {
        q->vain = queue_look(q) ? 0 : q->vain + 1;
        return;
    }
    sched_yield();
    q->vain = 0;
}

/* With the lease: looks, and sleeps, until there is something to tell, or the wait is over. `seen`
 * are the news before the taker last looked for something to tell: it does not sleep behind later
 * ones. */
static int look(struct taking *t, uint32_t seen)
{
    struct zcrp_queue *q = t->queue;
    instant since = t->deadline == 0 ? 0 : clock_now();

    if (t->deadline == 0 || t->taken > 0) /* who comes rarely hears all */
        sockets_hear(&q->sockets);
    for (uint32_t looks = 1;; looks++) {
        if (is_to_sleep(t, since, looks))
            queue_sleep(q, seen, t->deadline);
        else
            look_once(q);
        seen = atomic_load(&q->news);
        tell_all(t);
        int result = end_of(t);
        if (result > 0)
            q->vain = 0;
        if (result > 0 && since != 0)
            spinning_learn(&q->spinning, clock_now() - since);
        if (result != ZCRP_ERROR_BUSY)
            return result;
    }
}

/* Is it another taker's turn to look at the sockets? It need not be exact. A program that takes
 * seldom does not let them wait: the engine looks when the kept lease returns. Where all that comes
 * is in memory only the time tells. */
static bool is_others_turn(struct zcrp_queue *q)
{
    uint32_t glances = atomic_load_explicit(&q->glances, memory_order_relaxed) + 1;

    atomic_store_explicit(&q->glances, glances, memory_order_relaxed);
    if (glances % GLANCES == 0 && !sockets_are_all_polled(&q->sockets))
        return false;
    return glances % GLANCES_A_CLOCK != 0 ||
           queue_was_looked_at(q) >= clock_now() - QUEUE_LOOK_EVERY;
}

/* Glances at memory, which takes no lease, while one is kept for this taker. True if it has told
 * something, or only asks, and looks at the sockets another time: which also says that the lease is
 * to be kept on. */
static bool glance(struct taking *t)
{
    struct zcrp_queue *q = t->queue;

    if (!sockets_are_polled(&q->sockets) || lease_state(&q->lease) != LEASE_KEPT)
        return false;
    t->taker = (struct taker){&q->completions, t->left, tell_ended};
    completions_look_as(&t->taker);
    bool any = sockets_glance(&q->sockets);
    completions_look_as(NULL);
    if (any && t->left > 0)
        tell_all(t);
    return (t->taken > 0 || t->deadline == 0) && is_others_turn(q);
}

/* Is there more to take than has been received lately? While a program is at what it has, others
 * wait for acknowledgements. */
static bool is_to_look(const struct taking *t)
{
    return t->taken == 0 || queue_was_looked_at(t->queue) < clock_now() - QUEUE_LOOK_EVERY;
}

/* A taker is back: what its user has gathered leaves, but for messages of senders that it is about
 * to be told more of, unless it was at that for long. */
static void end_gathering(struct zcrp_queue *q)
{
    struct completions *c = &q->completions;
    struct place *p;

    if (!completions_have_busy(c))
        return;
    bool is_late = queue_was_looked_at(q) < clock_now() - QUEUE_LOOK_EVERY;
    completions_lock();
    for (uint32_t most = completions_count_busy(c);
         most > 0 && (p = completions_take_busy(c, is_late)) != NULL; most--) {
        struct zcrp_entity *e = queue_visit(p);
        collection_set_more(&e->collection, false);
        completions_unlock();
        tx_end_gathering(e);
        entity_depart(e);
        completions_lock();
    }
    completions_unlock();
}

static int take(struct taking *t)
{
    struct zcrp_queue *q = t->queue;

    end_gathering(q);
    for (;;) {
        uint32_t seen = atomic_load(&q->news);
        tell_all(t);
        if (t->taken == 0)
            end_gathering(q); /* of senders that there was no more to tell of */
        if (t->taken == 0 && glance(t))
            return end_of(t);
        if (is_to_look(t) && !lease_is_taken(&q->lease) && queue_take_lease(q)) {
            int result = look(t, seen);
            queue_give_lease(q);
            return result;
        }
        int result = end_of(t);
        if (result != ZCRP_ERROR_BUSY)
            return result;
        wait_for_news(t, seen);
    }
}

int zcrp_queue_take_sized(struct zcrp_queue *queue, struct zcrp_completion *completions, int most,
                          int64_t timeout_ns, size_t completion_size)
{
    if (queue == NULL || completions == NULL)
        return code_of_null(queue == NULL ? "queue" : "completions");
    if (most < 1)
        return reason_say(ZCRP_ERROR_ARGUMENT, "most is %d; it has to be 1 or more", most);
    int code = process_refusal(queue->generation);
    if (code != ZCRP_OK)
        return code;
    atomic_fetch_add(&queue->takers, 1);
    struct taking t = {.queue = queue,
                       .out = (char *)completions,
                       .size = completion_size,
                       .left = most,
                       .begun = interrupt_begin(&queue->interrupt),
                       .deadline = timeout_ns != 0 ? clock_deadline(timeout_ns) : 0};
    int result = take(&t);
    atomic_fetch_sub(&queue->takers, 1);
    if (t.has_refused)
        (void)message_say_refused();
    return result;
}
