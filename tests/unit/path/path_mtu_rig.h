/* Path MTU discovery in virtual time: what is lost, arrives and is answered, and the size by it. */
#ifndef ZCRP_TESTS_UNIT_PATH_MTU_RIG_H
#define ZCRP_TESTS_UNIT_PATH_MTU_RIG_H

#include "../../support/suite.h"
#include "core/path/path_mtu.h"

enum { MOST = 8960, STEPS_MOST = 100 };

static struct path_mtu p;
static instant now;
static uint64_t mark; /* the newest that passed */

static inline void setup(void)
{
    now = SECOND;
    mark = 0;
    path_mtu_init(&p, MOST, MOST, now);
}

static inline void expect(enum path_mtu_state state, uint32_t bytes)
{
    path_mtu_check(&p);
    ck_assert_int_eq(p.state, state);
    ck_assert_uint_eq(p.bytes, bytes);
}

/* Nothing of what was sent came back, `times` times. */
static inline void time_out(int times)
{
    for (; times > 0; times--)
        path_mtu_on_timeout(&p, now += SECOND, p.bytes);
}

/* The next probe leaves on a path that carries `path` bytes: answered, or not in time. Returns its
 * bytes. */
static inline uint32_t probe(uint32_t path)
{
    uint32_t number;
    uint32_t bytes = path_mtu_probe(&p, now + MILLISECOND, mark, &number);
    ck_assert_int_eq(path_mtu_deadline(&p), now + MILLISECOND);
    now += MILLISECOND;
    if (bytes <= path)
        path_mtu_on_answer(&p, now, number, bytes);
    else
        path_mtu_expire(&p, now, ++mark);
    path_mtu_check(&p);
    return bytes;
}

/* Probes until nothing is wanted; returns how many. */
static inline int probe_all(uint32_t path)
{
    int probes = 0;
    for (; path_mtu_wants_more(&p, now); probes++) {
        ck_assert_int_lt(probes, STEPS_MOST);
        probe(path);
    }
    return probes;
}

/* Falls as a path does that carries only `path` bytes from now on. */
static inline void fall(uint32_t path)
{
    time_out(2);
    ck_assert(path_mtu_wants_less(&p));
    ck_assert_uint_eq(probe(path), PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
}

#endif
