/* A bad network in front of a listener: a thread that passes the datagrams of any number of callers
 * on to it, and its own back to them. Each is late by the same time; some are lost, come twice, or
 * come later than others. Each socket that calls is a peer of its own to the listener.
 *
 *     caller, caller, ...  <--->  [near | a socket for each]  <--->  listener
 *
 * Chances are in a thousand, for each datagram of both directions. What happens to the n-th
 * datagram that comes is decided by the seed; which one is the n-th is the machine's doing.
 *
 * It may also forget the sockets, as a NAT does that was started anew. What the listener sends to a
 * socket that was forgotten is refused. */
#ifndef ZCRP_TESTS_SUPPORT_CROSSING_H
#define ZCRP_TESTS_SUPPORT_CROSSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sees what comes, from the thread; `is_outward`: from a caller. False: it is lost. */
typedef bool (*crossing_see)(void *context, bool is_outward, const uint8_t *datagram, size_t size);

struct crossing_faults {
    unsigned lost;
    unsigned doubled;
    unsigned late;    /* late by late_ns more */
    int64_t delay_ns; /* of each */
    int64_t late_ns;
    bool
        is_one; /* callers, one after the other, have one address: each takes over the last one's */
    crossing_see see; /* NULL: nobody looks */
    void *context;
};

struct crossing;

/* To the listener at this port of 127.0.0.1. A failing call ends the program. */
struct crossing *crossing_open(int port, const struct crossing_faults *faults, uint64_t seed);

/* The port of 127.0.0.1 to call instead. */
const char *crossing_port(const struct crossing *c);

/* Each caller has another socket when this returns. */
void crossing_forget(struct crossing *c);

/* The port that the listener sees of the caller that came last. */
int crossing_mapped(const struct crossing *c);

/* Sends that caller a datagram, at once. Only for `see`. */
void crossing_tell(const struct crossing *c, const uint8_t *datagram, size_t size);

/* Ends the thread, and prints what it has done. How long a datagram was here at most, in ns, from
 * before it was seen. */
int64_t crossing_close(struct crossing *c);

#endif
