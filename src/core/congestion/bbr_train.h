/* How densely comes back what was sent densely.
 *
 *     sent           |||||||||                     |||||||||
 *     acknowledged           |||||||||             |  |  |  |  |  |
 *                    the path carries that rate    it carries this one
 *
 * A train is what left without a gap of six milliseconds, looked at piece by piece: a piece lasts
 * six milliseconds at one end, because threads and acknowledgements come in lumps. */
#ifndef ZCRP_CORE_CONGESTION_BBR_TRAIN_H
#define ZCRP_CORE_CONGESTION_BBR_TRAIN_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

struct congestion_ack;

struct bbr_train {
    instant sent;   /* the unit before the piece, */
    instant back;   /* and its acknowledgement */
    instant newest; /* when the newest of it was sent */
    uint64_t bytes;
    bool is_begun;
};

/* Bytes a second of a piece of a train. */
struct bbr_density {
    uint64_t sent;
    uint64_t back;
};

/* True if a piece is complete, of at least 16 units of this size in bytes. */
bool bbr_train_on_acknowledged(struct bbr_train *train, const struct congestion_ack *ack,
                               uint64_t unit, struct bbr_density *density);

#endif
