/* The keys of --keys. Both ends make theirs from the secret of the run (control.h), so nothing
 * else has to be told: pre-shared keys are that secret; key pairs are Ed25519, each made from it
 * and the name of its owner. All of it is in memory only, and made anew for each run. */
#ifndef BENCH_RUN_KEYS_H
#define BENCH_RUN_KEYS_H

#include <stdbool.h>

#include "zcrp-bench/control/control.h"
#include "zcrp.h"

enum run_keys {
    RUN_KEYS_NONE,
    RUN_KEYS_PSK,
    RUN_KEYS_RAW,  /* each end has a key pair, and has pinned the other's */
    RUN_KEYS_CERT, /* each end has a certificate for the name zcrp-bench, by the run's authority */
    RUN_KEYS_KINDS
};

/* "", "psk", "raw", "cert", in the order of the above, then NULL. */
extern const char *const run_keys_names[RUN_KEYS_KINDS + 1];

/* Makes what one end shows, and by which it knows the other; the caller frees it. With NONE *keys
 * is NULL. A code of the library. */
int run_keys_make(const struct settings *settings, bool is_listening, struct zcrp_keys **keys);

/* The keys that this process makes from now on append the secrets of their connections to the file
 * at `path` (zcrp_keys_log), which stays the caller's. NULL: to none, as at the beginning. */
void run_keys_log_to(const char *path);

#endif
