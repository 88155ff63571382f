/* A translator of addresses (NAT) in front of a listener on this machine: a thread that passes UDP
 * datagrams on, and may forget its mapping, as a NAT does that was started anew.
 *
 *     caller <---> [near | nat | outside] <---> listener
 *
 * What the listener sends to a mapping that was forgotten is refused. There is a new one as soon as
 * the caller sends something. */
#ifndef ZCRP_TESTS_SUPPORT_NAT_H
#define ZCRP_TESTS_SUPPORT_NAT_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nat_datagram;

/* Sees what passes, from the thread; `is_outward`: from the caller. False: it is dropped. */
typedef bool (*nat_see)(void *context, bool is_outward, const uint8_t *datagram, size_t size);

struct nat {
    int64_t delay_ns;
    nat_see see; /* NULL: nobody looks */
    void *context;
    char port[8];                /* where callers connect to, at 127.0.0.1 */
    struct sockaddr_in listener; /* where it passes that on to, */
    struct sockaddr_in caller;   /* and whom it answers; port 0: nobody yet */
    int near;
    int outside; /* -1: there is no mapping */
    _Atomic bool must_forget;
    _Atomic bool is_over;
    _Atomic uint64_t passed[2];
    int64_t slowest_ns; /* that a datagram took, from before it was seen; once nobody runs it */
    struct nat_datagram *first, **last; /* under way */
    uint8_t *buffer;
    pthread_t thread;
};

/* In front of this port of 127.0.0.1; each datagram takes so long. */
void nat_open(struct nat *n, int port, int64_t delay_ns);
void nat_run(struct nat *n);
void nat_close(struct nat *n);

/* The mapping is gone when this returns. */
void nat_forget(struct nat *n);

/* The port that the listener sees; 0: there is no mapping. */
int nat_port(const struct nat *n);

#endif
