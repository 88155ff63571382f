/* The tap of an AAL5 channel (tap.h): PDUs, as their cells left and as their cells came. So what
 * was damaged is shown, too, and what the fault option did; a PDU that is not out or not there
 * wholly is not. Only to be called when there is a tap. */
#ifndef ZCRP_CHANNEL_AAL5_TAP_H
#define ZCRP_CHANNEL_AAL5_TAP_H

#include "channel.h"

/* Packets [from, to) of the outgoing ones are out, since `time_ns`: shows the PDUs that they end.
 */
void aal5_tap_out(const struct channel *c, int64_t time_ns, uint32_t from, uint32_t to);

/* Shows the PDU of `bytes` bytes that the incoming fragments are. */
void aal5_tap_in(const struct channel *c, uint32_t bytes);

#endif
