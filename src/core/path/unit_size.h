/* How large units are, by what becomes of them. Where each piece of a unit can be lost by itself,
 * as cells of AAL5 or fragments can, of large units few arrive whole, and smaller ones carry more.
 *
 *     most -> most / 2 -> most / 4 ...   more of this size are lost than arrive
 *          <-         <-                 so few are that those twice as large would arrive, too
 *
 * A raise that turns out wrong makes the next one wait twice as long; one that lasts lets it be
 * quick again. Units at or below twice UNIT_SIZE_LEAST stay as they are: with them what a unit
 * costs outweighs what is lost of it. Units that arrive whole or not at all stay, too: smaller ones
 * are lost as easily, and there would be more of them.
 *
 * Only units that tell something about this size count: units of more than half of it.
 *
 * I1  data <= most; both are multiples of GRAIN.
 * I2  data is most, or at least UNIT_SIZE_LEAST. */
#ifndef ZCRP_CORE_UNIT_SIZE_H
#define ZCRP_CORE_UNIT_SIZE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    UNIT_SIZE_LEAST = 1024,            /* bytes of data */
    UNIT_SIZE_EXCESS = 16,             /* lost beyond what arrived, for a smaller size */
    UNIT_SIZE_SILENT = 4,              /* a unit without any answer weighs as much as 4 others */
    UNIT_SIZE_RARE = 16,               /* one lost in 16 is no reason against a larger size */
    UNIT_SIZE_PATIENCE = 128,          /* that arrive until a larger one is tried, to begin with, */
    UNIT_SIZE_PATIENCE_MOST = 1 << 16, /* and in the end */
};

struct unit_size {
    uint32_t data;     /* bytes of data in a full unit, now */
    uint32_t most;     /* by what the path takes */
    uint32_t halvings; /* of most that make data */
    uint32_t excess;   /* lost at this size, less what arrived, at least 0 */
    uint32_t calm;     /* arrived at this size, less UNIT_SIZE_RARE for each lost, at least 0 */
    uint32_t patience; /* calm that a raise needs */
    bool is_cut;       /* each piece of a unit can be lost by itself */
};

/* `most` is a multiple of GRAIN and not 0. Cannot fail. */
void unit_size_init(struct unit_size *u, uint32_t most, bool is_cut);

/* The path takes `most` bytes of data; a multiple of GRAIN and not 0. */
void unit_size_limit(struct unit_size *u, uint32_t most);

/* This many units with this much data in bytes have arrived, also if one was thought lost. */
void unit_size_on_arrived(struct unit_size *u, uint32_t data, uint32_t units);

/* One was given up because others arrived; or because nothing was heard at all. */
void unit_size_on_lost(struct unit_size *u, uint32_t data);
void unit_size_on_silence(struct unit_size *u, uint32_t data);

/* CHECKs I1 and I2. */
void unit_size_check(const struct unit_size *u);

#endif
