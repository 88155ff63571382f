/* Strangers: a thousand addresses that say all that one may think of to who has not met them. */
#ifndef ZCRP_TESTS_ATTACK_STRANGERS_H
#define ZCRP_TESTS_ATTACK_STRANGERS_H

#include "attack.h"

enum { STRANGERS_KINDS = 12 }; /* of datagrams */

struct strangers {
    struct raw raw;
    struct watch watch;
    struct watch_tally heard;       /* by them */
    uint32_t said[WATCH_STRANGERS]; /* by them, bytes */
    uint64_t random;
};

void strangers_open(struct strangers *s, const struct stage *stage);

/* One says a datagram of that kind; it leaves with the next ones, or with raw_flush. */
void strangers_say(struct strangers *s, struct raw_end from, unsigned kind);

/* A thousand addresses, one datagram after the other, every seventh from port 0. Ends when the
 * listener has accepted somebody: true. */
bool strangers_crowd(struct strangers *s, uint64_t count, const struct victim *listener);

/* Addresses that were sent more bytes than they said; and what was sent to all of them. */
unsigned strangers_amplified(const struct strangers *s, uint64_t *bytes, uint64_t *datagrams);

/* A hello whose tag and nonce are made of `nonce`. */
size_t strangers_hello(uint8_t *to, uint64_t nonce, uint64_t cookie, uint8_t flags);

#endif
