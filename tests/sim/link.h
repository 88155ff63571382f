/* One direction of a network, in virtual time. Everything that can happen to a datagram is a field
 * of the conditions; they combine, and may be changed while datagrams are under way.
 *
 *     send -> [path there? loss, mask, MTU] -> [queue, rate] -> [delay, jitter, hold back] ->
 * deliver
 *                                 \-> copy, replay, forgery ------------^
 *
 * I1  a datagram is delivered with the bytes it was sent with, unless corruption is undetected.
 * I2  what a seed and the calls determine is always the same. */
#ifndef ZCRP_TESTS_SIM_LINK_H
#define ZCRP_TESTS_SIM_LINK_H

#include "circuit.h"
#include "core/instant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINK_RECORDS = 64, LINK_MTUS = 3 };

struct datagram {
    instant due;
    uint64_t order; /* of the queueing; settles ties */
    uint32_t size;
    bool is_marked;  /* it met congestion */
    bool is_refusal; /* no datagram, but a message of ICMP: nobody listens there */
    uint8_t bytes[];
};

/* From then on datagrams that are larger vanish. */
struct mtu_from {
    instant at;
    uint32_t bytes; /* 0: this entry says nothing */
};

struct conditions {
    uint32_t loss_permille;
    uint64_t lost_mask;  /* bit k: datagram k is lost, counted from the first ever */
    uint32_t lose_every; /* with 2 every second one is lost; 0 none */
    instant lose_from;   /* but none before */
    duration outage;     /* the first so many ns of each outage_every are without a path */
    duration outage_every;
    uint32_t mtu;                    /* larger datagrams vanish; 0: no limit */
    struct mtu_from mtus[LINK_MTUS]; /* in place of it, in the order of time */
    uint64_t bytes_per_second;       /* 0: no limit */
    bool loses_behind;               /* it, not before: what chance takes has used it */
    uint32_t queue_bytes; /* more than so many before the rate's bottleneck: the last is lost */
    duration delay;
    duration jitter;           /* added to it, at most; order is not kept */
    uint32_t reorder_permille; /* so many are held back */
    uint32_t reorder_by;       /* until so many have overtaken; */
    instant reorder_until;     /* from then on none is; 0: always */
    uint32_t duplicate_permille;
    uint64_t duplicate_mask;   /* bit k: datagram k is duplicated, counted from the first ever */
    uint32_t replay_permille;  /* an old datagram comes again */
    uint32_t flood_types;      /* bit k: datagrams of type k come again and again, */
    uint32_t flood_copies;     /* so often, */
    duration flood_every;      /* one every so many ns */
    uint32_t forge_permille;   /* a stranger sends the like of it, who cannot read what passes */
    uint32_t corrupt_permille; /* bits are flipped, and */
    bool is_undetected;        /* the checksum does not find it; otherwise it is a loss */
    struct aal5_faults cells;  /* of a circuit, from the beginning on; none: it is not one */
};

struct link_counters {
    uint64_t sent, bytes, lost, delivered, corrupted, duplicated, replayed, forged, held;
    uint64_t flooded, flooded_bytes;
    uint64_t largest_queue; /* datagrams under way at a time */
    duration waited;        /* before the rate's bottleneck, all together */
};

typedef void (*link_deliver)(void *to, const struct datagram *datagram);

/* Told of each datagram sent, and whether it is lost. */
typedef void (*link_witness)(void *witness, const uint8_t *bytes, uint32_t size, bool is_lost);

struct link {
    struct conditions conditions;
    struct circuit *circuit; /* or NULL */
    struct link_counters counters;
    uint64_t *random; /* the world's */
    link_deliver deliver;
    void *to;
    link_witness witness; /* or NULL */
    void *witness_of;
    struct datagram **heap; /* under way, the earliest first */
    size_t count, room;
    uint64_t orders;
    instant bottleneck_free; /* when the rate's bottleneck has passed all that waits, */
    instant *bottleneck;     /* or another link's, if both share one */
    struct datagram *held;   /* back, or NULL */
    uint32_t held_for;       /* datagrams that have yet to overtake it */
    struct datagram *record[LINK_RECORDS];
    uint64_t recorded;
};

void link_init(struct link *link, const struct conditions *conditions, uint64_t *random,
               link_deliver deliver, void *to);
void link_fini(struct link *link);

/* One datagram enters; its bytes are copied. */
void link_send(struct link *link, instant now, const uint8_t *bytes, uint32_t size);

/* A host says that nobody listens at the port which something was for. It comes as others do. */
void link_refuse(struct link *link, instant now);

/* What is under way never arrives. */
void link_lose_all(struct link *link);

/* When the next datagram comes out; NEVER if none is under way. */
instant link_next_at(const struct link *link);

/* Delivers the earliest datagram, which must be due. */
void link_run(struct link *link);

/* True if there is a path at that time. */
bool link_is_up(const struct link *link, instant now);

#endif
