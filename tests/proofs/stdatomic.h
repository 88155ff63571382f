/* Atomic operations for a proof of one thread. If a word lies in the memory that another process
 * may write (proof_hostile, of proof.h), each look at it finds any value, also if nobody here has
 * written it since the last look. So what is shown holds for any peer, and for any moment at which
 * it writes. All other words have the value that was stored last. */
#ifndef ZCRP_TESTS_PROOFS_STDATOMIC_H
#define ZCRP_TESTS_PROOFS_STDATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define _Atomic

enum {
    memory_order_relaxed,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
};

extern const void *proof_hostile;
uint64_t nondet_u64(void);
bool nondet_bool(void);

#define IS_HOSTILE(p) (proof_hostile != 0 && __CPROVER_same_object((p), proof_hostile))

/* It reads the word in any case, so that a word beside its object is found. */
#define atomic_load(p)                                                                             \
    ({                                                                                             \
        __typeof__(*(p)) there_ = *(p);                                                            \
        IS_HOSTILE(p) ? (__typeof__(*(p)))nondet_u64() : there_;                                   \
    })
#define atomic_store(p, value) ((void)(*(p) = (value)))
#define atomic_init(p, value) atomic_store(p, value)
#define atomic_exchange(p, value)                                                                  \
    ({                                                                                             \
        __typeof__(*(p)) old_ = atomic_load(p);                                                    \
        atomic_store(p, value);                                                                    \
        old_;                                                                                      \
    })
#define atomic_compare_exchange_strong(p, expected, value)                                         \
    ({                                                                                             \
        __typeof__(*(p)) found_ = atomic_load(p);                                                  \
        bool is_as_expected_ = found_ == *(expected);                                              \
        if (is_as_expected_)                                                                       \
            atomic_store(p, value);                                                                \
        *(expected) = found_;                                                                      \
        is_as_expected_;                                                                           \
    })
#define atomic_fetch_add(p, value) ((void)(*(p) += (value)))

#define atomic_load_explicit(p, order) atomic_load(p)
#define atomic_store_explicit(p, value, order) atomic_store(p, value)
#define atomic_fetch_add_explicit(p, value, order) atomic_fetch_add(p, value)

#endif
