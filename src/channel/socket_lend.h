/* Lending: the kernel takes the pages of the user's message as they are instead of copying them.
 *
 *     message --vmsplice--> pipe --splice, more to come--> socket   data
 *     trailer --------------------------------send-------> socket   and the datagram is whole
 *
 * It works where a unit is tens of kilobytes, so over loopback, and saves one of the two copies
 * there: the receiver's kernel copies right out of the sender's message. The message must not
 * change until the unit has been received; ZCRP promises that anyway, and knows when that is,
 * because the receiver acknowledges what is in place. What is still under way of a unit that was
 * repeated for nothing may change, and is dropped as a duplicate.
 *
 * Units of a message that failed have the bytes that its memory has when they are read. How long
 * it is kept, and what a receiver drops, is in core/lending.h.
 *
 * splice does not know MSG_DONTWAIT: on a socket without O_NONBLOCK it waits where send would say
 * EAGAIN. Loopback gives the send buffer back at once, so there is nothing to wait for.
 *
 * Three calls a unit instead of one, so it does not pay for smaller ones.
 *
 * Rejected: MSG_ZEROCOPY. Over loopback and virtual ethernet the kernel copies all the same, and
 * its notifications say what the acknowledgements say already. */
#ifndef ZCRP_CHANNEL_SOCKET_LEND_H
#define ZCRP_CHANNEL_SOCKET_LEND_H

#include "channel.h"

enum {
    LEND_LEAST = 32 << 10, /* bytes of data; below, copying is cheaper */
    LEND_MOST = 15 << 12,  /* bytes: wherever they start these are 16 pages, and a socket buffer has
                              room for 17 pieces, of which the trailer is one */
};

/* Finds out whether the path and the kernel can, and prepares for it. Cannot fail: without, data is
 * copied. */
void socket_lend_begin(struct channel *c);

/* Leaves it: gives back the pipe, and the socket as it was. */
void socket_lend_end(struct channel *c);

/* Would datagram i of the burst be lent? */
bool socket_lend_fits(const struct channel *c, const struct burst *b, uint32_t i);

/* Sends datagram i. False: it was not sent, and has to be copied. If that was the network's doing,
 * it is counted; else the lending has ended, and that counts as a fallback. One thread at a time.
 */
bool socket_lend(struct channel *c, const struct burst *b, uint32_t i);

#endif
