/* Two hosts and a network between them, in virtual time. A setup and its seed determine everything;
 * the first thing that is wrong ends the run. */
#ifndef ZCRP_TESTS_SIM_WORLD_H
#define ZCRP_TESTS_SIM_WORLD_H

#include "host_receiver.h"
#include "host_sender.h"

struct world {
    struct setup setup;
    struct scene scene;
    struct sealing *sealing; /* NULL: there are no keys */
    struct whole_ring memory;
    struct link out;
    struct link back;
    struct host_sender sender;
    struct host_receiver receiver;
    uint64_t steps;
    instant moves_at;  /* the next step of the move; NEVER: there is none */
    bool is_under_way; /* the old path is gone */
    instant lies_at;   /* the stranger's next word; NEVER: there is none */
    uint64_t lies;
};

/* Makes the world; the story goes to `log` unless that is NULL. To be destroyed. */
struct world *world_create(const struct setup *setup, FILE *log);
void world_destroy(struct world *world);

/* Lets it run until both users have closed, or `until`. False if something was wrong. */
bool world_run_until(struct world *world, instant until);

/* Lets it run to its end, and looks at the end. False if something was wrong: what, is in
 * scene.failure. */
bool world_run(struct world *world);

/* When something happens next, not before now; and all that happens at that time. For worlds that
 * run side by side. */
instant world_next_at(struct world *world);
void world_step(struct world *world, instant now);

/* When the last message was over, at both ends. */
instant world_last_end(const struct world *world);

/* True if both hosts are closed. */
bool world_is_over(const struct world *world);

/* ---- verdict.c */

/* Judges what both users were told when all is over. */
void verdict(struct world *world);

#endif
