/* The words between two endpoints, as bytes. All numbers are little-endian.
 *
 * A direction between two endpoints has two connections, which the sender of the direction opens:
 * control, and bulk once the first large message needs it. The first message on each is a greeting.
 * Then control carries envelopes, and bulk carries nothing but the bytes of large messages:
 *
 *     eager        EAGER(tag, data, length) and the payload behind it, in one message
 *     rendezvous   sender: RTS(tag, data, length, id)    receiver, when it matches: a grant(id,
 * length) in a CTS, which has one grant or several. The receiver posts the program's own buffer on
 * bulk, in the order of its grants, and the sender submits in the order of the grants that it gets:
 * so the n-th grant is the n-th bulk message. A grant with length 0 has no bulk message.
 *
 *     greeting                              envelope
 *     0   4  "zfi1"                         0   1  what: 1 EAGER, 2 RTS, 3 CTS
 *     4   1  1 control, 2 bulk              1   1  flags: 1 tagged, 2 has data
 *     5   1  address family, 4 or 6         2   2  0
 *     6   2  port                           4   4  id, of RTS, and of a CTS's first grant
 *     8  16  address; of IPv4 in 4 bytes    8   8  tag
 *    24   8  nonce: the sender's endpoint  16   8  data, for the completion of the receiver
 *                                          24   8  length in bytes; as id
 *
 *     behind the envelope of a CTS, for each further grant, 15 at most
 *     0   4  id
 *     4   8  length in bytes
 *
 * Whoever receives these has to expect anything. decode takes what encode can have made, and
 * nothing else; what a number means, its user checks. */
#ifndef FABRIC_WIRE_H
#define FABRIC_WIRE_H

#include "address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GREETING_BYTES = 32,
    ENVELOPE_BYTES = 32,
    GRANT_BYTES = 12,
    GRANTS_MOST = 16, /* of a CTS */
    CTS_BYTES_MOST = ENVELOPE_BYTES + (GRANTS_MOST - 1) * GRANT_BYTES,
};

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

/* `size` counts the whole message, with the payload, or all grants. */
bool envelope_decode(struct envelope *e, const uint8_t *bytes, uint64_t size);

/* So much of an announced message may come now. */
struct grant {
    uint32_t id;
    uint64_t length;
};

/* A whole CTS of 1 to GRANTS_MOST grants; its size. */
size_t cts_encode(const struct grant *grants, int count, uint8_t bytes[CTS_BYTES_MOST]);

/* The grants of a message that envelope_decode has taken as a CTS; how many. */
int cts_decode(struct grant grants[GRANTS_MOST], const uint8_t *bytes, uint64_t size);

#endif
