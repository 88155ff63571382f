/* The life of an entity: open takes everything that it will ever need, close gives it back. The
 * order of close is the contract of docs/internals/threads.md:
 *
 *    1  nothing is submitted any more
 *    2  sender: the backlog enters the machine; receiver: posted messages fail
 *    3  the machine closes: it waits for what was sent, and tells the peer
 *    4  the peer has confirmed, or the linger limit has passed: the machine answers for the last
 *       time, and what is left fails
 *    5  the entity leaves the engine: its threads do no turn of it any more
 *    6  the last events are told; nobody else is there any more, and everything is freed */
#include "life.h"

#include "codes.h"
#include "options.h"
#include "platform/reason.h"
#include "process.h"
#include "turns.h"
#include "tx.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

/* ---- open ---- */

static int init_memory(struct zcrp_entity *e)
{
    const struct channel *units = channels_of_units(&e->channels);

    if (!entity_is_sender(e))
        openings_init(&e->link->rx.openings, e->channels.in->has_gro);
    int error = workspace_reserve();
    if (error)
        return code_of_channel(error);
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
    condition_init(&e->progress);
    e->due = e->unblock_at = NEVER;
}

static void fini_locks(struct zcrp_entity *e)
{
    condition_fini(&e->progress);
}

/* Over the user's descriptors, or one half of a connection over its socket. */
static int open_channels(struct zcrp_entity *e, const struct origin *origin)
{
    if (origin->descriptors != NULL)
        return channels_open(&e->channels, entity_is_sender(e), origin->descriptors, &e->options);
    return channels_open_half(&e->channels, entity_is_sender(e), origin->socket, &e->options);
}

static int open_transport(struct zcrp_entity *e)
{
    const struct zcrp_options *o = &e->options;
    const struct transport_options options = {
        .is_sender = entity_is_sender(e),
        .may_use_memory = !(o->flags & ZCRP_NO_MEMORY),
        .must_use_memory = o->channel == ZCRP_CHANNEL_MEMORY,
        .lets_read = o->flags & ZCRP_ALLOW_PTRACE,
        .keyring = e->keyed.keyring,
    };

    e->transport = calloc(1, sizeof(*e->transport));
    if (e->transport == NULL)
        return ZCRP_ERROR_MEMORY;
    int error = transport_init(e->transport, e->channels.in, e->channels.out, &options);
    if (error) {
        free(e->transport);
        e->transport = NULL;
    }
    return error == -EREMOTE ? ZCRP_ERROR_APART : error ? ZCRP_ERROR_MEMORY : ZCRP_OK;
}

static void close_transport(struct zcrp_entity *e)
{
    if (e->transport == NULL)
        return;
    transport_fini(e->transport);
    free(e->transport);
}

/* May a caller's socket be bound anew, to another address of this machine's? */
static bool may_rebind(const struct zcrp_entity *e, const struct origin *origin)
{
    const struct channel *c = e->channels.in;

    return origin->is_caller && e->keyed.keyring != NULL && channel_is_udp(c) && c->aal5 == NULL &&
           !e->transport->is_possible && address_family_of(c->fd) == (int)c->peer.any.sa_family;
}

static int init_entity(struct zcrp_entity *e, const struct origin *origin)
{
    int code = open_channels(e, origin);

    if (code)
        return code;
    code = open_transport(e);
    if (code == ZCRP_OK)
        e->channels.in->may_rebind = may_rebind(e, origin);
    if (code == ZCRP_OK)
        code = init_memory(e);
    if (code) {
        close_transport(e);
        channels_close(&e->channels);
        return code;
    }
    init_locks(e);
    collection_init(&e->collection);
    return ZCRP_OK;
}

int entity_make(struct zcrp_entity **entity, enum machine_role role, const struct origin *origin,
                const struct zcrp_options *complete)
{
    struct zcrp_entity *e = calloc(1, sizeof(*e));
    int code = ZCRP_ERROR_MEMORY;

    if (e == NULL)
        goto err0;
    process_watch_forks();
    e->generation = forked_generation();
    e->machine.role = role;
    e->machine.stays = origin->descriptors == NULL;
    e->machine.was_called = origin->descriptors == NULL && !origin->is_caller;
    e->options = *complete;
    e->link = origin->link;
    if (!keyed_init(e))
        goto err1;
    e->machine.keyring = e->keyed.keyring;
    code = init_entity(e, origin);
    if (code != ZCRP_OK)
        goto err1;
    link_add(e->link, role, e);
    notice_init(e);
    *entity = e;
    return ZCRP_OK;

err1:
    keyed_fini(e);
err0:
    link_remove(origin->link, role);
    free(e);
    return code;
}

int entity_join(struct zcrp_entity *e)
{
    int error = turns_join(e);

    return error ? code_of_channel(error) : ZCRP_OK;
}

/* Joins the engine, and starts the thread that it may have beside. */
static int start(struct zcrp_entity *e)
{
    int code = entity_join(e);
    int error = code == ZCRP_OK ? keyed_start(e) : 0;

    return error ? code_of_channel(error) : code;
}

/* With complete options. */
static int open_complete(struct zcrp_entity **entity, enum machine_role role,
                         const int descriptors[2], const struct zcrp_options *complete)
{
    struct origin origin = {.descriptors = descriptors, .link = link_create(complete, NULL)};
    struct zcrp_entity *e;

    if (origin.link == NULL)
        return ZCRP_ERROR_MEMORY;
    int code = entity_make(&e, role, &origin, complete);
    if (code != ZCRP_OK)
        return code;
    code = start(e);
    if (code != ZCRP_OK) {
        entity_destroy(e);
        return code;
    }
    turns_start(e);
    *entity = e;
    return ZCRP_OK;
}

static int open_entity(struct zcrp_entity **entity, enum machine_role role,
                       const int descriptors[2], const struct zcrp_options *options,
                       size_t options_size)
{
    struct zcrp_options complete;

    if (entity == NULL)
        return code_of_null("entity");
    *entity = NULL;
    if (descriptors == NULL)
        return code_of_null("descriptors");
    int code = process_refusal(forked_generation());
    if (code == ZCRP_OK)
        code = options_complete(&complete, options, options_size);
    if (code != ZCRP_OK)
        return code;
    code = open_complete(entity, role, descriptors, &complete);
    options_release(&complete);
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

bool entity_leave_queue(struct zcrp_entity *e, const struct completions *from)
{
    struct sockets *sockets;
    bool was_in = collection_leave_queue(&e->collection, from, &sockets);

    if (was_in)
        turns_unqueue(e, sockets);
    return was_in;
}

void entity_destroy(struct zcrp_entity *e)
{
    enum machine_role role = e->machine.role;

    keyed_stop(e);
    engine_leave(&e->member);
    notice_fini(e);
    collection_fini(&e->collection);
    close_transport(e);
    fini_locks(e);
    fini_memory(e);
    channels_close(&e->channels);
    keyed_fini(e);
    link_remove(e->link, role);
    free(e);
}

/* Locks may be held, and lists half changed, by threads that this process does not have: memory of
 * such lists is left. Messages are their user's, who may have freed them: nothing looks at one. */
void entity_abandon(struct zcrp_entity *e)
{
    if (atomic_load(&e->collection.is_on))
        wake_fini(&e->collection.wake);
    if (!mutex_is_free(&e->link->mutex))
        e->keyed.handshake = NULL;
    else
        copies_abandon(&e->copies);
    link_abandon(e->link, e->machine.role);
    engine_abandon(&e->member);
    transport_abandon(e->transport);
    free(e->transport);
    machine_fini(&e->machine);
    channels_abandon(&e->channels);
    keyed_fini(e);
    free(e);
}

/* Blanks behind the last message that is not over tell the peer nothing that its close does not. */
static bool is_backlog_through(struct zcrp_entity *e)
{
    bool is_void = !backlog_has_messages(&e->backlog) && machine_has_only_void(&e->machine);

    return entity_is_failing(e) || backlog_is_empty(&e->backlog) || is_void;
}

static bool is_closed(struct zcrp_entity *e)
{
    return e->link->is_broken || machine_is_closed(&e->machine);
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
        (void)condition_wait(&e->progress, &e->link->mutex, close_limit(e, since));
    return is_so(e);
}

/* Tells those whose messages have ended, and lets the threads go on, within a locked section. */
static void tell_ended(struct zcrp_entity *e)
{
    entity_leave(e);
    entity_enter(e);
}

/* Closes the machine; true if the peer has confirmed in time, or need not, or there is none. */
static bool close_machine(struct zcrp_entity *e, instant since)
{
    bool is_through = !entity_is_sender(e) || wait_until(e, is_backlog_through, since);

    machine_close(&e->machine, clock_now());
    if (!is_through)
        return false;
    if (!entity_is_sender(e)) {
        entity_move(e, ENTITY_FAILING);
        tx_drain(e, SENDING_BURSTS);
    }
    tell_ended(e);
    (void)wait_until(e, is_closed, since);
    return machine_is_confirmed(&e->machine);
}

/* Within a locked section, as above. Waits until nobody sends. While messages are in flight, whose
 * pages the call may wait for, that lasts until `limit` at most: then false. */
static bool await_sending(struct zcrp_entity *e, instant limit)
{
    while (e->is_sending) {
        bool holds = entity_is_sender(e) && sender_has_messages(e->machine.sender);
        if (holds && clock_now() >= limit)
            return false;
        (void)condition_wait(&e->progress, &e->link->mutex, holds ? limit : NEVER);
    }
    return true;
}

/* The machine's last words: with them it answers the peer's close, or says that it has given up;
 * nobody repeats them. If another thread sends for too long nobody says them, and the peer notices
 * the silence. */
static void say_last_words(struct zcrp_entity *e)
{
    (void)await_sending(e, clock_now() + ENTITY_BUSY_AFTER);
    if (e->blocked == CHANNEL_ABSENT) /* words wait for no page */
        e->blocked = CHANNEL_OK;
    tx_drain(e, SENDING_BURSTS);
}

/* What is left fails. */
static void fail_rest(struct zcrp_entity *e)
{
    entity_move(e, ENTITY_FAILING);
    machine_fail(&e->machine, clock_now(), OUTCOME_CLOSED);
}

int entity_linger(struct zcrp_entity *e, instant since)
{
    entity_enter(e);
    if (e->life == ENTITY_FAILING) { /* it was BUSY the last time */
        entity_leave(e);
        return e->close_code;
    }
    entity_move(e, ENTITY_DRAINING);
    bool is_confirmed = close_machine(e, since);
    if (!is_confirmed)
        machine_give_up(&e->machine, backlog_has_messages(&e->backlog));
    say_last_words(e);
    fail_rest(e);
    e->close_code = is_confirmed ? ZCRP_OK : ZCRP_ERROR_TIMEOUT;
    entity_leave(e);
    return e->close_code;
}

void entity_cut(struct zcrp_entity *e)
{
    entity_enter(e);
    entity_move(e, ENTITY_FAILING);
    machine_close(&e->machine, clock_now());
    machine_give_up(&e->machine, backlog_has_messages(&e->backlog));
    say_last_words(e);
    machine_fail(&e->machine, clock_now(), OUTCOME_CLOSED);
    entity_leave(e);
}

/* A landing that goes on may end with a claim that is late, and it or a push may sleep in the
 * peer's memory. */
static bool is_held_up(const struct zcrp_entity *e)
{
    return e->transport->is_late || ways_are_crossing(e);
}

bool entity_await_crossings(struct zcrp_entity *e)
{
    instant until = clock_now() + ENTITY_BUSY_AFTER;

    entity_enter(e);
    while (is_held_up(e) && clock_now() < until)
        (void)condition_wait(&e->progress, &e->link->mutex, until);
    bool is_free = !is_held_up(e) && await_sending(e, until);
    entity_leave(e);
    return is_free;
}

/* The last turn of a queue's taker ends soon, because nothing crosses any more. */
static void await_taker(struct zcrp_entity *e)
{
    while (sockets_member_is_in(&e->link->sockets))
        sched_yield();
}

void entity_quit(struct zcrp_entity *e)
{
    await_taker(e);
    turns_end(e);
    entity_enter(e);
    entity_leave(e);
    entity_await_visitors(e);
}

int zcrp_close(struct zcrp_entity *entity)
{
    if (entity == NULL)
        return ZCRP_OK;
    if (entity->channels.is_half)
        return reason_say(ZCRP_ERROR_ARGUMENT,
                          "entity is half of a connection, which has to be closed instead");
    int code = process_refusal(entity->generation);
    if (code == ZCRP_ERROR_FORKED) {
        entity_abandon(entity);
        return ZCRP_OK;
    }
    if (code != ZCRP_OK)
        return code;
    (void)entity_leave_queue(entity, NULL);
    code = entity_linger(entity, clock_now());
    if (!entity_await_crossings(entity))
        return ZCRP_ERROR_BUSY;
    entity_quit(entity);
    entity_destroy(entity);
    return code;
}
