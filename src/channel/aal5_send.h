/* Sending units as PDUs of AAL5, cut into as many packets as the path needs, a burst with one call
 * (sendmmsg). The data is read once, for the CRC; nothing of it is copied. */
#ifndef ZCRP_CHANNEL_AAL5_SEND_H
#define ZCRP_CHANNEL_AAL5_SEND_H

#include "channel.h"

/* What channel_send promises; never TOO_BIG, because what the path does not take is cut smaller. */
enum channel_verdict aal5_send(struct channel *c, const struct burst *b, uint32_t *sent);

#endif
