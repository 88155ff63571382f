/* The control messages between the two ends of a tunnel. docs/zcrp-tunnel.1, PROTOCOL, has the
 * rules and the bytes.
 *
 * The near end opens streams on its connections. For -R it keeps connections on which the far end
 * opens them: their first message is RESERVE. One connection, which begins with HELLO, is for the
 * tunnel itself. */
#ifndef ZCRP_TUNNEL_CONTROL_H
#define ZCRP_TUNNEL_CONTROL_H

#include <stddef.h>
#include <stdint.h>

enum { CONTROL_VERSION = 1, CONTROL_HEAD = 9, CONTROL_TEXT = 255, CONTROL_TOKEN = 16 };
enum { CONTROL_MOST = CONTROL_HEAD + CONTROL_TEXT };

enum control_kind {
    CONTROL_OPEN = 1,
    CONTROL_CALL = 2,
    CONTROL_FINE = 3,
    CONTROL_REFUSED = 4,
    CONTROL_DONE = 5,
    CONTROL_HELLO = 6,
    CONTROL_WELCOME = 7,
    CONTROL_LISTEN = 8,
    CONTROL_RESERVE = 9,
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
