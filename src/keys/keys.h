/* This side's identity, and the peers that it accepts: the user's keys (zcrp.h). They never change
 * once they are in use, and are freed when nobody holds them any more. */
#ifndef ZCRP_KEYS_KEYS_H
#define ZCRP_KEYS_KEYS_H

#include "zcrp.h"

/* Holds them once more. zcrp_keys_free lets go. */
struct zcrp_keys *keys_hold(struct zcrp_keys *keys);

#endif
