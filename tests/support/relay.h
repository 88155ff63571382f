/* A bad network between two ends on this machine: a thread that passes UDP datagrams on, and loses,
 * doubles, holds back and damages some of them. What it does to the n-th datagram of a direction is
 * decided by the seed; when it comes is the machine's doing.
 *
 *     ends.sender  <--->  [near | relay | far]  <--->  ends.receiver
 */
#ifndef ZCRP_TESTS_SUPPORT_RELAY_H
#define ZCRP_TESTS_SUPPORT_RELAY_H

#include "loopback.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { RELAY_HELD = 4096 }; /* datagrams held back at most; more are passed on */

/* Chances are in a thousand, for each datagram of both directions. */
struct relay_faults {
    unsigned lost;
    unsigned doubled;
    unsigned late;    /* held back for up to late_ns, so that others overtake it */
    unsigned damaged; /* a bit is flipped */
    int64_t late_ns;
    int64_t delay_ns; /* every datagram is held back so long */
};

struct relay_datagram;

struct relay {
    struct loopback ends; /* the sockets of the two ends; the test's to close */
    struct relay_faults faults;
    _Atomic bool is_cut; /* nothing passes any more */
    _Atomic bool is_over;
    _Atomic uint32_t mtu; /* larger datagrams vanish; 0: none does */
    _Atomic uint64_t passed, lost;
    int near, far;
    uint64_t random[2]; /* by direction: 0 from the sender */
    struct relay_datagram *held[RELAY_HELD];
    unsigned held_count;
    uint8_t *buffer;
    pthread_t thread;
};

/* Makes the sockets and starts the thread. A program that forks does so between relay_open and
 * relay_run. */
void relay_open(struct relay *r, const struct relay_faults *faults, uint64_t seed);
void relay_run(struct relay *r);

/* Ends the thread; closes the relay's own sockets. */
void relay_close(struct relay *r);

#endif
