/* The hosts whose handshakes failed of late. Each handshake costs its host one of
 * those that it has at once; one that ends well is given back, and time gives back one each
 * HANDSHAKE_PAUSE. A host that has none left waits. So what strangers make this process compute has
 * a bound for each of them, and a host whose handshakes end well has none.
 *
 *     charge, charge, charge ...        in debt until now + n * HANDSHAKE_PAUSE
 *     |<--------- at most at_once * HANDSHAKE_PAUSE -------->|  then: wait
 *
 * It remembers SOURCES_MOST hosts; beyond these it forgets the one with the least debt. Time is an
 * argument. Cannot fail; O(SOURCES_MOST). */
#ifndef ZCRP_HANDSHAKE_SOURCES_H
#define ZCRP_HANDSHAKE_SOURCES_H

#include "core/instant.h"

#include <stdint.h>

enum { SOURCES_MOST = 256 };

/* A host whose handshake has failed waits for so long, in the long run, before the next one. */
#define HANDSHAKE_PAUSE (50 * MILLISECOND)

struct source {
    uint64_t host;     /* its number (address_host_number) */
    instant debt_ends; /* in the past: it has no debt, and the entry is free */
};

/* All zero: nobody has failed. */
struct sources {
    struct source source[SOURCES_MOST];
};

/* When the host's debt ends; not after `now` if it has none. */
instant sources_debt(const struct sources *s, uint64_t host, instant now);

/* When the host may begin the next handshake, if `at_once` are had at once; not after `now`: it may
 * at once. */
instant sources_ready(const struct sources *s, uint64_t host, uint32_t at_once, instant now);

/* It begins one; one that it began has ended well. */
void sources_charge(struct sources *s, uint64_t host, instant now);
void sources_refund(struct sources *s, uint64_t host);

#endif
