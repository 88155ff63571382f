/* Block acknowledgement, request to send, hello, cookie, offer, challenge and its answer, version
 * answer: the datagrams without data. Each is a body of fixed-size entries, then a trailer; see
 * docs/protocol.md for the offsets.
 *
 * The body is never copied out: after decode it is walked in place, so that the number of entries
 * is bounded by the datagram alone and costs nothing to keep. */
#ifndef ZCRP_CORE_CONTROL_H
#define ZCRP_CORE_CONTROL_H

#include "datagram.h"

enum {
    ACK_BOUND_BYTES = 4,               /* one end of an interval */
    REQUEST_RUN_BYTES = 16,            /* one run of messages */
    VERSION_ANSWER_BYTES = TAIL_BYTES, /* a version answer is nothing but a tail */
};

/* The buffer size that withdraws a request: the receiver's user cancelled the message. */
#define REQUEST_WITHDRAWN UINT64_MAX

/* Decoded block acknowledgement. `length` intervals of alternating sign have length + 1 bounds;
 * length 0 has none. The newest interval is always positive and ends at newest + 1. */
struct block_ack {
    struct pairing pairing;
    uint32_t newest;        /* highest sequence number received; 0 when length is 0 */
    uint32_t delay_us;      /* between its arrival and this acknowledgement, microseconds */
    uint32_t capacity;      /* bytes of units that the receiver's socket can hold */
    uint16_t length;        /* number of intervals */
    uint16_t marks;         /* datagrams of the session that met congestion, modulo 2^16 */
    bool first_is_positive; /* follows from length: odd, or 0; encode does not look at it */
    bool is_closing;
    bool has_ecn;          /* a datagram of the session arrived as capable of ECN, or marked */
    const uint8_t *bounds; /* in the datagram: (length + 1) x 4 bytes, unless length is 0 */
};

/* Decoded request to send: `length` runs of {first message number, count, buffer size}. */
struct request {
    struct pairing pairing;
    uint64_t nonce; /* of the hello that this answers with a pairing; else 0 */
    uint32_t capacity;
    uint16_t length;
    bool wants_offer;    /* of the first message that has no buffer */
    const uint8_t *runs; /* in the datagram: length x 16 bytes */
};

/* Messages first .. first + count - 1 wait in buffers of `size` bytes each; count is not 0. */
struct request_run {
    uint32_t first;
    uint32_t count;
    uint64_t size; /* or REQUEST_WITHDRAWN */
};

/* With a nonce it asks for a receiver: nothing is requested, and it is not closing. Without one it
 * is within a pairing: the session is not 0, and the cookie is. */
struct hello {
    struct pairing pairing; /* asking: session of the cookie datagram, or 0, and a fresh tag */
    uint64_t nonce;         /* names the question; 0: it asks nothing */
    uint64_t cookie;        /* the receiver's; 0: none yet */
    uint32_t requested;     /* requests for all messages below this number have arrived */
    bool is_closing;
    bool is_cut; /* and messages that the sender had will not come */
};

/* How large the first message is for which the sender knows no buffer. */
struct offer {
    struct pairing pairing;
    uint32_t message; /* number */
    uint64_t size;    /* bytes, at most MESSAGE_BYTES_MAX */
};

/* What a hello that asks is answered before anything else. */
struct cookie_answer {
    struct pairing pairing; /* the receiver's session, 0 if it has none, and the hello's tag */
    uint64_t nonce;         /* the hello's; not 0 */
    uint64_t cookie;        /* not 0 */
};

/* Sealed always, because without keys nobody moves. A challenge to the sender, whose datagrams have
 * come from a new address; or 0: the receiver sends there now, which is the `moves`th move. */
struct challenge {
    struct pairing pairing;
    uint64_t challenge;
    uint32_t moves; /* in this session, modulo 2^32 */
};

/* What it is answered with; not 0. */
struct challenge_answer {
    struct pairing pairing;
    uint64_t challenge;
};

/* Each encode writes one datagram into `out` of `size` bytes and returns its length; the caller
 * provides room (CHECKed) and fields that decode would accept. For the two with a body, `length`
 * counts the entries that are in place: ack: `ack->bounds` (written with ack_bound_encode),
 * request: `request->runs` (written with request_run_encode); both may already point to `out`
 * itself. */
size_t block_ack_encode(uint8_t *out, size_t size, const struct block_ack *ack);
size_t request_encode(uint8_t *out, size_t size, const struct request *request);
size_t hello_encode(uint8_t *out, size_t size, const struct hello *hello);
size_t cookie_answer_encode(uint8_t *out, size_t size, const struct cookie_answer *answer);
size_t offer_encode(uint8_t *out, size_t size, const struct offer *offer);
size_t challenge_encode(uint8_t *out, size_t size, const struct challenge *challenge);
size_t challenge_answer_encode(uint8_t *out, size_t size, const struct challenge_answer *answer);

void request_run_encode(uint8_t out[REQUEST_RUN_BYTES], const struct request_run *run);
void ack_bound_encode(uint8_t out[ACK_BOUND_BYTES], uint32_t bound);

/* Each decode reads one whole datagram; the result borrows `in`. OK means: exact length; known
 * flags; reserved fields 0; tag not 0, nor the session but in a hello that asks and in a cookie;
 * bounds strictly ascending (as 32-bit differences) with a total span below 2^31, the last interval
 * positive and ending at newest + 1; runs with count > 0; a hello as above; a cookie with both
 * numbers; an offer of a legal size; an answer to a challenge, not to 0. Otherwise the result means
 * nothing. Whatever is accepted encodes to the same bytes. Work: O(entries). `in` is not touched
 * when `size` is below 32. */
enum verdict block_ack_decode(const uint8_t *in, size_t size, struct block_ack *ack);
enum verdict request_decode(const uint8_t *in, size_t size, struct request *request);
enum verdict hello_decode(const uint8_t *in, size_t size, struct hello *hello);
enum verdict cookie_answer_decode(const uint8_t *in, size_t size, struct cookie_answer *answer);
enum verdict offer_decode(const uint8_t *in, size_t size, struct offer *offer);
enum verdict challenge_decode(const uint8_t *in, size_t size, struct challenge *challenge);
enum verdict challenge_answer_decode(const uint8_t *in, size_t size,
                                     struct challenge_answer *answer);

/* Bound i of a decoded acknowledgement, 0 <= i <= length; run i of a request, 0 <= i < length. */
uint32_t ack_bound(const struct block_ack *ack, uint32_t i);
struct request_run request_run(const struct request *request, uint32_t i);

/* Writes the answer to a hello of another version: that this one is spoken here. `echoed` is what
 * stands where a tail has session and tag; its tag is not 0. Cannot fail. */
void version_answer_encode(uint8_t out[VERSION_ANSWER_BYTES], struct pairing echoed);

/* True for a version answer of any version, this one included: `*version` is what the receiver
 * speaks, `*echoed` the pairing that it answers. The tag is not 0, there are no flags, and nothing
 * else is in the datagram. False: both mean nothing, and it is a datagram like others. `in` is not
 * touched unless `size` is 10. */
bool version_answer_decode(const uint8_t *in, size_t size, struct pairing *echoed,
                           uint8_t *version);

/* ---- path probe ---- */

/* The datagrams that find out what a path carries (path_mtu.h): a probe, which is padding, and the
 * answer to it. See docs/protocol.md for the offsets. */

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
