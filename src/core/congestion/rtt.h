/* Round-trip time and the timeouts that follow from it (RFC 6298; RFC 9002, 5 and 6.2). Samples
 * are never ambiguous: each transmission has its own sequence number, and the acknowledgement says
 * how long the receiver held it back. */
#ifndef ZCRP_CORE_RTT_H
#define ZCRP_CORE_RTT_H

#include "core/instant.h"

#include <stdbool.h>

struct rtt {
    duration latest;
    duration smoothed;
    duration variation;
    duration lowest; /* of all samples; meaningless before the first */
    bool has_sample;
};

/* No sample yet; `initial` is the round trip that the timeouts assume until there is one. */
void rtt_init(struct rtt *rtt, duration initial);

/* One round trip of `sample`, of which the receiver says it held the answer for `held` (not
 * negative). Returns what is left for the path; 0: nothing was learnt. Samples that are not
 * positive are ignored. `held` is not believed, and not subtracted, where that would leave less
 * than the lowest sample seen; nor in the first sample. */
duration rtt_sample(struct rtt *rtt, duration sample, duration held);

/* How long to wait for an answer to what was just sent before a probe goes out: smoothed +
 * max(4 x variation, 1 ms) + `held_most`, doubled `backoff` times, at most 60 s. */
duration rtt_probe_timeout(const struct rtt *rtt, duration held_most, unsigned backoff);

/* How long after it was sent a unit counts as lost, once a later one has been acknowledged:
 * 9/8 of the larger of smoothed and latest, at least 1 ms (RFC 9002, 6.1.2). */
duration rtt_loss_delay(const struct rtt *rtt);

#endif
