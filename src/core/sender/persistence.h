/* Persistent congestion (RFC 9002, 7.6): transmissions one after the other, none of which arrived,
 * that were sent over a longer time than a few probe timeouts. Then knowledge of the path is
 * out of date.
 *
 *     acknowledgement     ++++++------------------+++      sequence numbers
 *     marks                .   .    .   .    .     .       when some of them were sent
 *                             |-- so long? ---|
 *
 * The intervals of an acknowledgement say it by themselves, whatever became of the data. When
 * transmissions were sent is known by marks that are a step of time apart, and taken so that no
 * time looks longer than it was. Numbers that never left, because they were left out or the channel
 * did not take them, are no transmissions: those before a mark are taken for the one that it marks,
 * where a gap begins with them, and for the one before them where it ends. An acknowledgement that
 * comes later may know that some of them arrived: if what is left is not long enough, congestion
 * was not persistent.
 *
 * I1  marks ascend in numbers and time. */
#ifndef ZCRP_CORE_PERSISTENCE_H
#define ZCRP_CORE_PERSISTENCE_H

#include "core/adt/intervals.h"
#include "core/instant.h"

#include <stdbool.h>

enum { PERSISTENCE_MARKS = 64 };

struct persistence {
    struct {
        uint64_t seq;
        instant at;
        duration step;   /* until the next mark, at most, if sending went on */
        uint64_t unsent; /* from this number on up to `seq` none left */
    } mark[PERSISTENCE_MARKS];
    uint64_t marks;         /* so far; the last ones are kept, */
    uint64_t oldest;        /* from this one on */
    struct interval unsent; /* numbers in a row that never left, the newest */
    struct interval found;  /* persistent congestion; or empty: none that may prove not to be */
    duration least;         /* that it lasted longer than */
};

/* The news of one acknowledgement, collected gap by gap. */
struct persistence_search {
    uint64_t known;        /* the highest number that had arrived before */
    uint64_t newest;       /* and has now */
    instant overdue;       /* what was sent later may still arrive */
    duration least;        /* persistent congestion lasts longer */
    struct interval found; /* such, and new; or empty */
    instant end;           /* when the last of it was sent, at the earliest */
    duration missing;      /* the longest part of the one before that has not arrived */
};

enum persistence_verdict {
    PERSISTENCE_NO_NEWS,
    PERSISTENCE_FOUND, /* once for each time */
    PERSISTENCE_NOT,   /* what was found last was not */
};

/* No marks, nothing found. */
void persistence_init(struct persistence *p);

/* Numbers from `seq` on are sent now, and a round trip is known. */
void persistence_on_sent(struct persistence *p, uint64_t seq, instant now, duration step);

/* The numbers [first, last), the newest so far, never left; on_sent may have said that they did. */
void persistence_on_unsent(struct persistence *p, uint64_t first, uint64_t last);

/* Nothing with these numbers has arrived, says the acknowledgement. O(1) for most. */
void persistence_on_gap(const struct persistence *p, struct persistence_search *search,
                        struct interval gap);

/* All its gaps were told; `first` is the lowest number that it says something of. */
enum persistence_verdict persistence_conclude(struct persistence *p,
                                              const struct persistence_search *search,
                                              uint64_t first);

/* CHECKs I1. */
void persistence_check(const struct persistence *p);

#endif
