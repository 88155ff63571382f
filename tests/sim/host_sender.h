/* The sending host: a sender core, its user, and what its threads and its kernel do. A burst that
 * was taken stays in the kernel for a while; its datagrams leave at some moment of it, so that
 * acknowledgements may arrive before `sent` is said. */
#ifndef ZCRP_TESTS_SIM_HOST_SENDER_H
#define ZCRP_TESTS_SIM_HOST_SENDER_H

#include "sealing.h"
#include "user.h"
#include "whole_ring.h"

enum { FLIGHTS = 2, SESSIONS = 64 };

/* What a burst crosses as, with keys. */
struct envelope {
    struct burst burst;
    uint8_t staging[SEAL_STAGING];
};

/* A burst in the kernel. */
struct flight {
    struct burst burst;
    struct envelope *envelope; /* NULL: it crosses as it is */
    bool is_up;
    bool has_left;
    uint32_t accepted; /* datagrams that the kernel takes */
    instant leaves;
    instant lands; /* when the call returns */
};

/* Which message a session began with: the n-th send of a session pairs with the n-th post. */
struct beginning {
    uint32_t session;
    uint32_t index;
};

struct host_sender {
    struct scene *scene;
    struct sealing *sealing;   /* NULL: there are no keys */
    struct whole_ring *memory; /* shared with the receiver */
    struct link *out;
    struct sender *core;
    struct sender_config config;
    struct user user;
    struct flight flight[FLIGHTS];
    struct beginning beginning[SESSIONS];
    uint32_t sessions;
    uint32_t fini_next; /* buffers of messages before this one are freed */
    uint64_t steps;
    uint64_t probes_told;
    bool is_refused;             /* the system has something to say, when it is asked */
    instant said_at;             /* when the host last said that nobody listens */
    instant first_unit_at;       /* when the first left, */
    instant single_at;           /* when more leave singly than a timeout repeats, */
    instant offload_failed_at;   /* when cut bursts were found not to arrive, */
    instant cut_again_at;        /* and when more than a trial was cut behind that; 0: not yet */
    uint32_t lives;              /* restarts */
    struct sender_counters dead; /* counters of the process before */
};

void host_sender_init(struct host_sender *h, struct scene *scene, struct link *out,
                      struct whole_ring *memory, struct sealing *sealing);
void host_sender_fini(struct host_sender *h);

/* A datagram arrives; for struct link. */
void host_sender_deliver(void *host, const struct datagram *datagram);

/* The system is told that nobody listens at the peer's port. */
void host_sender_refuse(struct host_sender *h);

/* When this host does something that is to be done `at`: later, if it is frozen then. */
instant host_sender_awake_at(const struct host_sender *h, instant at);

/* When this host does something of itself; may be in the past. */
instant host_sender_next_at(struct host_sender *h);

/* Does all that is due. */
void host_sender_run(struct host_sender *h);

bool host_sender_is_closed(const struct host_sender *h);

/* Index of message `number` of a session, by what went over the wire; or NO_MESSAGE. */
uint32_t host_sender_index(const struct host_sender *h, uint32_t session, uint32_t number);

/* ---- host_sender_flight.c: the sending thread and the kernel */

/* Bursts leave, and calls return, as far as it is time. */
void host_sender_run_flights(struct host_sender *h);

/* Takes bursts while there are any, and flights free for them. */
void host_sender_take_off(struct host_sender *h);

#endif
