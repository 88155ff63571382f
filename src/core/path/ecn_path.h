/* Does the path carry marks of congestion (RFC 3168)? Some networks erase the field that has them,
 * and some drop what has it set. So who sets it looks whether it arrives, and stops if it does not
 * (RFC 9000, 13.4.2).
 *
 *     TESTING --- the peer says that it arrives ------------------> CAPABLE
 *        \------- ECN_PATH_UNITS arrived without it,
 *                 or ECN_PATH_TIMEOUTS went unanswered -----------> FAILED
 *
 * CAPABLE and FAILED are for good: a path that changes still has loss to tell of congestion. */
#ifndef ZCRP_CORE_ECN_PATH_H
#define ZCRP_CORE_ECN_PATH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ECN_PATH_UNITS = 10, /* RFC 9000, A.4 */
    ECN_PATH_TIMEOUTS = 3,
};

enum ecn_path_state { ECN_PATH_TESTING, ECN_PATH_CAPABLE, ECN_PATH_FAILED };

struct ecn_path {
    enum ecn_path_state state;
    uint32_t arrived;  /* units, without the field as far as the peer says */
    uint32_t timeouts; /* before anything arrived */
};

/* TESTING. */
void ecn_path_init(struct ecn_path *p);

/* This many more units are known to have arrived; `is_seen`: some with the field set. */
void ecn_path_on_arrived(struct ecn_path *p, uint32_t units, bool is_seen);

/* Nothing came back in time. */
void ecn_path_on_timeout(struct ecn_path *p);

#endif
