/* Limits and flags of this provider's endpoints: fi_getinfo tells them, and the other parts of the
 * provider keep to them. */
#ifndef FABRIC_INFO_H
#define FABRIC_INFO_H

#include "wire.h"
#include "zcrp.h"

#include <rdma/fabric.h>

/* What zcrp_send_copy takes at once, less the envelope. It is also what may be injected. */
enum { INFO_EAGER_MOST = ZCRP_COPY_MOST - ENVELOPE_BYTES };

enum { INFO_PIECES_MOST = 8 }; /* of an iovec */

enum { INFO_QUEUE = 65536 }; /* operations under way at once; nothing depends on it */

/* 128 GiB, as zcrp_submit. */
#define INFO_MESSAGE_MOST ((size_t)1 << 37)

/* Flags of operations, for fi_sendmsg and the like, and as an endpoint's defaults. */
#define INFO_TX_FLAGS                                                                              \
    (FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |                       \
     FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_MORE | FI_REMOTE_CQ_DATA)
#define INFO_RX_FLAGS (FI_COMPLETION | FI_MULTI_RECV | FI_MORE)

#endif
