/* A connection, and the TCP stream that it carries at the moment (control.h says how).
 *
 *      TCP socket --recv--> sending (buffers until they are acknowledged) --> connection
 *      TCP socket <--send-- posted (buffers in their order; those that landed wait for room) <--
 *
 * Backpressure is the number of posted buffers: one is posted again when its bytes are in the TCP
 * socket. There are CREDIT_LEAST of them while little comes, and more as large messages come: as
 * many as twice those of the last second, up to the window. What is sent and not acknowledged is
 * limited by what the path carries in two round trips, and by the window; of it no more than
 * CREDIT_LEAST messages need be small: then the next one waits until it is large, or another one is
 * acknowledged. So a flood of small writes costs neither credit nor datagrams. */
#ifndef ZCRP_TUNNEL_STREAM_H
#define ZCRP_TUNNEL_STREAM_H

#include "buffers.h"
#include "control.h"
#include "loop.h"
#include "spec.h"

enum { CREDIT_LEAST = 4, LARGE = STREAM_BYTES / 2, NAME_ROOM = 320 };

enum stream_phase {
    STREAM_IDLE,    /* it carries none */
    STREAM_ASKED,   /* this end has opened one, and its data may go */
    STREAM_ASKING,  /* the peer has, and its data wait for the target */
    STREAM_RUNNING, /* until both ends are DONE */
    STREAM_REFUSED, /* this end has refused one: the peer closes the connection */
    STREAM_CONTROL, /* it never carries any: the tunnel's own */
    STREAM_DEAD,
};

struct stream;

/* What the end that has the connection does. on_up and on_dialed may be NULL. */
struct stream_owner {
    /* A control message of another kind than DONE, where no data may come; also FINE, when the
     * stream runs already. A peer that may not say that has to be dropped (stream_accuse). */
    void (*on_control)(struct stream *stream, const struct control *control);
    /* The stream is over, and the connection may carry another. */
    void (*on_idle)(struct stream *stream);
    /* The stream is reset, if there is one, and the connection gone: why, as zcrp_strerror knows
     * it, or 0 if this end wanted it. `was` is the phase before. */
    void (*on_dead)(struct stream *stream, enum stream_phase was, int code);
    /* The peer was found: *stream is up. */
    void (*on_up)(struct stream *stream);
    /* The target is connected (NULL), or not, and why. */
    void (*on_dialed)(struct stream *stream, const char *why_not);
};

/* Idle streams. All zero is none. */
struct streams {
    struct stream *first;
    unsigned count;
};

struct stream {
    const struct stream_owner *owner;
    struct zcrp_connection *connection;
    struct zcrp_entity *sender, *receiver;
    enum stream_phase phase;
    bool is_up;
    int ended; /* the connection's code, once it has ended */

    struct watch in, out; /* the TCP socket; or, if it is none, two other descriptors */
    bool is_socket, is_readable, is_writable;
    bool stops_short; /* a read may return less than there is: before urgent data, or the end */
    bool is_broken; /* it had an error: what can still be read goes to the peer, and then a reset */
    bool sent_end, sent_done, has_peer_end, has_peer_done;
    unsigned peer_posted; /* buffers that the peer has posted for this connection, as it says */
    char name[NAME_ROOM]; /* what it is, for people */
    uint64_t bytes_out;   /* that this end's socket has given */

    struct buffers posted, sending;
    unsigned credit, landed; /* buffers to post; large messages since round_ns */
    int64_t round_ns;
    uint64_t sending_bytes, sending_most;
    int64_t measured_ns;

    struct turn turn;
    struct job job;
    struct stream *after; /* of all */
    bool is_closed;       /* the connection: freed by the next tick */
    struct streams *idle; /* that it is one of; NULL: none */
    struct stream *next;  /* of these */
    struct dial *dial;    /* the way to its target; NULL: none */
    int64_t since_ns;     /* that it is up, or REFUSED; if it is broken, when it last went on */

    /* The owner's. */
    int role;
    uint16_t number; /* of the forward that it is for */
    void *context;
};

/* What the command line says of all streams. */
struct stream_settings {
    uint64_t window, memory; /* bytes in flight of a stream, each way; buffers of all streams */
    int64_t silence_ns;
    bool is_verbose;
};

/* Before the first stream. What connections need. Raises the limit of descriptors. */
struct zcrp_options stream_setup(const struct stream_settings *settings, struct zcrp_keys *keys);

/* Takes over the connection, and posts buffers. NULL: it could not, and closes the connection. */
struct stream *stream_create(struct zcrp_connection *connection, const struct stream_owner *owner);

/* The same with a connection to this address, which is no name, and for whose peer it does not
 * wait. NULL, and why. */
struct stream *stream_connect(const struct address *to, const struct zcrp_options *zcrp,
                              const struct stream_owner *owner, const char **why);

/* Puts it among these; takes one out, which is up if any is, or this one. NULL: there is none whose
 * connection has not ended. One that dies takes itself out. */
void streams_put(struct streams *streams, struct stream *stream);
struct stream *streams_take(struct streams *streams);
void streams_leave(struct stream *stream);

/* Sends a control message. False: it could not; the stream is about to die. */
bool stream_say(struct stream *stream, const struct control *control);

/* Begins a TCP stream on an idle connection: says so, and carries what comes from the descriptors,
 * which are one socket, or two others. They are the stream's from now on. */
void stream_open(struct stream *stream, const struct control *control, int in, int out);

/* The peer asks for one on an idle connection: gets it once the target is connected, or does not.
 */
void stream_dial(struct stream *stream, const char *host, uint16_t port);
void stream_refuse(struct stream *stream, enum refusal reason, const char *text);

/* Have the ends of an idle connection posted so much for it that it is better closed? */
bool stream_is_worn(const struct stream *stream);

/* Takes the TCP socket back, which is the caller's again. */
int stream_take_back(struct stream *stream);

/* Its TCP socket had an error, which somebody else has taken: what can still be read goes to the
 * peer, and then a reset. */
void stream_break(struct stream *stream);

/* Resets the TCP stream and closes the connection. The same because the peer broke the rules, which
 * it complains of. */
void stream_drop(struct stream *stream);
void stream_accuse(struct stream *stream);

/* Why a connection to a far end has ended, for people. One that closed before its first answer may
 * be another program's that has the same key. */
const char *stream_explain(int code, bool has_answered);

/* With --verbose: complains of what has become of it. */
void stream_note(const struct stream *stream, const char *what);

/* What the loop calls: a completion of a connection or a message; now and then, to free what is
 * over, to give up targets that do not answer, and connections on which a stream was refused, and
 * whose peer does not close them; to print what was counted, on standard error; to drop all. */
void stream_on_completion(const struct zcrp_completion *completion);
void stream_tick(int64_t now_ns);
void stream_tell_counts(void);
void stream_drop_all(void);

/* The next one after `stream` of all; NULL: the first. */
struct stream *stream_after(const struct stream *stream);

#endif
