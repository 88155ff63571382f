#include "tx.h"

#include "core/check.h"
#include "own_move.h"
#include "peer_move.h"
#include "platform/nofault.h"

/* How often a burst is tried whose pages are to come, at least. Meanwhile the machine says that it
 * is there. */
#define ABSENT_LOOK (20 * MILLISECOND)

/* ---- what the system and the channel say ---- */

/* The system's hints come with whatever call is next: also with those of a connection's receiver.
 */
static uint64_t count_hints(const struct zcrp_entity *e, enum channel_counter which)
{
    uint64_t count = channels_count(&e->channels, which);
    const struct zcrp_entity *reader = entity_reader(e);

    return reader != e ? count + channels_count(&reader->channels, which) : count;
}

static void tell_sender(struct sender *s, instant now, const struct hints *more)
{
    if (more->too_bigs > 0)
        sender_on_path_hint(s, now);
    if (more->refusals > 0)
        sender_on_refused(s, now);
    if (more->closed_ports > 0)
        sender_on_closed_port(s, now);
}

void tx_pass_hints(struct zcrp_entity *e)
{
    struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];
    struct zcrp_entity *asker = sender != NULL ? sender : e;
    const struct hints *known = &asker->hints;
    struct hints all = {.too_bigs = count_hints(asker, CHANNEL_TOO_BIGS),
                        .refusals = count_hints(asker, CHANNEL_REFUSALS)};

    if (all.too_bigs == known->too_bigs && all.refusals == known->refusals)
        return;
    all.closed_ports = count_hints(asker, CHANNEL_CLOSED_PORTS);
    all.homeless = count_hints(asker, CHANNEL_HOMELESS);
    struct hints more = {.too_bigs = all.too_bigs - known->too_bigs,
                         .refusals = all.refusals - known->refusals,
                         .closed_ports = all.closed_ports - known->closed_ports,
                         .homeless = all.homeless - known->homeless};
    entity_touch(asker);
    if (more.homeless > 0)
        own_move_on_homeless(asker->link);
    if (sender != NULL)
        tell_sender(sender->machine.sender, clock_now(), &more);
    else if (more.closed_ports > 0)
        receiver_on_closed_port(e->machine.receiver, clock_now());
    asker->hints = all;
}

/* The interface refuses datagrams of this size: units get smaller. False if they cannot; then the
 * burst counts as lost, so that some time passes before it is repeated. */
static bool shrink_units(struct zcrp_entity *e, uint32_t refused)
{
    return entity_is_sender(e) && sender_on_refused_size(e->machine.sender, clock_now(), refused);
}

/* The peer is to read the burst's units. Messages that were decided meanwhile are not read. It may
 * never read them, and acknowledge them all the same. */
static void on_burst_held(struct zcrp_entity *e, const struct burst *burst, uint32_t sent)
{
    sender_held(e->machine.sender, burst, sent);
    transport_begin_watch(e->transport);
    for (uint32_t i = 0; i < burst->pins; i++)
        if (sender_is_decided(e->machine.sender, burst->pin[i].message))
            ways_take_back(e, burst->pin[i].message);
}

/* Tells the machine what became of the burst. A receiver's answer that found no room is dropped:
 * the machine repeats it in time. */
static void on_burst_sent(struct zcrp_entity *e, const struct burst *burst,
                          enum channel_verdict verdict, uint32_t sent, bool held)
{
    switch (verdict) {
    case CHANNEL_OK:
        if (!held)
            machine_on_burst_read(&e->machine, burst);
        break;
    case CHANNEL_BLOCKED:
    case CHANNEL_CROWDED:
        if (!entity_is_sender(e))
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
        e->hints.too_bigs = count_hints(e, CHANNEL_TOO_BIGS); /* this was none */
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
    if (entity_is_sender(e) && channel_cuts(e->channels.out) == 1)
        sender_on_uncut(e->machine.sender);
    tx_pass_hints(e);
    if (held)
        on_burst_held(e, burst, sent);
    else
        machine_sent(&e->machine, sent < burst->datagrams ? clock_now() : e->link->read_at, burst,
                     sent);
}

/* The path may turn out not to carry what marks congestion, and what is early may not be marked. */
static bool wants_ecn(const struct zcrp_entity *e)
{
    return !entity_is_sender(e) || sender_wants_ecn(e->machine.sender);
}

/* While memory has no room nothing is taken from the machine. A peer that stands still does not
 * count: units take the socket then. */
static void block_without_room(struct zcrp_entity *e)
{
    const struct transport *t = e->transport;

    if (e->blocked != CHANNEL_OK || transport_has_room(t))
        return;
    ways_reap(e);
    if (transport_has_room(t) || transport_stands_still(t))
        return;
    ways_say_awaited(e);
    if (transport_has_room(t))
        return;
    e->blocked = CHANNEL_CROWDED;
    e->unblock_at = clock_now() + CHANNEL_PAUSE;
}

/* Pages that were to come have come, or the message that they are of is of no interest any more. */
static void unblock_with_pages(struct zcrp_entity *e)
{
    if (e->blocked != CHANNEL_ABSENT || transport_awaits_pages(e->transport))
        return;
    e->blocked = CHANNEL_OK;
    e->unblock_at = NEVER;
}

/* Finds out what the next burst has to wait for. */
static void update_blocked(struct zcrp_entity *e)
{
    unblock_with_pages(e);
    block_without_room(e);
}

/* ---- messages as a whole ---- */

/* Messages in memory that may be gone, which one call copies. */
struct together {
    uint32_t count, pieces;
    size_t bytes;
    struct whole whole[FEW_WRAPPED];
    struct iovec from[PIECES_MOST]; /* as many as a call takes */
    uint8_t copy[FEW_WRAPPED * TRANSPORT_WHOLE];
};

static bool find_whole(struct zcrp_entity *e, struct whole *w)
{
    return !e->link->is_broken && transport_has_credit(e->transport) &&
           sender_whole(e->machine.sender, TRANSPORT_WHOLE, w);
}

static bool may_be_gone(const struct whole *w)
{
    const struct message *m = w->user;

    return m != NULL && m->is_wrapped && w->size > 0;
}

static bool put_whole(struct zcrp_entity *e, const struct whole *w, const void *bytes)
{
    bool is_put = transport_takes_wholes(e->transport) &&
                  transport_put_whole(e->transport, w->in_session, w->number,
                                      (struct iovec){(void *)bytes, (size_t)w->size});

    if (is_put)
        transport_begin_watch(e->transport);
    return is_put;
}

/* Adds the message's memory; false: there is no room. */
static bool add_pieces(struct together *t, const struct whole *w)
{
    struct iovec *from = &t->from[t->pieces];
    uint32_t room = PIECES_MOST - t->pieces;
    uint32_t pieces = room > 0 ? 1 : 0;

    if (w->pieces != NULL)
        pieces = pieces_list(w->pieces, 0, w->size, from, room);
    else if (room > 0)
        *from = (struct iovec){(void *)w->buffer, (size_t)w->size};
    t->pieces += pieces;
    return pieces > 0;
}

/* The first is that one. They count as sent from now on. */
static void gather(struct zcrp_entity *e, struct together *t, const struct whole *first)
{
    struct sender *s = e->machine.sender;
    struct whole w = *first;

    t->bytes = t->count = t->pieces = 0;
    do {
        uint64_t bytes = t->bytes + w.size;
        if (!may_be_gone(&w) ||
            !transport_has_whole_room(e->transport, t->count + 1, (uint32_t)bytes) ||
            !add_pieces(t, &w))
            return;
        sender_put_whole(s, &w);
        sender_pin_whole(s, w.number);
        t->whole[t->count++] = w;
        t->bytes = bytes;
    } while (t->count < FEW_WRAPPED && find_whole(e, &w));
}

/* What the kernel cannot copy goes in units, which show why. */
static void put_together(struct zcrp_entity *e, const struct together *t, ssize_t copied)
{
    struct sender *s = e->machine.sender;
    ssize_t behind = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct whole *w = &t->whole[i];
        const uint8_t *bytes = &t->copy[behind];
        behind += (ssize_t)w->size;
        sender_let_go(s, w->number);
        if (sender_is_whole(s, w->number) && (copied < behind || !put_whole(e, w, bytes)))
            sender_whole_came_back(s, clock_now(), w->number);
    }
}

/* The kernel copies them, and nobody waits for the lock meanwhile. How many. Its stack is large,
 * which others need not pay for. */
__attribute__((noinline)) static uint32_t send_together(struct zcrp_entity *e,
                                                        const struct whole *first)
{
    struct together t;

    gather(e, &t, first);
    if (t.count == 0)
        return 0;
    entity_leave_to_send(e);
    ssize_t copied = nofault_read(t.copy, t.from, t.pieces, t.bytes);
    entity_enter(e);
    put_together(e, &t, copied);
    return t.count;
}

/* Under the claim, within a locked section, which it may leave and enter again. */
static void send_wholes(struct zcrp_entity *e)
{
    struct whole w;

    while (e->machine.sender != NULL && entity_wraps_few(e) && find_whole(e, &w)) {
        if (may_be_gone(&w)) {
            if (send_together(e, &w) == 0)
                return;
        } else if (put_whole(e, &w, w.buffer)) {
            sender_put_whole(e->machine.sender, &w);
        } else {
            return;
        }
        e->link->rx.are_whole = true;
    }
}

bool tx_send_wholes(struct zcrp_entity *e)
{
    if (e->is_sending || !entity_wraps_few(e) || !transport_takes_wholes(e->transport))
        return false;
    e->is_sending = true;
    entity_touch(e); /* the straight way is closed meanwhile (wholes.h) */
    send_wholes(e);
    e->is_sending = false;
    return !sender_has_burst(e->machine.sender);
}

/* ---- bursts ---- */

/* A burst counts as so many: as many as would have its bytes, each what the kernel cuts at once. */
static int worth(const struct burst *burst)
{
    return 1 + (int)(burst->bytes / SENDING_CALL);
}

/* What the next burst is. */
enum origin_of_burst { BURST_NONE, BURST_HANDSHAKE, BURST_ELSEWHERE, BURST_MACHINE };

/* Takes it; `to` is where one goes that is for elsewhere. Locked. */
static enum origin_of_burst take_burst(struct zcrp_entity *e, struct burst *burst,
                                       union address *to)
{
    instant now = link_note_time(e->link, clock_now());

    if (keyed_take(e, now, burst))
        return BURST_HANDSHAKE;
    if (peer_move_take(e, burst, to))
        return BURST_ELSEWHERE;
    return machine_take(&e->machine, now, burst) ? BURST_MACHINE : BURST_NONE;
}

/* Is there nothing to be taken, whatever the time is? A sender's first burst may only now be due.
 */
static bool is_exhausted(const struct zcrp_entity *e, bool is_first)
{
    if (is_first && entity_is_sender(e))
        return false;
    return e->keyed.answers == NULL && !keyed_has_datagram(e) && !peer_move_has_burst(e) &&
           !machine_has_more(&e->machine);
}

/* Sends up to so many bursts, or what is worth as many. */
static int send_bursts(struct zcrp_entity *e, int bursts)
{
    struct burst burst;
    int done = 0;

    for (; done < bursts && !transport_holds_back(e->transport); done += worth(&burst)) {
        send_wholes(e);
        if (!entity_is_sender(e) || sender_has_burst(e->machine.sender))
            update_blocked(e);
        if (e->link->is_broken || e->blocked != CHANNEL_OK || is_exhausted(e, done == 0))
            break;
        uint32_t sent = 1;
        union address to;
        enum origin_of_burst origin = take_burst(e, &burst, &to);
        if (origin == BURST_NONE)
            break;
        uint32_t segment = burst.segment;
        burst.cannot_fault = e->wrapped == 0;
        burst.is_present = e->unseen == 0;
        bool by_memory = transport_sends_memory(e->transport);
        bool has_ecn = wants_ecn(e), held = false;
        entity_leave_to_send(e);
        channel_mark(e->channels.out, has_ecn);
        enum channel_verdict verdict = CHANNEL_OK;
        if (origin == BURST_HANDSHAKE)
            verdict = transport_send_plain(e->transport, &burst, &sent);
        else if (origin == BURST_MACHINE)
            verdict = transport_send(e->transport, by_memory, &burst, &sent, &held);
        else
            transport_send_to(e->transport, &burst, &to);
        entity_enter(e);
        burst.segment = segment; /* what the machine knows of */
        on_burst_sent(e, &burst, verdict, sent, held);
        if (verdict == CHANNEL_ABSENT)
            ways_fetch(e);
    }
    return done;
}

/* Wakes a peer that sleeps, when it has been sent all that there is: one that is woken may take
 * this thread's core at once. True if it did. The lock is left meanwhile. */
static bool wake_peer(struct zcrp_entity *e)
{
    if (!e->transport->must_wake_peer)
        return false;
    entity_leave(e);
    transport_wake_peer(e->transport);
    entity_enter(e);
    return true;
}

bool tx_drain(struct zcrp_entity *e, int bursts)
{
    int done = 0;

    CHECK(mutex_is_held(&e->link->mutex));
    if (e->is_sending)
        return false;
    e->is_sending = true;
    entity_touch(e); /* as above */
    flush_end(&e->flush);
    do
        done += send_bursts(e, bursts - done);
    while (wake_peer(e) && done < bursts);
    e->is_sending = false;
    if (flush_is_for(&e->flush, FLUSH_MORE))
        flush_end(&e->flush); /* it began meanwhile: what is left may be a large message */
    return done > 0;
}

void tx_on_ready(void *client)
{
    struct zcrp_entity *e = client;

    entity_enter(e);
    e->is_ready = false;
    tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

void tx_on_room(void *client)
{
    struct zcrp_entity *e = client;

    entity_enter(e);
    e->awaits_room = false;
    e->blocked = CHANNEL_OK;
    tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

void tx_end_gathering(struct zcrp_entity *e)
{
    if (!flush_is_for(&e->flush, FLUSH_MORE))
        return;
    entity_enter(e);
    if (flush_is_for(&e->flush, FLUSH_MORE))
        tx_drain(e, SENDING_AT_ONCE);
    entity_leave(e);
}
