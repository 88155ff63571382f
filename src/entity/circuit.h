/* What the options of an entity say about AAL5, for its channels. */
#ifndef ZCRP_ENTITY_CIRCUIT_H
#define ZCRP_ENTITY_CIRCUIT_H

#include "channel/channel.h"
#include "machine.h"

/* For the channel of this descriptor. Units and control have a circuit each, which may be the same.
 */
struct channel_aal5 circuit_of(const struct zcrp_options *options, enum machine_role role, int fd);

#endif
