/* What carries messages: ZCRP, TCP to compare with, and the bare UDP channel as the yardstick. One
 * interface for both ends of each:
 *
 *      transport_open / transport_answer   sending / receiving end: the channel, for the whole run
 *      transport_prepare                   before the watch starts, for each job
 *      transport_send / transport_receive  the job; return when the last message has ended
 *      transport_ping / transport_pong     instead of these: messages there and back
 *      transport_close
 *
 * All that can fail return 0, or -1 with a complaint. After a failure only transport_close is left.
 */
#ifndef BENCH_TRANSPORT_H
#define BENCH_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "counts.h"
#include "histogram.h"
#include "job.h"
#include "look.h"
#include "manner.h"

/* What both ends have to agree on; the sending end's command line decides. */
struct settings {
    uint64_t unit_bytes;   /* 0: the library's default */
    uint64_t window_bytes; /* 0: the library's default */
    uint64_t depth;        /* most messages under way at once */
    uint64_t is_spinless;  /* 1: who waits for a message of ZCRP sleeps at once */
    uint64_t limit_ns;     /* so long without progress is a failure */
    uint64_t buffer_bytes; /* of UDP sockets; 0: the library's default */
    uint64_t loss;         /* of LOSS_WHOLE packets, at both ends; 0: none but the path's */
    uint64_t congestion;   /* enum zcrp_congestion */
    uint64_t channel;      /* enum aal5_carrier (aal5.h) */
    uint64_t vpi, vci;     /* of the first circuit; vci 0: the library's default */
    uint64_t mtu;          /* of the circuit; 0: the library's default */
    uint64_t cell_loss;    /* in a million */
    uint64_t seed;         /* of cell_loss, of this flow; 0: none given */
    uint64_t interval_ns;  /* between two pulses (pulse.h); 0: none */
};

enum { TRANSPORT_CHANNEL_ROOM = 40 };

struct transport {
    const struct transport_kind *kind;
    const struct settings *settings;
    struct control *control;
    struct manner manner; /* sending end */
    bool is_back;         /* carries messages from the receiving end back */
    double bytes_per_s;   /* sending end: a flow's share when warming up; 0: not known */
    char channel[TRANSPORT_CHANNEL_ROOM]; /* "udp", "tcp/cubic"; known at the sending end */
    int fd;                               /* the channel's socket, or -1 */
    void *state;                          /* the kind's own */
};

/* A kind of transport; see the functions below, which call these. */
struct transport_kind {
    const char *name;
    const struct stream *stream;                             /* of kinds that use stream.h */
    bool is_simplex;                                         /* needs a second one for ping */
    int (*offer)(struct transport *transport, int listener); /* a port to connect to */
    int (*accept)(struct transport *transport, int listener, int port);
    int (*connect)(struct transport *transport, int port);

    /* Sending end, where a channel needs both ends at work to be made: that, from `connect` on
     * until the other end's `accept` has returned; NULL elsewhere. */
    int (*meet)(struct transport *transport);
    int (*prepare)(struct transport *transport, const struct job *job);
    int (*send)(struct transport *transport, struct job *job);
    int (*receive)(struct transport *transport, struct job *job);
    void (*count)(struct transport *transport, struct counts *counts);
    void (*close)(struct transport *transport);

    /* Sending end, from any thread; NULL where nothing can be seen before the end. */
    struct look (*look)(struct transport *transport);

    /* Sends each message of the job there, waits until it is back, and adds how long that took; the
     * other end's part. `back` is NULL unless the kind is simplex. NULL where there is no ping. */
    int (*ping)(struct transport *there, struct transport *back, const struct job *job,
                struct histogram *trips);
    int (*pong)(struct transport *there, struct transport *back, const struct job *job);
};

extern const struct transport_kind transport_tcp;
extern const struct transport_kind transport_zcrp;
extern const struct transport_kind transport_limit;

/* The kind called `name`, or NULL. */
const struct transport_kind *transport_find(const char *name);

/* Sending end: asks the other end for a channel and connects to it. Kind, settings, control, manner
 * and is_back have been filled in, here and below; all else is zero. */
int transport_open(struct transport *transport);

/* Receiving end: the same, asked. `listener` is the socket that the control connection came from.
 */
int transport_answer(struct transport *transport, int listener);

/* Also right after a failure, and for a transport of zeros. */
void transport_close(struct transport *transport);

/* For kinds: nothing has moved since `since_ns`. 0 while there is hope; -1, with the other end's
 * complaint or one of its own, if that end hung up or this has lasted for too long. */
int transport_despair(struct transport *transport, int64_t since_ns);

/* For kinds that have nothing to prepare, or count nothing. */
int transport_prepare_nothing(struct transport *transport, const struct job *job);
void transport_count_nothing(struct transport *transport, struct counts *counts);

#endif
