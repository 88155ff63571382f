/* The tap: somebody looks at what crosses a channel, datagram by datagram, where it lies.
 * AAL5 shows its PDUs itself (aal5_tap.h).
 *
 * Without one, sending and receiving cost a branch more. With one they go through here. What the
 * kernel took or gave in one call is shown one datagram after the other, once the call is over;
 * what it did not take is not shown. */
#ifndef ZCRP_CHANNEL_TAP_H
#define ZCRP_CHANNEL_TAP_H

#include "channel.h"

/* One datagram that crossed. Valid until the tap returns. */
struct channel_crossing {
    int64_t time_ns; /* since 1970: just before the call that sent it, or after the one that
                        received it */
    bool is_outward;
    uint32_t bytes; /* of all pieces; not 0 */
    uint32_t count;
    const struct iovec *pieces; /* none is empty */
    bool is_pdu;                /* a PDU of AAL5, its tail included (aal5_tap.h); else a datagram */
    struct aal5_circuit circuit; /* that it crossed on */
};

/* What channel.h promises of the functions without `tap`, for a channel that has one. */
enum channel_verdict tap_send(struct channel *c, const struct burst *b, uint32_t *sent);
int tap_receive(struct channel *c, struct landing *l);
int tap_receive_control(struct channel *c, uint8_t *buffer, size_t size);

#endif
