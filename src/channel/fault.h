/* What an error number of a send or receive call means for the protocol. */
#ifndef ZCRP_CHANNEL_FAULT_H
#define ZCRP_CHANNEL_FAULT_H

#include "channel.h"

/* ICMP makes the kernel report at the next call what became of an earlier datagram, and anybody can
 * send ICMP. So REFUSED and TOO_BIG count as news of a call only behind so many in a row: nobody
 * hits every gap between two calls. */
enum { FAULT_LATE_MOST = 32 };

/* Sorts the error into a verdict (never OK) and counts it by name; BROKEN is also remembered in the
 * channel. EINTR is none of its business. Cannot fail. */
enum channel_verdict fault_note(struct channel *c, int error);

#endif
