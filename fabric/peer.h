/* Another endpoint, or this one itself: an address, and one way in each direction. */
#ifndef FABRIC_PEER_H
#define FABRIC_PEER_H

#include "address.h"
#include "list.h"

#include <rdma/fabric.h>

struct ep;
struct way;

struct peer {
    struct list in; /* of ep->peers */
    struct address address;
    fi_addr_t fi_addr; /* FI_ADDR_NOTAVAIL: it is in no address vector */
    bool is_known;     /* it is in one: the program may name it, so it stays */
    struct way *out;   /* what this end sends on. NULL: nothing, or it has ended */
    struct way *back;  /* what the peer sends on; as above */
    int lost;          /* a zcrp code: why; ZCRP_OK: it is not, or has answered or called since */
    int ways;          /* that know it, those that have ended and are not closed yet among them */
    int leaving;       /* ways of this end that have ended, and are not closed yet */
    int held;          /* messages of this peer that no receive was there for, */
    uint64_t held_bytes;
    uint32_t last; /* of these: the ones beyond the bounds (match.c) */
};

/* The peer with the address; it is made if there is none. NULL: no memory. */
struct peer *peer_at(struct ep *ep, const struct address *a);

/* The peer that the program means. NULL: there is no such address, or no memory. */
struct peer *peer_named(struct ep *ep, fi_addr_t number);

/* Frees it if nothing is left of it: strangers come and go, and addresses are removed. */
void peer_let_go(struct ep *ep, struct peer *p);

/* At the endpoint's end, when no way is left. */
void peer_free_all(struct ep *ep);

#endif
