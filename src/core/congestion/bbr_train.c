#include "congestion.h"

enum { UNITS_LEAST = 16 };

static const duration GAP = 6 * MILLISECOND;
static const duration SENT_LEAST = 2 * MILLISECOND; /* more than a burst and a late thread */
static const duration LEAST = 6 * MILLISECOND;

static void begin(struct bbr_train *t, const struct congestion_ack *ack)
{
    *t = (struct bbr_train){
        .sent = ack->sent, .back = ack->now, .newest = ack->sent, .is_begun = true};
}

static uint64_t rate_of(uint64_t bytes, duration time)
{
    return bytes * (uint64_t)SECOND / (uint64_t)time;
}

bool bbr_train_on_acknowledged(struct bbr_train *t, const struct congestion_ack *ack, uint64_t unit,
                               struct bbr_density *density)
{
    if (!t->is_begun || ack->sent < t->newest || ack->sent - t->newest > GAP) {
        begin(t, ack);
        return false;
    }
    t->newest = ack->sent;
    t->bytes += ack->bytes;
    duration sent = ack->sent - t->sent;
    duration back = ack->now - t->back;
    if (t->bytes < UNITS_LEAST * unit || sent < SENT_LEAST || back <= 0 ||
        (sent < LEAST && back < LEAST))
        return false;
    *density =
        (struct bbr_density){.sent = rate_of(t->bytes, sent), .back = rate_of(t->bytes, back)};
    begin(t, ack);
    return true;
}
