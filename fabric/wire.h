/* The words between two endpoints, as bytes. All numbers are little-endian.
 *
 * A direction between two endpoints has two connections, which the sender of the direction opens:
 * control, and bulk once the first large message needs it. The first message on each is a greeting.
 * Then control carries envelopes, and bulk carries nothing but the bytes of large messages:
 *
 *     eager        EAGER(tag, data, length) and the payload behind it, in one message
 *     rendezvous   sender: RTS(tag, data, length, id)    receiver, when it matches: CTS(id, length)
 *                  The receiver posts the program's own buffer on bulk, in the order of its CTS,
 * and the sender submits in the order of the CTS that it gets: so the n-th CTS is the n-th bulk
 * message. A CTS with length 0 has no bulk message.
 *
 *     greeting                              envelope
 *     0   4  "zfi1"                         0   1  what: 1 EAGER, 2 RTS, 3 CTS
 *     4   1  1 control, 2 bulk              1   1  flags: 1 tagged, 2 has data
 *     5   1  address family, 4 or 6         2   2  0
 *     6   2  port                           4   4  id, of RTS and CTS
 *     8  16  address; of IPv4 in 4 bytes    8   8  tag
 *    24   8  nonce: the sender's endpoint  16   8  data, for the completion of the receiver
 *                                          24   8  length in bytes
 *
 * Whoever receives these has to expect anything. decode takes what encode can have made, and
 * nothing else; what a number means, its user checks. */
#ifndef FABRIC_WIRE_H
#define FABRIC_WIRE_H

#include "address.h"

#include <stdbool.h>
#include <stdint.h>

enum { GREETING_BYTES = 32, ENVELOPE_BYTES = 32 };

enum channel { CHANNEL_CONTROL = 1, CHANNEL_BULK = 2 };

struct greeting {
    enum channel channel;
    struct address address; /* of the listener of the endpoint that greets */
    uint64_t nonce;         /* random: tells one life of that endpoint from another */
};

enum envelope_kind { ENVELOPE_EAGER = 1, ENVELOPE_RTS = 2, ENVELOPE_CTS = 3 };

struct envelope {
    enum envelope_kind kind;
    bool is_tagged;
    bool has_data;
    uint32_t id;
    uint64_t tag;
    uint64_t data;
    uint64_t length;
};

void greeting_encode(const struct greeting *g, uint8_t bytes[GREETING_BYTES]);
bool greeting_decode(struct greeting *g, const uint8_t *bytes, uint64_t size);
void envelope_encode(const struct envelope *e, uint8_t bytes[ENVELOPE_BYTES]);

/* `size` counts the whole message, with the payload. */
bool envelope_decode(struct envelope *e, const uint8_t *bytes, uint64_t size);

#endif
