/* How fast the path delivers (draft-cheng-iccrg-delivery-rate-estimation). What is sent notes how
 * much had been delivered by then; its acknowledgement tells how much was delivered since, and in
 * which time. Neither what was sent all at once nor acknowledgements that come all at once make the
 * path look faster than it is: the longer of both times counts.
 *
 * Notes are taken by the burst, and of many bursts in transit by several together, so that their
 * number is bounded:
 *
 *     sequence numbers   0 ... 44 45 ... 89 90 ...
 *     notes              [------][--------][----
 *
 * Notes of numbers that nobody will ask for any more are forgotten.
 *
 * I1  notes are in the order of their first numbers, which differ.
 * I2  delivered and lost never fall. */
#ifndef ZCRP_CORE_DELIVERY_H
#define ZCRP_CORE_DELIVERY_H

#include "core/adt/table.h"
#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    DELIVERY_NOTES = 256, /* at most: what is usual */
    DELIVERY_SHARE = 64,  /* a note for each so-many-th part of what is in transit */
};

/* The state of things when units from `first` on were sent. */
struct delivery_note {
    uint64_t first; /* sequence number */
    instant sent;
    instant first_sent;   /* when the unit was sent that was acknowledged last by then */
    instant delivered_at; /* when that was acknowledged */
    uint64_t delivered;   /* bytes */
    uint64_t lost;        /* bytes */
    uint64_t in_transit;  /* bytes, these included */
    bool is_limited;      /* by the application, or by the receiver: not by the path */
};

struct delivery {
    struct delivery_note *note; /* a ring in its table: note i at i modulo its size */
    uint64_t oldest, next;      /* notes, counted since the beginning */
    uint64_t delivered;         /* bytes acknowledged since the beginning */
    uint64_t lost;              /* bytes given up */
    instant delivered_at;
    instant first_sent;
    uint64_t fastest;       /* rate of late, bytes a second */
    uint64_t limited_until; /* `delivered` there: what was sent so far was too little; 0: was not */
    struct table table;
};

/* What the acknowledgement of one unit tells; all 0 if it tells nothing. */
struct delivery_sample {
    uint64_t rate;       /* bytes a second; 0: too short to tell */
    uint64_t bytes;      /* delivered between its sending and its acknowledgement */
    uint64_t lost;       /* and given up */
    uint64_t prior;      /* delivered in all when it was sent */
    uint64_t in_transit; /* then, itself included */
    bool is_limited;
    bool is_valid;
};

/* Nothing was sent. In a table for a ring (CHECKed) of struct delivery_note; when that is at its
 * largest the oldest note is forgotten. */
void delivery_init(struct delivery *d, struct table memory, instant now);

/* The next burst leaves alone: nothing is in transit. */
void delivery_on_begin(struct delivery *d, instant now);

/* Units from `first` on leave; with them `bytes` in `units` are in transit. */
void delivery_on_sent(struct delivery *d, instant now, uint64_t first, uint64_t bytes,
                      uint32_t units);

/* Nobody will ask for numbers below `first` any more. */
void delivery_forget(struct delivery *d, uint64_t first);

/* Moves notes that are few back to where they began. */
void delivery_shrink(struct delivery *d);

/* There was too little to send for the path, with this much in transit. */
void delivery_on_limited(struct delivery *d, uint64_t in_transit);

/* `bytes` were acknowledged, and `newest` was the newest of them. Rates over less than `least` are
 * not told: acknowledgements came together. NEVER: none is told. O(log notes). */
struct delivery_sample delivery_on_acknowledged(struct delivery *d, instant now, uint64_t bytes,
                                                uint64_t newest, duration least);

/* `bytes` sent under this number were given up: what is known of them, without a rate. */
struct delivery_sample delivery_on_lost(struct delivery *d, uint64_t bytes, uint64_t seq);

/* CHECKs I1. */
void delivery_check(const struct delivery *d);

#endif
