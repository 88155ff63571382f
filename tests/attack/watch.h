/* Counts what arrives on one side of the stage, whomever it is for: a packet socket on the cable.
 * Only UDP that the other side sent is seen, over IPv4 or over IPv6, as the stage is. */
#ifndef ZCRP_TESTS_ATTACK_WATCH_H
#define ZCRP_TESTS_ATTACK_WATCH_H

#include "raw.h"

enum { WATCH_BYTES = 2048, WATCH_STRANGERS = 65536 };

struct watch {
    int fd;
    uint8_t packet[WATCH_BYTES];
};

/* One datagram. Of one that is longer than 2,000 bytes only the beginning is there. */
struct watch_seen {
    struct raw_end from, to;
    const uint8_t *payload; /* valid until the next is looked at */
    size_t bytes;
};

/* What each of the addresses STAGE_STRANGERS + i was sent. */
struct watch_tally {
    uint32_t datagrams[WATCH_STRANGERS];
    uint32_t bytes[WATCH_STRANGERS]; /* of payload */
};

void watch_open(struct watch *watch, const struct stage *stage, enum stage_side side);
void watch_close(struct watch *watch);

/* The next datagram, if one waits. */
bool watch_next(struct watch *watch, struct watch_seen *seen);

/* Adds all that waits to the tally; returns the datagrams. */
uint64_t watch_count(struct watch *watch, struct watch_tally *tally);

#endif
