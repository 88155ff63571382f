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

#include "handshake/pending.h"

/* A bound UDP socket, and how hellos come there. Constant while it listens. */
struct listen_socket {
    int fd;
    uint32_t label_in;  /* of the circuit that hellos come on; 0: they are datagrams, not PDUs */
    uint32_t label_out; /* of the circuit that answers go on; 0: the same */
};

/* Gets what comes, without what carried it: `size` bytes, at least 1. */
typedef void (*listen_hear)(void *context, const struct caller *caller, const uint8_t *datagram,
                            size_t size);

/* Makes a bound UDP socket a listening one. 0, or the system's negative error number. */
__attribute__((warn_unused_result)) int listen_begin(const struct listen_socket *l);

/* Takes one datagram from the socket, and has it heard. 0; -EAGAIN: there is none; another negative
 * error number: the socket cannot be used. */
__attribute__((warn_unused_result)) int listen_receive(const struct listen_socket *l,
                                                       listen_hear hear, void *context);

/* Tells the caller something, from the address that it connected to. What cannot be sent is as good
 * as lost. */
void listen_tell(const struct listen_socket *l, const struct caller *caller,
                 const uint8_t *datagram, size_t size);

/* A child for the caller, the user's to close. What that heard is heard meanwhile. 0, or the
 * system's negative error number (-EMFILE, -ENFILE). */
__attribute__((warn_unused_result)) int listen_admit(const struct listen_socket *l,
                                                     const struct caller *caller, int *child,
                                                     listen_hear hear, void *context);

#endif
