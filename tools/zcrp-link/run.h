/* A run: the link is laid, B starts, then A; packets are carried until A is over and B had its
 * time.
 *
 *      B starts -> listens, or --wait is over -> A starts -> A is over -> --linger is over, or B ->
 *      B is asked to end (SIGTERM) -> grace is over, or B -> everything is killed
 *
 * A signal that asks zcrp-link to end asks both commands; then they have the same grace. */
#ifndef LINK_RUN_H
#define LINK_RUN_H

#include "options.h"

/* Returns the status for exit: A's unless 0, else B's if it ended by itself; 128 + signal if one
 * ended the run; -1 with a complaint if there was no run. */
int run_link(const struct options *options);

#endif
