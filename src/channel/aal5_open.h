/* Making a channel over AAL5 of a socket that has been looked over. */
#ifndef ZCRP_CHANNEL_AAL5_OPEN_H
#define ZCRP_CHANNEL_AAL5_OPEN_H

#include "channel.h"

/* Makes the channel's units PDUs: path_bytes and datagram_max become the circuit's MTU. A raw
 * socket gets a filter, so that packets of other circuits cost nothing. 0, -EINVAL, -ENOMEM as
 * channel_init. */
__attribute__((warn_unused_result)) int aal5_open(struct channel *c,
                                                  const struct channel_aal5 *options);

/* Gives the memory back; close also the socket as it was. */
void aal5_free(struct channel *c);
void aal5_close(struct channel *c);

/* The packets became smaller: cuts them to what the path takes now, or to the half if that is no
 * news. False if they cannot be smaller. */
bool aal5_path_fall(struct channel *c);

#endif
