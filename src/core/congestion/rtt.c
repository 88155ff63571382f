#include "rtt.h"

#define GRANULARITY MILLISECOND  /* RFC 9002, 6.1.2 */
#define PROBE_MOST (60 * SECOND) /* RFC 6298, 2.5 */

void rtt_init(struct rtt *rtt, duration initial)
{
    *rtt = (struct rtt){.latest = initial, .smoothed = initial, .variation = initial / 2};
}

static duration longer(duration a, duration b)
{
    return a > b ? a : b;
}

/* RFC 9002, 5.2 and 5.3: the first sample is taken as it is. */
static void first_sample(struct rtt *rtt, duration sample)
{
    rtt->smoothed = sample;
    rtt->variation = sample / 2;
    rtt->lowest = sample;
    rtt->has_sample = true;
}

duration rtt_sample(struct rtt *rtt, duration sample, duration held)
{
    if (sample <= 0)
        return 0;
    rtt->latest = sample;
    if (!rtt->has_sample) {
        first_sample(rtt, sample);
        return sample;
    }
    if (sample < rtt->lowest)
        rtt->lowest = sample;
    if (sample - rtt->lowest >= held) /* RFC 9002, 5.3 */
        sample -= held;
    duration error = sample - rtt->smoothed;
    duration deviation = error < 0 ? -error : error;
    rtt->variation += (deviation - rtt->variation) / 4; /* first this: RFC 6298, 2.3 */
    rtt->smoothed += error / 8;
    return sample;
}

duration rtt_probe_timeout(const struct rtt *rtt, duration held_most, unsigned backoff)
{
    duration timeout = rtt->smoothed + longer(4 * rtt->variation, GRANULARITY) + held_most;
    for (; backoff > 0 && timeout < PROBE_MOST; backoff--)
        timeout *= 2;
    return timeout < PROBE_MOST ? timeout : PROBE_MOST;
}

duration rtt_loss_delay(const struct rtt *rtt)
{
    duration round_trip = longer(rtt->smoothed, rtt->latest);
    return longer(round_trip + round_trip / 8, GRANULARITY);
}
