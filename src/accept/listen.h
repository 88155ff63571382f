/* A socket that listens for any number of peers, and a connected socket for each of them.
 *
 *     listening socket   <- hello            stranger: nothing is kept
 *                        cookie ->
 *                        <- hello, cookie    a caller: it reads what is sent to its address
 *     child              same address, same port, connected to the caller
 *
 * The listening socket is bound without an option, so that no other socket can be bound beside it
 * by chance; only then it lets children be (SO_REUSEPORT; never SO_REUSEADDR, with which every user
 * could take the port). Between bind and connect a child hears some of what is meant for the
 * listening socket. That is heard as if it had come there.
 *
 * Over AAL5 hellos come on one circuit, and answers go on another or the same. A hello is a PDU of
 * one packet: what is in several, on another circuit, or damaged is dropped like any datagram that
 * is no hello. So nothing of a stranger's is kept to be put together. */
#ifndef ZCRP_ACCEPT_LISTEN_H
#define ZCRP_ACCEPT_LISTEN_H

#include "core/keys/handshake.h"
#include "core/wire/cookie.h"
#include "transport/address.h"

enum {
    LISTEN_HELLO_MOST = HANDSHAKE_BYTES, /* of what is heard: no hello is longer */
    LISTEN_STRAYS_MOST = 16,
};

/* A bound UDP socket, and how hellos come there. Constant while it listens. */
struct listen_socket {
    int fd;
    struct cookie_jar jar;
    uint32_t label_in;  /* of the circuit that hellos come on; 0: they are datagrams, not PDUs */
    uint32_t label_out; /* of the circuit that answers go on; 0 likewise */
    bool has_keys;      /* callers are those who begin a handshake */
};

/* Somebody who brought a cookie back; or, where callers need keys, somebody who goes on with a
 * handshake, and maybe brought a cookie; or whose handshake is over, and who is early: it sends a
 * request before it has a child, if it is who it seems. */
struct caller {
    union address from;
    socklen_t from_size;
    union address here;               /* where it called; family 0 if the system did not say */
    uint8_t hello[LISTEN_HELLO_MOST]; /* without what carried it */
    size_t hello_bytes;
    bool has_cookie; /* and it is good */
    bool is_early;   /* `hello` is a request, sealed for a session */
};

/* Callers that a child heard. */
struct strays {
    struct caller caller[LISTEN_STRAYS_MOST];
    uint32_t count;
};

/* Makes a bound UDP socket a listening one. 0, or the system's negative error number. */
__attribute__((warn_unused_result)) int listen_begin(const struct listen_socket *l);

/* Takes one datagram from the socket, and answers it if that is due. 1: it was a caller's; 0: it
 * was not; -EAGAIN: there is none; another negative error number: the socket is of no use. */
__attribute__((warn_unused_result)) int listen_hear(const struct listen_socket *l,
                                                    struct caller *caller);

/* Tells the caller something, from where it called. What cannot be sent is as good as lost. */
void listen_tell(const struct listen_socket *l, const struct caller *caller,
                 const uint8_t *datagram, size_t size);

/* A child for the caller, the user's to close; and the callers that it heard meanwhile. 0, or the
 * system's negative error number (-EMFILE, -ENFILE). */
__attribute__((warn_unused_result)) int listen_admit(const struct listen_socket *l,
                                                     const struct caller *caller, int *child,
                                                     struct strays *strays);

#endif
