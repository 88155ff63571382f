/* A window, Reno's if nothing else is said, and what the sender tells it. */
#ifndef ZCRP_TESTS_UNIT_CONGESTION_RIG_H
#define ZCRP_TESTS_UNIT_CONGESTION_RIG_H

#include "../../support/suite.h"
#include "core/congestion/congestion.h"

enum { UNIT = 1000, MOST = 1000 * UNIT };

static struct congestion c;

static inline void init(enum congestion_kind kind, uint64_t most)
{
    congestion_init(&c, kind, UNIT, most, 1);
}

static inline void setup(void)
{
    init(CONGESTION_RENO, MOST);
}

static inline void acknowledge_as(uint64_t bytes, instant sent, bool was_limited)
{
    struct congestion_ack ack = {.now = sent + 1,
                                 .bytes = bytes,
                                 .recent = sent >= c.recovery ? bytes : 0,
                                 .was_limited = was_limited};
    congestion_on_acknowledged(&c, &ack);
    congestion_check(&c);
}

static inline void acknowledge(uint64_t bytes, instant sent)
{
    acknowledge_as(bytes, sent, true);
}

static inline void lose(instant now, instant sent)
{
    struct congestion_loss loss = {.now = now, .sent = sent, .bytes = UNIT};
    congestion_on_lost(&c, &loss);
    congestion_check(&c);
}

static inline void persist(instant now)
{
    congestion_on_persistent(&c, now, now - 1);
    congestion_check(&c);
}

#endif
