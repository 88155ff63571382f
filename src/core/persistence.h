/* Persistent congestion (RFC 9002, 7.6): transmissions one after the other, none of which arrived,
 * that were sent over a longer time than a few probe timeouts. Then what was known of the path is
 * of no use any more.
 *
 *      arrived  lost  lost  lost  lost  arrived      sequence numbers
 *              |-- run: begin ... end --|            when the first and the last was sent
 *
 * What was repeated to have it answered counts as lost here as soon as later numbers are
 * acknowledged. What arrives after all cuts the run, and of its parts the longer is kept; if that
 * is not long enough, congestion was not persistent.
 *
 * Numbers must be told in ascending order. One that was never sent ends a run as well.
 *
 * I1  a run that is empty has first == last; one that is not has begin <= end. */
#ifndef ZCRP_CORE_PERSISTENCE_H
#define ZCRP_CORE_PERSISTENCE_H

#include "instant.h"

#include <stdbool.h>
#include <stdint.h>

struct lost_run {
    uint64_t first, last; /* numbers [first, last) */
    instant begin, end;   /* when its first was sent and its last, or one just beside */
};

struct persistence {
    struct lost_run run;   /* that lasts */
    struct lost_run found; /* that was long enough, or empty: */
    duration least;        /* longer than this */
};

/* No run, and nothing found. */
void persistence_init(struct persistence *p);

/* This transmission was given up, or repeated because nothing came back. */
void persistence_on_lost(struct persistence *p, uint64_t seq, instant sent);

/* And has arrived after all; true if what was found turns out not to have been. */
bool persistence_on_arrived(struct persistence *p, uint64_t seq, instant sent);

/* Is there a run longer than `least`, all of it before `newest`, which has arrived? True once for
 * each run. */
bool persistence_find(struct persistence *p, uint64_t newest, duration least);

/* CHECKs I1 of both runs. */
void persistence_check(const struct persistence *p);

#endif
