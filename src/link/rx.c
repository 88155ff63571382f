#include "rx.h"

#include "handshake/datagram_queue.h"
#include "own_move.h"
#include "peer_move.h"
#include "tx.h"
#include "wholes.h"

#include <string.h>

enum {
    TURN_RECEIVES = 64,
    LITTLE = 16 << 10, /* bytes that are opened within a locked section, at most */
    HEARD_EACH = 16,   /* of so many turns in which some land, one hears the socket, too */
    LOOKS = 8,         /* at memory, under the lock */
};

/* How often it is asked whether a peer is late still. */
#define LATE_LOOK MILLISECOND

/* How long a thread naps, at most, while another one receives. */
#define OTHERS_TURN (100 * MICROSECOND)

/* Control that comes this soon after a turn belongs to the same crowd. */
#define CROWD (20 * MICROSECOND)

/* ---- planning ---- */

/* Claims the arrivals; false if another thread receives. Locked. */
static bool claim_arrivals(struct zcrp_entity *e)
{
    bool is_ours = !e->link->rx.is_claimed && !e->transport->is_late && !e->link->is_broken;

    e->link->rx.is_claimed = e->link->rx.is_claimed || is_ours;
    return is_ours;
}

/* A sender has no place for data: what arrives lies in scratch, and goes into the mail. */
static void plan_scratch(struct landing *landing)
{
    landing_begin(landing);
    (void)landing_seal(landing);
}

static void plan_units(struct zcrp_entity *e, struct transport_turn *turn, struct landing *landing)
{
    struct receiver *r = e->machine.receiver;
    uint64_t rest = e->transport->way == WAY_MEMORY ? 0 : receiver_expected(r);
    struct openings_choice choice =
        openings_choose(&e->link->rx.openings, receiver_recent_bytes(r), rest);

    landing->is_near = transport_begin_receive(e->transport, turn, &choice.openings, &choice.units);
    landing->cannot_fault = e->wrapped == 0;
    landing->is_present = e->unseen == 0;
    landing->is_writable = landing->cannot_fault ? NULL : memory_is_writable;
    receiver_plan(r, landing, choice.openings, choice.units);
}

/* Locked, with the claim. Mail is for a sender, or for the handshake of a receiver without one. */
static void plan(struct zcrp_entity *reader, struct transport_turn *turn, struct workspace *w)
{
    struct receiver *r = reader->machine.receiver;
    bool has_mail = reader->link->half[MACHINE_SENDER] != NULL || keyed_awaits_caller(reader);

    if (r == NULL) {
        transport_begin_hear(reader->transport, turn);
        plan_scratch(&w->landing);
    } else {
        plan_units(reader, turn, &w->landing);
    }
    w->landing.mail = has_mail ? &w->mail : NULL;
    w->mail.bytes = 0;
}

/* ---- landing ---- */

/* Only datagrams of the pairing tell how the next ones will come. True if there are any. */
static bool land_units(struct zcrp_entity *e, struct landing *landing)
{
    struct receiver_arrivals arrivals = receiver_landed(e->machine.receiver, clock_now(), landing);

    (void)receiver_on_listened(e->machine.receiver);
    if (arrivals.openings == 0)
        return false;
    openings_learn(&e->link->rx.openings, landing);
    moderation_on_arrivals(&e->link->rx.moderation, arrivals.openings, arrivals.bytes);
    return true;
}

/* What is sealed is opened without the mutex, so that others send meanwhile, but for a little: the
 * plan is out still, and no message's memory goes away. Within a locked section. */
static void open_units(struct zcrp_entity *e, struct landing *landing)
{
    struct receiver *r = e->machine.receiver;
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < landing->received; i++)
        bytes += landing->bytes[i];
    while (bytes > LITTLE && receiver_look(r, clock_now(), landing)) {
        mutex_unlock(&e->link->mutex);
        receiver_open(r, landing);
        entity_enter(e);
    }
}

/* Without a receiver all that arrives is for the sender. */
static void post_all(struct landing *landing)
{
    struct landing_walk walk = {0};
    struct segment segment;

    while (landing_next(landing, &walk, &segment))
        (void)landing_post(landing, &segment);
}

/* What a receiver has learnt of the peer just now. */
struct peer_news {
    bool is_heard;    /* something came of it */
    bool has_shown;   /* its first word: it is there */
    bool is_replaced; /* another peer is where the connection's was */
    bool has_closed;
};

/* What came enters the machine. Locked, with the claim. */
static struct peer_news land(struct zcrp_entity *e, const struct transport_turn *turn,
                             struct landing *landing, int received)
{
    bool was_replaced = machine_is_replaced(&e->machine);
    bool was_told = machine_told(&e->machine) != OUTCOME_OK;
    struct peer_news news = {.has_shown = false};

    if (received <= 0)
        landing->received = 0;
    if (e->machine.receiver == NULL) {
        post_all(landing);
        return news;
    }
    if (received == CHANNEL_FAULT)
        machine_on_plan_fault(&e->machine, landing);
    if (turn->has_memory)
        ways_look_late(e);
    open_units(e, landing);
    news.is_heard = land_units(e, landing);
    news.has_shown = news.is_heard && keyed_is_news(e); /* the sender is to be told */
    news.has_closed = !was_told && machine_told(&e->machine) != OUTCOME_OK;
    news.is_replaced = !was_replaced && machine_is_replaced(&e->machine);
    if (news.has_closed && e->lost == OUTCOME_OK)
        e->lost = machine_told(&e->machine); /* so ends what is posted from now on */
    return news;
}

/* ---- what is for a sender ---- */

/* The sender is told before anything is sent or told because of it. True if there was any. Locked.
 */
static bool tell_news(struct zcrp_entity *sender, struct peer_news news)
{
    ways_reap_wholes(sender); /* what the peer had read by then */
    if (news.is_heard) {
        sender_on_peer_heard(sender->machine.sender);
        own_move_on_heard(sender->link);
    }
    if (news.has_shown)
        keyed_confirm(sender, clock_now());
    if (news.is_replaced)
        machine_fail(&sender->machine, clock_now(), OUTCOME_RESTARTED);
    if (news.has_closed) {
        machine_agree_close(&sender->machine);
        if (machine_link(&sender->machine) == LINK_ASKING) /* that nobody will answer */
            machine_fail(&sender->machine, clock_now(), OUTCOME_PEER_CLOSED);
    }
    return news.has_shown || news.is_replaced || news.has_closed;
}

/* A sender hears a datagram: control, or one of its handshake. Locked. */
static void hear(struct zcrp_entity *sender, const uint8_t *datagram, size_t size)
{
    instant now = clock_now();

    if (keyed_hear_handshake(sender, now, datagram, size))
        return;
    ways_reap_wholes(sender); /* what the peer had read when it said this */
    sender_receive(sender->machine.sender, now, datagram, size);
    keyed_on_heard(sender);
}

static void hear_mail(struct zcrp_entity *sender, const struct landing_mail *mail)
{
    const uint8_t *datagram;
    size_t at = 0, size;

    while ((size = landing_mail_next(mail, &at, &datagram)) > 0)
        hear(sender, datagram, size);
}

/* What the peer of a sender says in memory, some of it at most. Locked. */
static bool hear_memory(struct zcrp_entity *sender, uint8_t *memory)
{
    int heard = 0;
    size_t size;

    while (!sender->link->is_broken && heard < TURN_RECEIVES &&
           (size = transport_answer(sender->transport, memory)) > 0) {
        ways_reap_wholes(sender);
        sender_receive_near(sender->machine.sender, clock_now(), memory, size);
        heard++;
    }
    return heard > 0;
}

/* What came for the sender: datagrams, and what its peer says in memory. Locked. */
static enum arrival update_sender(struct zcrp_entity *sender, struct workspace *w, bool has_news)
{
    bool reads = entity_reader(sender) == sender;

    hear_mail(sender, &w->mail);
    bool has_mail = w->mail.bytes > 0;
    bool has_answers = hear_memory(sender, w->memory);
    ways_reap_wholes(sender); /* what was declined is sent again */
    bool is_quiet = !has_mail && !has_answers && !has_news;
    bool is_refused = sender_on_listened(sender->machine.sender);
    if (!is_quiet || is_refused ||
        sender->transport->is_possible) /* the peer may have read, or agreed */
        entity_touch(sender);
    tx_pass_hints(sender);
    if (is_quiet && !reads)
        return ARRIVAL_NONE;
    bool has_sent =
        (reads || !flush_is_for(&sender->flush, FLUSH_MORE)) && /* its user sends soon */
        tx_drain(sender, SENDING_BURSTS);
    if (reads && has_mail)
        return ARRIVAL_FULL;
    return has_answers || (reads && has_sent) ? ARRIVAL_SOME : ARRIVAL_NONE;
}

/* ---- answering ---- */

/* Says what is to be said of arrivals, or holds it: the user, whose thread has the lease, may have
 * what it waits for, and is going to answer that. A gathering delays no acknowledgement that is
 * due, which takes with it what was gathered. */
static void reply_to_arrivals(struct zcrp_entity *e)
{
    bool gathers = flush_is_for(&e->flush, FLUSH_MORE);

    if (gathers && machine_acks_at(&e->machine) > clock_now())
        return;
    bool is_waiter = (lease_state(&e->link->lease) == LEASE_AWAKE || e->link->rx.is_for_taker) &&
                     e->life == ENTITY_OPEN;

    if (gathers || !is_waiter || !answering_is_usual(&e->answering) ||
        transport_is_memory(e->transport)) {
        tx_drain(e, SENDING_BURSTS);
        return;
    }
    flush_begin(&e->flush, clock_now(), FLUSH_ANSWER);
}

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

static bool wants_joined(const struct zcrp_entity *reader)
{
    const struct receiver *r = reader->machine.receiver;

    return r == NULL || receiver_wants_joined(r);
}

/* One receive: claim, plan, receive, land, answer. The only place where the socket and notes are
 * received. The plan is out for no longer than the call takes. */
static enum arrival receive_once(struct zcrp_entity *reader, struct workspace *w,
                                 enum hearing hearing)
{
    struct zcrp_entity *sender = reader->link->half[MACHINE_SENDER];
    struct transport_turn turn;

    mutex_lock(&reader->link->mutex); /* of a plan nothing is to be told */
    bool is_ours = claim_arrivals(reader);
    if (is_ours)
        plan(reader, &turn, w);
    bool joins = wants_joined(reader);
    mutex_unlock(&reader->link->mutex);
    if (!is_ours)
        return ARRIVAL_NONE;

    channel_join(reader->channels.in, joins);
    int most = (int)w->landing.openings;
    int received = transport_receive(reader->transport, &turn, &w->landing, hearing);

    entity_enter(reader);
    struct peer_news news = land(reader, &turn, &w->landing, received);
    enum transport_more more = transport_end_receive(reader->transport, &turn, most, received);
    if (received == CHANNEL_BROKEN)
        entity_break(reader);
    if (received > 0)
        reader->link->rx.are_whole = false;
    bool has_news = sender != NULL && tell_news(sender, news);
    peer_move_hear(reader->link);
    reader->link->rx.is_claimed = false;
    if (sender == NULL)
        tx_pass_hints(reader);
    if (peer_move_has_burst(reader))
        tx_drain(reader, SENDING_BURSTS);
    if (reader != sender)
        reply_to_arrivals(reader);
    enum arrival found = sender != NULL ? update_sender(sender, w, has_news) : ARRIVAL_NONE;
    entity_leave(reader);

    if (sender == NULL && w->landing.mail != NULL)
        keyed_hear_callers(reader, &w->mail);
    if (reader == sender)
        return received > 0 && w->landing.is_spoilt ? ARRIVAL_FULL : found;
    if (received <= 0)
        return more == MORE_SOON ? ARRIVAL_SOME : found;
    return more == MORE_NOW ? ARRIVAL_FULL : ARRIVAL_SOME;
}

void rx_hear(struct zcrp_entity *e, const uint8_t *hello, size_t size)
{
    entity_enter(e);
    receiver_welcome(e->machine.receiver, clock_now(), hello, size);
    tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* Puts a datagram where the plan expects the next one. */
static void fill(struct landing *l, const uint8_t *datagram, size_t size)
{
    const struct iovec *piece = &l->iov[l->first[0]];

    l->received = 1;
    l->bytes[0] = (uint32_t)size;
    l->segment[0] = 0;
    l->ecn[0] = LANDING_ECN_NONE;
    for (; size > 0; piece++) {
        size_t part = piece->iov_len < size ? piece->iov_len : size;
        memcpy(piece->iov_base, datagram, part);
        datagram += part;
        size -= part;
    }
}

/* Lands one datagram as if it had come from the socket just now. Locked, with the claim. */
static void land_copy(struct zcrp_entity *e, struct workspace *w, const struct datagram_copy *copy)
{
    const struct transport_turn turn = {.has_memory = false};
    struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];
    struct landing *landing = &w->landing;

    landing->is_near = landing->is_present = false;
    landing->cannot_fault = e->wrapped == 0;
    landing->is_writable = landing->cannot_fault ? NULL : memory_is_writable;
    landing->mail = &w->mail;
    w->mail.bytes = 0;
    receiver_plan(e->machine.receiver, landing, 1, 1);
    fill(landing, copy->bytes, copy->size);
    struct peer_news news = land(e, &turn, landing, 1);
    (void)tell_news(sender, news);
    hear_mail(sender, &w->mail);
}

void rx_hear_early(struct zcrp_entity *e, const struct datagram_queue *early)
{
    struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];
    struct workspace *w = early->count > 0 ? workspace_take() : NULL;

    if (w == NULL)
        return;
    entity_enter(e);
    if (claim_arrivals(e)) {
        for (uint32_t i = 0; i < early->count; i++)
            land_copy(e, w, &early->datagram[i]);
        e->link->rx.is_claimed = false;
        entity_touch(sender);
        tx_drain(e, SENDING_BURSTS);
        tx_drain(sender, SENDING_BURSTS);
    }
    entity_leave(e);
    workspace_give(w);
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
    receiver_on_wholes(e->machine.receiver, clock_now());
    bool has_news = sender != NULL && tell_news(sender, news);
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

/* ---- a turn ---- */

/* What the halves of a link have. */
enum news {
    NEWS_NONE,
    NEWS_SOME,    /* for its reader, or the socket is to be heard */
    NEWS_ANSWERS, /* for a connection's sender */
    NEWS_PUSH,    /* nothing to receive, but something to push, which is claimed */
    NEWS_LANDED,  /* messages have landed as a whole, and there may be more */
};

/* Without memory the reader hears the socket. While another thread receives nobody knows what it
 * leaves: so the caller tries. */
static bool find_news_for(const struct zcrp_entity *e)
{
    if (!transport_is_memory(e->transport))
        return entity_reader(e) == e;
    return e->link->rx.is_claimed || transport_find_news(e->transport) ||
           (e->machine.role == MACHINE_SENDER && ways_find_credit(e));
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
    if (sender != NULL && transport_claim_push(sender->transport))
        return NEWS_PUSH;
    return NEWS_NONE;
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
    bool has_answers = hear_memory(sender, w->memory);
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
 * the lock and take it again does. Locked. */
static void look_for_some(const struct zcrp_entity *e)
{
    const struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];
    const struct transport *t = e->transport, *other = sender != NULL ? sender->transport : t;

    if (e->link->rx.is_claimed)
        return;
    for (int i = 0; i < LOOKS && transport_is_still(t) && transport_is_still(other); i++)
        continue;
}

/* Messages that come as a whole land at once. The socket is heard beside them, if it is to be, but
 * not each time: that is a system call. */
static enum news look_at_memory(struct zcrp_entity *e, enum hearing hearing)
{
    struct rx *rx = &e->link->rx;
    enum news news = NEWS_SOME;

    mutex_lock(&e->link->mutex);
    if (hearing == HEAR_MEMORY && transport_is_memory(e->transport))
        look_for_some(e);
    bool has_landed = take_wholes(e);
    rx->unheard = has_landed ? rx->unheard + 1 : 0;
    bool is_deaf = hearing == HEAR_MEMORY || rx->unheard % HEARD_EACH != 0;
    if (has_landed) {
        leave_wholes(e);
        return is_deaf ? NEWS_LANDED : NEWS_SOME;
    }
    if (hearing == HEAR_MEMORY)
        news = find_news(e);
    mutex_unlock(&e->link->mutex);
    return news;
}

/* Does what a look has found. */
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

    if (news == NEWS_NONE || news == NEWS_LANDED)
        return news == NEWS_NONE ? ARRIVAL_NONE : ARRIVAL_FULL;
    struct workspace *w = workspace_take();
    if (w == NULL)
        return ARRIVAL_NONE;
    enum arrival found = follow(e, w, news, HEAR_MEMORY);
    workspace_give(w);
    return found;
}

/* What has arrived of the sender's. Locked; true if it has left the section. */
static bool leave_reaped(struct zcrp_entity *sender)
{
    if (sender == NULL || !transport_has_arrived(sender->transport))
        return false;
    sender->link->rx.are_whole = true;
    ways_reap_wholes(sender);
    entity_leave_ended(sender);
    return true;
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
    if (is_kept)
        look_for_some(e);
    bool has_landed = is_kept && take_wholes(e);
    bool has_other = is_kept && !has_landed && (sender != NULL && sender != e) &&
                     transport_has_control(sender->transport);
    bool is_kept_still = lease_state(&e->link->lease) == LEASE_KEPT;
    if (has_landed)
        spinning_learn(&e->link->rx.spinning, 0);
    if (has_landed)
        leave_wholes(e);
    else if (!is_kept || has_other || !leave_reaped(sender))
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
    return channel_nap(e->channels.in, wake_fd(wake), instant_earlier(deadline, clock_now() + nap));
}

int rx_receives_of_turn(struct zcrp_entity *e)
{
    if (clock_now() - e->link->rx.turned < CROWD)
        e->link->rx.receives =
            2 * e->link->rx.receives < TURN_RECEIVES ? 2 * e->link->rx.receives : TURN_RECEIVES;
    else
        e->link->rx.receives = 1;
    return e->link->rx.receives;
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

bool rx_receive_all(struct zcrp_entity *e, struct workspace *w, int most)
{
    bool any = false;
    enum arrival found = receive_some(e, w, most, &any);

    e->link->rx.turned = clock_now();
    if (any)
        atomic_store_explicit(&e->link->rx.heard, e->link->rx.turned, memory_order_relaxed);
    return found == ARRIVAL_FULL;
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

/* A peer wakes only somebody who says that it sleeps. What it has by now the engine's thread
 * receives: this one has other things to do. */
void rx_arm(struct zcrp_entity *reader)
{
    if (!sockets_arm(&reader->link->sockets))
        engine_arm(&reader->member);
    if (!rx_say_worker_asleep(reader))
        rx_come(reader);
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

enum turn_end rx_end_turn(struct zcrp_entity *e, bool may_be_more, duration *nap)
{
    mutex_lock(&e->link->mutex);
    *nap = may_be_more ? 0 : rx_rest(e);
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

    if (sockets_member_is_in(&e->link->sockets) || !rx_begin_turn(e, false, &messages))
        return ENGINE_LEAVE_BE;
    struct workspace *w = workspace_take();
    if (w == NULL)
        return clock_now() + MILLISECOND; /* no memory at present */
    bool may_be_more = rx_receive_all(
        e, w, e->machine.role == MACHINE_RECEIVER ? TURN_RECEIVES : rx_receives_of_turn(e));
    workspace_give(w);
    enum turn_end end = rx_end_turn(e, may_be_more, &nap);
    if (end == TURN_LEFT)
        return ENGINE_LEAVE_BE;
    if (end == TURN_NAPS || !rx_say_worker_asleep(e))
        return clock_now() + nap;
    return ENGINE_ARM;
}
