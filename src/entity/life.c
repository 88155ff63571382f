/* The life of an entity: open takes everything that it will ever need, close gives it back. The
 * order of close is the contract of docs/threads.md:
 *
 *    1  nothing is submitted any more
 *    2  sender: the backlog enters the machine; receiver: posted messages fail
 *    3  the machine closes: it waits for what was sent, and tells the peer
 *    4  the peer has confirmed, or the linger limit has passed: the machine answers for the last
 *       time, and what is left fails
 *    5  the entity leaves the engine: its threads do no turn of it any more
 *    6  the last events are told; nobody else is there any more, and everything is freed */
#include "codes.h"
#include "options.h"
#include "process.h"
#include "turns.h"

#include <stdlib.h>

/* ---- open ---- */

static bool is_sender(const struct zcrp_entity *e)
{
    return e->machine.role == MACHINE_SENDER;
}

static int init_memory(struct zcrp_entity *e)
{
    const struct channel *units = channels_of_units(&e->channels);

    openings_init(&e->openings, e->channels.in->has_gro);
    if (!workspace_reserve())
        return ZCRP_ERROR_MEMORY;
    if (machine_init(&e->machine, e->machine.role, &e->options, units))
        return ZCRP_OK;
    workspace_release();
    return ZCRP_ERROR_MEMORY;
}

static void fini_memory(struct zcrp_entity *e)
{
    machine_fini(&e->machine);
    workspace_release();
}

static void init_locks(struct zcrp_entity *e)
{
    mutex_init(&e->mutex);
    condition_init(&e->progress);
    e->due = e->unblock_at = NEVER;
    moderation_init(&e->moderation);
    helm_init(&e->helm, e->options.spin_ns);
}

static void fini_locks(struct zcrp_entity *e)
{
    condition_fini(&e->progress);
    mutex_fini(&e->mutex);
}

static int init_entity(struct zcrp_entity *e, const int descriptors[2])
{
    int code = channels_open(&e->channels, is_sender(e), descriptors, &e->options);

    if (code)
        goto err0;
    code = init_memory(e);
    if (code)
        goto err1;
    init_locks(e);
    collection_init(&e->collection);
    int error = turns_begin(e);
    if (!error)
        return ZCRP_OK;
    code = code_of_channel(error);
    collection_fini(&e->collection);
    fini_locks(e);
    fini_memory(e);
err1:
    channels_close(&e->channels);
err0:
    return code;
}

static int open_entity(struct zcrp_entity **entity, enum machine_role role,
                       const int descriptors[2], const struct zcrp_options *options,
                       size_t options_size)
{
    if (entity == NULL)
        return ZCRP_ERROR_ARGUMENT;
    *entity = NULL;
    if (descriptors == NULL)
        return ZCRP_ERROR_ARGUMENT;
    process_watch_forks();
    struct zcrp_entity *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return ZCRP_ERROR_MEMORY;
    e->generation = forked_generation();
    e->machine.role = role;
    int code = options_complete(&e->options, options, options_size);
    if (code == ZCRP_OK)
        code = init_entity(e, descriptors);
    if (code == ZCRP_OK)
        *entity = e;
    else
        free(e);
    return code;
}

int zcrp_open_sender_sized(struct zcrp_entity **entity, const int descriptors[2],
                           const struct zcrp_options *options, size_t options_size)
{
    return open_entity(entity, MACHINE_SENDER, descriptors, options, options_size);
}

int zcrp_open_receiver_sized(struct zcrp_entity **entity, const int descriptors[2],
                             const struct zcrp_options *options, size_t options_size)
{
    return open_entity(entity, MACHINE_RECEIVER, descriptors, options, options_size);
}

/* ---- close ---- */

/* Frees an entity whose threads have ended and whose messages are over. */
static void destroy(struct zcrp_entity *e)
{
    engine_leave(&e->member);
    collection_fini(&e->collection);
    fini_locks(e);
    fini_memory(e);
    channels_close(&e->channels);
    free(e);
}

/* In a child: frees this process's copy of an entity of its parent's. Locks may be held, and lists
 * half changed, by threads that this process does not have. */
static void abandon(struct zcrp_entity *e)
{
    if (atomic_load(&e->collection.is_on))
        wake_fini(&e->collection.wake);
    machine_fini(&e->machine);
    channels_abandon(&e->channels);
    free(e);
}

static bool is_backlog_through(struct zcrp_entity *e)
{
    return entity_is_failing(e) || backlog_is_empty(&e->backlog);
}

static bool is_closed(struct zcrp_entity *e)
{
    return e->is_broken || machine_is_closed(&e->machine);
}

/* When the peer has to have acknowledged something new: the limit counts from the last time. */
static instant close_limit(struct zcrp_entity *e, instant since)
{
    instant progress = machine_progress_at(&e->machine);
    instant last = progress != NEVER && progress > since ? progress : since;

    return e->options.linger_ns < NEVER - last ? last + e->options.linger_ns : NEVER;
}

/* Within a locked section, which it leaves and enters again. False if that takes longer than close
 * may, which began at `since`. */
static bool wait_until(struct zcrp_entity *e, bool (*is_so)(struct zcrp_entity *e), instant since)
{
    while (!is_so(e) && clock_now() < close_limit(e, since))
        (void)condition_wait(&e->progress, &e->mutex, close_limit(e, since));
    return is_so(e);
}

/* Tells those whose messages have ended, and lets the threads go on, within a locked section. */
static void tell_ended(struct zcrp_entity *e)
{
    entity_leave(e);
    entity_enter(e);
}

/* Closes the machine; true if the peer has confirmed in time, or there is none. */
static bool close_machine(struct zcrp_entity *e, instant since)
{
    if (is_sender(e))
        (void)wait_until(e, is_backlog_through, since);
    machine_close(&e->machine, clock_now());
    if (!is_sender(e)) {
        entity_move(e, ENTITY_FAILING);
        sending_drain(e, SENDING_BURSTS);
    }
    tell_ended(e);
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
    entity_move(e, ENTITY_FAILING);
    machine_fail(&e->machine, clock_now(), OUTCOME_CLOSED);
}

static int linger(struct zcrp_entity *e)
{
    entity_enter(e);
    entity_move(e, ENTITY_DRAINING);
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
        abandon(entity);
        return ZCRP_OK;
    }
    int code = linger(entity);
    turns_end(entity);
    entity_enter(entity);
    entity_leave(entity);
    entity_await_visitors(entity);
    destroy(entity);
    return code;
}
