/* The two ends of a run. The connecting end goes through the measurements that the options ask for,
 * tells the other end what to do, and reports. The listening end obeys what it hears over the
 * control connection, and tells what it measured. */
#ifndef BENCH_ENDS_H
#define BENCH_ENDS_H

#include "zcrp-bench/command/options.h"

/* Both ends on this machine: the listening end is a child process, over loopback or, with --netns,
 * over a virtual ethernet link. 0, or -1 with a complaint. The child has ended by then. */
int alone_run(const struct options *options);

/* Runs everything against the listening end at `address`. 0, or -1 with a complaint if anything
 * failed or arrived wrong; in the latter case the report is written all the same. */
int sending_end_run(const struct options *options, const struct address *address);

/* Serves one connecting end, from its control connection `fd`, which `listener` has accepted, to
 * its goodbye. Closes `fd`. 0, or -1 with a complaint, which the connecting end is told, too. */
int receiving_end_serve(const struct options *options, int listener, int fd);

/* What the receiving end does for the sending end: jobs, one after the other. */

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

/* Does what the arguments of a line ask for, and answers. 0, or -1 with a complaint.
 *
 *      measure TRANSPORT SIZE COUNT TOTAL SLOTS DEPTH CONTENT SEED LOOK RATE DURATION TRIPS */
int serving_measure(struct receiving_end *end, const char *arguments);

/* Complains of the last line. -1. */
int serving_malformed(const struct receiving_end *end);

#endif
