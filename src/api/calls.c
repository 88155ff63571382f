/* The public calls that submit and cancel messages, collect ended ones, ask for a message's size,
 * and read statistics. messages.c makes messages, wait.c waits for them, and link/life.c opens and
 * closes entities. */
#include "core/wire/datagram.h"
#include "link/codes.h"
#include "link/process.h"
#include "link/rx.h"
#include "link/tx.h"
#include "link/wholes.h"
#include "platform/reason.h"
#include "probe.h"
#include "waiting/changes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    ROOM_LOOKS_EACH = 16, /* of so many small messages one looks whether memory has room left */
};

/* ---- submitting ---- */

/* Under the mutex. Why a message cannot be submitted; OK if it can. */
static int refusal(const struct zcrp_entity *e)
{
    if (e->link->is_broken)
        return ZCRP_ERROR_CHANNEL;
    return e->life != ENTITY_OPEN ? ZCRP_ERROR_CLOSED : ZCRP_OK;
}

/* Under the mutex: it wraps memory. */
__attribute__((noinline)) static void count_wrapped(struct zcrp_entity *e, struct message *m,
                                                    nlong size)
{
    message_note_seen(m, size, clock_tick());
    e->wrapped++;
    e->unseen += m->is_unseen; /* no other is */
}

/* Under the mutex: the message's flight begins. */
static void begin_flight(struct zcrp_entity *e, struct message *m, nlong size)
{
    collection_withdraw(m);
    if (m->is_wrapped)
        count_wrapped(e, m, size);
    message_begin(m, e, size);
}

/* Under the mutex. Messages keep their order, so none passes the backlog. One for a connection's
 * receiver whose peer is gone ends at once. True if it only joined others in the machine, which is
 * no reason to look at the clock. */
static bool submit_message(struct zcrp_entity *e, struct message *m, nlong size)
{
    bool is_timed = machine_times_submit(&e->machine) || e->lost != OUTCOME_OK;
    instant now = is_timed ? clock_now() : 0;

    begin_flight(e, m, size);
    if (!backlog_is_empty(&e->backlog) || !machine_submit(&e->machine, now, m)) {
        backlog_add(&e->backlog, m);
        ways_say_awaited(e); /* it waits for room in the table */
    }
    if (e->lost != OUTCOME_OK)
        machine_fail(&e->machine, now, e->lost);
    return !is_timed && m->life == MESSAGE_IN_MACHINE && !machine_has_event(&e->machine);
}

/* Is the user likely to submit more at once, which the message is to wait for? A queue's taker
 * sends by itself what has gathered. So what takes longer to send than to submit does not wait for
 * it: another thread sends that meanwhile. Nor does what goes to memory. */
static bool awaits_more(const struct zcrp_entity *e, nlong size)
{
    const struct collection *c = &e->collection;

    return collection_has_more(c) && (!place_is_in_queue(&c->place) ||
                                      (size <= FLUSH_SMALL && !transport_is_memory(e->transport)));
}

/* The message waits until more is submitted, if it could be sent now, and its user has more to
 * collect. True if it waits. */
static bool gather(struct zcrp_entity *e, nlong size)
{
    return awaits_more(e, size) &&
           (flush_is_for(&e->flush, FLUSH_MORE) || machine_has_burst(&e->machine)) &&
           flush_add(&e->flush, clock_now(), size);
}

/* If nothing is under way, and the message can be sent, or messages were gathered, or the message
 * fills a system call by itself, the caller's thread sends, and wakes no other. Else messages queue
 * up, and go out in bursts. A message that fills a call queues up, too, if the sending thread was
 * asked already: it comes for the others in any case, and sends while the caller submits the next.
 * A receiver's request goes out at once when the machine says so. */
static bool is_sent_at_once(const struct zcrp_entity *e, nlong size)
{
    if (flush_is_for(&e->flush, FLUSH_MORE))
        return true;
    if (e->machine.role == MACHINE_RECEIVER)
        return machine_has_burst(&e->machine);
    if (size >= SENDING_CALL && !e->is_ready)
        return true;
    return !machine_is_in_transit(&e->machine) && machine_has_burst(&e->machine);
}

/* Under the mutex, which it leaves: the message went to the peer's memory, and nothing is to be
 * told. False if it did not, or something is. */
static bool leave_with_whole(struct zcrp_entity *e)
{
    struct transport *t = e->transport;
    bool was_watched = transport_is_watched(t);

    if (!entity_is_sender(e) || !tx_send_wholes(e) || !was_watched || t->must_wake_peer)
        return false;
    if (!transport_has_room(t))
        ways_reap(e);
    entity_leave_ended(e);
    return true;
}

/* Does a peer sleep that has been sent something? A thread that sends wakes it when it has sent. */
static bool wakes_peer(const struct zcrp_entity *e)
{
    return !e->is_sending && e->transport->must_wake_peer;
}

/* Does the engine look at the time of this half before long? It returns a kept lease then. */
static bool is_looked_at_soon(const struct zcrp_entity *e)
{
    instant returns = lease_returns_at(&e->link->lease);

    return returns != NEVER && e->due <= returns && e->lost == OUTCOME_OK;
}

/* Under the mutex, which it leaves. While messages are gathered, there is nothing to be told that
 * the end of that does not tell. */
__attribute__((noinline)) static void submit_and_leave(struct zcrp_entity *e, struct message *m,
                                                       nlong size)
{
    bool was_gathering = flush_is_for(&e->flush, FLUSH_MORE);
    bool has_joined = submit_message(e, m, size);
    if (e->transport->is_possible && ways_tend_credit(e))
        receiver_call(e->machine.receiver);
    if (leave_with_whole(e))
        return;
    bool is_waiting = gather(e, size);
    bool sends = wakes_peer(e) || (!is_waiting && is_sent_at_once(e, size));
    has_joined |= e->machine.role == MACHINE_RECEIVER && m->life == MESSAGE_IN_MACHINE &&
                  is_looked_at_soon(e);
    if (sends) /* or another thread that is at it does; leaves the mutex: the message may be its
                  user's again behind it */
        tx_drain(e, entity_is_sender(e) ? SENDING_AT_ONCE : SENDING_BURSTS);
    bool answers = entity_reader(e) != e && answering_is_open(&entity_reader(e)->answering);
    if (answers)
        rx_on_answer(entity_reader(e));
    if (has_joined && !sends && is_waiting == was_gathering && !answers)
        entity_leave_joined(e);
    else
        entity_leave(e);
}

/* The section ends. Memory has to have room for the next one, and a peer that sleeps wakes. */
__attribute__((noinline)) static void leave_looking(struct zcrp_entity *e)
{
    struct transport *t = e->transport;
    bool wakes = t->must_wake_peer;

    t->must_wake_peer = false;
    if (transport_has_room(t)) {
        mutex_unlock(&e->link->mutex);
    } else {
        ways_reap(e);
        entity_leave_ended(e);
    }
    if (wakes)
        channel_wake_peer(t->out);
}

/* Under the mutex, which it leaves: the straight way of a small message on one host. False if it is
 * none. */
static inline bool submit_whole(struct zcrp_entity *e, struct message *m, nlong size)
{
    if (!wholes_submit(e, m, size))
        return false;
    if (m->number % ROOM_LOOKS_EACH == 0 || e->transport->must_wake_peer)
        leave_looking(e);
    else
        mutex_unlock(&e->link->mutex);
    return true;
}

/* The section ends with what the receiver has to say. */
__attribute__((noinline)) static void leave_replying(struct zcrp_entity *e)
{
    entity_touch(e);
    tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* The same of a receiver's buffer. */
static inline bool post_shown(struct zcrp_entity *e, struct message *m, nlong size)
{
    if (!wholes_post(e, m, size))
        return false;
    if (receiver_has_reply(e->machine.receiver))
        leave_replying(e);
    else
        mutex_unlock(&e->link->mutex);
    return true;
}

/* A section has touched the half, or some other message found it unusual: is it? */
__attribute__((noinline)) static bool open_straight(struct zcrp_entity *e)
{
    bool is_plain = refusal(e) == ZCRP_OK && e->options.trace == NULL && e->notice.place < 0 &&
                    e->lost == OUTCOME_OK && backlog_is_empty(&e->backlog) &&
                    !keyed_has_datagram(e);

    link_set_straight(e->link, e->machine.role, is_plain);
    return is_plain;
}

/* Has a message over a socket nothing to look at but the machine? */
static bool joins_only(struct zcrp_entity *e, nlong size)
{
    const struct zcrp_entity *reader = entity_reader(e);

    return (link_is_straight(e->link, e->machine.role) || open_straight(e)) &&
           !machine_times_submit(&e->machine) && size < SENDING_CALL &&
           flush_is_for(&e->flush, FLUSH_NOTHING) && !awaits_more(e, size) &&
           (reader == e || !answering_is_open(&reader->answering));
}

/* Three functions that few of those messages need, so they are not inline. Each is called under the
 * mutex, and leaves it. Here the machine has no room. */
__attribute__((noinline)) static void leave_queued(struct zcrp_entity *e, struct message *m)
{
    backlog_add(&e->backlog, m);
    entity_leave(e);
}

/* The message can leave at once. */
__attribute__((noinline)) static void leave_sending(struct zcrp_entity *e)
{
    tx_drain(e, entity_is_sender(e) ? SENDING_AT_ONCE : SENDING_BURSTS);
    entity_leave(e);
}

/* Others are in transit: it leaves with what comes behind them. */
__attribute__((noinline)) static void leave_behind_others(struct zcrp_entity *e)
{
    entity_leave_joined(e);
}

/* Under the mutex, which it leaves: the message has joined others. */
static inline void leave_joined(struct zcrp_entity *e, const struct message *m)
{
    const struct machine *k = &e->machine;
    bool is_sender = k->role == MACHINE_SENDER;
    bool waits = is_sender && sender_awaits_buffer(k->sender, m->number); /* for a request */

    if (machine_has_event(k))
        entity_leave_ended(e);
    else if (!waits && is_sender && machine_is_in_transit(k))
        leave_behind_others(e);
    else if (!waits && machine_has_burst(k))
        leave_sending(e);
    else
        mutex_unlock(&e->link->mutex);
}

/* The same over a socket: the message joins others that wait, or are under way. If it can leave at
 * once this thread sends it. */
static inline bool submit_joining(struct zcrp_entity *e, struct message *m, nlong size)
{
    if (!joins_only(e, size))
        return false;
    link_note(e->link, e->machine.role);
    begin_flight(e, m, size);
    if (machine_submit(&e->machine, 0, m))
        leave_joined(e, m);
    else
        leave_queued(e, m);
    return true;
}

static bool submit_straight(struct zcrp_entity *e, struct message *m, nlong size)
{
    if (e->transport->is_possible)
        return entity_is_sender(e) ? submit_whole(e, m, size) : post_shown(e, m, size);
    return submit_joining(e, m, size);
}

/* Under the mutex, which it leaves. */
static inline void submit_any(struct zcrp_entity *e, struct message *m, nlong size)
{
    if (submit_straight(e, m, size))
        return;
    entity_touch(e);
    submit_and_leave(e, m, size);
}

/* Why a message of several pieces cannot be submitted there; OK if it can. */
static int pieces_refusal(const struct zcrp_entity *e, const struct message *m, nlong size)
{
    if (size > m->pieces->bytes)
        return ZCRP_ERROR_SIZE;
    if (m->pieces->overlaps && e->machine.role == MACHINE_RECEIVER)
        return reason_say(ZCRP_ERROR_ARGUMENT, "pieces of the message overlap");
    return ZCRP_OK;
}

/* Under the mutex, which it leaves. */
static inline int submit_or_refuse(struct zcrp_entity *e, struct message *m, nlong size)
{
    int code = refusal(e);

    if (code == ZCRP_OK)
        submit_any(e, m, size);
    else
        mutex_unlock(&e->link->mutex);
    return code;
}

/* The same, apart from what is compiled for the straight way. */
__attribute__((noinline)) static int submit_usually(struct zcrp_entity *e, struct message *m,
                                                    nlong size)
{
    return submit_or_refuse(e, m, size);
}

__attribute__((noinline)) static int submit_locking(struct zcrp_entity *e, struct message *m,
                                                    nlong size)
{
    mutex_lock(&e->link->mutex);
    return submit_or_refuse(e, m, size);
}

/* Whatever it is. */
__attribute__((noinline)) static int submit_checked(struct zcrp_entity *entity, struct message *m,
                                                    nlong size)
{
    if (entity == NULL || m == NULL)
        return code_of_null(entity == NULL ? "entity" : "message");
    int code = process_refusal(entity->generation);
    if (code != ZCRP_OK)
        return code;
    code = message_refusal(m);
    if (code == ZCRP_ERROR_BUSY) { /* it may have arrived by now */
        entity_say_message_awaited(m);
        code = message_refusal(m);
    }
    if (code != ZCRP_OK)
        return code;
    if (size > m->public.message_size || size > MESSAGE_BYTES_MAX)
        return ZCRP_ERROR_SIZE;
    if (m->pieces != NULL && (code = pieces_refusal(entity, m, size)) != ZCRP_OK)
        return code;
    return submit_locking(entity, m, size);
}

/* Is it small, of one piece, and nothing to be said against it? */
static inline bool is_small(const struct zcrp_entity *e, const struct message *m, nlong size)
{
    return e != NULL && m != NULL && size <= TRANSPORT_WHOLE && !process_runs_traces() &&
           e->generation == forked_generation() && latch_is_open(&m->latch) && m->pieces == NULL &&
           size <= m->public.message_size;
}

/* The straight way of such a message, each compiled as one function (flatten). */
__attribute__((flatten, noinline)) static int submit_small(struct zcrp_entity *e, struct message *m,
                                                           nlong size)
{
    mutex_lock(&e->link->mutex);
    return submit_whole(e, m, size) ? ZCRP_OK : submit_usually(e, m, size);
}

__attribute__((flatten, noinline)) static int post_small(struct zcrp_entity *e, struct message *m,
                                                         nlong size)
{
    mutex_lock(&e->link->mutex);
    return post_shown(e, m, size) ? ZCRP_OK : submit_usually(e, m, size);
}

__attribute__((flatten, noinline)) static int join_small(struct zcrp_entity *e, struct message *m,
                                                         nlong size)
{
    mutex_lock(&e->link->mutex);
    return submit_joining(e, m, size) ? ZCRP_OK : submit_usually(e, m, size);
}

int zcrp_submit(struct zcrp_entity *entity, struct zcrp_msg *message, nlong size)
{
    struct message *m = message_of(message);

    if (!is_small(entity, m, size))
        return submit_checked(entity, m, size);
    if (!entity->transport->is_possible)
        return join_small(entity, m, size);
    return entity_is_sender(entity) ? submit_small(entity, m, size) : post_small(entity, m, size);
}

/* ---- copies ---- */

/* Under the mutex. */
static int copy_refusal(const struct zcrp_entity *e, size_t size)
{
    int code = refusal(e);

    if (code == ZCRP_OK && !copies_have_room(&e->copies, size))
        code = ZCRP_ERROR_BUSY;
    return code;
}

int zcrp_send_copy(struct zcrp_entity *sender, const void *bytes, size_t size)
{
    if (sender == NULL || (bytes == NULL && size > 0))
        return code_of_null(sender == NULL ? "sender" : "bytes");
    if (!entity_is_sender(sender))
        return reason_say(ZCRP_ERROR_ARGUMENT, "sender is a receiver");
    int code = process_refusal(sender->generation);
    if (code != ZCRP_OK)
        return code;
    if (size > ZCRP_COPY_MOST)
        return ZCRP_ERROR_SIZE;
    struct message *m = copy_create(bytes, size);
    if (m == NULL)
        return ZCRP_ERROR_MEMORY;
    mutex_lock(&sender->link->mutex);
    code = copy_refusal(sender, size);
    if (code == ZCRP_OK) {
        copies_add(&sender->copies, m);
        submit_any(sender, m, size);
    } else {
        entity_touch(sender);
        entity_leave(sender); /* which may end some of the copies before it */
        copy_destroy(m);
    }
    return code;
}

/* ---- expecting ---- */

/* Under the mutex. BUSY while nothing is known of a message that has no buffer. */
static int next_size(struct zcrp_entity *e, nlong *size)
{
    if (e->link->is_broken)
        return ZCRP_ERROR_CHANNEL;
    if (e->life != ENTITY_OPEN)
        return ZCRP_ERROR_CLOSED;
    if (e->lost != OUTCOME_OK)
        return e->lost == OUTCOME_REFUSED ? message_say_refused() : code_of_outcome(e->lost, false);
    bool is_known = backlog_is_empty(&e->backlog) && machine_offer(&e->machine, size);
    return is_known ? ZCRP_OK : ZCRP_ERROR_BUSY;
}

struct expectation {
    struct zcrp_entity *entity;
    nlong *size;
};

static int look_for_offer(void *context)
{
    struct expectation *x = context;

    entity_enter(x->entity);
    int code = next_size(x->entity, x->size);
    entity_leave(x->entity);
    return code;
}

static void ask_for_offer(struct zcrp_entity *e)
{
    nlong size;

    entity_enter(e);
    if (next_size(e, &size) == ZCRP_ERROR_BUSY)
        machine_ask_offers(&e->machine, clock_now());
    tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

int zcrp_expect(struct zcrp_entity *receiver, nlong *size, int64_t timeout_ns)
{
    struct expectation x = {.entity = receiver, .size = size};

    if (receiver == NULL || size == NULL)
        return code_of_null(receiver == NULL ? "receiver" : "size");
    if (receiver->machine.role != MACHINE_RECEIVER)
        return reason_say(ZCRP_ERROR_ARGUMENT, "receiver is a sender");
    int code = process_refusal(receiver->generation);
    if (code != ZCRP_OK)
        return code;
    ask_for_offer(receiver);
    return changes_await(&receiver->changes, &receiver->interrupt, look_for_offer, &x,
                         clock_deadline(timeout_ns));
}

/* ---- taking back ---- */

/* Under the mutex. True if the message will end with CANCELLED. */
static bool take_back(struct zcrp_entity *e, struct message *m)
{
    switch (m->life) {
    case MESSAGE_QUEUED:
        backlog_cancel(&e->backlog, m);
        entity_end(e, m, ZCRP_ERROR_CANCELLED, 0, entity_has_taker(e));
        return true;
    case MESSAGE_IN_MACHINE:
        ways_take_back(e, m->number);
        return machine_cancel(&e->machine, clock_now(), m->number);
    case MESSAGE_IDLE:
    case MESSAGE_ENDED:
        break;
    }
    return false;
}

/* How many calls that may hold a message had begun at the last look. */
struct calls_begun {
    uint64_t crossings, sends;
};

/* Under the mutex. */
static struct calls_begun calls_begun(const struct zcrp_entity *e)
{
    return (struct calls_begun){.crossings = e->transport->crossings, .sends = e->sends};
}

/* Under the mutex. Does the peer write to this side's memory, or so it seems, or is a call out that
 * was out already at the last look? What a receiver sends is of no message. */
static bool is_held_up(const struct zcrp_entity *e, const struct calls_begun *last)
{
    bool is_crossing = ways_are_crossing(e) && last->crossings == e->transport->crossings;
    bool is_sending = entity_is_sender(e) && e->is_sending && last->sends == e->sends;

    return e->transport->is_late || is_crossing || is_sending;
}

/* The event of a message that a burst or a plan holds comes when that call of the channel is over:
 * the latch tells. The library's threads never wait like this. False: it takes too long. */
static bool await_end(struct zcrp_entity *e, struct message *m, struct calls_begun last)
{
    bool is_late = false;

    while (!latch_is_open(&m->latch) && !is_late) {
        (void)latch_wait(&m->latch, clock_now() + ENTITY_BUSY_AFTER, 0, NULL, 0);
        entity_enter(e);
        is_late = is_held_up(e, &last);
        last = calls_begun(e);
        entity_leave(e);
    }
    return latch_is_open(&m->latch);
}

int zcrp_cancel(struct zcrp_msg *message)
{
    struct message *m = message_of(message);

    if (m == NULL)
        return code_of_null("message");
    int code = process_refusal(forked_generation());
    if (code != ZCRP_OK)
        return code;
    struct zcrp_entity *e = entity_visit(m);
    if (e == NULL)
        return message_refusal(m) == ZCRP_ERROR_FORKED ? ZCRP_ERROR_FORKED : ZCRP_ERROR_IDLE;
    entity_enter(e);
    bool is_cancelled = take_back(e, m);
    if (is_cancelled && e->machine.role == MACHINE_RECEIVER)
        tx_drain(e, SENDING_BURSTS);
    struct calls_begun begun = calls_begun(e);
    entity_leave(e);
    bool has_ended = await_end(e, m, begun);
    entity_depart(e);
    if (!has_ended)
        return ZCRP_ERROR_BUSY;
    return is_cancelled ? ZCRP_OK : ZCRP_ERROR_IDLE;
}

/* ---- collecting ---- */

int zcrp_descriptor(struct zcrp_entity *entity)
{
    if (entity == NULL)
        return code_of_null("entity");
    int code = process_refusal(entity->generation);
    if (code != ZCRP_OK)
        return code;
    int fd = collection_descriptor(&entity->collection);
    if (fd >= 0) {
        entity_say_awaited(entity);
        return fd;
    }
    errno = -fd;
    return reason_say(ZCRP_ERROR_SYSTEM, "cannot make a descriptor: %s", strerror(errno));
}

struct zcrp_msg *zcrp_collect(struct zcrp_entity *entity)
{
    bool is_ours = entity != NULL && process_refusal(entity->generation) == ZCRP_OK;
    struct message *m = is_ours ? collection_take(&entity->collection) : NULL;

    if (is_ours && m == NULL) {
        probe_receive(entity);
        m = collection_take(&entity->collection);
    }
    return m == NULL ? NULL : &m->public;
}

/* ---- what is known of an entity ---- */

int zcrp_identity(struct zcrp_entity *entity, char *text, size_t size)
{
    if (entity == NULL || text == NULL)
        return code_of_null(entity == NULL ? "entity" : "text");
    int code = process_refusal(entity->generation);
    if (code != ZCRP_OK)
        return code;
    entity_enter(entity);
    const char *identity = keyed_identity(entity);
    int length = identity != NULL ? snprintf(text, size, "%s", identity) : 0;
    entity_leave(entity);
    if (identity == NULL)
        return ZCRP_ERROR_IDLE;
    return length >= 0 && (size_t)length < size ? ZCRP_OK : ZCRP_ERROR_SIZE;
}

int zcrp_stats_sized(struct zcrp_entity *entity, struct zcrp_stats *stats, size_t stats_size)
{
    struct zcrp_stats known;

    if (entity == NULL || stats == NULL)
        return code_of_null(entity == NULL ? "entity" : "stats");
    int code = process_refusal(entity->generation);
    if (code != ZCRP_OK)
        return code;
    entity_enter(entity);
    ways_reap_wholes(entity); /* nobody may have looked for some time */
    known = notice_stats(entity);
    entity_leave(entity);
    channels_add_stats(&entity->channels, &known);
    memset(stats, 0, stats_size);
    memcpy(stats, &known, stats_size < sizeof(known) ? stats_size : sizeof(known));
    return ZCRP_OK;
}
