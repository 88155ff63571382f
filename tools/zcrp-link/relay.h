/* Carries packets between two wires, in real time: reads what comes, asks the path of that
 * direction what happens to it, writes what has come out.
 *
 *      wire A --read--> path A to B --write--> wire B
 *             <-write-- path B to A <--read---
 *
 * It wakes up for each packet that comes or is due; while there are many, for several at a time,
 * and a little late. */
#ifndef LINK_RELAY_H
#define LINK_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "ends.h"
#include "path.h"

enum { RELAY_BATCH = 64 }; /* packets read in a row from one wire */

struct relay {
    int wire[ENDS];
    struct packets packets;
    struct path path[ENDS]; /* by the end that sends */
    uint64_t refused[ENDS]; /* packets that the wire did not take, by the end that sent */
    bool is_readable[ENDS];
    bool is_spinning;     /* never sleeps */
    instant counted_from; /* the last while in which packets were counted */
    unsigned counted;     /* since then */
    bool is_busy;         /* many were, in the while before */
};

/* The wires stay the caller's. 0, or -1 with a complaint. */
int relay_init(struct relay *r, const int wire[ENDS], const struct conditions conditions[ENDS],
               uint64_t mtu, uint64_t seed);
void relay_fini(struct relay *r);

/* From now on the process is woken as exactly as the system can: without slack, and, where it has
 * the right to, before all others. What it forks from now on is not. */
void relay_hurry(void);

/* Carries packets until there is something to read from `other`, then true, or until that time. */
bool relay_run(struct relay *r, int other, instant until);

#endif
