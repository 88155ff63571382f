/* The datagrams that find out what a path carries (path_mtu.h): a probe, which is padding, and the
 * answer to it. See docs/protocol.md for the offsets. */
#ifndef ZCRP_CORE_PATH_PROBE_H
#define ZCRP_CORE_PATH_PROBE_H

#include "datagram.h"

/* A probe, or the answer to one. */
struct path_probe {
    struct pairing pairing;
    uint32_t number; /* the sender's name for it */
    uint32_t bytes;  /* of the probe: padding of any content, then the trailer */
};

/* Writes a probe's trailer, which the padding goes before. Cannot fail. */
void path_probe_encode(uint8_t out[TRAILER_BYTES], const struct path_probe *probe);

/* Reads a probe by its trailer, the end of a datagram of `datagram_bytes`. `in` is not touched when
 * they are below 32. OK means: exact length, no flags, reserved fields 0, session and tag not 0. */
enum verdict path_probe_decode(const uint8_t in[TRAILER_BYTES], size_t datagram_bytes,
                               struct path_probe *probe);

/* The same of an answer, which has no padding; `in` is the whole datagram. */
void path_answer_encode(uint8_t out[TRAILER_BYTES], const struct path_probe *probe);
enum verdict path_answer_decode(const uint8_t *in, size_t size, struct path_probe *probe);

#endif
