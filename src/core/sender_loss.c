/* What is lost, and what only came late (RFC 9002, 6.1): a unit in transit, older than one that was
 * acknowledged, is lost once it is late by so many transmissions, or by so long. What was given up
 * wrongly is noticed by its acknowledgement and widens the tolerance. */
#include "check.h"
#include "sender_state.h"

void sender_requeue(struct sender *s, uint64_t seq)
{
    uint64_t at = seq;
    struct transit_unit unit = *units_in_transit_find(&s->in_transit, &at, seq + 1);
    units_in_transit_remove(&s->in_transit, seq);
    for (uint32_t i = 0; i < LATE_UNITS; i++)
        if (s->late.unit[i].again == seq)
            s->late.unit[i].again = LATE_NOT_AGAIN;
    const struct message_out *message = messages_out_find(&s->messages, unit.message);
    if (message == NULL || message->state == MESSAGE_OUT_ENDED ||
        unit.is_void != (message->state == MESSAGE_OUT_VOID))
        return;
    struct fragment again = {.message = unit.message,
                             .offset = unit.offset,
                             .length = unit.length,
                             .is_last = unit.is_last,
                             .is_void = unit.is_void,
                             .is_repeat = true};
    bool is_full = s->to_send.count + s->in_transit.units >= s->in_transit.capacity;
    if (!is_full || !units_to_send_rejoin(&s->to_send, &again))
        units_to_send_repeat(&s->to_send, &again);
}

/* Watches for the acknowledgement of a transmission that is about to be requeued. */
static struct late_unit *watch(struct sender *s, uint64_t seq)
{
    uint64_t at = seq;
    const struct transit_unit *unit = units_in_transit_find(&s->in_transit, &at, seq + 1);
    struct late_unit *late = &s->late.unit[s->late.next];
    *late = (struct late_unit){.seq = seq,
                               .again = LATE_NOT_AGAIN,
                               .message = unit->message,
                               .offset = unit->offset,
                               .sent = unit->sent,
                               .length = unit->length,
                               .is_void = unit->is_void,
                               .is_watched = true};
    s->late.next = (s->late.next + 1) % LATE_UNITS;
    return late;
}

void sender_probe_unit(struct sender *s, uint64_t seq)
{
    struct late_unit *late = watch(s, seq);
    late->is_probed = true;
    unit_size_on_silence(&s->unit_size, late->length);
    sender_requeue(s, seq);
}

static void give_up(struct sender *s, instant now, uint64_t seq, instant sent)
{
    uint64_t bytes = s->in_transit.bytes;
    struct late_unit *late = watch(s, seq);
    path_mtu_on_lost(&s->path, now, sent, late->length + TRAILER_BYTES);
    unit_size_on_lost(&s->unit_size, late->length);
    tolerance_on_lost(&s->tolerance, now, sent);
    s->counters.lost++;
    sender_requeue(s, seq);
    bytes -= s->in_transit.bytes;
    struct congestion_loss fact = {.now = now, .sent = sent, .bytes = bytes};
    fact.sample = delivery_on_lost(&s->delivery, bytes, seq);
    congestion_on_lost(&s->congestion, &fact);
}

/* Are these bytes, or this void, all of the unit, or a part? */
static bool is_within(const struct late_unit *late, uint64_t message, uint64_t offset,
                      uint32_t length, bool is_void)
{
    return late->message == message && late->is_void == is_void && late->offset <= offset &&
           offset + length <= late->offset + late->length;
}

void sender_note_repeat(struct sender *s, const struct fragment *f, uint64_t seq)
{
    for (uint32_t i = 0; i < LATE_UNITS; i++) {
        struct late_unit *late = &s->late.unit[i];
        if (!late->is_watched || late->again != LATE_NOT_AGAIN ||
            !is_within(late, f->message, f->offset, f->length, f->is_void))
            continue;
        if (late->length == f->length)
            late->again = seq;
        else
            late->is_cut = true;
    }
}

/* Those parts of the unit that are in transit. */
static void settle_parts(struct sender *s, const struct late_unit *late, struct settled *settled)
{
    uint64_t seq = s->in_transit.base;
    const struct transit_unit *unit;
    for (; (unit = units_in_transit_find(&s->in_transit, &seq, s->in_transit.next)) != NULL; seq++)
        if (is_within(late, unit->message, unit->offset, unit->length, unit->is_void))
            sender_acknowledge(s, seq, seq + 1, settled);
}

/* What was given up has arrived: its repeat is as good as acknowledged, wherever it is. */
static void settle_repeat(struct sender *s, const struct late_unit *late, struct settled *settled)
{
    struct fragment repeat = {.message = late->message,
                              .offset = late->offset,
                              .length = late->length,
                              .is_void = late->is_void};
    if (late->again != LATE_NOT_AGAIN) {
        sender_acknowledge(s, late->again, late->again + 1, settled);
        return;
    }
    uint32_t length;
    while (units_to_send_forget(&s->to_send, &repeat, &length)) {
        s->counters.bytes += length;
        sender_settle(s, late->message, late->is_void, 1);
    }
    if (late->is_cut)
        settle_parts(s, late, settled);
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
            give_up(s, now, seq, unit->sent);
        else
            s->timers.loss = instant_earlier(s->timers.loss, unit->sent + delay);
    }
}

void sender_forget_late(struct sender *s)
{
    for (uint32_t i = 0; i < LATE_UNITS; i++)
        s->late.unit[i].is_watched = false;
}

/* Such a transmission was not lost but overtaken, by so many and for so long. */
static void widen(struct sender *s, instant now, uint64_t newest, const struct late_unit *late)
{
    uint64_t most_units = s->in_transit.capacity / 2;
    uint64_t units = newest - late->seq + 1;
    duration time = now - late->sent - rtt_loss_delay(&s->rtt);
    duration most_time = 2 * s->rtt.smoothed;
    tolerance_on_spurious(&s->tolerance, units < most_units ? units : most_units,
                          time < most_time ? time : most_time);
}

void sender_notice_late(struct sender *s, instant now, uint64_t newest, struct interval arrived,
                        struct settled *settled)
{
    for (uint32_t i = 0; i < LATE_UNITS; i++) {
        struct late_unit *late = &s->late.unit[i];
        if (!late->is_watched || late->seq < arrived.first || late->seq >= arrived.last)
            continue;
        late->is_watched = false;
        unit_size_on_arrived(&s->unit_size, late->length, 1);
        path_mtu_on_arrived(&s->path, late->length + TRAILER_BYTES);
        settle_repeat(s, late, settled);
        if (late->is_probed)
            continue;
        s->counters.spurious++;
        congestion_on_spurious(&s->congestion, late->sent);
        widen(s, now, newest, late);
    }
}
