/* Where the packets of the next call are to come down: each at its part of the PDU that the landing
 * expects, so that units lie where they belong before anything is known of them (docs/design.md).
 * Thread: the channel's that receives. */
#ifndef ZCRP_CHANNEL_AAL5_POINT_H
#define ZCRP_CHANNEL_AAL5_POINT_H

#include "core/receiver/landing.h"

struct aal5_channel;
struct aal5_incoming;
struct msghdr;

/* Points as many packets as the openings of the landing take. The first PDU goes on where the one
 * under way stands. The landing is only read. */
void aal5_point(struct aal5_channel *a, const struct landing *l);

/* Adds a packet with a place for its head and nothing else. Needs room for one. */
struct msghdr *aal5_point_head(struct aal5_incoming *in);

#endif
