/* A queue's life, and what wakes its takers. */
#include "queue.h"

#include "link/codes.h"
#include "link/process.h"
#include "platform/sleep.h"
#include "platform/system.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

/* ---- waking ---- */

/* A taker counts itself, and looks at the news behind that: so one of the two sees the other. */
void queue_wake_takers(struct zcrp_queue *q)
{
    atomic_fetch_add(&q->news, 1);
    lease_wake(&q->lease);
    if (atomic_load(&q->sleepers) > 0)
        futex_wake_all(&q->news);
}

/* A taker who looks tells of it, or rings when it leaves. */
static void ring(void *queue)
{
    struct zcrp_queue *q = queue;

    queue_wake_takers(q);
    if (lease_state(&q->lease) != LEASE_AWAKE)
        queue_ring_descriptor(q);
}

void queue_ring_descriptor(struct zcrp_queue *q)
{
    if (!atomic_load(&q->is_on) || atomic_exchange(&q->is_rung, true))
        return;
    wake_signal(&q->wake);
    atomic_store(&q->is_signalled, true); /* behind it: a clear that came too early comes again */
}

void queue_ring_for_rest(struct zcrp_queue *q)
{
    if (!atomic_load(&q->is_on))
        return;
    completions_lock();
    bool has_any = completions_first(&q->completions) != NULL;
    completions_unlock();
    if (has_any || interrupt_is_due(&q->interrupt, interrupt_begin(&q->interrupt)))
        queue_ring_descriptor(q);
}

/* Clearing may swallow the ring for what came just then. */
void queue_clear_descriptor(struct zcrp_queue *q)
{
    if (!atomic_load(&q->is_on) || !(atomic_load(&q->is_rung) || atomic_load(&q->is_signalled)))
        return;
    atomic_store(&q->is_signalled, false);
    wake_clear(&q->wake);
    atomic_store(&q->is_rung, false);
    queue_ring_for_rest(q);
}

int zcrp_queue_descriptor(struct zcrp_queue *queue)
{
    if (queue == NULL)
        return code_of_null("queue");
    int code = process_refusal(queue->generation);
    if (code != ZCRP_OK)
        return code;
    if (!atomic_exchange(&queue->is_on, true)) {
        queue_ring_descriptor(queue); /* there may be something: who polls takes once in vain */
        queue_begin_showing(queue);
    }
    return queue->descriptor;
}

/* Only what a signal handler may do: atomics, futexes, an eventfd. */
int zcrp_queue_interrupt(struct zcrp_queue *queue)
{
    int error = errno;

    if (queue == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (queue->generation != forked_generation())
        return ZCRP_ERROR_FORKED;
    interrupt_raise(&queue->interrupt);
    queue_wake_takers(queue);
    queue_ring_descriptor(queue);
    errno = error;
    return ZCRP_OK;
}

/* ---- open and close ---- */

int zcrp_queue_open(struct zcrp_queue **queue)
{
    if (queue == NULL)
        return code_of_null("queue");
    *queue = NULL;
    int code = process_refusal(forked_generation());
    if (code != ZCRP_OK)
        return code;
    process_watch_forks();
    struct zcrp_queue *q = calloc(1, sizeof(*q));
    if (q == NULL)
        return ZCRP_ERROR_MEMORY;
    q->generation = forked_generation();
    completions_init(&q->completions, ring, q, &q->sockets);
    int error = queue_begin_looking(q);
    if (error) {
        free(q);
        return code_of_channel(error);
    }
    *queue = q;
    return ZCRP_OK;
}

static void await_takers(struct zcrp_queue *q)
{
    atomic_store(&q->is_closing, true);
    queue_wake_takers(q);
    while (atomic_load(&q->takers) > 0)
        sched_yield();
}

int zcrp_queue_close(struct zcrp_queue *queue)
{
    if (queue == NULL)
        return ZCRP_OK;
    int code = process_refusal(queue->generation);
    if (code != ZCRP_OK && code != ZCRP_ERROR_FORKED)
        return code;
    if (code == ZCRP_OK) {
        await_takers(queue);
        queue_empty(queue);
        completions_fini(&queue->completions);
        queue_end_looking(queue);
    } else {
        queue_abandon_looking(queue);
    }
    free(queue);
    return ZCRP_OK;
}
