/* Small messages that follow on each other. */
#include "core/number.h"
#include "receiver_land.h"

/* Does the run go on with this message of the table? All of it is missing, and its unit lies there.
 */
static bool continues(const struct landing_run *run, const struct message_in *message,
                      const uint8_t *data)
{
    return message->state == MESSAGE_IN_POSTED && !message->is_length_known &&
           message->missing.bytes == message->size && run->length <= message->size &&
           message->pieces == NULL && data == message->buffer;
}

/* Ends the next `count` messages of the run. */
static void end_messages(struct receiver *r, struct landing_run *run, uint32_t count)
{
    messages_in_end_row(&r->messages, run->number, count, run->length);
    run->number += count;
    run->units += count;
    run->size = messages_in_at(&r->messages, run->number - 1)->size;
}

/* Takes a unit of the run's length that has this trailer, and whose data lies there, if it
 * continues the run. */
static bool take(struct receiver *r, struct landing_run *run, const uint8_t *data,
                 const uint8_t trailer[TRAILER_BYTES])
{
    if (!continues(run, messages_in_at(&r->messages, run->number), data) ||
        !trailer_row_take(&run->next, trailer))
        return false;
    end_messages(r, run, 1);
    return true;
}

/* How many of so many pairs of pieces have units that continue the run. It expects the one behind
 * them then. */
static uint32_t foresee(const struct receiver *r, struct landing_run *run,
                        const struct landing *landing, const struct iovec *pair, uint32_t pairs)
{
    uint32_t size = run->length + (uint32_t)TRAILER_BYTES;
    struct trailer_row next = run->next;
    uint32_t count = 0;
    for (; count < pairs && landing_fills_pair(landing, pair, size) &&
           continues(run, messages_in_at(&r->messages, run->number + count), pair[0].iov_base) &&
           trailer_row_take(&next, pair[1].iov_base);
         count++)
        pair += 2;
    run->next = next;
    return count;
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
        !segment_fills_piece(segment) || !take(r, run, segment->data, segment->tail))
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
    uint32_t taken = foresee(r, run, landing, &landing->iov[walk->piece], pairs);
    if (taken == 0)
        return 0;
    end_messages(r, run, taken);
    landing_skip_pairs(walk, size, taken);
    if (landing->ecn[walk->opening] == LANDING_ECN_CONGESTED)
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
