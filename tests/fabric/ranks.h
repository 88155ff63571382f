/* Ranks, as MPI has them: processes, each with a node, that know each other's addresses. The test
 * is rank 0, the others are its children. They meet in memory that they share. */
#ifndef ZCRP_TESTS_FABRIC_RANKS_H
#define ZCRP_TESTS_FABRIC_RANKS_H

#include "node.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { RANKS_MOST = 8 };

struct board {
    _Atomic int stage[RANKS_MOST]; /* how many times each has been at ranks_sync */
    pid_t pid[RANKS_MOST];
    uint8_t name[RANKS_MOST][NAME_BYTES];
};

struct rank {
    int number, count;
    struct board *board;
    struct node node;
    fi_addr_t to[RANKS_MOST];
};

struct ranks_plan {
    int count;
    struct node_wish wish;
    bool is_memory;              /* they may read each other's memory */
    void (*prepare)(int number); /* before a rank opens its node; NULL: nothing */
    void (*part)(struct rank *); /* of each child, which ends behind it */
};

/* Starts the children, opens the node of rank 0, and returns when all know each other. */
void ranks_start(struct rank *r, const struct ranks_plan *plan);

/* Waits until all ranks are here, and lets the node go on meanwhile. */
void ranks_sync(struct rank *r);

/* Closes the node of rank 0. Every child must have ended well, but those that were killed. */
void ranks_finish(struct rank *r);

/* Kills a child. Until this process ends, nobody else gets the port at which it listened. */
void ranks_kill(struct rank *r, int number);

#endif
