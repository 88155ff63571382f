/* zcrp-link: runs two commands at the two ends of a lossy link. See docs/zcrp-link.1. */
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "run.h"
#include "zcrp.h"

enum { EXIT_USAGE = 2, EXIT_NO_LINK = 125 };

int main(int argc, char **argv)
{
    struct options options;
    int status;

    if (options_parse(&options, argc, argv) < 0) {
        fprintf(stderr, "Try 'zcrp-link --help'.\n");
        return EXIT_USAGE;
    }
    if (options.wants_help) {
        options_help();
        return EXIT_SUCCESS;
    }
    if (options.wants_version) {
        puts("zcrp-link " ZCRP_VERSION_TEXT);
        return EXIT_SUCCESS;
    }
    status = run_link(&options);
    return status < 0 ? EXIT_NO_LINK : status;
}
