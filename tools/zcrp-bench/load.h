/* Competitors for the processor: zcrp-load as a child of this process, on the same cores. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdint.h>
#include <sys/types.h>

struct load {
    pid_t child; /* 0: none */
};

/* Starts one that counts in `processes` processes; 0: does nothing. The program is looked for
 * beside this one, then in PATH. It ends with this process at the latest. 0, or -1 with a
 * complaint; then *load is as if there were none. */
int load_begin(struct load *load, uint64_t processes);

/* Ends it. Fine if there is none. */
void load_end(struct load *load);

#endif
