/* The bytes that posted messages still miss: for each message a chain of half-open ranges, all
 * chains out of one pool of bounded size.
 *
 *     message buffer   0 ......................................... size
 *     missing               [a,b)        [c,d)          [e,size)
 *
 * A message in good order has one range. Each loss splits one off. The pool bounds how many there
 * may be over all messages, and MISSING_LINKS how many of one, because a unit out of order has to
 * be found among them. A unit that would need one more is refused (its sender repeats it). A chain
 * that misses all of its bytes has a node that is only counted: it is written when a part arrives.
 * A small message arrives whole, and never needs it.
 *
 * I1  ranges of a chain ascend, do not touch, and are not empty; `links` is how many there are, at
 *     most MISSING_LINKS.
 * I2  every node of the pool that was ever used is in exactly one chain or in the free list.
 * I3  used counts the nodes in chains, and one for each chain that misses all of its bytes. So such
 *     a chain always gets its node. */
#ifndef ZCRP_CORE_MISSING_H
#define ZCRP_CORE_MISSING_H

#include "intervals.h"

enum {
    MISSING_NONE = -1,
    MISSING_LINKS = 1024, /* ranges of one chain, at most: as many as acknowledgements tell apart */
};

struct missing_node {
    struct interval range;
    int32_t next; /* index in the pool, or MISSING_NONE */
};

struct missing_pool {
    struct missing_node *node;
    int32_t free;      /* head of the free list */
    uint32_t fresh;    /* nodes from here on were never used, and are free as well */
    uint32_t capacity; /* most nodes */
    uint32_t used;     /* at most `capacity`, see I3 */
    uint64_t refused;  /* times the pool, or a chain, had no room */
    struct table table;
};

/* One message's chain. */
struct missing {
    int32_t first;  /* MISSING_NONE: nothing is missing; or all bytes from 0 on, if there are any */
    int32_t hint;   /* the node before the one last cut, MISSING_NONE if that was the first; where
                       the search for the next unit in order begins */
    uint64_t bytes; /* sum of the ranges */
    uint32_t links; /* ranges that are written */
};

/* An empty pool in a table of struct missing_node. Cannot fail. */
void missing_pool_init(struct missing_pool *pool, struct table nodes);

/* Starts a chain that misses [0, size). False when the pool is exhausted; the chain then misses
 * nothing. size 0 needs no node. */
bool missing_open(struct missing_pool *pool, struct missing *chain, uint64_t size);

/* Gives the chain's nodes back; it then misses nothing. */
void missing_close(struct missing_pool *pool, struct missing *chain);

/* The first missing range that ends behind `from`, cut to start at `from` at the earliest; an
 * empty one {0, 0} when there is none. */
struct interval missing_next(const struct missing_pool *pool, const struct missing *chain,
                             uint64_t from);

/* Takes [range) out; what of it is not missing does not matter. False, with nothing changed but
 * the count of refusals, if that needs a node and there is none, or the chain has MISSING_LINKS.
 * first <= last (CHECKed). O(1) for a range that follows the last one taken out, or begins behind a
 * gap after that, else O(links). */
bool missing_remove(struct missing_pool *pool, struct missing *chain, struct interval range);

/* Moves a pool of which nothing is used back to where it began. */
void missing_pool_shrink(struct missing_pool *pool);

/* CHECKs I1 for the chain, the sum, and that the hint is in the chain. O(links). */
void missing_check(const struct missing_pool *pool, const struct missing *chain);

/* CHECKs that what was used and is free is in the free list: the pool's half of I2. O(capacity). */
void missing_pool_check(const struct missing_pool *pool);

#endif
