/* What the command line says. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/transports/transport.h"

enum {
    CONTENDER_NAME = 64,
    OPTIONS_MAX_SIZES = 64,
    OPTIONS_MAX_TRANSPORTS = 16,
    OPTIONS_MAX_PEERS = 10000
};

/* How TCP, and TLS over it, may be used: what follows the name of the transport.
 *
 *      tcp            the best of all that this process may use: found by trying
 *      tcp:NAME       that congestion control, and the best writes
 *      tcp:NAME+128K  that congestion control and these writes: nothing is tried
 *      tcp:NAME+whole
 *      tcp:NAME+joined  the same, one write a message, of which the kernel joins small ones
 *      tcp:default    the machine's own, one write a message: a program that chooses nothing
 *
 * NAME may be default there. */
#define MANNER_DEFAULT "default"
#define MANNER_BEST ""
#define MANNER_FEW "+128K"
#define MANNER_WHOLE "+whole"
#define MANNER_JOINED "+joined"

/* An entry of --transport: "zcrp", "tcp", "tcp:cubic". */
struct choice {
    char name[CONTENDER_NAME];
    const struct transport_kind *kind;
    const char *variant; /* what follows the colon; MANNER_BEST without one */
};

enum options_mode {
    OPTIONS_ALONE,   /* both ends, as two processes */
    OPTIONS_LISTEN,  /* the receiving end */
    OPTIONS_CONNECT, /* the sending end, which decides everything and reports */
};

struct options {
    enum options_mode mode;
    struct address address; /* to listen at or to connect to */

    struct choice transports[OPTIONS_MAX_TRANSPORTS];
    size_t transport_count;
    uint64_t sizes[OPTIONS_MAX_SIZES];
    size_t size_count;
    uint64_t count;        /* messages of a measurement; 0: see options_count */
    uint64_t bytes;        /* bytes of a measurement; 0: see options_count */
    int64_t duration_ns;   /* of a measurement, instead of either; 0: none */
    int64_t interval_ns;   /* between two lines while a measurement is under way; 0: none */
    uint64_t bits_per_s;   /* that the sending end keeps to; 0: as fast as it goes */
    uint64_t peers;        /* connections between two processes; 0: no measurement of these */
    uint64_t repeat;       /* measurements of each size and transport */
    uint64_t memory_bytes; /* that messages cycle through */
    struct settings settings;
    const char *tcp_cc; /* what plain "tcp" stands for, MANNER_BEST by default */
    bool is_ping;
    bool is_reverse;  /* the listening end sends */
    bool is_once;     /* the listening end serves one run and ends */
    char **command;   /* argv */
    bool is_spinless; /* see settings */
    bool has_keys;

    double loss;       /* share of packets that sockets lose, in addition */
    bool is_netns;     /* alone: each end in a network namespace of its own */
    uint64_t mtu;      /* of the link between them; 0: the usual */
    int cores[2];      /* of the sending and the receiving end, or PIN_NONE */
    size_t core_count; /* given */

    bool is_verified;

    const char *key_log; /* file of the secrets of connections; NULL: none */

    const char *trace; /* file of the life of ZCRP's transfers; NULL: none */

    const char *json; /* file, "-" is standard output, NULL: none */
    bool is_quiet;
    bool wants_stats;
    uint64_t given; /* the options: a bit each */
};

#define OPTIONS_USUAL_MTU 1500

/* Reads the command line. Strings stay argv's. 0; 1 if the help or the version was asked for, and
 * has been printed; or -1 with a complaint about the usage. */
int options_parse(struct options *options, int argc, char **argv);

/* Whether standard output is for people: neither quiet, nor taken by JSON. */
bool options_have_output(const struct options *options);

/* Messages in one measurement of this size: as --count or --bytes say, or enough for a fraction of
 * a second on a fast path. */
uint64_t options_count(const struct options *options, uint64_t size);

/* Slots of memory for `count` messages of this size: what --memory holds, but never fewer than two,
 * so that one message can be under way while another is looked at, or more than messages unless
 * those are sent for a time. */
uint64_t options_slots(const struct options *options, uint64_t size, uint64_t count);

/* `zcrp-bench doctor`: writes to standard output what of this machine's set-up limits ZCRP, and
 * what to do about it; or, not NULL, what the path to the zcrp-bench that listens `there` carries.
 * Changes nothing. 0, or -1 with a complaint if UDP does not work, or it cannot be written. */
int doctor_run(char *there);

#endif
