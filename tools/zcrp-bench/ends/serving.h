/* What the receiving end does for the sending end: jobs, one after the other. */
#ifndef BENCH_SERVING_H
#define BENCH_SERVING_H

#include "zcrp-bench/command/options.h"

/* As many channels as a sending end may open: each contender's lanes, and one back. */
enum { CHANNELS = OPTIONS_MAX_TRANSPORTS * (MANNERS_MAX + 1) };

struct companion;

struct receiving_end {
    const struct options *options; /* this end's command line: input, output */
    int listener;
    struct control control;
    struct settings settings; /* as the sending end wants them */
    struct transport transports[CHANNELS];
    size_t transport_count;
    struct memory memory;
    struct input input; /* its own copy of the file, if it was given one */
    int output;
    bool is_different; /* something arrived that was not sent */
    bool is_companion; /* another one has asked for it, with "flow" */
    struct companion *companions[OPTIONS_MAX_PARALLEL - 1]; /* that this one has asked for */
    size_t companion_count;
};

/* Each does what the arguments of a line ask for, and answers. 0, or -1 with a complaint. */

/* "measure TRANSPORT SIZE COUNT TOTAL SLOTS DEPTH CONTENT SEED LOOK RATE DURATION" */
int serving_measure(struct receiving_end *end, const char *arguments);

/* "ping TRANSPORT SIZE COUNT DEPTH" */
int serving_ping(struct receiving_end *end, const char *arguments);

/* Complains of the last line. -1. */
int serving_malformed(const struct receiving_end *end);

#endif
