#include "turns.h"

#include "rx.h"
#include "timers.h"
#include "tx.h"

/* ---- by the engine ---- */

static const struct engine_duties engine_duties = {
    .arrive = rx_on_arrival,
    .writable = tx_on_room,
    .send = tx_on_ready,
    .expire = timers_on_due,
    .peer_ended = timers_on_peer_ended,
};

int turns_join(struct zcrp_entity *e)
{
    bool is_sender = entity_is_sender(e);

    return engine_join(&e->member, is_sender ? ENGINE_SENDERS : ENGINE_RECEIVERS, &engine_duties, e,
                       entity_reader(e) == e ? e->channels.in->fd : -1, e->channels.out->fd);
}

void turns_start(struct zcrp_entity *e)
{
    if (entity_reader(e) == e)
        engine_arm(&e->member);
    entity_enter(e); /* what is due from the beginning */
    if (keyed_has_datagram(e))
        tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

void turns_end(struct zcrp_entity *e)
{
    entity_enter(e);
    entity_move(e, ENTITY_STOPPING);
    lease_close(&e->link->lease);
    entity_leave(e);
    engine_stop(&e->member);
    transport_end_fetch(e->transport);
}

/* ---- by a queue ---- */

/* Has the turn ended messages well, which the user may answer? */
static bool note_messages(struct zcrp_entity *e, uint64_t before)
{
    mutex_lock(&e->link->mutex);
    bool has_any = e->messages != before;
    if (has_any) {
        answering_on_wait(&e->answering); /* the last one was not answered, if it still is open */
        answering_on_message(&e->answering);
    }
    mutex_unlock(&e->link->mutex);
    return has_any;
}

/* The taker gets messages of a connection, which its user may answer: then what is held goes with
 * the answer, or when it takes again. It waits for nothing else. */
static void note_taken(struct zcrp_entity *e, enum arrival found, uint64_t before)
{
    if (entity_other(e) == NULL || (found != ARRIVAL_NONE && note_messages(e, before)))
        return;
    if (flush_is_for(&e->flush, FLUSH_ANSWER))
        rx_release(e);
}

/* True if memory is to be glanced at: its peer wakes nobody then. A waiter that has the lease looks
 * itself, and says itself whether it sleeps. */
static bool say_glances(struct zcrp_entity *e)
{
    mutex_lock(&e->link->mutex);
    bool is_memory = transport_is_memory(e->transport) && !lease_is_taken(&e->link->lease);
    if (is_memory)
        rx_say_awake(e);
    mutex_unlock(&e->link->mutex);
    return is_memory;
}

/* Where there is more than a turn receives the next ones receive more often. A look tells at no
 * cost that there is. */
static instant on_look(void *client)
{
    struct zcrp_entity *e = client;
    bool is_for_taker = sockets_are_users(&e->link->sockets);
    struct workspace *w = workspace_take();
    uint64_t before;
    duration nap;

    if (w == NULL)
        return clock_now() + MILLISECOND; /* no memory at present */
    bool is_ours = rx_begin_turn(e, is_for_taker, &before);
    int most = is_ours ? rx_receives_of_turn(e, is_for_taker) : 0;
    enum arrival found = is_ours ? rx_receive_all(e, w, most) : ARRIVAL_NONE;
    workspace_give(w);
    if (!is_ours)
        return SOCKETS_LEAVE_BE;
    if (is_for_taker)
        note_taken(e, found, before);
    enum turn_end end = rx_end_turn(e, found, &nap);
    if (end == TURN_LEFT)
        return SOCKETS_LEAVE_BE;
    if (end == TURN_NAPS)
        return clock_now() + nap;
    if (!e->transport->is_possible)
        return SOCKETS_ARM;
    if (say_glances(e))
        return SOCKETS_POLL;
    return rx_say_worker_asleep(e) ? SOCKETS_ARM : clock_now(); /* the sender may have memory */
}

/* A waiter that has the lease looks itself. */
static bool on_glance(void *client)
{
    struct zcrp_entity *e = client;

    return !lease_is_taken(&e->link->lease) && rx_turn_in_memory(e) != ARRIVAL_NONE;
}

static bool on_rest(void *client)
{
    return rx_say_worker_asleep(client);
}

static bool on_holds(void *client)
{
    const struct zcrp_entity *e = client;

    return flush_is_for(&e->flush, FLUSH_ANSWER);
}

/* The user may wait for the end of a message of its own, and answer behind that. */
static void on_resume(void *client)
{
    struct zcrp_entity *e = client;

    if (flush_is_for(&e->flush, FLUSH_ANSWER))
        rx_release(e);
}

/* The engine looks after the link since the remove; but this turn may have told the peer since that
 * somebody glances at its memory. */
static void on_left(void *client)
{
    rx_arm(client);
}

static const struct sockets_duties sockets_duties = {.arrive = on_look,
                                                     .glance = on_glance,
                                                     .rest = on_rest,
                                                     .holds = on_holds,
                                                     .resume = on_resume,
                                                     .left = on_left};

void turns_queue(struct zcrp_entity *e, struct sockets *s)
{
    struct zcrp_entity *reader = entity_reader(e);
    const struct sockets_client client = {.duties = &sockets_duties,
                                          .client = reader,
                                          .fd = reader->channels.in->fd,
                                          .patience = reader->options.spin_ns};

    (void)sockets_add(s, &e->link->sockets, &client);
}

void turns_unqueue(struct zcrp_entity *e, struct sockets *s)
{
    if (sockets_remove(s, &e->link->sockets))
        rx_arm(entity_reader(e));
}
