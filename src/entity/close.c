/* Closing an entity. The order is the contract of docs/threads.md:
 *
 *    1  nothing is submitted any more
 *    2  the sender: what waits in the backlog enters the machine; the receiver: the posted fails
 *    3  the machine closes: it waits for what was sent, and tells the peer
 *    4  once confirmed, or after the linger limit, the machine speaks for the last time, and what
 * is left fails 5  the threads end: sending or receiving, update, timeout 6  the last events are
 * told; nobody else is there any more, and everything is freed */
#include "entity.h"
#include "platform/system.h"
#include "turns.h"
#include "worker.h"

static bool is_backlog_through(struct zcrp_entity *e)
{
    return e->is_over || backlog_is_empty(&e->backlog);
}

static bool is_closed(struct zcrp_entity *e)
{
    return e->is_broken || machine_is_closed(&e->machine);
}

/* When the peer has to have acknowledged something new: the limit counts from the last time. */
static instant patience(struct zcrp_entity *e, instant since)
{
    instant progress = machine_progress_at(&e->machine);
    instant last = progress != NEVER && progress > since ? progress : since;

    return e->options.linger_ns < NEVER - last ? last + e->options.linger_ns : NEVER;
}

/* Within a locked section, which it leaves and enters again. False if that takes longer than close
 * may, which began at `since`. */
static bool wait_until(struct zcrp_entity *e, bool (*is_so)(struct zcrp_entity *e), instant since)
{
    while (!is_so(e) && clock_now() < patience(e, since))
        (void)condition_wait(&e->progress, &e->mutex, patience(e, since));
    return is_so(e);
}

/* Tells those whose messages have ended, and lets the threads go on, within a locked section. */
static void breathe(struct zcrp_entity *e)
{
    entity_leave(e);
    entity_enter(e);
}

/* Closes the machine; true if the peer has confirmed in time, or there is none. */
static bool close_machine(struct zcrp_entity *e, instant since)
{
    bool is_sender = e->machine.role == MACHINE_SENDER;

    if (is_sender)
        (void)wait_until(e, is_backlog_through, since);
    machine_close(&e->machine, clock_now());
    e->is_over = e->is_over || !is_sender;
    if (!is_sender)
        sending_drain(e, SENDING_BURSTS);
    breathe(e);
    return wait_until(e, is_closed, since) && machine_is_confirmed(&e->machine);
}

/* The machine's last words: with them it answers the peer's close, or says that it has given up;
 * nobody repeats them. */
static void say_last_words(struct zcrp_entity *e)
{
    while (e->is_sending)
        (void)condition_wait(&e->progress, &e->mutex, NEVER);
    sending_drain(e, SENDING_BURSTS);
}

/* What is left fails. */
static void fail_rest(struct zcrp_entity *e)
{
    e->is_over = true;
    machine_fail(&e->machine, clock_now(), OUTCOME_CLOSED);
}

static int linger(struct zcrp_entity *e)
{
    entity_enter(e);
    e->is_closing = true;
    bool is_confirmed = close_machine(e, clock_now());
    if (!is_confirmed)
        machine_give_up(&e->machine);
    say_last_words(e);
    fail_rest(e);
    entity_leave(e);
    return is_confirmed ? ZCRP_OK : ZCRP_ERROR_TIMEOUT;
}

int zcrp_close(struct zcrp_entity *entity)
{
    if (entity == NULL)
        return ZCRP_OK;
    if (entity_is_forked(entity)) {
        entity_abandon(entity);
        return ZCRP_OK;
    }
    int code = linger(entity);
    worker_stop_all(entity);
    entity_enter(entity);
    entity_leave(entity);
    helm_await_guests(&entity->helm);
    entity_destroy(entity);
    return code;
}
