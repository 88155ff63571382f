/* The receiving host: a receiver core, its user, its socket, and what its threads do. Datagrams
 * wait in the socket; a plan is made, stays out for a while in which the user goes on posting and
 * taking back, then the kernel scatters into it what has come by then. */
#ifndef ZCRP_TESTS_SIM_HOST_RECEIVER_H
#define ZCRP_TESTS_SIM_HOST_RECEIVER_H

#include "host_sender.h"

enum { LANDED_MOST = 4096 };

/* A datagram in the socket, or just scattered. */
struct parcel {
    uint8_t *bytes;
    uint32_t size;
    bool is_marked;
};

struct host_receiver {
    struct scene *scene;
    struct sealing *sealing;   /* NULL: there are no keys */
    struct whole_ring *memory; /* shared with the sender */
    struct link *back;
    const struct host_sender *peer;
    struct receiver *core;
    struct receiver_config config;
    struct user user;
    struct landing landing;
    uint8_t *landing_memory;
    struct parcel *socket; /* ring of LANDED_MOST */
    uint64_t socket_first;
    uint64_t socket_last;
    uint64_t socket_bytes;
    uint64_t overflows; /* datagrams that found the socket full */
    uint64_t scattered; /* of the ring, from socket_first on, in the plan */
    bool is_plan_out;
    instant lands;           /* when the plan is filled */
    bool is_copying;         /* the plan is of a message that comes as a whole, */
    struct element copied;   /* which is this one, */
    struct entry *copied_to; /* and goes there */
    uint32_t said;           /* session, as the core last said */
    uint32_t session;        /* the same, once the ends of the one before are told */
    uint32_t session_first;  /* the message that is the session's first */
    uint32_t fini_next;
    uint32_t expected; /* the message that the sender was last asked about; NO_MESSAGE: none yet */
    uint64_t steps;
    bool has_credit; /* the core was told so */
    bool is_refused; /* the system has something to say, when it is asked */
    instant said_at; /* when the host last said that nobody listens */
    uint32_t lives;
    struct receiver_counters dead; /* counters of the process before */
};

void host_receiver_init(struct host_receiver *h, struct scene *scene, struct link *back,
                        struct host_sender *peer, struct sealing *sealing);
void host_receiver_fini(struct host_receiver *h);

/* A datagram arrives; for struct link. */
void host_receiver_deliver(void *host, const struct datagram *datagram);

/* The system is told that nobody listens at the peer's port. */
void host_receiver_refuse(struct host_receiver *h);

/* When this host does something that is to be done `at`: later, if it is frozen then. */
instant host_receiver_awake_at(const struct host_receiver *h, instant at);

/* When this host does something of itself; may be in the past. */
instant host_receiver_next_at(const struct host_receiver *h);

/* Does all that is due. */
void host_receiver_run(struct host_receiver *h);

bool host_receiver_is_closed(const struct host_receiver *h);

/* ---- host_receiver_landing.c: the receiving thread and the kernel */

/* Begins to receive, if there is something in the socket. */
void host_receiver_plan(struct host_receiver *h);

/* The kernel fills the plan, the core reads it, and everything is looked at. */
void host_receiver_land(struct host_receiver *h);

#endif
