/* Victims with connections: a server that accepts everybody and gives each message back, and
 * callers that want their messages back. Each is a process of its own on one side of the stage,
 * killed with the test's process. What they see they write to memory that the test shares. */
#ifndef ZCRP_TESTS_ATTACK_HOUSE_H
#define ZCRP_TESTS_ATTACK_HOUSE_H

#include "raw.h"
#include "zcrp.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { HOUSE_ECHO = 20000, HOUSE_PENDING = 1 };

struct house_book {
    _Atomic int listens;                          /* HOUSE_PENDING, or zcrp_listen's code */
    _Atomic uint64_t accepted, refused;           /* calls of zcrp_accept: good, failed */
    _Atomic uint64_t admitted, dropped, standing; /* of zcrp_listener_stats */
    _Atomic uint64_t failed;  /* connections that ended otherwise than by the peer's close, */
    _Atomic int why;          /* the last of them */
    _Atomic uint32_t address; /* of the peer accepted last, */
    _Atomic uint32_t port;    /* and its port */
};

struct house {
    pid_t pid;
    struct house_book *book;
};

/* A server at that end of that side, which listens when this returns. `options` NULL: none. */
void house_open(struct house *h, const struct stage *stage, enum stage_side side,
                struct raw_end own, const struct zcrp_options *options);
void house_close(struct house *h);

/* Memory that the server has in use, bytes. */
uint64_t house_memory(const struct house *h);

struct guest_book {
    _Atomic int connected;                   /* HOUSE_PENDING, or zcrp_connect's code */
    _Atomic uint64_t echos;                  /* messages that came back */
    _Atomic int failure;                     /* why one did not; 0: none */
    _Atomic int64_t connected_ns, echoed_ns; /* how long connect and the first echo took */
    _Atomic int64_t longest_ns;              /* the longest echo */
    _Atomic bool is_over;                    /* the test wants it to close */
    _Atomic int closed;                      /* HOUSE_PENDING, or what close said */
};

struct guest {
    pid_t pid;
    struct guest_book *book;
};

/* A caller that connects to the end, and then sends one message after the other. */
void guest_call(struct guest *g, const struct stage *stage, enum stage_side side,
                struct raw_end to);

/* It closes its connection. */
void guest_leave(struct guest *g);

/* Kills it, as if it had crashed. */
void guest_kill(struct guest *g);

#endif
