/* --peers: many connections between two processes of this machine, all busy at once. Each process
 * serves all of its connections in one thread, over epoll, as a program with many peers does.
 *
 *     sending process                              receiving process
 *       connect N             -- loopback -->        accept N
 *       messages in a circle, `depth` a peer         counts bytes, a peer each
 *
 * With --duplex messages go the other way, too, at once and over the same connections. Each
 * connection then has two ways: of peer i these are way i, and way i + `peers` back.
 *
 * Every measurement has two processes of its own. What they share is in struct stage. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "zcrp-bench/command/options.h"

/* What a measurement finds out about a process. */
struct peers_side {
    int64_t cpu_ns; /* while it is measured */
    double kib;     /* resident memory for each peer, without the messages' */
    int threads;    /* beside the program's one */
};

enum peers_phase {
    PEERS_OPENING,
    PEERS_OPEN, /* all are accepted: messages move */
    PEERS_MEASURING,
    PEERS_OVER,
};

/* In memory that both processes have. The receiving process moves the phase. */
struct stage {
    struct settings settings; /* but messages under way are `depth` below */
    struct manner manner;     /* of TCP */
    uint64_t peers, size, depth;
    uint64_t ways; /* messages go: as many as peers, or twice as many */
    int64_t duration_ns;
    _Atomic int phase;                    /* enum peers_phase */
    _Atomic int port;                     /* where the receiving process listens; 0: not yet */
    double seconds;                       /* that were measured */
    char channel[TRANSPORT_CHANNEL_ROOM]; /* its name; the sending process knows it */
    struct peers_side sender, receiver;
    uint64_t bytes[]; /* of each way's messages, in that time */
};

/* One process's connections. */
struct crowd {
    struct stage *stage;
    bool is_sender; /* the process that sends if messages go one way */
    int epoll;
    int64_t moved_ns;   /* when something of it was last ready */
    uint8_t *memory;    /* of messages: `depth` slots of `size` bytes for each way */
    uint64_t *received; /* bytes of each way so far */
    void *state;        /* the kind's */
};

/* How messages move. All return 0, or -1 with a complaint. */
struct crowd_kind {
    int (*listen)(struct crowd *crowd);                /* the port, instead of 0 */
    int (*accept)(struct crowd *crowd);                /* all peers */
    int (*connect)(struct crowd *crowd, int port);     /* all peers; names the channel */
    int (*begin)(struct crowd *crowd);                 /* messages move from now on */
    int (*serve)(struct crowd *crowd, uint64_t which); /* what epoll says is ready */
    void (*name)(struct crowd *crowd); /* the channel, as the sender found it; NULL: as it was */
    const char *when_idle; /* complained of when the limit of the settings has passed with nothing
                              ready; NULL: the kind notices that itself */
};

extern const struct crowd_kind crowd_zcrp, crowd_tcp;

/* Does this process send on that way? Else it receives. */
static inline bool crowd_sends(const struct crowd *crowd, uint64_t way)
{
    return crowd->is_sender == (way < crowd->stage->peers);
}

/* The slot of a way's message. */
static inline uint8_t *crowd_slot(const struct crowd *crowd, uint64_t way, uint64_t slot)
{
    return crowd->memory + (way * crowd->stage->depth + slot) * crowd->stage->size;
}

/* Measures each size and transport in turns, and reports. 0, or -1 with a complaint. */
int peers_run(const struct options *options);

#endif
