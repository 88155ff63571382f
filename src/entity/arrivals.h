/* What an entity receives into: memory for arrivals, and how many receives its next plan opens.
 *
 * A sender receives one control datagram at a time. A receiver has a landing, planned anew for
 * every call.
 *
 * How many openings a plan has, and for how many units each, depends on how datagrams came:
 *
 *     datagrams come                     openings            units in each
 *     joined by the kernel (GRO)         one                 as many as a burst may have
 *     too large to be joined             OPENINGS_LARGE      the same
 *     each by itself                     LANDING_OPENINGS    one
 *
 * Nobody knows where a joined burst ends and the next begins, so a plan expects only one. A socket
 * without GRO never joins any. With GRO the path decides: a tunnel may hand over datagrams one by
 * one, and each of them would cost a plan for a whole burst, and a system call. So when
 * OPENINGS_ALONE in a row came alone, the plan expects single ones, until two come joined. All but
 * the first of those have to be moved: at most a burst, once in OPENINGS_ALONE datagrams.
 *
 * All but init cannot fail, and is O(openings). */
#ifndef ZCRP_ENTITY_ARRIVALS_H
#define ZCRP_ENTITY_ARRIVALS_H

#include "core/receiver/landing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OPENINGS_LARGE = 4,   /* one system call receives no more units of this size */
    OPENINGS_ALONE = 256, /* datagrams, each by itself */
};

struct openings {
    bool has_gro;
    uint32_t alone; /* datagrams that came by themselves since two were joined */
};

struct openings_choice {
    uint32_t openings; /* 1 .. LANDING_OPENINGS */
    uint32_t units;    /* 1 .. LANDING_UNITS */
};

void openings_init(struct openings *o, bool has_gro);

/* The channel has filled the landing, or nothing of it. */
void openings_learn(struct openings *o, const struct landing *l);

/* For the next plan, when units had `recent_bytes` bytes of data lately. */
struct openings_choice openings_choose(const struct openings *o, uint32_t recent_bytes);

/* Lock letters: (i) the thread that claimed arrivals; (m) the entity's mutex. */
struct arrivals {
    struct landing landing;   /* (i) receiver only */
    struct openings openings; /* (m) receiver only */
    uint8_t *memory;          /* (i) of the landing, or for one datagram */
    size_t bytes;             /* (c) of it */
};

/* False when there is no memory. Most of it is never touched while the network behaves, so the
 * system never gives it. */
__attribute__((warn_unused_result)) bool arrivals_init(struct arrivals *a, bool is_sender,
                                                       bool has_gro);
void arrivals_fini(struct arrivals *a);

#endif
