/* A bad network in front of a listener: a thread that passes the datagrams of any number of callers
 * on to it, and its own back to them. Each is late by the same time; some are lost, come twice, or
 * come later than others. Each socket that calls is a peer of its own to the listener.
 *
 *     caller, caller, ...  <--->  [near | a socket for each]  <--->  listener
 *
 * Chances are in a thousand, for each datagram of both directions. What happens to the n-th
 * datagram that comes is decided by the seed; which one is the n-th is the machine's doing. */
#ifndef ZCRP_TESTS_SUPPORT_CROSSING_H
#define ZCRP_TESTS_SUPPORT_CROSSING_H

#include <stdbool.h>
#include <stdint.h>

struct crossing_faults {
    unsigned lost;
    unsigned doubled;
    unsigned late;    /* late by late_ns more */
    int64_t delay_ns; /* of each */
    int64_t late_ns;
    bool
        is_one; /* callers, one after the other, have one address: each takes over the last one's */
};

struct crossing;

/* To the listener at this port of 127.0.0.1. A failing call ends the program. */
struct crossing *crossing_open(const char *port, const struct crossing_faults *faults,
                               uint64_t seed);

/* The port of 127.0.0.1 to call instead. */
const char *crossing_port(const struct crossing *c);

/* Ends the thread, and prints what it has done. */
void crossing_close(struct crossing *c);

#endif
