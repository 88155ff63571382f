/* What the four functions of wholes.h do lies in nine files, and what the steps pass each other
 * went through memory. So each is compiled as one function (flatten), with fewer instructions. */
#include "wholes.h"

#include "entity.h"
#include "platform/nofault.h"

#include <string.h>

enum {
    WHOLES = 64,            /* messages that land in one go, at most, */
    WHOLE_BYTES = 16 << 10, /* or so many bytes; */
    WHOLES_TOGETHER = 16,   /* with one call of the kernel's */
};

/* ---- landing ---- */

/* Nobody else is told of its end, but the user. */
static void end_well(struct zcrp_entity *e, struct message *m, uint64_t length, bool has_taker)
{
    if (m != NULL)
        entity_end(e, m, ZCRP_OK, length, has_taker);
}

/* One that LANDS is over, if its bytes are at their place, and that counts. If not, some of them
 * may be there. */
static void on_landed(struct zcrp_entity *e, const struct whole_place *place, uint64_t size,
                      bool counts, bool has_taker)
{
    struct receiver *r = e->machine.receiver;
    struct event event;

    if (!counts)
        receiver_whole_revoked(r, place->number, size);
    else if (receiver_whole_ends(r, place, size, &event))
        end_well(e, event.user, event.length, has_taker);
}

static bool is_writable(const struct whole_place *place, uint64_t size)
{
    struct iovec piece;
    bool is = true;

    for (uint32_t i = 0; is && pieces_of_memory(place->pieces, place->buffer, size, i, &piece); i++)
        is = memory_is_accessible(piece.iov_base, piece.iov_len, MEMORY_WRITE);
    return is;
}

static enum whole_use place_of(struct zcrp_entity *e, const struct whole_arrived *w,
                               struct whole_place *place)
{
    return receiver_whole(e->machine.receiver, w->in_session, w->size, place);
}

static bool is_wrapped(const struct whole_place *place)
{
    const struct message *m = place->user;

    return m != NULL && m->is_wrapped;
}

/* The next. False: there is none, or it goes to memory that may be gone. One that is declined comes
 * in units, which show why. Locked. */
static bool land_whole(struct zcrp_entity *e, bool has_taker, uint64_t *bytes)
{
    struct whole_arrived w;
    struct whole_place place = {.user = NULL};

    if (!transport_whole(e->transport, 0, &w))
        return false;
    enum whole_use use = place_of(e, &w, &place);
    if (use == WHOLE_LANDS && w.size > 0 && is_wrapped(&place))
        return false;
    if (use == WHOLE_LANDS && w.size > 0)
        memmove(place.buffer, w.bytes, w.size); /* of memcpy GCC makes a string instruction */
    bool counts = transport_end_whole(e->transport, use != WHOLE_DECLINED);
    if (use == WHOLE_LANDS)
        on_landed(e, &place, w.size, counts, has_taker);
    *bytes += w.size;
    return true;
}

/* Behind so many others, up to one that goes to memory that may be gone. How many then. Locked. */
static uint32_t land_row(struct zcrp_entity *e, uint32_t landed, uint64_t *bytes)
{
    bool has_taker = entity_has_taker(e);

    while (landed < WHOLES && *bytes < WHOLE_BYTES && land_whole(e, has_taker, bytes))
        landed++;
    return landed;
}

/* Messages that one call copies to memory that may be gone. */
struct together {
    uint32_t count, pieces;
    size_t bytes;
    struct whole_arrived whole[WHOLES_TOGETHER];
    struct iovec from[WHOLES_TOGETHER], to[PIECES_MOST]; /* as many as a call takes */
};

/* Adds the memory where that many bytes land; false: there is no room. */
static bool add_pieces(struct together *t, const struct whole_place *place, uint32_t size)
{
    struct iovec *to = &t->to[t->pieces];
    uint32_t room = PIECES_MOST - t->pieces;
    uint32_t pieces = room > 0 ? 1 : 0;

    if (place->pieces != NULL)
        pieces = pieces_list(place->pieces, 0, size, to, room);
    else if (room > 0)
        *to = (struct iovec){place->buffer, size};
    t->pieces += pieces;
    return pieces > 0;
}

/* Honest senders put ascending numbers. Two notes of one message, landed together, would leave the
 * bytes of the second one behind the first. */
static bool names_next(const struct together *t, const struct whole_arrived *w)
{
    return t->count == 0 || w->in_session > t->whole[t->count - 1].in_session;
}

static void gather(struct zcrp_entity *e, struct together *t)
{
    struct whole_arrived *w = t->whole;
    struct whole_place place = {.user = NULL};

    t->bytes = t->count = t->pieces = 0;
    for (; t->count < WHOLES_TOGETHER && transport_whole(e->transport, t->count, w); w++) {
        if (!names_next(t, w) || place_of(e, w, &place) != WHOLE_LANDS || w->size == 0 ||
            !is_wrapped(&place) || !add_pieces(t, &place, w->size))
            return;
        t->from[t->count++] = (struct iovec){(void *)w->bytes, w->size};
        t->bytes += w->size;
    }
}

/* The kernel has copied the message, or it is declined, which shows why. Locked. */
static void end_wrapped(struct zcrp_entity *e, const struct whole_arrived *w, bool is_copied)
{
    struct whole_place place = {.user = NULL};
    enum whole_use use = place_of(e, w, &place); /* it may be over by now */
    bool lands = use == WHOLE_LANDS;
    bool counts = transport_end_whole(e->transport, use == WHOLE_OVER || (lands && is_copied));

    if (lands)
        on_landed(e, &place, w->size, is_copied && counts, entity_has_taker(e));
    if (lands && !is_copied && !is_writable(&place, w->size))
        (void)receiver_fault(e->machine.receiver, place.number);
}

/* Lands them. Nobody waits for the lock while the kernel copies, and no message ends. Locked. */
static void land_together(struct zcrp_entity *e, const struct together *t)
{
    size_t behind = 0;

    receiver_whole_begin(e->machine.receiver);
    e->link->rx.is_claimed = true;
    mutex_unlock(&e->link->mutex);
    ssize_t copied = nofault_write(t->to, t->pieces, t->from, t->count, t->bytes);
    entity_enter(e);
    e->link->rx.is_claimed = false;
    receiver_whole_end(e->machine.receiver);
    for (uint32_t i = 0; i < t->count; i++) {
        behind += t->whole[i].size;
        end_wrapped(e, &t->whole[i], copied >= (ssize_t)behind);
    }
}

/* Those that go to memory that may be gone, as many as one call copies. How many. Locked. Its stack
 * is large, which others need not pay for. */
__attribute__((noinline)) static uint32_t land_wrapped(struct zcrp_entity *e, uint64_t *bytes)
{
    struct together t;

    gather(e, &t);
    if (t.count > 0)
        land_together(e, &t);
    *bytes += t.bytes;
    return t.count;
}

__attribute__((flatten)) bool wholes_land(struct zcrp_entity *e)
{
    uint64_t bytes = 0;
    uint32_t landed = 0, wrapped;

    do {
        landed = land_row(e, landed, &bytes);
        bool has_room = landed < WHOLES && bytes < WHOLE_BYTES;
        bool may_sleep = !entity_has_ended(e); /* else that is told first */
        wrapped = has_room && may_sleep && e->wrapped > 0 ? land_wrapped(e, &bytes) : 0;
        landed += wrapped;
    } while (wrapped > 0 && transport_reads_wholes(e->transport)); /* since the lock was left */
    return landed > 0;
}

/* ---- the way ---- */

/* The thread that watches the peer's reading has been told, and no other thread sends. */
static bool sends_straight(const struct zcrp_entity *e)
{
    const struct transport *t = e->transport;

    return transport_takes_wholes(t) && transport_has_credit(t) && transport_is_watched(t) &&
           !e->is_sending && sender_lets_pass(e->machine.sender);
}

static bool posts_straight(const struct zcrp_entity *e)
{
    return e->transport->way == WAY_MEMORY && e->lost == OUTCOME_OK &&
           receiver_lets_pass(e->machine.receiver, e->due);
}

void wholes_tend(struct zcrp_entity *e)
{
    bool is_plain = e->life == ENTITY_OPEN && !e->link->is_broken && e->options.trace == NULL &&
                    e->notice.place < 0 && e->wrapped <= FEW_WRAPPED &&
                    backlog_is_empty(&e->backlog);

    link_set_straight(e->link, e->machine.role,
                      is_plain && (entity_is_sender(e) ? sends_straight(e) : posts_straight(e)));
}

/* ---- sending ---- */

static void end_sent(struct zcrp_entity *e, struct message *m, bool has_taker)
{
    end_well(e, m, m != NULL ? m->size : 0, has_taker);
}

__attribute__((flatten)) bool wholes_reap(struct zcrp_entity *e)
{
    bool has_taker = entity_has_taker(e), any = false;
    void *user[WHOLES];
    uint64_t first;
    uint32_t arrived;

    while ((arrived = transport_reap_wholes(e->transport, WHOLES, &first)) > 0) {
        uint32_t ended =
            sender_wholes_arrived(e->machine.sender, clock_tick(), first, arrived, user);
        for (uint32_t i = 0; i < ended; i++)
            end_sent(e, user[i], has_taker);
        if (ended < arrived)
            entity_touch(e); /* there are events */
        any = true;
    }
    return any;
}

__attribute__((flatten)) bool wholes_submit(struct zcrp_entity *e, struct message *m, uint64_t size)
{
    struct whole w = {.user = m, .buffer = m->public.buffer, .size = size};
    struct transport *t = e->transport;
    uint64_t posted;

    if (!link_is_straight(e->link, MACHINE_SENDER) || m->is_wrapped || size > TRANSPORT_WHOLE ||
        !sender_next_whole(e->machine.sender, &w, &posted))
        return false;
    if (posted == SENDER_UNKNOWN && !transport_find_credit(t, w.in_session, &posted))
        return false;
    if (posted >= SENDER_UNKNOWN || size > posted ||
        !transport_put_whole(t, w.in_session, w.number,
                             (struct iovec){m->public.buffer, (size_t)size}))
        return false;
    collection_withdraw(m);
    message_begin(m, e, size);
    message_move(m, MESSAGE_IN_MACHINE);
    m->number = w.number;
    sender_submit_whole(e->machine.sender, &w, posted);
    e->link->rx.are_whole = true;
    return true;
}

/* ---- credit ---- */

__attribute__((flatten)) bool wholes_post(struct zcrp_entity *e, struct message *m, uint64_t size)
{
    struct receiver *r = e->machine.receiver;
    uint64_t in_session, number;

    if (!link_is_straight(e->link, MACHINE_RECEIVER) || m->is_wrapped ||
        !receiver_next_credit(r, TRANSPORT_CREDIT, &in_session) ||
        !receiver_post_shown(r, receiver_times_post(r) ? clock_tick() : 0, m, m->public.buffer,
                             size, &number))
        return false;
    collection_withdraw(m);
    message_begin(m, e, size);
    message_move(m, MESSAGE_IN_MACHINE);
    m->number = number;
    if (transport_show_credit(e->transport, in_session, size))
        receiver_call(r);
    return true;
}
