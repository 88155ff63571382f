/* The channel of --peers: many connections, all busy at once, which one thread serves with epoll,
 * as a program with many peers does.
 *
 *      sending end                                 receiving end
 *      message n by a connection that has  ----->  counts messages, whichever
 *      room: `depth` by each                       connection they come by
 *
 * With --duplex as many messages come back, at once and over the same connections. A way is one
 * direction of a connection: connection c has way c there and, with --duplex, way c + peers back.
 * Each way has `depth` slots of the job's memory. All jobs have messages of one size, so what is
 * posted for one job and not used there is for the next. */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include "zcrp-bench/transports/transport.h"
#include "zcrp.h"

/* One direction of a connection. */
struct way {
    struct zcrp_entity *entity; /* ZCRP: the half of the connection */
    struct zcrp_msg **message;  /* all, */
    struct zcrp_msg **idle;     /* and those that wait for their turn: a stack */
    uint64_t message_count, idle_count;
    bool is_busy;  /* TCP: with a message to send */
    uint64_t at;   /* bytes of the message under way */
    uint64_t slot; /* that it has */
};

enum { CROWD_READ = 65536 /* bytes at once, of small messages */ };

struct crowd {
    uint64_t peers, ways;
    bool is_sender; /* of the ways there */
    bool has_begun; /* has been prepared for its first job */
    int epoll;
    struct job *job;
    uint64_t begun, ended;  /* of the job's messages that this end sends */
    uint64_t arrived;       /* of those that it receives */
    uint64_t arrived_bytes; /* of the job */
    double *peer_bytes;     /* the same, by each connection */
    struct way *way;
    struct zcrp_connection **connection; /* of ZCRP, */
    struct zcrp_listener *listener;
    int *fd;                   /* of TCP, of each connection, */
    uint64_t write_bytes;      /* most in one write; 0: the whole message */
    uint8_t small[CROWD_READ]; /* takes what comes of small messages */
};

/* How messages move. Each returns 0, or -1 with a complaint. */
struct crowd_calls {
    int (*begin)(struct transport *transport, const struct job *job); /* before the first job */
    int (*fill)(struct crowd *crowd); /* begins messages wherever there is room, in turns */
    int (*serve)(struct crowd *crowd, uint64_t which); /* what epoll says is ready */
};

/* For the functions of struct transport_kind. Both ends' beginning, transport->state: NULL with a
 * complaint; and the end of it, when no connection is left. */
struct crowd *crowd_create(struct transport *transport, bool is_listening);
void crowd_destroy(struct crowd *crowd);

int crowd_connect(struct transport *transport);
int crowd_prepare(struct transport *transport, const struct job *job);
int crowd_run(struct transport *transport, struct job *job);
double crowd_fairness(struct transport *transport);

#define CROWD_CALLS(calls)                                                                         \
    .crowd_calls = (calls), .connect = crowd_connect, .prepare = crowd_prepare, .send = crowd_run, \
    .receive = crowd_run, .fairness = crowd_fairness

/* Does this process send on that way? Else it receives. */
static inline bool crowd_sends_on(const struct crowd *crowd, uint64_t way)
{
    return crowd->is_sender == (way < crowd->peers);
}

static inline uint8_t *crowd_slot(const struct job *job, uint64_t way, uint64_t slot)
{
    return memory_slot(&job->memory, way * job->depth + slot);
}

/* A message to send has its turn. False if there are no more for now. */
bool crowd_begin_message(struct crowd *crowd);

/* Bytes have come by this way. 0, or -1 with a complaint. */
int crowd_arrive(struct crowd *crowd, uint64_t way, uint64_t bytes);

#endif
