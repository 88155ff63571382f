/* Small messages that follow on each other. */
#include "core/number.h"
#include "receiver_land.h"

/* The message that continues the run, if all of it is missing, and its unit lies there. It is one
 * that the table has a place for. */
static struct message_in *message_at(struct receiver *r, const struct landing_run *run,
                                     const uint8_t *data)
{
    struct message_in *message = messages_in_at(&r->messages, run->number);
    bool is_there = message->state == MESSAGE_IN_POSTED && !message->is_length_known &&
                    message->missing.bytes == message->size && run->length <= message->size &&
                    message->pieces == NULL && data == message->buffer;
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

/* The number of messages in the table that may continue the run. An attacker's unit may have begun
 * it with a message that is long over: then there are none. */
static uint32_t messages_behind(const struct receiver *r, const struct landing_run *run)
{
    const struct messages_in *m = &r->messages;
    bool is_there = run->length > 0 && run->number >= m->base && run->number < m->next;
    return is_there ? (uint32_t)(m->next - run->number) : 0;
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
    if (messages_behind(r, run) == 0 || segment->bytes != run->length + TRAILER_BYTES ||
        !segment->is_as_planned || !take(r, run, segment->data, segment->tail))
        return false;
    run->marks += segment->ecn == LANDING_ECN_CONGESTED;
    return true;
}

/* Compiled as one function (flatten): this is the loop that small messages of a stream go through.
 */
__attribute__((flatten)) uint32_t receiver_run_on(struct receiver *r, struct landing_run *run,
                                                  const struct landing *landing,
                                                  struct landing_walk *walk)
{
    uint32_t size = run->length + (uint32_t)TRAILER_BYTES;
    uint32_t pairs = (uint32_t)lesser(landing_pairs(landing, walk, size), messages_behind(r, run));
    const struct iovec *pair = &landing->iov[walk->piece];
    uint32_t taken = 0;
    for (; taken < pairs && landing_fills_pair(landing, pair, size) &&
           take(r, run, pair[0].iov_base, pair[1].iov_base);
         taken++)
        pair += 2;
    landing_skip_pairs(walk, size, taken);
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
