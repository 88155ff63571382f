/* How many receives a plan opens, and for how many units each, learned from how datagrams came.
 *
 *     datagrams come                     openings            units in each
 *     joined by the kernel (GRO)         one                 as many as a burst may have
 *     too large to be joined             OPENINGS_LARGE      the same
 *     each by itself                     LANDING_OPENINGS    one
 *
 * Of joined ones nobody knows where a burst ends and the next begins, so only one is foreseen. A
 * socket without GRO never joins any. With it the path decides: a tunnel may hand over datagrams
 * one by one, and each of them would cost a plan for a whole burst, and a system call. So when
 * OPENINGS_ALONE in a row came alone, the next are taken to do so, too, until two come joined. All
 * but the first of those have to be moved: at most a burst, once in so many datagrams.
 *
 * Cannot fail; all is O(openings). Under the entity's mutex. */
#ifndef ZCRP_ENTITY_OPENINGS_H
#define ZCRP_ENTITY_OPENINGS_H

#include "core/receiver/landing.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    OPENINGS_LARGE = 4,   /* for units that one system call receives at most so many of */
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

/* For the next plan, when units have had so many bytes of data lately. */
struct openings_choice openings_choose(const struct openings *o, uint32_t recent_bytes);

#endif
