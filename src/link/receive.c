#include "receive.h"

#include "own_move.h"
#include "peer_move.h"
#include "tx.h"

#include <string.h>

enum {
    LITTLE = 16 << 10, /* bytes that are opened within a locked section, at most */
    ANSWERS_MOST = 64, /* datagrams of the peer's in memory that are read in one go */
    CONTROL_MOST = 8,  /* the same of the socket, where nothing but control is expected */
};

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
    for (int i = 0; i < CONTROL_MOST; i++)
        (void)landing_seal(landing);
}

/* AAL5 points packets at a slot of one piece (transport/aal5/aal5_channel.h). */
static uint32_t slot_pieces(const struct zcrp_entity *e)
{
    return e->channels.in->aal5 != NULL ? 1 : LANDING_SLOT_PIECES;
}

static void plan_units(struct zcrp_entity *e, struct transport_turn *turn, struct landing *landing)
{
    struct receiver *r = e->machine.receiver;
    uint64_t rest = e->transport->way == WAY_MEMORY ? 0 : receiver_expected(r);
    struct openings_choice choice =
        openings_choose(&e->link->rx.openings, receiver_recent_bytes(r), rest);

    if (receiver_is_idle(r) && choice.openings < CONTROL_MOST)
        choice.openings = CONTROL_MOST;
    landing->is_near = transport_begin_receive(e->transport, turn, &choice.openings, &choice.units);
    landing->cannot_fault = e->wrapped == 0;
    landing->is_present = e->unseen == 0;
    landing->is_writable = landing->cannot_fault ? NULL : memory_is_writable;
    landing->slot_pieces = slot_pieces(e);
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
static bool land_units(struct zcrp_entity *e, instant now, struct landing *landing)
{
    struct receiver_arrivals arrivals = receiver_landed(e->machine.receiver, now, landing);

    (void)receiver_on_listened(e->machine.receiver);
    if (arrivals.openings == 0)
        return false;
    openings_learn(&e->link->rx.openings, landing);
    moderation_on_arrivals(&e->link->rx.moderation, arrivals.openings, arrivals.bytes);
    return true;
}

/* What is sealed is opened without the mutex, so that others send meanwhile, but for a little: the
 * plan is out still, and no message's memory goes away. Within a locked section. Returns the time,
 * which may have passed. */
static instant open_units(struct zcrp_entity *e, instant now, struct landing *landing)
{
    struct receiver *r = e->machine.receiver;
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < landing->received; i++)
        bytes += landing->bytes[i];
    while (bytes > LITTLE && receiver_look(r, now, landing)) {
        mutex_unlock(&e->link->mutex);
        receiver_open(r, landing);
        entity_enter(e);
        now = link_note_time(e->link, clock_now());
    }
    return now;
}

/* Without a receiver all that arrives is for the sender. */
static void post_all(struct landing *landing)
{
    struct landing_walk walk = {0};
    struct segment segment;

    while (landing_next(landing, &walk, &segment))
        (void)landing_post(landing, &segment);
}

/* What came enters the machine, as of now. Locked, with the claim. */
static struct peer_news land(struct zcrp_entity *e, const struct transport_turn *turn,
                             struct landing *landing, int received)
{
    instant now = link_note_time(e->link, clock_now());
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
    now = open_units(e, now, landing);
    news.is_heard = land_units(e, now, landing);
    news.has_shown = news.is_heard && keyed_is_news(e); /* the sender is to be told */
    news.has_closed = !was_told && machine_told(&e->machine) != OUTCOME_OK;
    news.is_replaced = !was_replaced && machine_is_replaced(&e->machine);
    if (news.has_closed && e->lost == OUTCOME_OK)
        e->lost = machine_told(&e->machine); /* so ends what is posted from now on */
    return news;
}

/* ---- what is for a sender ---- */

bool receive_tell_news(struct zcrp_entity *sender, struct peer_news news)
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

/* A sender hears a datagram that has just landed: control, or one of its handshake. Locked. */
static void hear(struct zcrp_entity *sender, const uint8_t *datagram, size_t size)
{
    instant now = sender->link->read_at;

    if (keyed_hear_handshake(sender, now, datagram, size))
        return;
    ways_reap_before_word(sender); /* what the peer had read when it said this */
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

bool receive_answers(struct zcrp_entity *sender, uint8_t *memory)
{
    int heard = 0;
    size_t size;

    while (!sender->link->is_broken && heard < ANSWERS_MOST &&
           (size = transport_answer(sender->transport, memory)) > 0) {
        ways_reap_before_word(sender);
        /* A message that a request has announced lacks no buffer, so nobody looks in memory for it.
         * To a receiver that always posts late no message would ever go as a whole. */
        if (!transport_has_credit(sender->transport))
            (void)ways_find_credit(sender);
        sender_receive_near(sender->machine.sender, clock_now(), memory, size);
        heard++;
    }
    return heard > 0;
}

/* What came for the sender: datagrams, and what its peer says in memory. Locked. */
static enum arrival update_sender(struct zcrp_entity *sender, struct workspace *w, bool has_news,
                                  enum transport_more more)
{
    bool reads = entity_reader(sender) == sender;

    hear_mail(sender, &w->mail);
    bool has_mail = w->mail.bytes > 0;
    bool has_answers = receive_answers(sender, w->memory);
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
    if (reads && has_mail && more == MORE_NOW)
        return ARRIVAL_FULL;
    return has_answers || (reads && has_mail) || (reads && has_sent) ? ARRIVAL_SOME : ARRIVAL_NONE;
}

/* ---- answering ---- */

/* Says what is to be said of arrivals, or holds it: the user, whose thread has the lease, may have
 * what it waits for, and is going to answer that. A gathering delays no acknowledgement that is
 * due, which takes with it what was gathered. */
static void reply_to_arrivals(struct zcrp_entity *e)
{
    bool gathers = flush_is_for(&e->flush, FLUSH_MORE);

    if (gathers && machine_acks_at(&e->machine) > e->link->read_at)
        return;
    bool is_waiter = (lease_state(&e->link->lease) == LEASE_AWAKE || e->link->rx.is_for_taker) &&
                     e->life == ENTITY_OPEN;

    if (gathers || !is_waiter || !answering_is_usual(&e->answering) ||
        transport_is_memory(e->transport)) {
        tx_drain(e, SENDING_BURSTS);
        return;
    }
    flush_begin(&e->flush, e->link->read_at, FLUSH_ANSWER);
}

static bool wants_joined(const struct zcrp_entity *reader)
{
    const struct receiver *r = reader->machine.receiver;

    return r == NULL || receiver_wants_joined(r);
}

enum arrival receive_once(struct zcrp_entity *reader, struct workspace *w, enum hearing hearing)
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
    bool has_news = sender != NULL && receive_tell_news(sender, news);
    if (has_news) /* before the mutex is left: its straight way may be closed by now */
        entity_touch(sender);
    peer_move_hear(reader->link);
    reader->link->rx.is_claimed = false;
    if (sender == NULL)
        tx_pass_hints(reader);
    if (peer_move_has_burst(reader))
        tx_drain(reader, SENDING_BURSTS);
    if (reader != sender)
        reply_to_arrivals(reader);
    enum arrival found = sender != NULL ? update_sender(sender, w, has_news, more) : ARRIVAL_NONE;
    entity_leave(reader);

    if (sender == NULL && w->landing.mail != NULL)
        keyed_hear_callers(reader, &w->mail);
    if (reader == sender)
        return received > 0 && w->landing.is_spoilt ? ARRIVAL_FULL : found;
    if (received <= 0)
        return more == MORE_SOON ? ARRIVAL_SOME : found;
    return more == MORE_NOW ? ARRIVAL_FULL : ARRIVAL_SOME;
}

void receive_hello(struct zcrp_entity *e, const uint8_t *hello, size_t size)
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
    landing->slot_pieces = slot_pieces(e);
    landing->mail = &w->mail;
    w->mail.bytes = 0;
    receiver_plan(e->machine.receiver, landing, 1, 1);
    fill(landing, copy->bytes, copy->size);
    struct peer_news news = land(e, &turn, landing, 1);
    (void)receive_tell_news(sender, news);
    hear_mail(sender, &w->mail);
}

void receive_early(struct zcrp_entity *e, const struct datagram_queue *early)
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
