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
 * listening socket. That is heard as if it had come there. */
#ifndef ZCRP_CHANNEL_LISTEN_H
#define ZCRP_CHANNEL_LISTEN_H

#include "address.h"
#include "core/wire/cookie.h"

enum {
    LISTEN_HELLO_MOST = 64, /* bytes: no hello is longer */
    LISTEN_STRAYS_MOST = 16,
};

/* Somebody who brought a cookie back. */
struct caller {
    union address from;
    socklen_t from_size;
    union address here; /* where it called; family 0 if the system did not say */
    uint8_t hello[LISTEN_HELLO_MOST];
    size_t hello_bytes;
};

/* Callers that a child heard. */
struct strays {
    struct caller caller[LISTEN_STRAYS_MOST];
    uint32_t count;
};

/* Makes a bound UDP socket a listening one. 0, or the system's negative error number. */
__attribute__((warn_unused_result)) int listen_begin(int fd);

/* Takes one datagram from the socket, and answers it if that is due. 1: it was a caller's; 0: it
 * was not; -EAGAIN: there is none; another negative error number: the socket is of no use. */
__attribute__((warn_unused_result)) int listen_hear(int fd, const struct cookie_jar *jar,
                                                    struct caller *caller);

/* A child for the caller, the user's to close; and the callers that it heard meanwhile. 0, or the
 * system's negative error number (-EMFILE, -ENFILE). */
__attribute__((warn_unused_result)) int listen_admit(int fd, const struct cookie_jar *jar,
                                                     const struct caller *caller, int *child,
                                                     struct strays *strays);

#endif
