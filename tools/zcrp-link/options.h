/* What the command line says. */
#ifndef LINK_OPTIONS_H
#define LINK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ends.h"
#include "path.h"

struct options {
    struct conditions conditions[ENDS]; /* by the end that sends */
    uint64_t mtu;
    uint64_t seed; /* a fresh one if none is given */

    duration wait;   /* for B to listen, at most */
    uint64_t port;   /* where; 0: anywhere */
    duration linger; /* B may go on so long after A */

    int64_t core; /* of the relay, or PIN_NONE */
    bool is_spinning;
    bool is_quiet;
    const char *json;     /* file; NULL: none */
    char **command[ENDS]; /* in argv, which is cut at their ends */
};

/* Reads the command line. Strings stay argv's, which is cut into the two
 * commands. 0; 1 if the help or the version was asked for, and has been printed; or -1 with a
 * complaint about the usage. */
int options_parse(struct options *options, int argc, char **argv);

#endif
