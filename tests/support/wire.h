/* The two ends of a transfer with a bad network between them (relay.h). */
#ifndef ZCRP_TESTS_SUPPORT_WIRE_H
#define ZCRP_TESTS_SUPPORT_WIRE_H

#include "ends.h"
#include "relay.h"

struct wire {
    struct relay relay;
    struct ends ends;
};

/* Opens both ends with these options, which have no keys. */
static inline void wire_open(struct wire *w, const struct relay_faults *faults,
                             const struct zcrp_options *options)
{
    relay_open(&w->relay, faults, 1998);
    w->ends = ends_open_at(&w->relay.ends, options, options);
    relay_run(&w->relay);
}

/* The confirmation of a close can be lost with nobody left to repeat it, so any code will do. */
static inline void wire_close(struct wire *w)
{
    (void)zcrp_close(w->ends.sender);
    (void)zcrp_close(w->ends.receiver);
    relay_close(&w->relay);
    loopback_close(&w->ends.sockets);
}

#endif
