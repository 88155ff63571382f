/* The channel: how datagrams move between two peers, a burst at a time.
 *
 *     struct burst --channel_send-->  kernel  ~~~~>  kernel  --channel_receive--> struct landing
 *
 * Where the kernel cuts and joins datagrams itself, a burst costs one call; elsewhere one call
 * takes several datagrams. Either way the caller sees bursts go out and land. The channel neither
 * reads nor copies its datagrams, keeps none back, and never blocks in send and receive. The
 * network may lose, repeat and reorder datagrams; the protocol repairs that.
 *
 * The descriptor is the caller's. The channel never closes it and leaves its O_NONBLOCK as it is.
 * From init to fini it changes the socket's UDP_GRO, path discovery and type of service, and for
 * good its SO_RXQ_OVFL, IP_RECVTOS and the size of its buffers. Meanwhile the user must not read,
 * write or reconnect it, nor have asked for an error queue (IP_RECVERR) that nobody empties.
 *
 * There are three kinds of errors. Init finds the user's mistakes. Network errors are
 * counted (enum channel_counter), and returned as verdicts. BROKEN is an error of this machine:
 * every later call fails, too.
 *
 * ICMP messages are counted and have no other effect, because anybody may have sent them. They make
 * the kernel refuse no datagram (IP_PMTUDISC_PROBE).
 *
 * I1  gso_segments is 1 (the offload is out of use) or 64 or 128, and only falls.
 * I2  path_bytes <= path_most <= datagram_max.
 *
 * Over AAL5 a unit is a PDU (docs/aal5.md), of one packet or several. Then a plan has one unit an
 * opening, and receive rewrites the plan: its openings say where units landed.
 *
 * Threads: one at a time may receive. Over AAL5 one at a time may send, else any number. Any may
 * wait, also while another receives. */
#ifndef ZCRP_TRANSPORT_CHANNEL_H
#define ZCRP_TRANSPORT_CHANNEL_H

#include "address.h"

#include "core/instant.h"
#include "core/receiver/landing.h"
#include "core/wire/aal5.h"
#include "core/wire/aal5_fault.h"
#include "core/wire/burst.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum channel_kind {
    CHANNEL_UDP4, /* also UDP over an IPv6 socket whose peer has an IPv4 address */
    CHANNEL_UDP6,
    CHANNEL_UNIX, /* AF_UNIX datagrams: never lost, but the sender has to wait */
    CHANNEL_RAW4, /* packets of IP itself, on a raw socket: AAL5 only */
    CHANNEL_RAW6,
};

enum channel_verdict {
    CHANNEL_OK = 0,
    CHANNEL_BLOCKED = -1, /* the socket's send buffer is full */
    CHANNEL_CROWDED = -2, /* the machine has no buffer: try again a little later */
    CHANNEL_TOO_BIG = -3, /* the interface takes no datagram of this size */
    CHANNEL_REFUSED = -4, /* nobody listens at the peer's address, or no route leads there, now */
    CHANNEL_BROKEN = -5,  /* the descriptor is no use (any more) */
    CHANNEL_FAULT = -6,   /* the kernel cannot read, or write, memory that it was given */
    CHANNEL_ABSENT = -7,  /* pages of the user's memory have to arrive first; not from a socket */
};

/* What happened, and how often since init. */
enum channel_counter {
    CHANNEL_CALLS_OUT,    /* system calls that sent something, or a part of it */
    CHANNEL_CALLS_IN,     /* system calls that received something */
    CHANNEL_BLOCKS,       /* EAGAIN in sending */
    CHANNEL_CROWDS,       /* ENOBUFS, ENOMEM */
    CHANNEL_TOO_BIGS,     /* EMSGSIZE, also reported late because of ICMP */
    CHANNEL_REFUSALS,     /* ECONNREFUSED, EHOSTUNREACH and their like, also reported late */
    CHANNEL_CLOSED_PORTS, /* of these, ECONNREFUSED: nobody listens at the peer's port */
    CHANNEL_HOMELESS,    /* of these, what a socket says whose own address is gone, or that no route
                            leads from */
    CHANNEL_FAULTS,      /* EFAULT */
    CHANNEL_TRUNCATIONS, /* receives dropped because they did not fit */
    CHANNEL_LEFTOVERS,  /* receives dropped that came from elsewhere before the socket was connected
                         */
    CHANNEL_DROPS,      /* datagrams that found the receive buffer full (SO_RXQ_OVFL) */
    CHANNEL_FALLBACKS,  /* times that an offload failed and was reduced or left */
    CHANNEL_DAMAGES,    /* PDUs dropped because of their CRC or length */
    CHANNEL_INCOMPLETE, /* PDUs dropped because a piece is missing, or their sender gave up */
    CHANNEL_STRANGERS,  /* packets of another circuit, or without AAL5 */
    CHANNEL_STAGED,     /* bytes of PDUs copied because the rest was not there yet */
    CHANNEL_CELLS_LOST, /* cells that the fault option lost */
    CHANNEL_COUNTERS,
};

struct channel;
struct aal5_channel;

/* One datagram that crossed. Valid until the tap returns. */
struct channel_crossing {
    int64_t time_ns; /* since 1970: just before the call that sent it, or after the one that
                        received it */
    bool is_outward;
    uint32_t bytes; /* of all pieces; not 0 */
    uint32_t count;
    const struct iovec *pieces;  /* none is empty */
    bool is_pdu;                 /* a PDU of AAL5, its tail included; else a datagram */
    struct aal5_circuit circuit; /* that it crossed on */
};

/* The tap sees each datagram that crosses, where it lies. The thread that sends or
 * receives calls `see` once its system call is over, for one datagram after the other; what the
 * kernel did not take is not shown. `see` must not use the channel. NULL: nobody looks; that costs
 * a branch. */
struct channel_tap {
    void (*see)(void *context, const struct channel *c, const struct channel_crossing *crossing);
    void *context;
};

/* What the user wants of AAL5 (docs/aal5.md). */
struct channel_aal5 {
    bool is_wanted; /* on a raw socket it is AAL5 in any case */
    struct aal5_circuit out, in;
    struct aal5_circuit also; /* another to receive from; VCI 0: none */
    bool only_sends;          /* nobody receives from this channel, but perhaps others from its
                                 socket */
    uint32_t mtu;             /* largest unit, bytes, at most AAL5_PAYLOAD_MOST */
    struct aal5_faults faults;
};

/* Can there be such a channel? What ZCRP_AAL5 says is part of the question. */
__attribute__((warn_unused_result)) bool aal5_is_possible(const struct channel_aal5 *options);

/* What the user wants of it. */
struct channel_options {
    uint32_t send_bytes; /* socket buffers to ask for; 0: as they are */
    uint32_t receive_bytes;
    bool use_gso;   /* send a burst in one call, if the kernel can */
    bool use_gro;   /* receive a burst in one call, if the kernel can */
    bool sends_ecn; /* what is sent may be marked instead of dropped (socket.h), */
    bool reads_ecn; /* and marks of what arrives are counted; over UDP, without AAL5 */
    struct channel_tap tap;
    struct channel_aal5 aal5;
};

/* In the caller's memory; must not move while in use. */
struct channel {
    int fd;                        /* (c) the user's */
    enum channel_kind kind;        /* (c) */
    struct channel_tap tap;        /* (c) */
    uint32_t datagram_max;         /* (c) bytes; no datagram or call can carry more */
    uint32_t receive_buffer;       /* (c) bytes granted, as read back: the kernel's own
                                      overhead counts too, so half of it or less is data */
    bool has_gro;                  /* (c) receives may come in bursts, */
    bool leaves_gro;               /* (r) but the kernel was asked to join none */
    bool has_filter;               /* (c) the socket's filter is the library's: fini removes it */
    struct aal5_channel *aal5;     /* (c) NULL: units are datagrams; see aal5_channel.h */
    int discovery_before;          /* (c) the socket's, given back by fini; -1: untouched, or left
                                      to another channel of the socket (link/channels.c) */
    int ecn_before;                /* (c) its type of service, given back as well */
    bool leaves_ecn;               /* (s) what is sent cannot be marked for now */
    uint32_t drops_seen;           /* (r) the socket's own count, wraps around */
    uint32_t path_bytes;           /* (c) largest datagram that the path takes whole, as the
                                      kernel said at init, */
    uint32_t path_most;            /* (c) and that the interface does; see I2 */
    bool may_rebind;               /* (c) its owner binds it anew when its own address is gone, so
                                      that this breaks nothing */
    bool has_leftovers;            /* (r) some of what the socket holds may be others' */
    union address peer;            /* (c) family 0: not known */
    _Atomic uint32_t gso_segments; /* (a) datagrams per call at most; see I1 */
    _Atomic uint64_t counter[CHANNEL_COUNTERS]; /* (a) */
};

/* Makes a channel of a connected datagram socket, or of a raw one of IP protocol 137, and finds out
 * what it can do. The environment overrules the options (zcrp.h, enum zcrp_option_flags). 0, or
 *   -EBADF         not an open descriptor
 *   -ENOTSOCK      not a socket
 *   -EPROTOTYPE    neither a datagram socket nor a raw one
 *   -EAFNOSUPPORT  neither UDP nor AF_UNIX nor IP protocol 137
 *   -ENOTCONN      connected to nobody
 *   -EINVAL        there is no such circuit, MTU or fault
 *   -ENOMEM        no memory for AAL5. */
__attribute__((warn_unused_result)) int channel_init(struct channel *c, int fd,
                                                     const struct channel_options *options);

/* Gives the socket back as described above; nobody uses the channel any more. */
void channel_fini(struct channel *c);

/* In a child of the process that made it: frees what the channel has, and leaves the socket alone.
 */
void channel_abandon(struct channel *c);

/* Sends the burst's datagrams in order. `*sent` is how many of them the kernel took, from the first
 * on, whatever the verdict; all of them if it is OK.
 *   BLOCKED, CROWDED  the others can go once the socket is writable, or after CHANNEL_PAUSE
 *   TOO_BIG           the others have to be cut smaller
 *   REFUSED           count the others as lost; not an error
 *   FAULT             memory of the others cannot be read; which, is for the caller to find out
 *   BROKEN            for good.
 * A connected socket hands the errors of earlier datagrams to the next call: that one is repeated
 * at once, so that REFUSED and TOO_BIG are news about this burst. Offloads that fail are left for
 * good, and the burst goes out without them. */
enum channel_verdict channel_send(struct channel *c, const struct burst *b, uint32_t *sent);

/* Receives into the openings of a landing and fills what it says is for the channel. How many
 * openings were filled, 0 if nothing is there, FAULT if the kernel cannot write to one (what came
 * for it is lost), BROKEN. An opening of 0 bytes holds what was empty, or dropped. One system call.
 */
int channel_receive(struct channel *c, struct landing *l);

/* Sends one datagram of a burst of control to this address, which need not be the peer's. What
 * cannot be sent is lost. By a thread that may send. */
void channel_send_to(struct channel *c, const struct burst *b, const union address *to);

/* The socket is connected to another address of the peer's, or bound to another one of its own.
 * Finds out anew what the path takes; what the socket holds already counts as others'. Nobody uses
 * the channel meanwhile. */
void channel_on_moved(struct channel *c);

/* Sends an empty datagram, which says nothing, but wakes a peer that waits for its socket. */
void channel_wake_peer(struct channel *c);

/* What a wait ended with, as bits. */
enum channel_ready { CHANNEL_READABLE = 1, CHANNEL_WOKEN = 2 };

/* Waits until something can be received, `wake_fd` is readable (-1: none), or the deadline (NEVER:
 * no limit). Bits of enum channel_ready, 0 after the deadline, BROKEN. Signals do not end it. */
int channel_wait(const struct channel *c, int wake_fd, instant deadline);

/* The same, but what arrives does not end it. WOKEN, 0 after the deadline, BROKEN. */
int channel_nap(int wake_fd, instant deadline);

#define CHANNEL_PAUSE MILLISECOND /* a crowded socket calls itself writable, so wait for time */

/* How many datagrams the kernel cuts out of one at most; 1: it cuts none. */
static inline uint32_t channel_cuts(const struct channel *c)
{
    return atomic_load_explicit(&c->gso_segments, memory_order_relaxed);
}

/* May what is sent from now on be marked (socket.h), if it could be at first? By the one thread
 * that sends. */
void channel_mark(struct channel *c, bool may);

/* Should the kernel join datagrams (UDP_GRO), if it can? At first it does. By the one thread that
 * receives. */
void channel_join(struct channel *c, bool joins);

static inline uint64_t channel_count(const struct channel *c, enum channel_counter which)
{
    return atomic_load_explicit(&c->counter[which], memory_order_acquire);
}

/* ---- for the kinds of channel themselves ---- */

static inline bool channel_is_udp(const struct channel *c)
{
    return c->kind == CHANNEL_UDP4 || c->kind == CHANNEL_UDP6;
}

static inline bool channel_is_raw(const struct channel *c)
{
    return c->kind == CHANNEL_RAW4 || c->kind == CHANNEL_RAW6;
}

static inline void channel_note(struct channel *c, enum channel_counter which, uint64_t times)
{
    atomic_fetch_add_explicit(&c->counter[which], times, memory_order_release);
}

#endif
