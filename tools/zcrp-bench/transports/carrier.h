/* The channels below ZCRP, as --channel names them: UDP, the peer's memory, AAL5 over a raw socket,
 * or AAL5 over UDP; the options of ZCRP's entities on them; and the UDP sockets of udp-limit and
 * quic. Sockets are opened through the library. */
#ifndef BENCH_CARRIER_H
#define BENCH_CARRIER_H

#include <sys/socket.h>

#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/transport.h"
#include "zcrp.h"

/* As the functions of the same names in struct transport_kind: transport->fd is the socket. Each
 * returns a port, udp_accept 0; or -1 with a complaint. */
int udp_offer(struct transport *transport);
int udp_accept(struct transport *transport);
int udp_connect(struct transport *transport);

/* Bursts of datagrams, which the kernel cuts and gathers, for kinds that have these sockets. */

/* Room for one number of the kernel's. */
union udp_note {
    struct cmsghdr head; /* aligns */
    uint8_t room[CMSG_SPACE(sizeof(int))];
};

/* Sends the pieces, `bytes` bytes all together, as datagrams of `segment` bytes, the last of which
 * may be shorter. As sendmsg. */
ssize_t udp_send(int fd, struct iovec *pieces, size_t count, size_t bytes, size_t segment);

/* The bytes of each datagram but the last among the `bytes` that one call has received, with a
 * note. */
size_t udp_segment(struct msghdr *message, size_t bytes);

/* Grows the socket's buffer to so many bytes, 0: as many as the library asks for. `force` is for
 * processes that may pass the system's limit. What is that large already is left alone. */
void udp_grow(int fd, int plain, int force, uint64_t bytes);

/* Complains that the transport cannot do `what`, because of a code of the library. -1. */
int udp_failed(const struct transport *transport, const char *what, int code);

enum carrier {
    CARRIER_AUTO,   /* memory where it can be had, else UDP */
    CARRIER_UDP,    /* also between two ends on one host */
    CARRIER_MEMORY, /* or nothing */
    CARRIER_MAPPED, /* the same, and both ends map the messages: connections only */
    CARRIER_AAL5,
    CARRIER_AAL5_UDP,
    CARRIERS
};

/* "auto", "udp", "memory", "mapped", "aal5", "aal5-udp", in the order of the above, then NULL. */
extern const char *const carrier_names[CARRIERS + 1];

/* With --keys both ends know each other by one pre-shared key, which every zcrp-bench has: what a
 * benchmark sends is no secret. Keys made from now on append the secrets of their connections to
 * the file at `path` (zcrp_keys_log), which stays the caller's. NULL: to none, as at the beginning.
 */
void carrier_log_keys(const char *path);

/* What ZCRP's channel is called in the report: "udp", with keys "udp+keys". AUTO is as UDP: what it
 * came to is known later. */
void carrier_name(const struct settings *settings, char name[TRANSPORT_CHANNEL_ROOM]);

/* ZCRP's options, as the settings say. Over AAL5 units and control have a circuit each, and the way
 * back two more, so that both ends may share an address. */
struct zcrp_options carrier_options(const struct settings *settings, bool is_back);

/* Connections of ZCRP: `count` from one end to the other, which has a listener. The connecting one
 * returns when all are accepted. 0, the listener's port, or -1 with a complaint. */
int carrier_listen(const struct transport *transport, struct zcrp_listener **listener);
int carrier_accept(const struct transport *transport, struct zcrp_listener *listener,
                   struct zcrp_connection **connections, uint64_t count);
int carrier_connect(const struct transport *transport, struct zcrp_connection **connections,
                    uint64_t count);

/* Does this channel carry AAL5? Does it need both ends on this host? */
bool carrier_is_aal5(uint64_t channel);
bool carrier_is_memory(uint64_t channel);

/* By what a sender counted while it sent `bytes` of messages: did most of its units go by memory?
 * Large ones are counted as such. Small ones are not, but over a socket each burst takes a system
 * call, so fewer calls show another way. Small units that each wake their peer through the socket
 * take as many calls, and do not show. */
bool carrier_was_memory(const struct counts *sender, uint64_t bytes);

#endif
