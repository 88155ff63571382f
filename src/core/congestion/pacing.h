/* Pacing: bursts leave at the rate that congestion control says, not all at once.
 *
 *     bytes   ^            ....    rate x time + slack
 *             |        ....   /
 *             |    ....  ____/
 *             |....     |
 *             |   ______|          bytes sent, a burst at a time
 *             +--------------------> time
 *
 * A burst is what the rate carries in a millisecond, on a long path in an eighth of the round trip
 * up to two, at least two units; so a slow path never sees many at once. What fills a path whose
 * lowest round trip is below a millisecond is less than that burst: if it is no slow one (64 Mb/s),
 * nothing waits there, and pacing costs nothing.
 *
 * A thread that waits for `due` and wakes long after makes up for all of it, or a path between
 * starved threads would look slower each time; a host that was stopped for longer than
 * PACING_OVERSLEPT, or then sends nothing for as long, starts anew.
 *
 * I1  in any time t at most rate x (t + PACING_LATE + PACING_AHEAD) bytes leave, and one burst
 *     beside, and what was overslept before it, while the rate stays and no probe goes out. */
#ifndef ZCRP_CORE_PACING_H
#define ZCRP_CORE_PACING_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

#define PACING_LATE MILLISECOND              /* a late sender makes up for this, */
#define PACING_OVERSLEPT (100 * MILLISECOND) /* one that overslept for this, */
#define PACING_AHEAD (100 * MICROSECOND)     /* and who is awake goes on for so long */
#define PACING_BURST_TIME MILLISECOND        /* what a burst holds, by the rate, at least, */
#define PACING_BURST_MOST (2 * MILLISECOND)  /* and on a long path */
#define PACING_BURST_PART 8                  /* of the round trip */

struct pacing {
    uint64_t rate;  /* bytes a second; 0: does not wait */
    uint64_t burst; /* most bytes in a burst, unless one unit has more */
    instant due;    /* when what has left so far should have, at the rate */
    duration late;  /* overslept and not made up for yet */
    bool waits;     /* the next burst waits until `due` */
};

/* Does not wait, and has bursts of any size. */
void pacing_init(struct pacing *p, instant now);

/* From now on `rate` bytes a second (0: no pacing) in units of `unit` bytes, on a path whose lowest
 * round trip is `lowest` (0: not known), in bursts of what the rate carries in `most`, at most. */
void pacing_set(struct pacing *p, uint64_t rate, uint64_t unit, duration lowest, duration most);

/* How much time's worth a burst holds on a path whose lowest round trip is that (0, NEVER: not
 * known). */
duration pacing_burst_time(duration lowest);

/* May a burst leave now? If not, it waits from now on: `due` says until when. */
bool pacing_allows(struct pacing *p, instant now);

/* `bytes` leave. */
void pacing_on_sent(struct pacing *p, instant now, uint64_t bytes);

/* When it has waited long enough; NEVER if it does not wait. */
static inline instant pacing_deadline(const struct pacing *p)
{
    return p->waits ? p->due : NEVER;
}

/* Waits no more if it is time. */
void pacing_expire(struct pacing *p, instant now);

#endif
