/* What the two ends of a tunnel tell each other, beside the bytes of streams.
 *
 * A connection carries one TCP stream after another. Each direction is a row of messages:
 *
 *      opening end    OPEN host port | data ... | (empty) | DONE | OPEN ...
 *      the other end  FINE or REFUSED | data ... | (empty) | DONE | FINE ...
 *
 * Data are messages of 1 to STREAM_BYTES bytes. An empty one is the end of that direction. An end
 * says DONE when it has sent its end, and its TCP socket has taken all up to the peer's end. After
 * both DONE the connection is idle, and carries the next stream. A connection that is closed before
 * that resets the stream. The opening end need not wait for FINE before it sends data.
 *
 * The near end opens streams on its connections. For -R it keeps connections on which the far end
 * opens them: their first message is RESERVE. One connection, which begins with HELLO, is for the
 * tunnel itself.
 *
 *      byte 0    "ZT"
 *      byte 2    version, 1
 *      byte 3    kind
 *      byte 4    number, most significant byte first
 *      byte 6    port, the same
 *      byte 8    bytes of the text, then the text
 *
 * REFUSED is the same in all versions. */
#ifndef ZCRP_TUNNEL_CONTROL_H
#define ZCRP_TUNNEL_CONTROL_H

#include <stddef.h>
#include <stdint.h>

enum { CONTROL_VERSION = 1, CONTROL_HEAD = 9, CONTROL_TEXT = 255, CONTROL_TOKEN = 16 };
enum { CONTROL_MOST = CONTROL_HEAD + CONTROL_TEXT };

enum control_kind {
    CONTROL_OPEN = 1,    /* text: the target's host, port: its port */
    CONTROL_CALL = 2,    /* the far end opens; number: which LISTEN its TCP client came to */
    CONTROL_FINE = 3,    /* OPEN, CALL: the target is connected. LISTEN: port is the one in use */
    CONTROL_REFUSED = 4, /* why: number as SOCKS5 has it (enum refusal), text */
    CONTROL_DONE = 5,    /* number: buffers that this end has posted for what comes next */
    CONTROL_HELLO = 6,   /* the tunnel's first message */
    CONTROL_WELCOME = 7, /* its answer; text: the token of this tunnel, CONTROL_TOKEN bytes */
    CONTROL_LISTEN = 8, /* text: an address to listen at, or none; port; number: its name in CALL */
    CONTROL_RESERVE = 9, /* this connection is for CALL; text: the token */
    CONTROL_MORE = 10,   /* `number` clients of the far end wait for a connection for CALL */
};

/* RFC 1928, 6 */
enum refusal {
    REFUSAL_FAILED = 1,
    REFUSAL_FORBIDDEN = 2,
    REFUSAL_NETWORK = 3,
    REFUSAL_HOST = 4,
    REFUSAL_CONNECTION = 5,
};

struct control {
    uint8_t kind;
    uint16_t number, port;
    uint8_t length;              /* of the text */
    char text[CONTROL_TEXT + 1]; /* with a 0 behind it */
};

/* A control message with a text, which is cut to CONTROL_TEXT bytes. */
struct control control_make(enum control_kind kind, uint16_t number, uint16_t port,
                            const char *text);

/* Returns the number of bytes. */
size_t control_write(const struct control *control, uint8_t out[CONTROL_MOST]);

enum control_fault { CONTROL_GOOD, CONTROL_BAD, CONTROL_OTHER_VERSION };

/* Reads what the peer has sent. A text is printable ASCII, but for a token, and a REFUSED's, which
 * may have any bytes but 0. */
enum control_fault control_read(struct control *control, const uint8_t *bytes, size_t size);

#endif
