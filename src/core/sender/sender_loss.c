/* What is lost, and what only came late (RFC 9002, 6.1): a unit in transit, older than one that was
 * acknowledged, is lost once it is late by so many transmissions, or by so long. What was given up
 * wrongly is noticed by its acknowledgement and widens the tolerance. */
#include "sender_state.h"

enum { PERSISTENT_TIMEOUTS = 3 }; /* RFC 9002, 7.6.1 */

static struct transit_unit unit_at(struct sender *s, uint64_t seq)
{
    uint64_t at = seq;
    return *units_in_transit_find(&s->in_transit, &at, seq + 1);
}

static uint64_t repeated_by(const struct transit_unit *unit, uint64_t seq)
{
    return unit->behind != 0 ? seq - unit->behind : UNIT_NEVER_SENT;
}

static struct unit_part part_of(const struct transit_unit *unit)
{
    return (struct unit_part){.message = unit->message,
                              .offset = unit->offset,
                              .length = unit->length,
                              .is_void = unit->is_void};
}

/* Moves a unit from transit to the units to send: what was transmitted as `was` is repeated. */
static void requeue(struct sender *s, uint64_t seq, uint64_t was)
{
    struct transit_unit unit = unit_at(s, seq);
    units_in_transit_remove(&s->in_transit, seq);
    const struct message_out *message = messages_out_find(&s->messages, unit.message);
    if (message == NULL || message->state == MESSAGE_OUT_ENDED ||
        unit.is_void != (message->state == MESSAGE_OUT_VOID))
        return;
    struct fragment again = {.message = unit.message,
                             .offset = unit.offset,
                             .length = unit.length,
                             .is_last = unit.is_last,
                             .is_void = unit.is_void,
                             .is_repeat = true,
                             .was = was};
    bool is_full = s->to_send.count + s->in_transit.units >= s->in_transit.capacity;
    if (!is_full || !units_to_send_rejoin(&s->to_send, &again))
        units_to_send_repeat(&s->to_send, &again);
}

void sender_requeue(struct sender *s, uint64_t seq)
{
    struct transit_unit unit = unit_at(s, seq);
    requeue(s, seq, repeated_by(&unit, seq));
}

/* It goes again, and its acknowledgement is watched for. */
static void watch(struct sender *s, uint64_t seq, const struct transit_unit *unit, bool is_probed)
{
    struct unit_given_up given_up = {.seq = seq,
                                     .was = repeated_by(unit, seq),
                                     .part = part_of(unit),
                                     .sent = unit->sent,
                                     .is_probed = is_probed};
    units_given_up_put(&s->given_up, &given_up);
    requeue(s, seq, seq);
}

void sender_probe_unit(struct sender *s, uint64_t seq)
{
    struct transit_unit unit = unit_at(s, seq);
    unit_size_on_silence(&s->unit_size, unit.length);
    watch(s, seq, &unit, true);
}

static void give_up(struct sender *s, instant now, uint64_t seq)
{
    struct transit_unit unit = unit_at(s, seq);
    uint64_t bytes = s->in_transit.bytes;
    sender_path_on_lost(s, now, unit.sent, unit.length + TRAILER_BYTES);
    unit_size_on_lost(&s->unit_size, unit.length);
    tolerance_on_lost(&s->tolerance, now, unit.sent);
    s->counters.lost++;
    watch(s, seq, &unit, false);
    bytes -= s->in_transit.bytes;
    struct congestion_loss fact = {.now = now, .sent = unit.sent, .bytes = bytes};
    fact.sample = delivery_on_lost(&s->delivery, bytes, seq);
    congestion_on_lost(&s->congestion, &fact);
}

void sender_detect_losses(struct sender *s, instant now, uint64_t newest)
{
    duration delay = rtt_loss_delay(&s->rtt) + s->tolerance.time;
    uint64_t seq = s->in_transit.base;
    const struct transit_unit *unit;
    s->timers.loss = NEVER;
    for (; (unit = units_in_transit_find(&s->in_transit, &seq, newest)) != NULL; seq++) {
        bool is_overtaken = newest - seq >= s->tolerance.units;
        if (is_overtaken || unit->sent + delay <= now)
            give_up(s, now, seq);
        else
            s->timers.loss = instant_earlier(s->timers.loss, unit->sent + delay);
    }
}

/* Such a transmission was not lost but overtaken, by so many and for so long. */
static void widen(struct sender *s, instant now, uint64_t newest, const struct unit_given_up *late)
{
    uint64_t most_units = s->in_transit.capacity / 2;
    uint64_t units = newest - late->seq + 1;
    duration time = now - late->sent - rtt_loss_delay(&s->rtt);
    duration most_time = 2 * s->rtt.smoothed;
    tolerance_on_spurious(&s->tolerance, units < most_units ? units : most_units,
                          time < most_time ? time : most_time);
}

void sender_notice_late(struct sender *s, instant now, uint64_t newest, struct interval arrived)
{
    const struct unit_given_up *late;
    while ((late = units_given_up_arrive(&s->given_up, &arrived.first, arrived.last)) != NULL) {
        unit_size_on_arrived(&s->unit_size, late->part.length, 1);
        path_mtu_on_arrived(&s->path, late->part.length + TRAILER_BYTES);
        if (late->is_probed)
            continue;
        s->counters.spurious++;
        congestion_on_spurious(&s->congestion, late->sent);
        widen(s, now, newest, late);
    }
}

static void settle_in_transit(struct sender *s, struct settled *settled)
{
    uint64_t seq = s->in_transit.base;
    const struct transit_unit *unit;
    for (; (unit = units_in_transit_find(&s->in_transit, &seq, s->in_transit.next)) != NULL;
         seq++) {
        struct unit_part part = part_of(unit);
        if (unit->behind != 0 &&
            units_given_up_has_brought(&s->given_up, seq - unit->behind, &part))
            sender_acknowledge(s, seq, seq + 1, settled);
    }
}

static void settle_to_send(struct sender *s)
{
    for (uint32_t i = s->to_send.count; i > 0; i--) {
        struct fragment f = units_to_send_pop(&s->to_send);
        struct unit_part part = {
            .message = f.message, .offset = f.offset, .length = f.length, .is_void = f.is_void};
        if (!units_given_up_has_brought(&s->given_up, f.was, &part)) {
            units_to_send_repeat(&s->to_send, &f);
            continue;
        }
        s->counters.bytes += f.length;
        sender_settle(s, f.message, f.is_void, 1);
    }
}

void sender_settle_late(struct sender *s, struct settled *settled)
{
    if (s->given_up.arrived == 0)
        return;
    settle_in_transit(s, settled);
    settle_to_send(s);
    units_given_up_remove_arrived(&s->given_up);
}

struct persistence_look sender_look_for_persistence(const struct sender *s, instant now,
                                                    uint64_t newest)
{
    return (struct persistence_look){.known = s->newest,
                                     .newest = newest,
                                     .overdue = now - rtt_loss_delay(&s->rtt),
                                     .least = PERSISTENT_TIMEOUTS * sender_timer_round_trip(s)};
}

void sender_judge_persistence(struct sender *s, instant now, const struct persistence_look *look,
                              uint64_t first)
{
    switch (persistence_conclude(&s->persistence, look, first)) {
    case PERSISTENCE_FOUND:
        s->counters.persistent++;
        congestion_on_persistent(&s->congestion, now, look->end);
        break;
    case PERSISTENCE_NOT:
        congestion_on_not_persistent(&s->congestion);
        break;
    case PERSISTENCE_NO_NEWS:
        break;
    }
}
