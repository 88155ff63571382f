/* A transport carries messages. There are ZCRP, TCP, AF_UNIX sockets and pipes on one host, the
 * bare UDP channel as the yardstick, and other message protocols whose libraries were installed at
 * build time. Both ends of each have one interface:
 *
 *      transport_open / transport_answer   connecting / listening end: the channel, for a whole run
 *      prepare                             before the watch starts, for each job
 *      send / receive                      the job; return when the last message has ended
 *      post, put, settle, take             instead of these: messages there and back (ends/trips.h)
 *      transport_close
 *
 * A function that can fail returns 0, or -1 with a complaint. After a failure only transport_close
 * is allowed. */
#ifndef BENCH_TRANSPORT_H
#define BENCH_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-bench/control/control.h"
#include "zcrp-bench/job/job.h"
#include "zcrp-bench/job/record.h"

/* How a transport is used. Only TCP, and TLS over it, have a choice; contender.c makes it. */
enum { MANNER_NAME = 16, MANNERS_MAX = 8 };

struct manner {
    char congestion[MANNER_NAME]; /* TCP's congestion control; "": the machine's */
    uint64_t write_bytes;         /* most in one write; 0: the whole message */
    bool is_joined;               /* the kernel joins small writes: no TCP_NODELAY */
};

enum { TRANSPORT_CHANNEL_ROOM = 40 };

struct transport {
    const struct transport_kind *kind;
    const struct settings *settings;
    struct control *control;
    struct manner manner; /* connecting end */
    bool is_back;         /* carries messages from the listening to the connecting end */
    double bytes_per_s;   /* connecting end: this flow's share when warming up; 0: not known */
    char channel[TRANSPORT_CHANNEL_ROOM]; /* "udp", "tcp/cubic"; known at the connecting end */
    int listener;  /* listening end: where the control connection came from */
    int fd;        /* the channel's socket, or the pipe that this end reads; or -1 */
    int port;      /* of the other end, once that has told it */
    size_t number; /* connecting end: among all channels of the run, in the order of opening */
    void *state;   /* the kind's own */
};

/* A channel in the midst of a job, at the end that sends. */
struct look {
    bool is_known;
    uint64_t bytes;    /* of messages, acknowledged since the channel was opened */
    uint64_t repeated; /* units of ZCRP, segments of TCP, since then */
    uint64_t window_bytes;
    uint64_t rtt_ns; /* smoothed */
};

/* A kind of transport. Without a word, a function is called at both ends. */
struct transport_kind {
    const char *name;
    const struct stream *stream; /* of kinds that use stream.h */
    bool is_simplex;             /* needs a second channel for the way back, but for connections */
    bool is_one_way;             /* messages only go from the connecting to the listening end */
    bool has_manners;            /* it goes over TCP */
    bool takes_turns;            /* no thread may send while another one receives */
    bool is_local;               /* both ends have to be on one host, in one network namespace */
    bool is_zcrp;
    const struct transport_kind *crowd; /* with --peers this takes the kind's place; NULL: none */
    const struct crowd_calls *crowd_calls; /* of kinds that crowd.c has */
    int (*check)(void); /* 0, or -1 with a complaint: this machine has none. NULL: all have it */
    int (*offer)(struct transport *transport);   /* a port to connect to */
    int (*accept)(struct transport *transport);  /* the other end, which has connected */
    int (*connect)(struct transport *transport); /* to the port; returns one of its own */

    /* Connecting end, for a channel that both ends make together: works on it from `connect` until
     * the other end's `accept` has returned. NULL elsewhere. */
    int (*meet)(struct transport *transport);
    int (*prepare)(struct transport *transport, const struct job *job); /* NULL: nothing to do */

    /* Around a job, in each thread that moves its messages; `end` also after a failure. NULL:
     * nothing to do. */
    int (*begin)(struct transport *transport);
    void (*end)(struct transport *transport);
    int (*send)(struct transport *transport, struct job *job);
    int (*receive)(struct transport *transport, struct job *job);
    void (*count)(struct transport *transport, struct counts *counts); /* NULL: counts nothing */
    double (*fairness)(struct transport *transport); /* of a crowd, in the last job; NULL: one */
    void (*close)(struct transport *transport);      /* NULL: nothing but the socket */

    /* Sending end, from any thread. NULL: nothing can be seen before the end of a job. */
    struct look (*look)(struct transport *transport);

    /* Message n of round trips, in this slot of the job's memory: makes room for it, sends it, and
     * waits until it has come. What was put has ended when `settle` returns, and with `put` where
     * that is NULL; `post` is NULL where no room need be made. All are NULL where a kind has no
     * round trips. One thread may put while another one takes. */
    int (*post)(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot);
    int (*put)(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot);
    int (*settle)(struct transport *transport, const struct job *job, uint64_t n);
    int (*take)(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot);
};

extern const struct transport_kind transport_tcp;
extern const struct transport_kind transport_zcrp;
extern const struct transport_kind transport_unix;
extern const struct transport_kind transport_pipe;
extern const struct transport_kind transport_limit;
extern const struct transport_kind crowd_zcrp, crowd_tcp;

/* TCP's functions, for what goes over it. */
int tcp_offer(struct transport *transport);
int tcp_accept(struct transport *transport);
int tcp_connect(struct transport *transport);
struct look tcp_look(struct transport *transport);

/* The channel of a TCP that is used so: "tcp/cubic" of whole messages, "tcp/cubic+128K" of smaller
 * writes, "tcp/cubic+joined" of joined ones, by the congestion control that the socket has. */
void tcp_name(int fd, const struct manner *manner, char name[TRANSPORT_CHANNEL_ROOM]);

/* A peer, whether built in or not. */
enum { PEERS = 4 };

struct peer {
    const char *name;
    const char *packages;              /* Debian's that it is built with */
    const char *what;                  /* the protocol, and whether it encrypts */
    const struct transport_kind *kind; /* NULL: not built in */
};

extern const struct peer peers[PEERS];

/* The peer called `name`, or NULL. */
const struct peer *peers_find(const char *name);

/* Says that a peer is not built in, and how to get it. -1. */
int peers_complain(const struct peer *peer);

/* The kind called `name`, or NULL. */
const struct transport_kind *transport_find(const char *name);

/* Whether round trips need a channel of this kind each way. */
bool transport_is_simplex(const struct transport *transport);

/* Connecting end: asks the other end for a channel and connects to it. Kind, settings, control,
 * manner and is_back have been filled in, here and below; all else is zero. */
int transport_open(struct transport *transport);

/* Listening end: answers that. */
int transport_answer(struct transport *transport);

/* Each thread that moves messages of a job: before it and after it. */
int transport_begin(struct transport *transport);
void transport_end(struct transport *transport);

/* A channel is settings->flows transports of one kind in a row, one without --parallel. Each flow
 * moves as many messages as the job has, in its share of the job's memory, and has a thread while
 * it does: the first one is the caller's. */

/* Both ends, before a job and its watch. */
int flows_prepare(struct transport *flows, const struct job *job);

/* Does a job of one way. From then on it has the messages of all flows, and what verification came
 * to. *fairness is Jain's index of the rates at which flows receive, or a crowd's own; else 0. */
int flows_move(struct transport *flows, struct job *job, bool is_sending, double *fairness);

/* What the channel has counted since it was opened. */
struct counts flows_count(struct transport *flows);

/* Also right after a failure, and for a transport of zeros. */
void transport_close(struct transport *transport);

/* For kinds: nothing has moved since `since_ns`. 0 while there is hope; -1, with the other end's
 * complaint or one of its own, if that end hung up or this has lasted for too long. */
int transport_despair(struct transport *transport, int64_t since_ns);

/* The same in a loop that waits: whether something has moved since the last turn. *since_ns is the
 * loop's, and 0 before it. */
int transport_go_on(struct transport *transport, bool has_moved, int64_t *since_ns);

/* Loss at the receiving socket: from now on the kernel drops `parts` of LOSS_WHOLE packets before
 * they enter `fd`, at random. So a loss costs nothing but itself, and no rights are needed. A burst
 * that the kernel keeps as one packet is lost as one. For losses from a seed, use zcrp-link. */
enum { LOSS_WHOLE = 1000000 };

int transport_lose(int fd, uint64_t parts);

#endif
