#include "turns.h"

enum { TURN_RECEIVES = 64 };

/* How often it is asked whether a neighbour is late still. */
#define LATE_LOOK MILLISECOND

/* How often a burst is tried whose pages are to come, at least. Meanwhile the machine says that it
 * is there. */
#define ABSENT_LOOK (20 * MILLISECOND)

/* How long a thread naps, at most, while another one receives. */
#define OTHERS_TURN (100 * MICROSECOND)

/* Control that comes this soon after a turn belongs to the same crowd. */
#define CROWD (20 * MICROSECOND)

/* ---- sending ---- */

/* The system's hints come with whatever call is next: also with those of a connection's receiver.
 */
static uint64_t count_hints(const struct zcrp_entity *e, enum channel_counter which)
{
    uint64_t count = channels_count(&e->channels, which);
    const struct zcrp_entity *reader = entity_reader(e);

    return reader != e ? count + channels_count(&reader->channels, which) : count;
}

/* Tells the machine of what the system has hinted at since the last time. */
static void pass_hints(struct zcrp_entity *e)
{
    uint64_t hints = count_hints(e, CHANNEL_TOO_BIGS);
    uint64_t refusals = count_hints(e, CHANNEL_REFUSALS);

    if (e->machine.role == MACHINE_SENDER && hints > e->hints)
        sender_on_path_hint(e->machine.sender, clock_now());
    if (e->machine.role == MACHINE_SENDER && refusals > e->refusals)
        sender_on_refused(e->machine.sender);
    e->hints = hints;
    e->refusals = refusals;
}

/* The interface refuses datagrams of this size: units get smaller. False if they cannot; then the
 * burst counts as lost, so that some time passes before it is repeated. */
static bool shrink_units(struct zcrp_entity *e, uint32_t refused)
{
    return e->machine.role == MACHINE_SENDER &&
           sender_on_refused_size(e->machine.sender, clock_now(), refused);
}

/* The neighbour is to read the burst's units. Messages that were decided meanwhile are not read. */
static void on_burst_held(struct zcrp_entity *e, const struct burst *burst, uint32_t sent)
{
    sender_held(e->machine.sender, burst, sent);
    for (uint32_t i = 0; i < burst->pins; i++)
        if (sender_is_decided(e->machine.sender, burst->pin[i].message))
            nearby_take_back(e, burst->pin[i].message);
}

/* Tells the machine what became of the burst. A receiver's answer that found no room is dropped:
 * the machine repeats it in time. */
static void on_burst_sent(struct zcrp_entity *e, const struct burst *burst,
                          enum channel_verdict verdict, uint32_t sent, bool held)
{
    switch (verdict) {
    case CHANNEL_OK:
        break;
    case CHANNEL_BLOCKED:
    case CHANNEL_CROWDED:
        if (e->machine.role != MACHINE_SENDER)
            break;
        e->blocked = verdict;
        if (verdict == CHANNEL_CROWDED)
            e->unblock_at = clock_now() + CHANNEL_PAUSE;
        break;
    case CHANNEL_ABSENT:
        e->blocked = verdict;
        e->unblock_at = clock_now() + ABSENT_LOOK;
        break;
    case CHANNEL_TOO_BIG:
        if (!shrink_units(e, burst->segment))
            sent = burst->datagrams;
        e->hints = count_hints(e, CHANNEL_TOO_BIGS); /* this was none */
        break;
    case CHANNEL_REFUSED:
        sent = burst->datagrams;
        break;
    case CHANNEL_FAULT:
        machine_on_burst_fault(&e->machine, burst);
        break;
    case CHANNEL_BROKEN:
        entity_break(e);
        break;
    }
    pass_hints(e);
    if (held)
        on_burst_held(e, burst, sent);
    else
        machine_sent(&e->machine, clock_now(), burst, sent);
}

/* The path may turn out not to carry what marks congestion. */
static bool wants_ecn(const struct zcrp_entity *e)
{
    return e->machine.role != MACHINE_SENDER || sender_wants_ecn(e->machine.sender);
}

/* While a neighbour has no room nothing is taken from the machine. One that stands still does not
 * count: units take the socket then. */
static void await_room(struct zcrp_entity *e)
{
    struct neighbour *n = e->machine.role == MACHINE_SENDER ? nearby_to_send(e) : NULL;

    if (n == NULL || e->blocked != CHANNEL_OK || neighbour_has_room(n))
        return;
    nearby_reap(e);
    if (neighbour_has_room(n) || neighbour_stands_still(n))
        return;
    e->blocked = CHANNEL_CROWDED;
    e->unblock_at = clock_now() + CHANNEL_PAUSE;
}

/* Pages that were to come have come, or the message that they are of is of no interest any more. */
static void await_pages(struct zcrp_entity *e)
{
    if (e->blocked != CHANNEL_ABSENT || presence_is_awaited(e))
        return;
    e->blocked = CHANNEL_OK;
    e->unblock_at = NEVER;
}

static bool may_send(struct zcrp_entity *e)
{
    if (nearby_is_clearing(e))
        return false;
    await_pages(e);
    await_room(e);
    return !e->link->is_broken && e->blocked == CHANNEL_OK;
}

/* A burst counts as so many: as many as would have its bytes, each what the kernel cuts at once. */
static int worth(const struct burst *burst)
{
    return 1 + (int)(burst->bytes / SENDING_CALL);
}

/* Sends a burst to the neighbour if that takes it, else over the socket, where it is sealed if
 * there are keys. As nearby_send. Not locked. */
static enum channel_verdict send_burst(struct zcrp_entity *e, struct neighbour *nearby,
                                       struct burst *burst, uint32_t *sent, bool *held)
{
    if (nearby != NULL && !presence_allows(e, burst)) {
        *sent = 0;
        return CHANNEL_ABSENT;
    }
    enum channel_verdict verdict = nearby_send(e, nearby, burst, sent, held);

    if (verdict == CHANNEL_OK)
        keyed_skip(e, burst, *sent);
    if (verdict != CHANNEL_BLOCKED)
        return verdict;
    if (e->nearby.is_required && !burst->is_control) { /* no unit takes another way */
        *sent = 0;
        return CHANNEL_CROWDED;
    }
    if (keyed_seal(e, burst))
        return channel_send(e->channels.out, burst, sent);
    *sent = burst->datagrams;
    return CHANNEL_OK;
}

/* Sends up to so many bursts, or what is worth as many. */
static int send_bursts(struct zcrp_entity *e, int bursts)
{
    struct burst burst;
    int done = 0;

    for (; done < bursts && may_send(e); done += worth(&burst)) {
        uint32_t sent;
        instant now = clock_now();
        bool is_greeting = keyed_take(e, now, &burst);
        if (!is_greeting && !machine_take(&e->machine, now, &burst))
            break;
        uint32_t segment = burst.segment;
        burst.is_lasting = e->wrapped == 0;
        burst.is_seen = e->unseen == 0;
        struct neighbour *nearby = nearby_to_send(e);
        bool has_ecn = wants_ecn(e), held = false;
        entity_leave(e);
        if (!has_ecn)
            channel_leave_ecn(e->channels.out);
        enum channel_verdict verdict = is_greeting ? channel_send(e->channels.out, &burst, &sent)
                                                   : send_burst(e, nearby, &burst, &sent, &held);
        entity_enter(e);
        burst.segment = segment; /* what the machine knows of */
        on_burst_sent(e, &burst, verdict, sent, held);
        if (verdict == CHANNEL_ABSENT)
            presence_fetch(e);
    }
    return done;
}

/* Calls a neighbour that sleeps, when it has been sent all that there is: one that is called may
 * take this thread's core at once. True if it did. The lock is left meanwhile. */
static bool call_neighbour(struct zcrp_entity *e)
{
    if (!e->nearby.must_call)
        return false;
    e->nearby.must_call = false;
    entity_leave(e);
    channel_call(e->channels.out);
    entity_enter(e);
    return true;
}

bool sending_drain(struct zcrp_entity *e, int bursts)
{
    int done = 0;

    if (e->is_sending)
        return false;
    e->is_sending = true;
    e->is_held = false;
    gathering_end(&e->gathering);
    do
        done += send_bursts(e, bursts - done);
    while (call_neighbour(e) && done < bursts);
    e->is_sending = false;
    return done > 0;
}

static void on_ready(void *client)
{
    struct zcrp_entity *e = client;

    entity_enter(e);
    e->is_ready = false;
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

static void on_room(void *client)
{
    struct zcrp_entity *e = client;

    entity_enter(e);
    e->awaits_room = false;
    e->blocked = CHANNEL_OK;
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* ---- arriving at a receiver ---- */

/* Claims the arrivals; false if another thread receives. Locked. */
static bool claim_arrivals(struct zcrp_entity *e)
{
    bool is_ours = !e->link->rx.is_claimed && !e->nearby.is_late && !e->link->is_broken;

    e->link->rx.is_claimed = e->link->rx.is_claimed || is_ours;
    e->nearby.crossings += is_ours && e->machine.role == MACHINE_RECEIVER;
    return is_ours;
}

/* With keys a plan is either for what the neighbour sends, or for what is sealed. */
static bool is_plan_near(const struct zcrp_entity *e, struct neighbour *n)
{
    return e->keyed.keyring != NULL && n != NULL && e->nearby.is_first && neighbour_has_units(n);
}

/* What the neighbour has is known, and that its socket brings no units, once it comes first. True
 * if it has some. */
static bool make_plan(struct zcrp_entity *e, struct neighbour *n, struct landing *landing)
{
    struct receiver *r = e->machine.receiver;
    bool is_near = n != NULL && e->nearby.is_first;
    struct openings_choice choice = openings_choose(&e->link->rx.openings, receiver_recent_bytes(r),
                                                    is_near ? 0 : receiver_expected(r));
    struct notes notes = {0, 0};

    if (is_near) {
        notes = neighbour_notes(n, choice.openings);
        choice.openings = notes.count > 0 ? notes.count : 1;
        choice.units = notes.units > 0 ? notes.units : 1;
    }
    landing->is_near = is_plan_near(e, n);
    landing->is_lasting = e->wrapped == 0;
    landing->is_seen = e->unseen == 0;
    receiver_plan(r, landing, choice.openings, choice.units);
    return notes.count > 0;
}

/* Only datagrams of the pairing tell how the next ones will come. True if the connection's sender
 * is to be told that the peer is there. */
static bool land_arrivals(struct zcrp_entity *e, struct landing *landing)
{
    struct receiver_arrivals arrivals = receiver_landed(e->machine.receiver, clock_now(), landing);

    if (arrivals.openings == 0)
        return false;
    openings_learn(&e->link->rx.openings, landing);
    moderation_on_arrivals(&e->link->rx.moderation, arrivals.openings, arrivals.bytes);
    return keyed_on_arrivals(e);
}

/* Control for a sender, sealed or not. What its handshake ends with is shared out. */
static void hear(struct zcrp_entity *sender, const uint8_t *datagram, size_t size)
{
    struct zcrp_entity *receiver = entity_other(sender);

    if (sender->keyed.keyring == NULL) {
        sender_receive(sender->machine.sender, clock_now(), datagram, size);
        return;
    }
    struct admission *made = keyed_hear(sender, clock_now(), datagram, size);
    if (made != NULL && receiver != NULL) {
        entity_touch(receiver);
        keyed_admit(receiver, made, clock_now());
    }
    admission_destroy(made);
}

/* What the neighbour of a sender says, some of it at most. Locked. */
static enum arrival hear_neighbour(struct zcrp_entity *sender, uint8_t *memory)
{
    struct neighbour *n = sender->link->is_broken ? NULL : nearby_of(sender);
    enum arrival found = ARRIVAL_NONE;
    size_t size;

    for (int i = 0; n != NULL && i < TURN_RECEIVES && (size = neighbour_answer(n, memory)) > 0;
         i++) {
        sender_receive_near(sender->machine.sender, clock_now(), memory, size);
        found = ARRIVAL_SOME;
    }
    return found;
}

/* What a connection's receiver has learnt of the peer just now. */
struct peer_news {
    bool has_shown;   /* its first word: it is there */
    bool is_replaced; /* another peer is where the connection's was */
    bool has_closed;
};

/* What a connection's receiver has for its sender: datagrams, news of the peer, and what the
 * neighbour says. Locked. */
static enum arrival update_sender(struct zcrp_entity *sender, struct workspace *w,
                                  struct peer_news news)
{
    const uint8_t *datagram;
    size_t at = 0, size;

    if (news.has_shown)
        keyed_confirm(sender, clock_now());
    while ((size = landing_mail_next(&w->mail, &at, &datagram)) > 0)
        hear(sender, datagram, size);
    if (news.is_replaced)
        machine_fail(&sender->machine, clock_now(), OUTCOME_RESTARTED);
    if (news.has_closed)
        machine_agree_close(&sender->machine);
    enum arrival found = hear_neighbour(sender, w->memory);
    bool is_quiet = at == 0 && found == ARRIVAL_NONE && !news.has_shown && !news.is_replaced &&
                    !news.has_closed;
    if (!is_quiet || sender->nearby.is_possible) /* a neighbour may have read, or consented */
        entity_touch(sender);
    if (is_quiet)
        return ARRIVAL_NONE;
    pass_hints(sender);
    if (!gathering_is_on(&sender->gathering)) /* its user sends soon, and more at once */
        sending_drain(sender, SENDING_BURSTS);
    return found;
}

/* When the neighbour begins to send units, those that it sent before are all in the socket. They
 * are read first, so that nothing is overtaken. Those that take the socket later have been given
 * up. */
static bool comes_first(struct zcrp_entity *e, struct neighbour *n, struct landing *landing,
                        int *received)
{
    if (n == NULL || e->nearby.is_first || !neighbour_has_units(n))
        return n != NULL && e->nearby.is_first;
    *received = channel_receive(e->channels.in, landing);
    e->nearby.is_first = *received == 0;
    return e->nearby.is_first;
}

/* Receives what is sealed from the socket. Says that something came, so that the next turn is soon,
 * when the neighbour's turn has come. */
static int receive_sealed(struct zcrp_entity *e, struct neighbour *n, struct landing *landing,
                          enum hearing hearing)
{
    int received = 0;

    if (n == NULL || !e->nearby.is_first || hearing != HEAR_NEIGHBOUR)
        received = channel_receive(e->channels.in, landing);
    if (received == 0 && n != NULL && neighbour_has_units(n))
        e->nearby.is_first = true;
    return received;
}

/* Receives from the neighbour, if there is one, and else, or also, from the socket. */
static int receive_units(struct zcrp_entity *e, struct neighbour *n, struct landing *landing,
                         enum hearing hearing)
{
    int before = 0;

    if (landing->is_near)
        return neighbour_receive(n, landing);
    if (e->keyed.keyring != NULL)
        return receive_sealed(e, n, landing, hearing);
    if (!comes_first(e, n, landing, &before))
        return before != 0 ? before : channel_receive(e->channels.in, landing);
    int received = neighbour_receive(n, landing);

    if (received != 0 || hearing == HEAR_NEIGHBOUR)
        return received;
    return channel_receive(e->channels.in, landing);
}

/* Says what is to be said of arrivals, or holds it: the user, whose thread is at the helm, may have
 * what it waits for, and is going to answer that. A gathering delays no acknowledgement that is
 * due, which takes with it what was gathered. */
static void reply_to_arrivals(struct zcrp_entity *e)
{
    if (gathering_is_on(&e->gathering) && machine_acks_at(&e->machine) > clock_now())
        return;
    bool is_waiter = helm_state(&e->link->helm) == HELM_AWAKE && e->life == ENTITY_OPEN;

    if (!is_waiter || !answering_is_usual(&e->answering) || nearby_of(e) != NULL) {
        sending_drain(e, SENDING_BURSTS);
        return;
    }
    e->is_held = true;
    e->held_until = clock_now() + HELD_MOST;
}

void turns_release(struct zcrp_entity *e)
{
    entity_enter(e);
    if (e->is_held)
        sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

void turns_end_gathering(struct zcrp_entity *e)
{
    if (!gathering_is_on(&e->gathering))
        return;
    entity_enter(e);
    if (gathering_is_on(&e->gathering))
        sending_drain(e, SENDING_AT_ONCE);
    entity_leave(e);
}

void turns_on_answer(struct zcrp_entity *e)
{
    if (!answering_is_open(&e->answering))
        return;
    entity_touch(e);
    answering_on_answer(&e->answering);
    if (e->is_held)
        sending_drain(e, SENDING_BURSTS);
}

/* The plan is out for no longer than the call takes. */
static enum arrival receiving_once(struct zcrp_entity *e, struct workspace *w, enum hearing hearing)
{
    struct landing *landing = &w->landing;
    struct zcrp_entity *sender = entity_other(e);

    entity_enter(e);
    struct neighbour *n = nearby_of(e);
    bool is_ours = claim_arrivals(e);
    bool has_notes = is_ours && make_plan(e, n, landing);
    bool awaits_caller = keyed_awaits_caller(e);
    entity_leave(e);
    if (!is_ours)
        return ARRIVAL_NONE;
    landing->mail = sender != NULL || awaits_caller ? &w->mail : NULL;
    w->mail.bytes = 0;
    int most = (int)landing->openings;
    int received = receive_units(e, n, landing, hearing);
    bool is_neighbours_turn = received == 0 && is_plan_near(e, n);
    entity_enter(e);
    if (received <= 0)
        landing->received = 0;
    if (received == CHANNEL_FAULT)
        machine_on_plan_fault(&e->machine, landing);
    if (n != NULL)
        nearby_look_late(e);
    bool was_replaced = machine_is_replaced(&e->machine);
    bool was_told = machine_is_told(&e->machine);
    struct peer_news news = {.has_shown = land_arrivals(e, landing)};
    news.has_closed = !was_told && machine_is_told(&e->machine);
    news.is_replaced = !was_replaced && machine_is_replaced(&e->machine);
    if (news.has_closed && e->lost == OUTCOME_OK)
        e->lost = OUTCOME_PEER_CLOSED; /* so ends what is posted from now on */
    if (awaits_caller)
        keyed_hear_callers(e, clock_now(), &w->mail);
    if (received == CHANNEL_BROKEN)
        entity_break(e);
    bool has_more = has_notes && neighbour_has_units(n);
    e->link->rx.is_claimed = false;
    reply_to_arrivals(e);
    enum arrival answers = sender != NULL ? update_sender(sender, w, news) : ARRIVAL_NONE;
    entity_leave(e);
    if (received <= 0)
        return is_neighbours_turn ? ARRIVAL_SOME : answers;
    bool is_drained =
        has_notes ? !has_more : most > 1 && received < most && e->channels.in->aal5 == NULL;
    return is_drained ? ARRIVAL_SOME : ARRIVAL_FULL;
}

void turns_hear(struct zcrp_entity *e, const uint8_t *hello, size_t size)
{
    entity_enter(e);
    receiver_welcome(e->machine.receiver, clock_now(), hello, size);
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

void turns_hear_request(struct zcrp_entity *e, const uint8_t *request, size_t size)
{
    entity_enter(e);
    (void)keyed_hear(e, clock_now(), request, size); /* the handshake is over */
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* ---- arriving at a sender ---- */

/* `*is_near`: it is the neighbour's, and not sealed. */
static int receive_answer(struct zcrp_entity *e, struct neighbour *n, uint8_t *memory,
                          enum hearing hearing, bool *is_near)
{
    size_t size = n != NULL ? neighbour_answer(n, memory) : 0;

    *is_near = size > 0;
    if (size > 0 || (n != NULL && hearing == HEAR_NEIGHBOUR))
        return (int)size;
    return channel_receive_control(e->channels.in, memory, LANDING_DATAGRAM);
}

static enum arrival update_once(struct zcrp_entity *e, uint8_t *memory, enum hearing hearing)
{
    bool is_near;

    entity_enter(e);
    struct neighbour *n = nearby_of(e);
    bool is_ours = claim_arrivals(e);
    entity_leave(e);
    if (!is_ours)
        return ARRIVAL_NONE;
    int size = receive_answer(e, n, memory, hearing, &is_near);
    entity_enter(e);
    if (size > 0 && is_near)
        sender_receive_near(e->machine.sender, clock_now(), memory, (size_t)size);
    else if (size > 0)
        hear(e, memory, (size_t)size);
    else if (size < 0)
        entity_break(e);
    pass_hints(e);
    e->link->rx.is_claimed = false;
    bool has_sent = sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
    if (size > 0)
        return ARRIVAL_FULL;
    return has_sent ? ARRIVAL_SOME : ARRIVAL_NONE;
}

/* ---- arriving at either ---- */

/* What the neighbours of a link have. */
enum news {
    NEWS_NONE,
    NEWS_SOME,    /* for its reader, or the socket is to be heard */
    NEWS_ANSWERS, /* for a connection's sender */
    NEWS_TARGETS, /* nothing to receive, but something to push, which is claimed */
};

/* Whoever hears for a receiver hears its socket, too, until the neighbour comes first. */
static bool has_news(struct zcrp_entity *e)
{
    struct neighbour *n = nearby_of(e);

    if (n == NULL)
        return entity_reader(e) == e;
    if (e->link->rx.is_claimed)
        return true;
    return e->machine.role == MACHINE_SENDER ? neighbour_has_answer(n)
                                             : !e->nearby.is_first || neighbour_has_units(n);
}

/* If there is nothing to receive a waiter that spins looks again at once, and nothing is planned,
 * and nothing told. */
static enum news neighbours_news(struct zcrp_entity *reader)
{
    struct zcrp_entity *sender = reader->link->half[MACHINE_SENDER];
    enum news news = NEWS_NONE;

    mutex_lock(&reader->link->mutex);
    if (has_news(reader))
        news = NEWS_SOME;
    else if (sender != NULL && sender != reader && has_news(sender))
        news = NEWS_ANSWERS;
    else if (sender != NULL && nearby_claim(sender))
        news = NEWS_TARGETS;
    mutex_unlock(&reader->link->mutex);
    return news;
}

/* True if something was pushed. */
static bool push_some(struct zcrp_entity *sender)
{
    mutex_lock(&sender->link->mutex);
    bool is_ours = nearby_claim(sender);
    mutex_unlock(&sender->link->mutex);
    if (is_ours)
        nearby_push(sender);
    return is_ours;
}

static enum arrival read_answers(struct zcrp_entity *sender, struct workspace *w)
{
    entity_enter(sender);
    enum arrival found = hear_neighbour(sender, w->memory);
    if (found != ARRIVAL_NONE)
        sending_drain(sender, SENDING_BURSTS);
    entity_leave(sender);
    return found;
}

static enum arrival reader_turn(struct zcrp_entity *e, struct workspace *w, enum hearing hearing)
{
    struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];
    enum arrival found =
        sender == e ? update_once(e, w->memory, hearing) : receiving_once(e, w, hearing);

    return found == ARRIVAL_NONE && sender != NULL && push_some(sender) ? ARRIVAL_FULL : found;
}

enum arrival arriving_turn(struct zcrp_entity *e, struct workspace *w, enum hearing hearing)
{
    struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];

    switch (hearing == HEAR_NEIGHBOUR ? neighbours_news(e) : NEWS_SOME) {
    case NEWS_SOME:
        return reader_turn(e, w, hearing);
    case NEWS_ANSWERS:
        return read_answers(sender, w);
    case NEWS_TARGETS:
        nearby_push(sender);
        return ARRIVAL_FULL;
    case NEWS_NONE:
        break;
    }
    return ARRIVAL_NONE;
}

duration arriving_rest(struct zcrp_entity *e)
{
    if (e->nearby.is_late)
        return LATE_LOOK; /* nothing is received */
    if (e->link->rx.is_claimed)
        return OTHERS_TURN; /* another thread receives, and may be waiting for this very core */
    if (nearby_of(e) != NULL)
        return 0; /* what a neighbour sends is there at once */
    return moderation_rest(&e->link->rx.moderation, machine_expected(&e->machine),
                           machine_round_trip(&e->machine));
}

int arriving_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline)
{
    if (nap == 0)
        return channel_wait(e->channels.in, wake_fd(wake), deadline);
    return channel_nap(e->channels.in, wake_fd(wake), instant_earlier(deadline, clock_now() + nap));
}

/* How often one turn receives at most. Control that comes now and then is received without a call
 * to find out that there is no more: if there is, the next turn begins at once. */
static int receives_of_turn(struct zcrp_entity *e)
{
    if (clock_now() - e->link->rx.turned < CROWD)
        e->link->rx.receives =
            2 * e->link->rx.receives < TURN_RECEIVES ? 2 * e->link->rx.receives : TURN_RECEIVES;
    else
        e->link->rx.receives = 1;
    return e->link->rx.receives;
}

bool arriving_may_sleep(struct zcrp_entity *reader)
{
    struct zcrp_entity *other = entity_other(reader);

    entity_enter(reader);
    bool may = nearby_sleep(reader) && (other == NULL || nearby_sleep(other));
    entity_leave(reader);
    return may;
}

void arriving_wake(struct zcrp_entity *reader)
{
    struct zcrp_entity *other = entity_other(reader);

    entity_enter(reader);
    bool any = nearby_wake(reader);
    any |= other != NULL && nearby_wake(other);
    if (any)
        (void)helm_lets_be(&reader->link->helm);
    entity_leave(reader);
}

/* Receives until nothing is there any more, or so many times. A waiter who has come to the helm
 * meanwhile goes on instead; it may be napping until then. */
static enum arrival receive_some(struct zcrp_entity *e, struct workspace *w, int most)
{
    enum arrival found = ARRIVAL_FULL;

    for (int i = 0; i < most && found == ARRIVAL_FULL && helm_state(&e->link->helm) == HELM_FREE;
         i++)
        found = arriving_turn(e, w, HEAR_ALL);
    helm_call(&e->link->helm);
    return found;
}

/* Receives until nothing is there any more, or long enough for one turn. True if there may be more.
 */
static bool receive_all(struct zcrp_entity *e, struct workspace *w)
{
    int most = e->machine.role == MACHINE_RECEIVER ? TURN_RECEIVES : receives_of_turn(e);
    enum arrival found = receive_some(e, w, most);

    e->link->rx.turned = clock_now();
    return found == ARRIVAL_FULL;
}

/* A neighbour calls only somebody who sleeps. What it has by now the engine's thread receives: this
 * one has other things to do. */
void arriving_arm(struct zcrp_entity *reader)
{
    engine_arm(&reader->member);
    if (!arriving_may_sleep(reader))
        engine_arrive(&reader->member);
}

/* Sleeps without a plan out: a message that is cancelled meanwhile comes back at once. */
static instant on_arrival(void *client)
{
    struct zcrp_entity *e = client;

    entity_enter(e);
    bool is_looked_after = helm_lets_be(&e->link->helm);
    entity_leave(e);
    if (is_looked_after)
        return ENGINE_LEAVE_BE;
    struct workspace *w = workspace_take();
    if (w == NULL)
        return clock_now() + MILLISECOND; /* no memory at present */
    bool may_be_more = receive_all(e, w);
    workspace_give(w);
    entity_enter(e);
    duration nap = may_be_more ? 0 : arriving_rest(e);
    bool is_over = e->link->is_broken;
    entity_leave(e);
    if (is_over)
        return ENGINE_LEAVE_BE;
    if (nap > 0 || !arriving_may_sleep(e))
        return clock_now() + nap;
    return ENGINE_ARM;
}

/* ---- timeout ---- */

/* Within a locked section: does what is due. A connection that is quiet gives memory back. */
static void expire(struct zcrp_entity *e, instant now)
{
    struct zcrp_entity *other = entity_other(e);

    if (other != NULL && machine_is_quiet(&e->machine, now)) {
        machine_rest(&e->machine);
        machine_rest(&other->machine);
    }
    machine_expire(&e->machine, now);
    keyed_expire(e, now);
}

/* Within a locked section. */
static void expire_if_due(struct zcrp_entity *e, instant now)
{
    if (e == NULL || entity_deadline(e) > now)
        return;
    entity_touch(e);
    expire(e, now);
    sending_drain(e, SENDING_BURSTS);
}

void timeout_turn(struct zcrp_entity *reader, instant now)
{
    entity_enter(reader);
    expire_if_due(reader, now);
    expire_if_due(entity_other(reader), now);
    entity_leave(reader);
}

/* Within a locked section: the machine has buffers again, or so it is hoped. */
static void unblock(struct zcrp_entity *e, instant now)
{
    if (now < e->unblock_at)
        return;
    e->unblock_at = NEVER;
    e->blocked = CHANNEL_OK;
}

static void on_due(void *client)
{
    struct zcrp_entity *e = client;
    instant now = clock_now();

    entity_enter(e);
    e->due = NEVER;
    notice_expire(e, now);
    unblock(e, now);
    if (e->is_held && now >= e->held_until)
        answering_on_late(&e->answering);
    bool was_late = e->nearby.is_late;
    if (was_late)
        nearby_look_late(e);
    bool must_arm = entity_reader(e) == e && helm_arms(&e->link->helm, now) && !e->link->is_broken;
    must_arm |=
        was_late && !e->nearby.is_late && entity_reader(e) == e; /* nobody has looked meanwhile */
    if (entity_deadline(e) <= now)
        expire(e, now);
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
    if (must_arm)
        arriving_arm(e);
}

/* ---- the engine ---- */

static const struct engine_duties duties = {
    .arrive = on_arrival,
    .writable = on_room,
    .send = on_ready,
    .expire = on_due,
};

int turns_join(struct zcrp_entity *e)
{
    bool is_sender = e->machine.role == MACHINE_SENDER;

    return engine_join(&e->member, is_sender ? ENGINE_SENDERS : ENGINE_RECEIVERS, &duties, e,
                       entity_reader(e) == e ? e->channels.in->fd : -1, e->channels.out->fd);
}

void turns_start(struct zcrp_entity *e)
{
    if (entity_reader(e) == e)
        engine_arm(&e->member);
    entity_enter(e); /* what is due from the beginning */
    if (keyed_has_datagram(e))
        sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

void turns_end(struct zcrp_entity *e)
{
    entity_enter(e);
    entity_move(e, ENTITY_STOPPING);
    helm_close(&e->link->helm);
    entity_leave(e);
    keyed_stop(e);
    engine_stop(&e->member);
    presence_end(e);
}
