/* A scenario: a family of setups, one for each seed, and what is expected of their runs beside
 * what is expected of every run. */
#ifndef ZCRP_TESTS_SIM_SCENARIO_H
#define ZCRP_TESTS_SIM_SCENARIO_H

#include "world.h"

/* What many runs add up to. */
struct figures {
    uint32_t runs;
    uint32_t failed; /* did not end as expected */
    uint64_t ok;     /* messages that both ends call delivered */
    uint64_t not_ok;
    uint64_t bytes;                   /* delivered */
    uint64_t units, repeated, probes; /* as counted by the senders */
    uint64_t accepted, in_place;      /* and by the receivers */
    duration time;                    /* virtual, in all */
    duration longest;
};

struct scenario {
    const char *name;
    struct setup (*setup)(uint64_t seed, uint32_t parameter);
    bool (*judge)(struct world *world, uint32_t parameter); /* after a run; or NULL */
    uint32_t parameter;
    uint32_t percent;        /* runs for each 100 seeds asked for; or 0 and */
    uint32_t runs;           /* so many, with seeds 0, 1, 2 ... */
    uint32_t failed_percent; /* of the runs may fail */
};

/* One table for each file of scenarios; the last has no name. */
extern const struct scenario scenarios_of_loss[];
extern const struct scenario scenarios_of_order[];
extern const struct scenario scenarios_of_endings[];
extern const struct scenario scenarios_of_everything[];
extern const struct scenario scenarios_of_paths[];
extern const struct scenario scenarios_of_mtu[];
extern const struct scenario scenarios_of_shared[];
extern const struct scenario scenarios_of_pauses[];
extern const struct scenario scenarios_of_floods[];
extern const struct scenario scenarios_of_cells[];
extern const struct scenario scenarios_of_keys[];
extern const struct scenario scenarios_of_offload[];
extern const struct scenario scenarios_of_moves[];
extern const struct scenario scenarios_of_pieces[];

/* How many runs the scenario has when `seeds` are asked for. */
uint32_t scenario_runs(const struct scenario *scenario, uint32_t seeds);

/* Runs it once. What went wrong is printed, and the story to `log` unless that is NULL. */
bool scenario_run(const struct scenario *scenario, uint64_t seed, struct figures *figures,
                  FILE *log);

/* Prints one line. */
void figures_print(const struct figures *figures, const char *name);

/* When the setup's last message is over, and when both ends are closed; both NEVER if it fails. */
struct finish {
    instant last_end;
    instant closed;
};
struct finish scenario_finish(const struct setup *setup);

#endif
