/* Receiving by a program that polls and does not wait: zcrp_probe, zcrp_collect.
 *
 * A program that polls again and again, within PROBE_GAP, receives in its own thread: each call
 * takes the lease for one turn, and gives it back, kept. A program that polls now and then, or
 * sleeps until a descriptor is readable, leaves receiving to the library's threads. On a quiet
 * link, where nothing has come for LEASE_TERM, a poll makes no system call: the library's threads
 * receive the first datagram, and from then on the program that polls receives. */
#ifndef ZCRP_API_PROBE_H
#define ZCRP_API_PROBE_H

#include "link/entity.h"

/* Receives once for the entity's link, if that is worth a call and no other thread receives. Not
 * locked. */
void probe_receive(struct zcrp_entity *e);

#endif
