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
    X(seed, UINT64_MAX)        /* of cell_loss, for this flow; 0: none given */                    \
    X(is_connected, 1)         /* 1: ZCRP's messages go by a connection, round trips both ways */  \
    X(keys, 3)                 /* of ZCRP: enum run_keys (transports/run_keys.h) */                \
    X(key_0, UINT64_MAX)       /* The secret, */                                                   \
    X(key_1, UINT64_MAX)       /* drawn for this run, */                                           \
    X(key_2, UINT64_MAX)       /* from which */                                                    \
    X(key_3, UINT64_MAX)       /* the keys are made */

struct settings {
#define SETTINGS_FIELD(name, most) uint64_t name;
    SETTINGS(SETTINGS_FIELD)
#undef SETTINGS_FIELD
};

/* The secret of --keys. It crosses the control connection as it is, for everybody to read: what a
 * benchmark sends is no secret. A program never does so. */
enum { SETTINGS_KEY_BYTES = 4 * WORD_BYTES };

/* Draws a secret. 0, or -1 with a complaint. */
int settings_draw_key(struct settings *settings);

void settings_write_key(const struct settings *settings, uint8_t key[SETTINGS_KEY_BYTES]);

/* Connecting end: says the line and hears the answer. 0, or -1 with a complaint. */
int settings_say(struct control *control, const struct settings *settings);

/* Listening end: reads the arguments of the line. 0, or -1 without a complaint if a value is
 * missing or out of range. */
int settings_read(const char *arguments, struct settings *settings);

#endif
