/* The ways in which a transport can be used. Only TCP has a choice: of congestion controls, and of
 * how much to write at once; and what is best depends on the machine and on the message.
 *
 *      tcp            the best of all that this process may use: found out by trying (contender.h)
 *      tcp:NAME       that congestion control, and the best writes
 *      tcp:NAME+128K  that congestion control and these writes: nothing is tried
 *      tcp:NAME+whole
 *      tcp:default    the machine's own, one write a message: a program that chooses nothing */
#ifndef BENCH_MANNER_H
#define BENCH_MANNER_H

#include <stddef.h>
#include <stdint.h>

enum { MANNERS_MAX = 8, MANNER_NAME = 16 };

struct manner {
    char congestion[MANNER_NAME]; /* "": the machine's */
    uint64_t write_bytes;         /* most in one write; 0: the whole message */
};

#define MANNER_DEFAULT "default"
#define MANNER_BEST ""
#define MANNER_FEW "+128K"
#define MANNER_WHOLE "+whole"

/* The manners that `variant` (what follows the colon, MANNER_BEST without one) stands for; how
 * many, at least one. */
size_t manner_list(const char *variant, struct manner manners[MANNERS_MAX]);

#endif
