#include "rx.h"

#include "peer_move.h"
#include "receive.h"
#include "tx.h"
#include "wholes.h"

enum {
    TURN_RECEIVES = 64,
    HEARD_EACH = 16, /* of so many turns in which some land, one hears the socket, too */
    LOOKS = 8,       /* at memory, under the lock */
};

/* How often it is asked whether a peer is late still. */
#define LATE_LOOK MILLISECOND

/* How long a thread naps, at most, while another one receives. */
#define OTHERS_TURN (100 * MICROSECOND)

/* Control that comes this soon after other control belongs to the same crowd. */
#define CROWD (20 * MICROSECOND)

/* ---- answering ---- */

void rx_release(struct zcrp_entity *e)
{
    entity_enter(e);
    if (flush_is_for(&e->flush, FLUSH_ANSWER))
        tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

void rx_on_answer(struct zcrp_entity *e)
{
    entity_touch(e);
    answering_on_answer(&e->answering);
    if (flush_is_for(&e->flush, FLUSH_ANSWER))
        tx_drain(e, SENDING_BURSTS);
}

/* ---- messages as a whole ---- */

/* Lands some, if there are any and nobody receives. True if it did: then leave_wholes ends the
 * section. Locked. */
static bool take_wholes(struct zcrp_entity *e)
{
    return e->machine.role == MACHINE_RECEIVER && transport_reads_wholes(e->transport) &&
           !e->link->rx.is_claimed && !e->link->is_broken && wholes_land(e);
}

/* The peer's sender learns from memory what has landed; it is woken if it sleeps. */
static void leave_wholes(struct zcrp_entity *e)
{
    struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];
    const struct peer_news news = {.is_heard = true, .has_shown = keyed_is_news(e)};

    entity_touch(e);
    e->link->rx.are_whole = true;
    receiver_on_wholes(e->machine.receiver, clock_now()); /* by a stale time much would be due */
    bool has_news = sender != NULL && receive_tell_news(sender, news);
    if (has_news)
        entity_touch(sender);
    bool must_tell = transport_must_tell(e->transport);
    if (has_news || e->transport->way != WAY_MEMORY) /* it was left meanwhile */
        entity_leave(e);
    else
        entity_leave_ended(e);
    if (must_tell)
        channel_wake_peer(e->channels.out);
}

/* Ends those of the sender's that have arrived, if nothing else is there for it. Locked; true if it
 * has left the section. */
static bool leave_reaped(struct zcrp_entity *sender)
{
    if (sender == NULL || !transport_has_arrived(sender->transport) ||
        transport_has_control(sender->transport))
        return false;
    sender->link->rx.are_whole = true;
    ways_reap_wholes(sender);
    entity_leave_ended(sender);
    return true;
}

/* ---- a turn ---- */

/* What the halves of a link have. */
enum news {
    NEWS_NONE,
    NEWS_SOME,    /* for its reader, or the socket is to be heard */
    NEWS_ANSWERS, /* for a connection's sender */
    NEWS_PUSH,    /* nothing to receive, but something to push, which is claimed */
    NEWS_LANDED, /* messages have landed as a whole, or were found to have, and there may be more */
};

/* Without memory the reader hears the socket. While another thread receives nobody knows what it
 * leaves: so the caller tries. */
static bool find_news_for(const struct zcrp_entity *e)
{
    if (!transport_is_memory(e->transport))
        return entity_reader(e) == e;
    return e->link->rx.is_claimed || transport_find_news(e->transport) ||
           (entity_is_sender(e) && ways_find_credit(e));
}

/* What this side has to do although the peer has written nothing: what it was shown before, or may
 * push, is found by looking at this side's own messages. Locked. */
static enum news find_own_news(struct zcrp_entity *reader)
{
    struct zcrp_entity *sender = reader->link->half[MACHINE_SENDER];

    if (sender != NULL && ways_find_credit(sender))
        return sender == reader ? NEWS_SOME : NEWS_ANSWERS;
    if (sender != NULL && transport_claim_push(sender->transport))
        return NEWS_PUSH;
    return NEWS_NONE;
}

/* If there is nothing to receive a waiter that spins looks again at once, and nothing is planned,
 * and nothing told. Locked. */
static enum news find_news(struct zcrp_entity *reader)
{
    struct zcrp_entity *sender = reader->link->half[MACHINE_SENDER];

    if (find_news_for(reader))
        return NEWS_SOME;
    if (sender != NULL && sender != reader && find_news_for(sender))
        return NEWS_ANSWERS;
    return find_own_news(reader);
}

/* True if something was pushed. */
static bool push_some(struct zcrp_entity *sender)
{
    mutex_lock(&sender->link->mutex);
    bool is_ours = transport_claim_push(sender->transport);
    mutex_unlock(&sender->link->mutex);
    if (is_ours)
        ways_push(sender);
    return is_ours;
}

static enum arrival read_answers(struct zcrp_entity *sender, struct workspace *w)
{
    entity_enter(sender);
    bool has_answers = receive_answers(sender, w->memory);
    ways_reap_wholes(sender);
    (void)ways_tend_credit(sender);
    if (has_answers || sender_has_burst(sender->machine.sender))
        tx_drain(sender, SENDING_BURSTS);
    entity_leave(sender);
    return ARRIVAL_SOME;
}

static enum arrival reader_turn(struct zcrp_entity *e, struct workspace *w, enum hearing hearing)
{
    struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];
    enum arrival found = receive_once(e, w, hearing);

    return found == ARRIVAL_NONE && sender != NULL && push_some(sender) ? ARRIVAL_FULL : found;
}

/* A waiter that spins looks some times while it has the lock: a look takes less time than to free
 * the lock and take it again does. False: the peer has written nothing. Locked. */
static bool look_for_some(const struct zcrp_entity *e)
{
    const struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];
    const struct transport *t = e->transport, *other = sender != NULL ? sender->transport : t;

    if (e->link->rx.is_claimed)
        return true;
    for (int i = 0; i < LOOKS; i++)
        if (!transport_is_still(t) || !transport_is_still(other))
            return true;
    return false;
}

/* Messages that come as a whole land at once. The socket is heard beside them, if it is to be, but
 * not each time: that is a system call. */
static enum news look_at_memory(struct zcrp_entity *e, enum hearing hearing)
{
    struct rx *rx = &e->link->rx;
    enum news news = NEWS_SOME;

    mutex_lock(&e->link->mutex);
    if (hearing == HEAR_MEMORY && transport_is_memory(e->transport) && !look_for_some(e)) {
        news = find_own_news(e);
        mutex_unlock(&e->link->mutex);
        return news;
    }
    bool has_landed = take_wholes(e);
    rx->unheard = has_landed ? rx->unheard + 1 : 0;
    bool is_deaf = hearing == HEAR_MEMORY || rx->unheard % HEARD_EACH != 0;
    if (has_landed) {
        leave_wholes(e);
        return is_deaf ? NEWS_LANDED : NEWS_SOME;
    }
    if (hearing == HEAR_MEMORY && leave_reaped(e->link->half[MACHINE_SENDER]))
        return NEWS_LANDED;
    if (hearing == HEAR_MEMORY)
        news = find_news(e);
    mutex_unlock(&e->link->mutex);
    return news;
}

/* Does what a look has found. Only what is to be received takes a workspace: with other news `w`
 * may be NULL. */
static enum arrival follow(struct zcrp_entity *e, struct workspace *w, enum news news,
                           enum hearing hearing)
{
    struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];

    switch (news) {
    case NEWS_SOME:
        return reader_turn(e, w, hearing);
    case NEWS_ANSWERS:
        return read_answers(sender, w);
    case NEWS_PUSH:
        ways_push(sender);
        return ARRIVAL_FULL;
    case NEWS_LANDED:
        return ARRIVAL_FULL;
    case NEWS_NONE:
        break;
    }
    return ARRIVAL_NONE;
}

enum arrival rx_turn(struct zcrp_entity *e, struct workspace *w, enum hearing hearing)
{
    enum news news = e->transport->is_possible ? look_at_memory(e, hearing) : NEWS_SOME;

    return follow(e, w, news, hearing);
}

enum arrival rx_turn_in_memory(struct zcrp_entity *e)
{
    enum news news = look_at_memory(e, HEAR_MEMORY);

    if (news != NEWS_SOME && news != NEWS_ANSWERS)
        return follow(e, NULL, news, HEAR_MEMORY); /* a push is claimed, and nobody else does it */
    struct workspace *w = workspace_take();
    if (w == NULL)
        return ARRIVAL_NONE;
    enum arrival found = follow(e, w, news, HEAR_MEMORY);
    workspace_give(w);
    return found;
}

/* Whoever has taken the lease while this thread copied may have left it to this thread to say in
 * memory that it sleeps. */
static void look_again(struct zcrp_entity *e)
{
    lease_wake(&e->link->lease);
    rx_come(e);
}

/* A kept lease is nobody's, so this thread learns for the next that has it. */
bool rx_glance(struct zcrp_entity *e)
{
    struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];

    mutex_lock(&e->link->mutex);
    bool is_kept = lease_state(&e->link->lease) == LEASE_KEPT && !e->link->rx.is_claimed &&
                   e->link->rx.are_whole;
    bool has_any = is_kept && look_for_some(e);
    bool has_landed = has_any && take_wholes(e);
    bool has_other = has_any && !has_landed && sender != NULL && sender != e &&
                     transport_has_control(sender->transport);
    bool is_kept_still = lease_state(&e->link->lease) == LEASE_KEPT;
    if (has_landed)
        spinning_learn(&e->link->rx.spinning, 0);
    if (has_landed)
        leave_wholes(e);
    else if (!has_any || has_other || !leave_reaped(sender))
        mutex_unlock(&e->link->mutex);
    if (has_landed && !is_kept_still)
        look_again(e);
    return is_kept && !has_other;
}

duration rx_rest(struct zcrp_entity *e)
{
    if (e->transport->is_late)
        return LATE_LOOK; /* nothing is received */
    if (e->link->rx.is_claimed)
        return OTHERS_TURN; /* another thread receives, and may be waiting for this very core */
    if (transport_is_memory(e->transport))
        return 0; /* what is sent there is there at once */
    return moderation_rest(&e->link->rx.moderation, machine_expected(&e->machine),
                           machine_round_trip(&e->machine));
}

int rx_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline)
{
    if (nap == 0)
        return channel_wait(e->channels.in, wake_fd(wake), deadline);
    return channel_nap(wake_fd(wake), instant_earlier(deadline, clock_now() + nap));
}

/* A taker's turns follow each other closely, whether anything comes or not. */
static bool is_crowded(const struct rx *rx, bool is_for_taker)
{
    if (is_for_taker)
        return atomic_load_explicit(&rx->has_left, memory_order_relaxed);
    return clock_now() - atomic_load_explicit(&rx->heard, memory_order_relaxed) < CROWD;
}

int rx_receives_of_turn(struct zcrp_entity *e, bool is_for_taker)
{
    struct rx *rx = &e->link->rx;
    int doubled = 2 * atomic_load_explicit(&rx->receives, memory_order_relaxed);
    int more = doubled < TURN_RECEIVES ? doubled : TURN_RECEIVES;
    /* 0: no turn has asked yet, although one of the engine's may have left some. */
    int receives = is_crowded(rx, is_for_taker) && more > 0 ? more : 1;

    atomic_store_explicit(&rx->receives, receives, memory_order_relaxed);
    return receives;
}

bool rx_say_asleep(struct zcrp_entity *reader)
{
    struct zcrp_entity *other = entity_other(reader);

    return ways_say_asleep(reader) && (other == NULL || ways_say_asleep(other));
}

void rx_say_awake(struct zcrp_entity *reader)
{
    struct zcrp_entity *other = entity_other(reader);
    bool any = transport_say_awake(reader->transport);

    any |= other != NULL && transport_say_awake(other->transport);
    if (any)
        (void)lease_on_disarmed(&reader->link->lease);
}

/* Receives until nothing is there any more, or so many times. A waiter that has taken the lease
 * meanwhile goes on instead; it may be napping until then. */
static enum arrival receive_some(struct zcrp_entity *e, struct workspace *w, int most, bool *any)
{
    enum arrival found = ARRIVAL_FULL;

    for (int i = 0; i < most && found == ARRIVAL_FULL && !lease_is_taken(&e->link->lease); i++) {
        found = rx_turn(e, w, HEAR_ALL);
        *any |= found != ARRIVAL_NONE;
    }
    lease_wake(&e->link->lease);
    return found;
}

enum arrival rx_receive_all(struct zcrp_entity *e, struct workspace *w, int most)
{
    struct rx *rx = &e->link->rx;
    bool any = false;
    enum arrival found = receive_some(e, w, most, &any);

    atomic_store_explicit(&rx->has_left, found == ARRIVAL_FULL, memory_order_relaxed);
    if (any)
        atomic_store_explicit(&rx->heard, clock_now(), memory_order_relaxed);
    return found == ARRIVAL_NONE && any ? ARRIVAL_SOME : found;
}

bool rx_say_worker_asleep(struct zcrp_entity *reader)
{
    mutex_lock(&reader->link->mutex);
    bool may = rx_say_asleep(reader);
    mutex_unlock(&reader->link->mutex);
    if (!may)
        lease_wake(&reader->link->lease);
    return may;
}

/* A peer wakes only somebody who says that it sleeps, and a peer at another address only once for
 * all its letters. What they have by now the engine's thread receives: this one has other things
 * to do. */
void rx_arm(struct zcrp_entity *reader)
{
    if (!sockets_arm(&reader->link->sockets))
        engine_arm(&reader->member);
    if (!rx_say_worker_asleep(reader) || peer_move_has_letters(reader->link))
        rx_come(reader);
}

void rx_hand_over(struct zcrp_entity *reader, struct handover over)
{
    if (entity_other(reader) != NULL)
        entity_touch(entity_other(reader));
    entity_leave(reader);
    if (over.chosen != NULL)
        latch_wake(over.chosen);
    if (over.must_arm)
        rx_arm(reader);
}

void rx_come(struct zcrp_entity *reader)
{
    if (!sockets_arrive(&reader->link->sockets))
        engine_arrive(&reader->member);
}

bool rx_begin_turn(struct zcrp_entity *e, bool is_for_taker, uint64_t *messages)
{
    mutex_lock(&e->link->mutex);
    bool is_ours = !lease_on_disarmed(&e->link->lease);
    if (is_ours)
        e->link->rx.is_for_taker = is_for_taker;
    *messages = e->messages;
    mutex_unlock(&e->link->mutex);
    return is_ours;
}

/* Has a taker that asks again and again found nothing? That is no turn to learn a nap from. Locked.
 */
static bool was_look(const struct zcrp_entity *e, enum arrival found)
{
    const struct rx *rx = &e->link->rx;

    return found == ARRIVAL_NONE && rx->is_for_taker && !rx->is_claimed && !e->transport->is_late &&
           !rx->moderation.has_napped;
}

enum turn_end rx_end_turn(struct zcrp_entity *e, enum arrival found, duration *nap)
{
    mutex_lock(&e->link->mutex);
    *nap = found == ARRIVAL_FULL || was_look(e, found) ? 0 : rx_rest(e);
    bool is_over = e->link->is_broken;
    e->link->rx.is_for_taker = false;
    mutex_unlock(&e->link->mutex);
    if (is_over)
        return TURN_LEFT;
    return *nap > 0 ? TURN_NAPS : TURN_WAITS;
}

/* Sleeps without a plan out: a message that is cancelled meanwhile comes back at once. */
instant rx_on_arrival(void *client)
{
    struct zcrp_entity *e = client;
    uint64_t messages;
    duration nap;

    if (sockets_member_is_in(&e->link->sockets) && sockets_arrive(&e->link->sockets))
        return ENGINE_LEAVE_BE; /* what was due here is due there */
    if (!rx_begin_turn(e, false, &messages))
        return ENGINE_LEAVE_BE;
    struct workspace *w = workspace_take();
    if (w == NULL)
        return clock_now() + MILLISECOND; /* no memory at present */
    enum arrival found = rx_receive_all(
        e, w, e->machine.role == MACHINE_RECEIVER ? TURN_RECEIVES : rx_receives_of_turn(e, false));
    workspace_give(w);
    enum turn_end end = rx_end_turn(e, found, &nap);
    if (end == TURN_LEFT)
        return ENGINE_LEAVE_BE;
    if (end == TURN_NAPS || !rx_say_worker_asleep(e))
        return clock_now() + nap;
    return ENGINE_ARM;
}
