/* A contender: one entry of --transport, with a channel for each manner in which it may be used.
 * For each size of messages, the fastest manner is found before anything is measured. Only TCP, and
 * TLS over it, have manners, of congestion control and of writes; which is best depends on the
 * machine and on the message.
 *
 *      tcp            the best of all that this process may use: found by trying
 *      tcp:NAME       that congestion control, and the best writes
 *      tcp:NAME+128K  that congestion control and these writes: nothing is tried
 *      tcp:NAME+whole
 *      tcp:default    the machine's own, one write a message: a program that chooses nothing */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include "zcrp-bench/transports/transport.h"

enum { CONTENDER_NAME = 64, MANNERS_MAX = 8 };

#define MANNER_DEFAULT "default"
#define MANNER_BEST ""
#define MANNER_FEW "+128K"
#define MANNER_WHOLE "+whole"

/* What the command line names: "zcrp", "tcp", "tcp:cubic". */
struct choice {
    char name[CONTENDER_NAME];
    const struct transport_kind *kind;
    const char *variant; /* of manner_list; MANNER_BEST without a colon */
};

struct contender {
    const char *name;
    struct transport lanes[MANNERS_MAX][FLOWS_MAX];
    size_t lane_count;
    size_t lane;           /* the chosen one */
    struct transport back; /* for ping, where the kind needs it: all zero else */
};

struct options;

/* Opens all channels that the options ask for. `number` counts the run's, and is moved on. Where
 * the listening end sends, TCP is the machine's, with whole writes; round trips have one manner,
 * and a channel back where one is needed. 0, or -1 with a complaint; then contender_close is left.
 */
int contender_open(struct contender *contender, const struct choice *choice,
                   const struct options *options, struct control *control, size_t *number);

void contender_close(struct contender *contender);

struct sending_end;

/* Tries each manner several times with messages of `size`, in turns, and stays with the one of the
 * least median. 0, or -1 with a complaint. */
int contender_choose(struct contender *contender, struct sending_end *end, uint64_t size);

static inline struct transport *contender_transport(struct contender *contender)
{
    return contender->lanes[contender->lane];
}

/* The channel by which round trips come back. */
static inline struct transport *contender_back(struct contender *contender)
{
    return contender->back.kind != NULL ? &contender->back : contender_transport(contender);
}

#endif
