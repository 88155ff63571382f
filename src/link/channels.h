/* The channels of an entity: the user's two descriptors, which may be one socket, as one channel or
 * two; and the registry of all that are open in this process.
 *
 * The channels work on duplicates of the descriptors, so a user who closes one early does no harm.
 *
 * One socket has at most one sender and one receiver, because two of a kind would take each other's
 * datagrams. With keys it has one entity, because a handshake reads all datagrams of its socket.
 * One entity hears a raw socket, because the kernel keeps from it what is of other circuits. The
 * registry knows sockets by the kernel's cookie, so that duplicates of a descriptor are the same.
 * It has one mutex, never held together with another. A sender and a receiver on one socket set
 * that socket's options one after the other: one that opens or closes waits for the other. */
#ifndef ZCRP_LINK_CHANNELS_H
#define ZCRP_LINK_CHANNELS_H

#include "transport/channel.h"
#include "zcrp.h"

#include <stdbool.h>
#include <stdint.h>

/* All (c), from open to close. Must not move. */
struct channels {
    bool is_sender;
    bool is_half;              /* of a connection, which owns the one socket */
    bool has_keys;             /* and so one socket, which it has for itself */
    int given[2];              /* the user's descriptors, and */
    int owned[2];              /* duplicates of them; the same twice if they are one socket */
    uint64_t cookie[2];        /* of the sockets; 0: the kernel does not say */
    bool hears_raw;            /* the peer's datagrams come from a raw socket: AAL5 */
    struct channel channel[2]; /* one of them is used if the channel is duplex */
    struct channel *in, *out;  /* where the peer's datagrams come from, and ours go to */
    zcrp_tap tap;              /* the user's, and its context */
    void *tap_context;
    struct channels *next; /* in the registry, under its mutex, as what follows */
    bool is_changing;      /* options of its sockets are being set, or given back */
};

/* Opens the channels of a sender or a receiver, whose options are complete. ZCRP_OK or a code:
 * BUSY if one of the sockets has such an entity already. */
__attribute__((warn_unused_result)) int channels_open(struct channels *c, bool is_sender,
                                                      const int descriptors[2],
                                                      const struct zcrp_options *options);

/* The same for the sender or the receiver of a connection. The connection keeps its socket, which
 * no other entity uses. */
__attribute__((warn_unused_result)) int
channels_open_half(struct channels *c, bool is_sender, int fd, const struct zcrp_options *options);

/* Gives the sockets back as they were; nobody uses the channels any more. On a socket that other
 * channels have, too, the path discovery stays: the last of them gives it back. */
void channels_close(struct channels *c);

/* In a child: frees what the channels have, and leaves the sockets alone. */
void channels_abandon(struct channels *c);

/* The channel that units take. */
struct channel *channels_of_units(struct channels *c);

/* The sum of a counter of both. */
uint64_t channels_count(const struct channels *c, enum channel_counter which);

/* Adds what the channels count. */
void channels_add_stats(const struct channels *c, struct zcrp_stats *stats);

/* In a child: no channels are open. */
void channels_after_fork(void);

#endif
