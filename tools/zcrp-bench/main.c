/* zcrp-bench: moves messages over ZCRP and over TCP between two processes, and says how fast and at
 * what cost. See docs/zcrp-bench.1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/arguments.h"
#include "common/complain.h"
#include "common/environment.h"
#include "zcrp-bench/command/options.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/ends/ends.h"
#include "zcrp-bench/results/report.h"
#include "zcrp-bench/transports/carrier.h"

enum { EXIT_USAGE = 2 };

enum { LISTENER_BROKEN = -2 };

/* Serves the next run. 0, -1 if it failed, or LISTENER_BROKEN if there can be no other. */
static int serve_one(const struct options *options, int listener)
{
    int fd = connection_accept(listener, -1);

    if (fd < 0)
        return LISTENER_BROKEN;
    return receiving_end_serve(options, listener, fd);
}

/* Serves one run after the other, until the process is ended; with --once only one. */
static int listen_and_serve(const struct options *options)
{
    int listener = connection_listen(&options->address);
    struct address here;
    int status;

    if (listener < 0 || address_local(listener, &here) < 0)
        return -1;
    if (!options->is_quiet)
        fprintf(stderr, "zcrp-bench: listening, port %s\n", here.port);
    do
        status = serve_one(options, listener);
    while (!options->is_once && status != LISTENER_BROKEN);
    close(listener);
    return status != 0 ? -1 : 0;
}

/* The connecting end, or both. */
static int measure(const struct results *results)
{
    const struct options *options = results->options;

    if (options->mode == OPTIONS_CONNECT)
        return sending_end_measure(&options->address, results);
    return options->peers > 0 ? alone_measure_peers(results) : alone_measure(results);
}

static int run(const struct options *options)
{
    if (options->mode != OPTIONS_ALONE && pin_to(options->cores[0]) < 0)
        return -1;
    return options->mode == OPTIONS_LISTEN ? listen_and_serve(options)
                                           : report_on(options, measure);
}

static int doctor(int argc, char **argv)
{
    if (argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
        printf(
            "Usage: zcrp-bench doctor [HOST[:PORT]]\n"
            "Says what of this machine's set-up limits ZCRP, and how to change that; or what the "
            "path\nto the zcrp-bench that listens at HOST carries. It changes nothing.\n");
        return EXIT_SUCCESS;
    }
    if (argc > 2 && argv[2][0] == '-') {
        complain("doctor: unknown option '%s'", argv[2]);
        return EXIT_USAGE;
    }
    if (argc > 3) {
        complain("doctor: unknown argument '%s'", argv[3]);
        return EXIT_USAGE;
    }
    return doctor_run(argc == 3 ? argv[2] : NULL) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options options;

    if (argc > 1 && strcmp(argv[1], "doctor") == 0)
        return doctor(argc, argv);
    int status = options_parse(&options, argc, argv);
    if (status != 0)
        return arguments_status(status);
    carrier_log_keys(options.key_log);
    return run(&options) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
