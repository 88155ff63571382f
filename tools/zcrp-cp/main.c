/* zcrp-cp: copies files between two machines. See docs/zcrp-cp.1; wire/record.h says what the two
 * ends tell each other. */
#include <signal.h>

#include "common/arguments.h"
#include "common/complain.h"
#include "ends/ends.h"
#include "files/memory.h"
#include "user/options.h"

static int check(const struct options *options, int count)
{
    if (options->serve != NULL && options->keys == NULL)
        return complain("--serve needs --keys");
    if ((options->serve != NULL || options->is_far) && count > 0)
        return complain("a far end copies nothing itself");
    if (options->is_read_only && options->serve == NULL)
        return complain("--read-only is for --serve");
    if (options->serve == NULL && !options->is_far && count < 2)
        return complain("what is to be copied, and where to?");
    return 0;
}

int main(int argc, char **argv)
{
    struct options options;
    int next = 1;
    int status = options_read(&options, argc, argv, &next);

    if (status != 0)
        return arguments_status(status);
    if (check(&options, argc - next) != 0)
        return arguments_status(-1);
    (void)signal(SIGPIPE, SIG_IGN);
    mapping_start();
    if (options.is_far)
        return far_run();
    if (options.serve != NULL)
        return far_serve(&options);
    return near_run(&options, argc - next, argv + next);
}
