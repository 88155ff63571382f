/* Receiving by a user who only asks, and does not wait: zcrp_probe, zcrp_collect.
 *
 * A program that asks again and again, within PROBE_GAP, receives by that, in its own thread: it
 * takes the lease for one turn, and gives it back, kept. One that asks now and then, or sleeps
 * until a descriptor is readable, leaves receiving to the library's threads. So it does where the
 * link is quiet, which is where nothing has come for LEASE_TERM: a question costs no system call
 * there. What comes first then is the threads'; from then on whoever asks receives. */
#ifndef ZCRP_API_PROBE_H
#define ZCRP_API_PROBE_H

#include "link/entity.h"

/* Receives once for the entity's link, if that is worth a look and nobody else does. Not locked. */
void probe_receive(struct zcrp_entity *e);

#endif
