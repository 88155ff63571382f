/* Messages that cross shared memory as a whole (transport/transport.h), the straight way: what a
 * small message between two processes of one host passes, and nothing else. Each function does all
 * of it, or says that something is unusual, and has done nothing. Then the usual way does it.
 *
 *     sender    submit --- note ---> receiver   land    its message ends
 *               reap    <-- state --'           post    shows a buffer
 *               its message ends
 *
 * Whether all is usual as far as the half goes is found out once, as a section ends that may have
 * changed it (wholes_tend), and not for each message (link_is_straight). That leaves out what each
 * message, wholes_submit and wholes_post may change: these look at that themselves.
 *
 * Locked, all of these. */
#ifndef ZCRP_LINK_WHOLES_H
#define ZCRP_LINK_WHOLES_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

struct message;
struct zcrp_entity;

/* The section ends, and this half is not touched any more: its straight way opens, if all is usual.
 */
void wholes_tend(struct zcrp_entity *e);

/* A sender: the message goes to the peer's memory at once. Nothing is to be told,
 * but to a peer that sleeps (transport->must_wake_peer). */
bool wholes_submit(struct zcrp_entity *e, struct message *m, uint64_t size);

/* A receiver: the buffer is shown to the sender. Nothing is to be told, unless the
 * machine has a reply now: the sender wants it, and sleeps. */
bool wholes_post(struct zcrp_entity *e, struct message *m, uint64_t size);

/* A sender: the oldest messages that the receiver has taken end. False: there are none before
 * something else that is to be reaped. */
bool wholes_reap(struct zcrp_entity *e);

/* A receiver lands some of those that have come, or declines them. False: there are none. While
 * nobody receives, and the transport reads them (transport_reads_wholes). */
bool wholes_land(struct zcrp_entity *e);

#endif
