/* TCP sockets of both ends, and the way to targets. */
#ifndef ZCRP_TUNNEL_SOCKETS_H
#define ZCRP_TUNNEL_SOCKETS_H

#include <netdb.h>
#include <stdint.h>

#include "control.h"
#include "spec.h"

/* Prepares a TCP socket for a stream: small pieces leave at once, and a peer that is gone is
 * noticed. However this process ends, the socket's peer has an error: else the kernel of a process
 * that is killed would say that the stream is complete. It is, once socket_complete was called. */
void socket_prepare(int fd);
void socket_complete(int fd);

/* Closes a TCP socket such that its peer has an error. */
void socket_reset(int fd);

/* The peer's address. */
struct address socket_peer(int fd);

/* As getaddrinfo, for sockets of this type. */
int socket_resolve(struct addrinfo **found, int type, const char *host, uint16_t port, int flags);

/* A way to a target: names are resolved in a thread, addresses tried one after another, the next
 * one after 5 s of silence, for 20 s at most in all, the wait for a thread included. Of UDP the
 * first address is taken to which there is a route. An asker whose names are slow leaves threads to
 * the other askers. It is freed by itself after `on_end` was called, or it was cancelled. */
struct dial;
typedef void (*dial_end)(void *context, int fd, enum refusal reason, const char *text);

/* `asker`: the peer's host. `fd` in `on_end` is the callee's; -1: the reason. `on_end` may be
 * called before this returns, when *started is there already. */
void dial_start(struct dial **started, int type, const char *host, uint16_t port, const char *asker,
                dial_end on_end, void *context);
void dial_cancel(struct dial *dial);

/* To be called now and then: gives up those that take too long. */
void dial_tick(int64_t now_ns);

#endif
