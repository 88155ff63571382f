/* Do bursts arrive that the kernel cuts (UDP_SEGMENT)? Some kernels, network cards and tunnels cut
 * them wrongly, or drop them, and no call says so. Then datagrams that leave singly arrive, and
 * datagrams of cut bursts do not.
 *
 *            many cut units lost, none arrives            2 tests, of 6 units, say that it fails
 *     WORKS ---------------------------------> DOUBTED ------------------------------> FAILED
 *       ^ <----------- a cut unit arrives ---------/                                     |
 *        \------------------- two units of one test arrive -----------------------------/
 *
 * In doubt, and behind a failure, datagrams leave singly. A test is a short burst that is cut:
 * every second burst in doubt, and one every 20 s behind a failure.
 *
 *      single, single, [ cut, cut, cut, cut ], single, single     all of the test is lost, and the
 *                   ^                             ^               datagrams beside it arrive:
 *                   arrives                       arrives         it says that cutting fails
 *
 * So loss, a path that is down for a while and a queue that is full are not taken for it. A kernel
 * that cuts wrongly only sometimes is not found.
 *
 * A unit is named by the sequence number of its transmission.
 *
 * I1  -OFFLOAD_PATH_CREDIT <= missed; WORKS has less than OFFLOAD_PATH_LOST.
 * I2  no test has lost more than it has. */
#ifndef ZCRP_CORE_OFFLOAD_PATH_H
#define ZCRP_CORE_OFFLOAD_PATH_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    OFFLOAD_PATH_LOST = 6,    /* cut units, until there is doubt; and of tests, until it is sure */
    OFFLOAD_PATH_TESTS = 2,   /* that say so */
    OFFLOAD_PATH_KEPT = 4,    /* tests that are remembered */
    OFFLOAD_PATH_GOOD = 16,   /* lost units that one which arrived outweighs, */
    OFFLOAD_PATH_CREDIT = 64, /* and all that arrived together */
    OFFLOAD_PATH_FEW = 4,     /* datagrams of a test */
    OFFLOAD_PATH_PROOFS = 2,  /* of them that arrive, and cutting works again */
};

#define OFFLOAD_PATH_RETRY (20 * SECOND) /* after a failure, or a test that failed behind one */

enum offload_path_state {
    OFFLOAD_PATH_UNUSED, /* this channel's kernel cuts nothing: nothing is counted */
    OFFLOAD_PATH_WORKS,
    OFFLOAD_PATH_DOUBTED,
    OFFLOAD_PATH_FAILED,
};

/* How a burst leaves. */
enum offload_path_burst {
    OFFLOAD_BURST_CUT,    /* by the kernel */
    OFFLOAD_BURST_TEST,   /* by the kernel: OFFLOAD_PATH_FEW datagrams at most */
    OFFLOAD_BURST_SINGLY, /* each datagram by itself */
};

/* Numbered from `first` on; 0 units: there is none. */
struct offload_test {
    uint64_t first;
    uint32_t units, lost;
    bool has_before, has_behind; /* the single datagram before it, or behind, has arrived */
};

struct offload_path {
    enum offload_path_state state;
    int32_t missed;  /* cut units lost, less OFFLOAD_PATH_GOOD for each that arrived */
    uint64_t newest; /* single unit that arrived */
    bool was_test;   /* the last burst was one, so the next is none */
    struct offload_test test[OFFLOAD_PATH_KEPT]; /* the n-th at n modulo that */
    uint32_t tests;                              /* so far */
    uint32_t proofs; /* cut units that arrived since the last test behind a failure */
    instant retry;   /* in FAILED: when the next is made */
};

/* WORKS if `is_used`, else UNUSED for good. Cannot fail. */
void offload_path_init(struct offload_path *p, bool is_used);

/* How the next burst should leave. */
enum offload_path_burst offload_path_next(const struct offload_path *p, instant now);

/* A test left: `datagrams` from number `first` on. Of one datagram the kernel cuts nothing.
 * Or another burst did. Or less than two datagrams of that test did not leave after all. */
void offload_path_on_test(struct offload_path *p, instant now, uint64_t first, uint32_t datagrams);
void offload_path_on_other(struct offload_path *p);
void offload_path_on_unsent(struct offload_path *p, instant now, uint64_t first);

/* This many units in a row, the last of them numbered `last`, have arrived, also if they were
 * thought lost. */
void offload_path_on_arrived(struct offload_path *p, uint64_t last, uint32_t units, bool is_cut);

/* A cut unit was given up, because later ones arrived. True if cutting has FAILED with it: until
 * now losses told nothing about congestion. */
__attribute__((warn_unused_result)) bool offload_path_on_lost(struct offload_path *p, instant now,
                                                              uint64_t seq);

/* The loss of a cut unit tells nothing of congestion then. */
static inline bool offload_path_has_failed(const struct offload_path *p)
{
    return p->state == OFFLOAD_PATH_FAILED;
}

static inline bool offload_path_is_doubted(const struct offload_path *p)
{
    return p->state == OFFLOAD_PATH_DOUBTED;
}

/* CHECKs I1 and I2. */
void offload_path_check(const struct offload_path *p);

#endif
