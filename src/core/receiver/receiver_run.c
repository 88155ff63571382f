/* Small messages that follow on each other. */
#include "receiver_land.h"

/* The message that continues the run, if all of it is missing, and its unit lies there. */
static struct message_in *message_at(struct receiver *r, const struct landing_run *run,
                                     const uint8_t *data)
{
    struct message_in *message = messages_in_find(&r->messages, run->number);
    bool is_there = message != NULL && message->state == MESSAGE_IN_POSTED &&
                    !message->is_length_known && message->missing.bytes == message->size &&
                    run->length <= message->size && message->pieces == NULL &&
                    data == message->buffer;
    return is_there ? message : NULL;
}

/* A unit of the run's length has this trailer, and its data lies there: its message ends, if that
 * is what continues the run. */
static bool take(struct receiver *r, struct landing_run *run, const uint8_t *data,
                 const uint8_t trailer[TRAILER_BYTES])
{
    if (!trailer_row_foresees(&run->next, trailer))
        return false;
    struct message_in *message = message_at(r, run, data);
    if (message == NULL)
        return false;
    trailer_row_step(&run->next);
    run->size = message->size;
    message->is_length_known = true;
    message->length = run->length;
    messages_in_end(&r->messages, message, OUTCOME_OK);
    run->number++;
    run->units++;
    return true;
}

void receiver_run_open(const struct receiver *r, struct landing_run *run, const struct arrival *a)
{
    bool is_newest = r->ack.arrived.count > 0 && r->ack.newest == a->seq;
    if (!is_newest || !trailer_row_behind_message(&run->next, a->trailer))
        return;
    run->trailer = *a->trailer;
    run->trailer.flags = FLAG_HAS_NEXT | FLAG_IS_LAST;
    run->number = a->number + 1;
    run->seq = a->seq;
    run->length = a->trailer->length;
    run->units = run->marks = 0;
}

bool receiver_run_take(struct receiver *r, struct landing_run *run, const struct segment *segment)
{
    if (run->length == 0 || segment->bytes != run->length + TRAILER_BYTES ||
        !segment->is_as_planned || !take(r, run, segment->data, segment->tail))
        return false;
    run->marks += segment->ecn == LANDING_ECN_CONGESTED;
    return true;
}

uint32_t receiver_run_on(struct receiver *r, struct landing_run *run, const struct landing *landing,
                         struct landing_walk *walk)
{
    uint32_t size = run->length + (uint32_t)TRAILER_BYTES;
    uint32_t before = run->units;
    const struct iovec *pair;
    while (run->length > 0 && (pair = landing_pair(landing, walk, size)) != NULL &&
           take(r, run, pair[0].iov_base, pair[1].iov_base))
        landing_skip_pair(walk, size);
    uint32_t taken = run->units - before;
    if (taken > 0 && landing->ecn[walk->opening] == LANDING_ECN_CONGESTED)
        run->marks += taken;
    return taken * size;
}

void receiver_run_close(struct receiver *r, instant now, struct landing_run *run)
{
    uint64_t data = (uint64_t)run->units * run->length;
    struct arrival a = {.trailer = &run->trailer,
                        .number = run->number - 1,
                        .seq = run->seq + run->units,
                        .range = {.first = 0, .last = run->length},
                        .units = run->units};
    run->length = 0;
    if (run->units == 0)
        return;
    run->trailer.message += run->units;
    run->trailer.seq += run->units;
    r->steady += run->units;
    r->counters.in_place += run->units;
    r->counters.units += run->units;
    r->counters.bytes += data;
    receiver_note_marks(r, run->marks);
    receiver_hear(r, now);
    receiver_acknowledge(r, now, &a, data);
    prediction_learn_length(&r->prediction, a.range.last, run->size);
    run->units = 0;
}
