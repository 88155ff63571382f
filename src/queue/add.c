/* What enters a queue, and leaves it: entities, connections, listeners. */
#include "accept/connection.h"
#include "accept/listener.h"
#include "link/codes.h"
#include "link/life.h"
#include "link/process.h"
#include "link/turns.h"
#include "platform/reason.h"
#include "queue.h"

#include <stddef.h>

struct zcrp_entity *queue_entity(struct place *p)
{
    const size_t at = offsetof(struct zcrp_entity, collection) + offsetof(struct collection, place);

    return (struct zcrp_entity *)((char *)p - at);
}

struct zcrp_entity *queue_visit(struct place *p)
{
    struct zcrp_entity *e = queue_entity(p);

    atomic_fetch_add(&e->visitors, 1);
    return e;
}

static int refusal(const struct zcrp_queue *queue, uint32_t generation)
{
    return queue->generation != generation ? ZCRP_ERROR_FORKED : process_refusal(generation);
}

static int say_in_queue(const char *what)
{
    return reason_say(ZCRP_ERROR_ARGUMENT, "%s is in a queue already", what);
}

/* Notes these facts, and what may have happened before the entity was in the queue. A take that
 * finds nothing of it passes over that. */
static void note_what_is_there(struct zcrp_entity *e, uint32_t facts)
{
    entity_say_awaited(e);
    entity_enter(e);
    facts |= e->offers > 0 ? FACT_OFFER : 0;
    entity_leave(e);
    place_note(&e->collection.place, facts);
}

int zcrp_queue_add(struct zcrp_queue *queue, struct zcrp_entity *entity, void *context)
{
    if (queue == NULL || entity == NULL)
        return code_of_null(queue == NULL ? "queue" : "entity");
    int code = refusal(queue, entity->generation);
    if (code != ZCRP_OK)
        return code;
    const struct place as = {.context = context, .facts = FACT_ENDED};
    (void)queue_visit(&entity->collection.place); /* a taker that is told of its end may close it */
    turns_queue(entity, &queue->sockets);
    bool has_joined = completions_add(&queue->completions, &entity->collection.place, &as);
    if (has_joined)
        note_what_is_there(entity, 0);
    else
        turns_unqueue(entity, &queue->sockets);
    entity_depart(entity);
    return has_joined ? ZCRP_OK : say_in_queue("entity");
}

/* That it is up already is no news, that it has ended is. The halves join together: one that joined
 * alone, and left again, would lose the first messages that have ended; and without the receiver
 * the end would be told before them. A taker that is told of the end may close the connection: the
 * halves do not go away before this call has departed. */
int zcrp_queue_add_connection(struct zcrp_queue *queue, struct zcrp_connection *connection,
                              void *context)
{
    if (queue == NULL || connection == NULL)
        return code_of_null(queue == NULL ? "queue" : "connection");
    int code = refusal(queue, connection->generation);
    if (code != ZCRP_OK)
        return code;
    bool is_busy = connection_look(connection) == ZCRP_ERROR_BUSY;
    const struct place as = {.context = context,
                             .owner = connection,
                             .told = is_busy ? ZCRP_ERROR_BUSY : ZCRP_OK,
                             .facts = FACT_ENDED};
    struct zcrp_entity *receiver = queue_visit(&connection->receiver->collection.place);
    struct zcrp_entity *sender = queue_visit(&connection->sender->collection.place);
    turns_queue(receiver, &queue->sockets);
    turns_queue(sender, &queue->sockets);
    bool has_joined = completions_add_both(&queue->completions, &receiver->collection.place,
                                           &sender->collection.place, &as);
    if (has_joined) {
        note_what_is_there(receiver, 0);
        note_what_is_there(sender, FACT_LINK);
    } else {
        turns_unqueue(sender, &queue->sockets);
        turns_unqueue(receiver, &queue->sockets);
    }
    entity_depart(sender);
    entity_depart(receiver);
    return has_joined ? ZCRP_OK : say_in_queue("connection");
}

int zcrp_queue_add_listener(struct zcrp_queue *queue, struct zcrp_listener *listener, void *context)
{
    if (queue == NULL || listener == NULL)
        return code_of_null(queue == NULL ? "queue" : "listener");
    int code = refusal(queue, listener_generation(listener));
    if (code != ZCRP_OK)
        return code;
    if (peers_join_queue(listener_peers(listener), &queue->completions, context, listener))
        return ZCRP_OK;
    return reason_say(ZCRP_ERROR_ARGUMENT, "listener is in a queue already");
}

/* ---- leaving ---- */

static int say_stranger(const char *what)
{
    return reason_say(ZCRP_ERROR_ARGUMENT, "%s is not in this queue", what);
}

/* Was it added by itself, or else with its connection? */
static bool was_added_so(struct zcrp_entity *e, const struct zcrp_connection *with)
{
    completions_lock();
    bool is_so = e->collection.place.owner == with;
    completions_unlock();
    return is_so;
}

int zcrp_queue_remove(struct zcrp_queue *queue, struct zcrp_entity *entity)
{
    if (queue == NULL || entity == NULL)
        return code_of_null(queue == NULL ? "queue" : "entity");
    int code = refusal(queue, entity->generation);
    if (code != ZCRP_OK)
        return code;
    if (was_added_so(entity, NULL) && entity_leave_queue(entity, &queue->completions))
        return ZCRP_OK;
    return say_stranger("entity");
}

int zcrp_queue_remove_connection(struct zcrp_queue *queue, struct zcrp_connection *connection)
{
    if (queue == NULL || connection == NULL)
        return code_of_null(queue == NULL ? "queue" : "connection");
    int code = refusal(queue, connection->generation);
    if (code != ZCRP_OK)
        return code;
    if (!was_added_so(connection->sender, connection) ||
        !entity_leave_queue(connection->sender, &queue->completions))
        return say_stranger("connection");
    (void)entity_leave_queue(connection->receiver, &queue->completions);
    return ZCRP_OK;
}

int zcrp_queue_remove_listener(struct zcrp_queue *queue, struct zcrp_listener *listener)
{
    if (queue == NULL || listener == NULL)
        return code_of_null(queue == NULL ? "queue" : "listener");
    int code = refusal(queue, listener_generation(listener));
    if (code != ZCRP_OK)
        return code;
    if (peers_leave_queue(listener_peers(listener), &queue->completions))
        return ZCRP_OK;
    return say_stranger("listener");
}

/* An entity that is closed meanwhile stays until this thread departs. */
static struct zcrp_entity *visit_any(struct zcrp_queue *q)
{
    struct zcrp_entity *e = NULL;

    completions_lock();
    while (e == NULL && q->completions.all != NULL) {
        struct place *p = q->completions.all;
        if (p->is_backlog)
            (void)place_leave(p);
        else
            e = queue_visit(p);
    }
    completions_unlock();
    return e;
}

void queue_empty(struct zcrp_queue *q)
{
    struct zcrp_entity *e;

    while ((e = visit_any(q)) != NULL) {
        (void)entity_leave_queue(e, &q->completions);
        entity_depart(e);
    }
}
