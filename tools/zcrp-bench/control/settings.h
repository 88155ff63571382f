/* What both ends of a run have to agree on. The connecting end's command line decides, and tells
 * the listening end in one line: "settings" and every value, in the order of the list. */
#ifndef BENCH_SETTINGS_H
#define BENCH_SETTINGS_H

#include <stdint.h>

#include "zcrp-bench/control/control.h"

/* X(name, most): a field, and the largest value that the listening end accepts. */
#define SETTINGS(X)                                                                                \
    X(unit_bytes, 65507)       /* ZCRP's largest datagram; 0: the library's default */             \
    X(window_bytes, INT64_MAX) /* sent and not acknowledged; 0: the library's default */           \
    X(depth, 1 << 20)          /* most messages under way at once */                               \
    X(is_spinless, 1)          /* 1: a thread that waits for a message of ZCRP sleeps at once */   \
    X(limit_ns, INT64_MAX)     /* the run fails after this time without progress */                \
    X(buffer_bytes, INT32_MAX) /* of UDP sockets; 0: the library's default */                      \
    X(loss, 1000000)           /* of a million arriving packets, lost at both ends */              \
    X(congestion, 4)           /* enum zcrp_congestion */                                          \
    X(channel, 5)              /* enum carrier (transports/carrier.h) */                           \
    X(vpi, 254)                /* of AAL5's first circuit */                                       \
    X(vci, 4124)               /* the same; 0: the library's default */                            \
    X(mtu, 65535)              /* of AAL5's circuits; 0: the library's default */                  \
    X(cell_loss, 1000000)      /* of a million cells of AAL5 */                                    \
    X(seed, UINT64_MAX)        /* of cell_loss, for this flow; 0: none given */

struct settings {
#define SETTINGS_FIELD(name, most) uint64_t name;
    SETTINGS(SETTINGS_FIELD)
#undef SETTINGS_FIELD
};

/* Connecting end: says the line and hears the answer. 0, or -1 with a complaint. */
int settings_say(struct control *control, const struct settings *settings);

/* Listening end: reads the arguments of the line. 0, or -1 without a complaint if a value is
 * missing or out of range. */
int settings_read(const char *arguments, struct settings *settings);

#endif
