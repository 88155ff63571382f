/* Landing: the reading of what arrived (the paper's receiving thread). */
#include "core/check.h"
#include "core/number.h"
#include "receiver_land.h"

#include <string.h>

/* ---- what landed where it does not stay ---- */

/* These bytes were written, and not because the message there wants them. */
static void scribble(struct receiver *r, const uint8_t *from, size_t bytes)
{
    for (uint64_t number = r->planned.first; number < r->planned.last; number++) {
        struct message_in *message = messages_in_find(&r->messages, number);
        uint64_t at;
        if (message == NULL || message->is_told || !message_in_find(message, from, &at))
            continue;
        if (at + bytes > message->scribbled)
            message->scribbled = at + bytes;
    }
}

static void note_scribbles(struct receiver *r, const struct landing *landing,
                           const struct segment *segment)
{
    struct iovec piece[LANDING_IOV];
    uint32_t count = landing_list(landing, segment, piece);
    for (uint32_t i = 0; i < count; i++)
        scribble(r, piece[i].iov_base, piece[i].iov_len);
}

/* Something landed of which nothing is known: anywhere that the channel was pointed at. */
static void note_spoilt(struct receiver *r, const struct landing *landing)
{
    for (uint64_t number = r->planned.first; number < r->planned.last; number++) {
        struct message_in *message = messages_in_find(&r->messages, number);
        if (message != NULL && message->plan == landing->plan.number)
            message->scribbled = greater(message->scribbled, message->offered);
    }
}

/* ---- a landing ---- */

/* Is it the last of several that the kernel has joined? */
static bool is_last_of_joined(const struct landing *landing, const struct segment *segment)
{
    uint32_t opening = segment->start.opening;
    return !landing->is_near && landing->segment[opening] > 0 &&
           landing->segment[opening] < landing->bytes[opening] &&
           segment->start.at + segment->bytes == landing->bytes[opening];
}

/* Where the kernel joins wrongly, none of a run belongs to the pairing, and yet the run ends as one
 * that does. */
static void note_joined(struct receiver *r, instant now, const struct landing *landing,
                        const struct segment *segment, bool belongs)
{
    if (belongs) {
        joined_path_on_right(&r->joined);
        return;
    }
    struct datagram_tail tail = datagram_tail_decode(segment->tail + TAIL_AT);
    if (is_last_of_joined(landing, segment) &&
        receiver_session_accepts(&r->session, tail.pairing) &&
        joined_path_on_wrong(&r->joined, now))
        r->counters.offload_failures++;
}

void harvest_count(struct harvest *h, const struct segment *segment)
{
    uint32_t opening = segment->start.opening;
    h->arrivals.bytes += segment->bytes;
    if (opening < h->opening)
        return;
    h->opening = opening + 1;
    h->arrivals.openings++;
    h->has_ecn |= segment->ecn != LANDING_ECN_NONE;
}

/* What is being collected: at most one of the two is open. */
struct collection {
    struct landing_row row;
    struct landing_run run;
};

/* A unit of the pairing; or a hello, a probe, an offer, or nothing. True if it belongs to the
 * pairing. */
static bool on_datagram(struct receiver *r, instant now, struct landing *landing,
                        const struct segment *segment, struct collection *c)
{
    struct unit_trailer unit;
    enum verdict verdict = unit_trailer_decode(segment->tail, segment->bytes, &unit);
    if (verdict != VERDICT_OK || !receiver_session_accepts(&r->session, unit.pairing)) {
        note_scribbles(r, landing, segment);
        return receiver_on_other(r, now, landing, segment, verdict);
    }
    struct arrival a = receiver_arrival(r, segment, &unit);
    if (receiver_row_open(r, &c->row, &a))
        return true;
    receiver_note_marks(r, segment->ecn == LANDING_ECN_CONGESTED);
    if (receiver_enter(r, now, landing, &a))
        receiver_run_open(r, &c->run, &a);
    if (!a.is_in_place || !segment->is_as_planned)
        note_scribbles(r, landing, segment);
    return true;
}

static void close_all(struct receiver *r, instant now, struct landing *landing,
                      struct collection *c)
{
    receiver_row_close(r, now, landing, &c->row);
    receiver_run_close(r, now, &c->run);
}

static bool on_plain(struct receiver *r, instant now, struct landing *landing,
                     const struct segment *segment, struct collection *c)
{
    if (receiver_run_take(r, &c->run, segment) || receiver_row_take(&c->row, segment))
        return true;
    close_all(r, now, landing, c);
    return on_datagram(r, now, landing, segment, c);
}

/* What came unsealed has numbers, too. */
static void skip_numbers(struct receiver *r)
{
    if (r->ack.arrived.count > 0)
        opener_skip(&r->config.keyring->units_in, r->ack.newest + 1);
}

static struct harvest land_plain(struct receiver *r, instant now, struct landing *landing)
{
    struct harvest h = {.opening = 0};
    struct landing_walk walk = {.opening = 0};
    struct collection c = {.row = {.a = {.message = NULL}}, .run = {.length = 0}};
    struct segment segment;
    while (landing_next(landing, &walk, &segment)) {
        bool belongs = on_plain(r, now, landing, &segment, &c);
        if (belongs)
            harvest_count(&h, &segment);
        note_joined(r, now, landing, &segment, belongs);
        if (belongs)
            h.arrivals.bytes += receiver_run_on(r, &c.run, landing, &walk);
    }
    close_all(r, now, landing, &c);
    return h;
}

static struct harvest land_sealed(struct receiver *r, instant now, struct landing *landing)
{
    while (receiver_look(r, now, landing))
        receiver_open(r, landing);
    struct harvest h = r->opening->harvest;
    memset(r->opening, 0, sizeof *r->opening); /* for the next one */
    return h;
}

struct receiver_arrivals receiver_landed(struct receiver *r, instant now, struct landing *landing)
{
    CHECK(r->is_planned);
    struct harvest h =
        receiver_is_sealed(r, landing) ? land_sealed(r, now, landing) : land_plain(r, now, landing);
    r->ack.has_ecn |= h.has_ecn;
    joined_path_expire(&r->joined, now);
    if (landing->is_spoilt)
        note_spoilt(r, landing);
    landing_move_all(landing);
    r->is_planned = false;
    if (landing->is_near && r->config.keyring != NULL)
        skip_numbers(r);
    if (h.arrivals.openings > 0 && receiver_timer_may_announce(r, now))
        receiver_announce_new(r);
    r->counters.bursts += h.arrivals.openings;
    return h.arrivals;
}
