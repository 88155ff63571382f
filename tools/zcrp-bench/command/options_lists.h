/* Values on the command line that are lists, separated by commas. All return 0, or -1 with a
 * complaint. */
#ifndef BENCH_OPTIONS_LISTS_H
#define BENCH_OPTIONS_LISTS_H

#include "zcrp-bench/command/options.h"

/* Each takes the place of what an earlier option of the name, or the default, has set. */
int options_set_transport(struct options *options, const char *value);
int options_set_size(struct options *options, const char *value);
int options_set_pin(struct options *options, const char *value);

/* Reads the value of --name: a quantity of at most `most`. */
int options_quantity(const char *name, const char *text, uint64_t *value, uint64_t most);

/* Reads the value of --name: a time in seconds, from a millisecond to a day. */
int options_seconds(const char *name, const char *text, int64_t *ns);

/* --channel: a name. */
int options_set_channel(struct options *options, const char *value);

/* --congestion: a name. */
int options_set_congestion(struct options *options, const char *value);

#endif
