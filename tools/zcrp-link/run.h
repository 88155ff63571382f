/* A run: the link is laid, B starts, then A; packets are carried until A is over and B had its
 * time.
 *
 *      B starts -> listens, or --wait is over -> A starts -> A is over -> --linger is over, or B ->
 *      B is asked to end (SIGTERM) -> grace is over, or B -> everything is killed
 *
 * A signal that asks zcrp-link to end asks both commands; then they have the same grace. */
#ifndef LINK_RUN_H
#define LINK_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "commands.h"
#include "options.h"
#include "relay.h"

/* Returns the status for exit: A's unless 0, else B's if it ended by itself; 128 + signal if one
 * ended the run; -1 with a complaint if there was no run. */
int run_link(const struct options *options);

/* Whether a program can be called: what listens in the network namespace of this process. */

/* Is there a TCP socket that listens, or a UDP socket with a port? With `port` > 0 only that one
 * counts, with 0 any. */
bool ready_listens(unsigned port);

/* The same for one table of the kernel, as in /proc/net/tcp. */
bool ready_has_port(FILE *table, bool is_tcp, unsigned port);

/* What the link did: lines on standard error, and JSON. */

/* Before the commands run, for theirs may be a long time: whether the JSON can be written where the
 * options want it. 0, or -1 with a complaint. */
int summary_check(const struct options *options);

/* As the options want it. 0, or -1 with a complaint. */
int summary_tell(const struct options *options, const struct relay *relay,
                 const struct commands *commands);

#endif
