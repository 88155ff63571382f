/* Datagram sockets as channels: what a socket is and can do (socket_open.c), the options that are
 * set for as long as it is a channel (socket_options.c), and sending and receiving
 * (socket_transfer.c). */
#ifndef ZCRP_TRANSPORT_UDP_SOCKET_H
#define ZCRP_TRANSPORT_UDP_SOCKET_H

#include "transport/channel.h"

#include <sys/socket.h>

/* Does the environment say this (zcrp.h, enum zcrp_option_flags)? */
bool socket_is_set(const char *name);

/* An option that is a number, none of them below 0; or a negative error number. */
int socket_get(int fd, int level, int name);

/* True if the kernel took it. */
bool socket_set(int fd, int level, int name, int value);

/* ---- path discovery ----
 *
 * The largest datagram that a connected socket's path takes in one piece. The kernel names a size
 * when the channel is opened; from then on the core searches for it by itself (path_mtu.h). */

/* Makes the kernel send datagrams in one piece, and of any size that the interface takes. The
 * kernel then finds no path MTU itself, because it would believe ICMP, which anybody can send. Sets
 * datagram_max, path_bytes, path_most and discovery_before. A kernel that refuses changes nothing:
 * cannot fail. */
void socket_path_begin(struct channel *c);

/* Sets the sizes anew, for a socket that has another path now. */
void socket_path_find(struct channel *c);

/* The size that the kernel names for the path now, but at least what nearly every path carries. */
uint32_t socket_path_bytes(const struct channel *c);

/* Gives the socket's former path discovery back. */
void socket_path_end(struct channel *c);

/* ---- explicit congestion notification (RFC 3168) ----
 *
 * Over UDP. The network may mark datagrams that are sent as ECT(0) instead of dropping them, and
 * the receiver's kernel reports the marks. Only the two bits of ECN change; the bits of DSCP stay
 * the user's. If the kernel refuses, nothing changes. */

/* Sends datagrams as ECT(0) and has the kernel report the marks of arrivals, unless an option
 * forbids it. Sets ecn_before. */
void socket_ecn_begin(struct channel *c, const struct channel_options *options);

/* Gives the socket's former type of service back. */
void socket_ecn_end(struct channel *c);

/* The ECN bits that a control message reports: IPTOS_ECN_CE and its like; 0 if it reports something
 * else. They hold for all datagrams that the kernel joined. */
int socket_ecn_of(const struct cmsghdr *note);

/* ---- sending and receiving ---- */

/* What channel_send promises: one message that the kernel cuts (UDP_SEGMENT), else many messages
 * in one call (sendmmsg). */
enum channel_verdict socket_send(struct channel *c, const struct burst *b, uint32_t *sent);

/* What channel_receive promises, straight into the landing. */
int socket_receive(struct channel *c, struct landing *l);

/* Room for what the kernel says beside the data of a packet: the size of joined datagrams, the
 * socket's drops, the type of service of IPv4 or IPv6, and whatever else the user asked for. */
union socket_notes {
    struct cmsghdr head; /* aligns */
    uint8_t room[192];
};

/* The packets of a call to receive, and what the system says beside each. */
struct socket_packets {
    struct mmsghdr message[LANDING_OPENINGS];
    union address from[LANDING_OPENINGS];
    union socket_notes notes[LANDING_OPENINGS];
};

/* Receives up to `count` packets, not 0, whose pieces the caller has set: how many there were, 0,
 * FAULT or BROKEN. One system call, and another where an earlier datagram's error is in its way. */
int socket_receive_packets(struct channel *c, struct socket_packets *p, uint32_t count);

/* What the notes of a packet say. */
struct socket_noted {
    uint32_t segment; /* bytes of each of the joined datagrams; 0: there is one */
    int ecn;          /* of each of them: only equal ones are joined */
};

/* Reads the notes of a packet, and counts the drops that they tell of. */
struct socket_noted socket_read_notes(struct channel *c, struct msghdr *message);

/* Did it come from elsewhere than the channel's peer? Then it is counted. What was in the socket
 * before it was connected may be anybody's. */
bool socket_is_leftover(struct channel *c, const struct msghdr *message);

/* ---- error numbers ---- */

/* ICMP makes the kernel report at the next call what became of an earlier datagram, and anybody can
 * send ICMP. So REFUSED and TOO_BIG are
 * believed of a call only after this number in a row: nobody hits every gap between two calls. */
enum { FAULT_LATE_MOST = 32 };

/* Sorts the error number of a send or receive call into a verdict (never OK) and counts it by name;
 * BROKEN is not counted. Not for EINTR. Cannot fail. */
enum channel_verdict fault_note(struct channel *c, int error);

#endif
