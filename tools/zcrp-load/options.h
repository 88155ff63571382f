/* What the command line of zcrp-load says. */
#ifndef LOAD_OPTIONS_H
#define LOAD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter.h"

struct options {
    uint64_t processes; /* 1 .. COUNTERS_MAX */
    int cores[CORES_MAX];
    size_t core_count;   /* 0: wherever the system likes */
    int64_t duration_ns; /* 0: until a signal */
    bool wants_each;     /* what each process counted, too */
    bool wants_help;
    bool wants_version;
};

/* Reads the command line. 0, or -1 with a complaint about the usage. */
int options_parse(struct options *options, int argc, char **argv);

/* Prints the help. */
void options_help(void);

#endif
