/* The plan: where the next units are taken to belong, before they arrive. */
#include "core/check.h"
#include "core/number.h"
#include "receiver_land.h"

enum { STEADY_UNITS = 16 }; /* that land in place for another opening */

/* The room that is left in an opening. A burst holds units of one size, of which only the last
 * may be shorter, and no more bytes than a datagram could: then the next one begins. */
struct room {
    uint32_t pairs;
    uint32_t bytes;
    uint32_t unit; /* bytes of data of the first */
    uint64_t plan; /* its number */
};

/* This plan points the channel at the message's bytes below `end`, and maybe below more. */
static void point_at(struct message_in *message, uint64_t plan, uint64_t end)
{
    message->offered = message->plan == plan ? greater(message->offered, end) : end;
    message->plan = plan;
}

static bool has_room(const struct room *room, uint32_t length)
{
    return room->pairs > 0 && length <= room->unit && length + TRAILER_BYTES <= room->bytes;
}

static void fill_room(struct room *room, uint32_t length, uint32_t units)
{
    room->bytes -= units * (length + TRAILER_BYTES);
    room->pairs = length < room->unit ? 0 : room->pairs - units;
}

/* A slot for `length` bytes of the stretch's message, which may lie in several pieces. In more than
 * the landing takes they come down beside it, and are moved. */
static bool offer_slot(struct landing *landing, const struct message_in *message, uint64_t offset,
                       uint32_t length)
{
    struct iovec piece[LANDING_SLOT_PIECES];
    uint32_t pieces = 0;
    if (length > 0 && message->pieces != NULL)
        pieces = pieces_list(message->pieces, offset, offset + length, piece, landing->slot_pieces);
    if (pieces > 0)
        return landing_offer_pieces(landing, piece, pieces);
    bool has_slot = length > 0 && message->pieces == NULL;
    return landing_offer(landing, has_slot ? message->buffer + offset : NULL, length);
}

/* Offers the full units that the stretch begins with. Returns the bytes of them. */
static uint64_t offer_full(struct landing *landing, const struct stretch *stretch,
                           struct room *room)
{
    uint32_t unit = stretch->unit;
    if (unit == 0 || stretch->length < unit || stretch->message->pieces != NULL)
        return 0;
    room->unit = room->unit == UINT32_MAX ? unit : room->unit;
    if (unit != room->unit)
        return 0;
    uint64_t fit = lesser(stretch->length / unit, room->bytes / (unit + TRAILER_BYTES));
    uint32_t count = landing_offer_row(landing, stretch->message->buffer + stretch->offset, unit,
                                       (uint32_t)lesser(fit, room->pairs));
    fill_room(room, unit, count);
    return (uint64_t)count * unit;
}

/* Offers the stretch, unit by unit, as far as there is room. Returns the bytes of it offered. */
static uint64_t offer_units(struct landing *landing, const struct stretch *stretch,
                            struct room *room)
{
    uint64_t offered = offer_full(landing, stretch, room);
    if (offered > 0 && offered == stretch->length)
        return offered;
    do {
        uint64_t left = stretch->length - offered;
        uint32_t length = left < stretch->unit ? (uint32_t)left : stretch->unit;
        uint64_t offset = stretch->offset + offered;
        room->unit = room->unit == UINT32_MAX ? length : room->unit;
        if (!has_room(room, length) || !offer_slot(landing, stretch->message, offset, length)) {
            room->pairs = 0;
            break;
        }
        fill_room(room, length, 1);
        offered += length;
    } while (offered < stretch->length);
    return offered;
}

static uint64_t offer(struct landing *landing, const struct stretch *stretch, struct room *room)
{
    uint64_t offered = offer_units(landing, stretch, room);
    if (offered > 0)
        point_at(stretch->message, room->plan, stretch->offset + offered);
    return offered;
}

/* Messages of these numbers are pointed at; [first, last) is not empty. */
static void note_planned(struct receiver *r, uint64_t first, uint64_t last)
{
    struct interval *planned = &r->planned;
    bool is_first = planned->first == planned->last;
    if (is_first || first < planned->first)
        planned->first = first;
    if (is_first || last > planned->last)
        planned->last = last;
}

/* Offers whole messages that follow on each other, as far as each is taken to be one unit as large
 * as the first of the opening: this is what a stream of small messages is. The walk is where a
 * message begins of which nothing is known. */
static void offer_wholes(struct receiver *r, struct landing *landing, struct prediction *walk,
                         struct room *room)
{
    uint32_t unit = room->unit;
    uint64_t most =
        lesser(lesser(room->pairs, room->bytes / (unit + TRAILER_BYTES)), landing_room(landing));
    uint64_t first = walk->message, number = first;
    uint64_t end = unit == 0 || unit > walk->unit ? first : lesser(first + most, r->messages.next);
    for (; number < end; number++) {
        struct message_in *message = messages_in_at(&r->messages, number);
        if (!prediction_is_whole(walk, message, unit))
            break;
        point_at(message, room->plan, unit);
        landing_write(landing, (uint32_t)(number - first), message->buffer, unit);
    }
    walk->message = number;
    if (number == first)
        return;
    landing_add(landing, (uint32_t)(number - first));
    fill_room(room, unit, (uint32_t)(number - first));
    note_planned(r, first, number);
}

/* Plans one opening: pairs until no burst could fill more. */
static void plan_opening(struct receiver *r, struct landing *landing, struct prediction *walk,
                         uint32_t pairs)
{
    struct room room = {
        .pairs = pairs, .bytes = LANDING_DATAGRAM - 1, .unit = UINT32_MAX, .plan = r->plans};
    struct stretch stretch;
    while (room.pairs > 0 && prediction_walk(walk, &r->messages, &stretch)) {
        uint64_t offered = offer(landing, &stretch, &room);
        note_planned(r, walk->message, walk->message + 1);
        if (offered > 0 || (stretch.length == 0 && room.pairs > 0))
            prediction_advance(walk, &stretch, offered);
        if (walk->offset == 0 && walk->length == UINT32_MAX && offered > 0)
            offer_wholes(r, landing, walk, &room);
    }
}

/* Behind a unit that is lost or repeated all openings of a plan are off by one, and what lands in
 * them has to be moved. So they are few where that happens often: with a loss in a hundred units
 * up to seven. They are not fewer, because a move costs less than a call. */
static uint32_t worth_planning(const struct receiver *r, uint32_t openings)
{
    uint64_t trusted = 1 + r->steady / STEADY_UNITS;
    return trusted < openings ? (uint32_t)trusted : openings;
}

/* What is sealed is received beside the messages: opening it brings it to its place. */
static void plan_sealed(struct receiver *r, struct landing *landing, uint32_t openings)
{
    r->is_planned = true;
    r->planned = (struct interval){.first = 0, .last = 0};
    landing_begin(landing);
    while (openings-- > 0 && landing_seal(landing))
        ;
}

/* Would the plan be the newest one again, which is still in the landing? A waiter that spins looks
 * again and again where nothing lands. */
static bool is_still_good(const struct receiver *r, const struct landing *landing,
                          const struct landing_plan *plan)
{
    const struct landing_plan *there = &landing->plan;
    return there->of == plan->of && there->number == r->plans && there->changes == plan->changes &&
           there->openings == plan->openings && there->pairs == plan->pairs &&
           landing->received == 0 && !landing->is_spoilt && !landing->is_near;
}

void receiver_plan(struct receiver *r, struct landing *landing, uint32_t openings, uint32_t pairs)
{
    struct landing_plan plan = {
        .of = r, .changes = r->messages.changes, .openings = openings, .pairs = pairs};
    CHECK(!r->is_planned && !r->is_held);
    if (receiver_is_sealed(r, landing)) {
        plan_sealed(r, landing, openings);
        return;
    }
    r->is_planned = true;
    if (is_still_good(r, landing, &plan)) {
        landing->writable.iov_len = 0; /* the user may have unmapped what was writable */
        return;
    }
    struct prediction walk = r->prediction;
    r->planned = (struct interval){.first = 0, .last = 0};
    landing_begin(landing);
    plan.number = ++r->plans;
    landing->plan = plan;
    openings = worth_planning(r, openings);
    for (uint32_t opening = 0; opening < openings; opening++) {
        plan_opening(r, landing, &walk, pairs);
        if (!landing_seal(landing))
            return;
    }
}
