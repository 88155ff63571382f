/* zcrp-link: runs two commands at the two ends of a lossy link. See docs/zcrp-link.1. */
#include "common/arguments.h"
#include "options.h"
#include "run.h"

enum { EXIT_NO_LINK = 125 };

int main(int argc, char **argv)
{
    struct options options;
    int status = options_parse(&options, argc, argv);

    if (status != 0)
        return arguments_status(status);
    status = run_link(&options);
    return status < 0 ? EXIT_NO_LINK : status;
}
