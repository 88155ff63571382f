/* The 24 bytes that end every control datagram, whatever its type. For the codecs of the types
 * alone. */
#ifndef ZCRP_CORE_CONTROL_TRAILER_H
#define ZCRP_CORE_CONTROL_TRAILER_H

#include "datagram.h"

enum { CONTROL_TRAILER_BYTES = 24 };

/* Which fields mean what depends on the type. */
struct control_trailer {
    uint32_t first;
    uint32_t second;
    uint32_t capacity;
    uint16_t length;
    uint16_t marks;
    struct pairing pairing;
    uint8_t flags;
    enum datagram_type type;
};

/* Writes the datagram: `body_bytes` of body, which may be in place already, then the trailer.
 * Returns its bytes; there is room for them (CHECKed). */
size_t control_trailer_encode(uint8_t *out, size_t size, const uint8_t *body, size_t body_bytes,
                              const struct control_trailer *t);

/* Reads the trailer of a datagram that should be of the types `lowest` to `highest`: OK, SHORT,
 * VERSION or TYPE. Of sizes and values it says nothing. */
enum verdict control_trailer_decode(const uint8_t *in, size_t size, enum datagram_type lowest,
                                    enum datagram_type highest, struct control_trailer *t);

#endif
