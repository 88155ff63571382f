/* A victim: a process of its own on one side of the stage, which uses the library by its public API
 * only, as it is told over a socket, and reports what its calls said.
 *
 * An order that takes time is begun by victim_begin_... and its report is read later. If the victim
 * dies the test fails. It is killed with the test's process. */
#ifndef ZCRP_TESTS_ATTACK_VICTIM_H
#define ZCRP_TESTS_ATTACK_VICTIM_H

#include "raw.h"
#include "zcrp.h"

#include <sys/types.h>

#define VICTIM_MS ((int64_t)1000000)

enum {
    VICTIM_MESSAGES = 64, /* that it keeps by number */
    VICTIM_EMPTY = 0xEE,  /* what a receiver's buffers are full of to begin with */
    VICTIM_CODES = 64,    /* more than there are codes */
    VICTIM_UNDER_WAY = 4, /* messages of a stream */
    VICTIM_SENDER_PORT = 4001,
    VICTIM_RECEIVER_PORT = 4002,
};

struct victim {
    pid_t pid;
    int orders;
};

/* What a stream came to. */
struct victim_flow {
    uint64_t messages;           /* that ended well */
    uint64_t failed;             /* that did not */
    uint64_t code[VICTIM_CODES]; /* how many failed with -code */
    int64_t duration_ns;
    int64_t longest_pause_ns; /* without a message that ended well */
    uint64_t bytes;
    uint64_t least_unit_bytes; /* of what statistics said behind each message */
    uint64_t least_window_bytes;
};

struct victim_report {
    int code;
    struct raw_end peer; /* of accept: whom the socket is connected to */
    uint64_t bytes;
    struct victim_flow flow;
    struct zcrp_stats stats;
};

void victim_start(struct victim *v, const struct stage *stage, enum stage_side side);

/* Kills it, at once, as if it had crashed. */
void victim_kill(struct victim *v);

/* Memory that the process has in use, bytes. */
uint64_t victim_memory(const struct victim *v);

/* A socket of that address and port, connected to the peer, and a sender or receiver on it.
 * `options` NULL: none. The code. */
int victim_open(const struct victim *v, bool is_sender, struct raw_end own, struct raw_end peer,
                const struct zcrp_options *options);

/* The same in two steps: the socket, unconnected, where datagrams may wait; and the rest. */
int victim_bind(const struct victim *v, struct raw_end own);
int victim_connect(const struct victim *v, bool is_sender, struct raw_end peer,
                   const struct zcrp_options *options);

/* zcrp_udp_listen and, for at most that time, zcrp_udp_accept. */
int victim_listen(const struct victim *v, struct raw_end own);
void victim_begin_accept(const struct victim *v, int64_t timeout_ns);
int victim_open_accepted(const struct victim *v, bool is_sender,
                         const struct zcrp_options *options);

/* Submits message `number` of so many bytes; a sender fills it by `seed`. */
int victim_submit(const struct victim *v, unsigned number, uint64_t bytes, uint64_t seed);

int victim_wait(const struct victim *v, unsigned number, int64_t timeout_ns);
void victim_begin_wait(const struct victim *v, unsigned number, int64_t timeout_ns);

/* Fills the memory of a message that is over with one value. */
void victim_refill(const struct victim *v, unsigned number, uint8_t value);

/* How many bytes of message `number` behind its length are `value`? */
uint64_t victim_count(const struct victim *v, unsigned number, uint8_t value);

/* Does message `number` hold, as far as its length, what a sender fills in by `seed`? */
bool victim_holds(const struct victim *v, unsigned number, uint64_t seed);

/* Keeps VICTIM_UNDER_WAY messages of so many bytes under way until victim_end_stream, with a pause
 * behind each. The sender ends first, and waits for its last messages. */
void victim_begin_stream(const struct victim *v, uint64_t bytes, int64_t pause_ns);
void victim_end_stream(const struct victim *v, struct victim_flow *flow);

void victim_stats(const struct victim *v, struct zcrp_stats *stats);

/* The report of what was begun. */
void victim_report(const struct victim *v, struct victim_report *report);

/* Has it come? */
bool victim_has_report(const struct victim *v);

int victim_close(const struct victim *v);

/* ---- between victim.c and victim_work.c ---- */

enum victim_task {
    VICTIM_BIND,
    VICTIM_CONNECT,
    VICTIM_LISTEN,
    VICTIM_ACCEPT,
    VICTIM_OPEN,
    VICTIM_SUBMIT,
    VICTIM_WAIT,
    VICTIM_REFILL,
    VICTIM_COUNT,
    VICTIM_HOLDS,
    VICTIM_STREAM,
    VICTIM_END_STREAM,
    VICTIM_STATS,
    VICTIM_CLOSE,
    VICTIM_TASKS,
};

struct victim_order {
    enum victim_task task;
    bool is_sender;
    struct raw_end end;
    struct zcrp_options options;
    unsigned number;
    uint8_t value;
    uint64_t bytes, seed;
    int64_t timeout_ns;
};

/* What the process does: follows orders until there are none. */
_Noreturn void victim_work(int orders);

#endif
