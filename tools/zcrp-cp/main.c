/* zcrp-cp: copies files between two machines. See docs/zcrp-cp.1; wire/record.h says what the two
 * ends tell each other. */
#include <signal.h>
#include <stddef.h>

#include "common/arguments.h"
#include "common/complain.h"
#include "ends/ends.h"
#include "files/memory.h"

#define AT(field) offsetof(struct options, field)

static const struct argument_row rows[] = {
    ARGUMENT_TRUE("recursive", 'r', AT(is_accepted),
                  "for users of scp: no effect, directories are always copied"),
    ARGUMENT_TRUE("preserve", 'p', AT(is_accepted),
                  "for users of scp: no effect, times and permissions are kept"),
    ARGUMENT_TRUE("checksum", 'c', AT(checksum),
                  "compare files of the same size by their contents, not by their times"),
    ARGUMENT_TRUE("dry-run", 'n', AT(is_dry_run), "change nothing, and print what would be copied"),
    ARGUMENT("rate", 0, RATE, AT(rate), 0, 0, "BITS", "ask for at most BITS a second: 10M, 1G"),
    ARGUMENT_HEADING("What is printed:"),
    ARGUMENT_TRUE("quiet", 'q', AT(is_quiet), "draw no line on the terminal"),
    ARGUMENT_TRUE("verbose", 'v', AT(is_verbose),
                  "print each file that is copied or there already"),
    ARGUMENT_TRUE("stats", 0, AT(wants_stats), "print what was counted, in JSON, at the end"),
    ARGUMENT("interval", 0, SECONDS, AT(interval_ns), 10, 1000000, "SECONDS",
             "print the line of --stats every SECONDS, too"),
    ARGUMENT_HEADING("The far end:"),
    ARGUMENT("rsh", 'e', TEXT, AT(rsh), 0, 0, "COMMAND",
             "start the far end by COMMAND (ZCRP_RSH in the environment, or ssh)"),
    ARGUMENT("far-program", 0, TEXT, AT(far_program), 0, 0, "PATH",
             "where zcrp-cp is at the far end (zcrp-cp)"),
    ARGUMENT("address", 0, TEXT, AT(address), 0, 0, "ADDRESS",
             "connect to ADDRESS (the host's name); a server listens there (any)"),
    ARGUMENT("port", 0, NUMBER, AT(port), 1, 65535, "PORT",
             "the far end listens on UDP port PORT (any; a server: 6636)"),
    ARGUMENT("keys", 'k', TEXT, AT(keys), 0, 0, "FILE", "the key of a server, made by zcrp-keys"),
    ARGUMENT("serve", 0, TEXT, AT(serve), 0, 0, "DIRECTORY",
             "be a server: whoever has the key may read and write what is below DIRECTORY"),
    ARGUMENT_TRUE("read-only", 0, AT(is_read_only), "with --serve: write nothing"),
    ARGUMENT_TRUE("far", 0, AT(is_far), "be the far end of one copy, as zcrp-cp starts it"),
    ARGUMENT_USUAL,
};

static const struct argument_table table = {
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .usage = "FILE... [USER@]HOST:TARGET\n[USER@]HOST:FILE... TARGET\n"
             "--keys KEY FILE... HOST::TARGET\n--keys KEY HOST::FILE... TARGET\n"
             "--serve DIRECTORY --keys KEY",
    .about =
        "Copies files and directories between two machines by ZCRP, which bears delay and loss. "
        "TARGET is a directory, or the new name of one FILE. Relative paths of HOST begin at its "
        "home directory. "
        "Start an interrupted copy again, and it continues where it was.\v"
        "Exit status: 0 all is copied; 1 some files could not be; 2 the command line is wrong; "
        "3 the connection or the remote shell failed; 130 interrupted.",
};

/* *next is the first word behind the options. As arguments_read. */
static int read_options(struct options *options, int argc, char **argv, int *next)
{
    *options = (struct options){.rsh = remote_shell(), .far_program = "zcrp-cp"};
    return arguments_read(&table, options, argc, argv, next);
}

static int check(const struct options *options, int count)
{
    if (options->serve != NULL && options->keys == NULL)
        return complain("--serve needs --keys");
    if ((options->serve != NULL || options->is_far) && count > 0)
        return complain("a far end copies nothing itself");
    if (options->is_read_only && options->serve == NULL)
        return complain("--read-only is for --serve");
    if (options->serve == NULL && !options->is_far && count < 2)
        return complain("name the files to copy, and the target");
    return 0;
}

int main(int argc, char **argv)
{
    struct options options;
    int next = 1;
    int status = read_options(&options, argc, argv, &next);

    if (status != 0)
        return arguments_status(status);
    int count = arguments_words(argv, next);
    if (count < 0 || check(&options, count) != 0)
        return arguments_status(-1);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that is too large fails by itself */
    mapping_start();
    if (options.is_far)
        return far_run();
    if (options.serve != NULL)
        return server_serve(&options);
    return near_run(&options, count, argv + next);
}
