#include "offload_path.h"

#include "core/check.h"
#include "core/number.h"

static void begin_anew(struct offload_path *p)
{
    *p = (struct offload_path){.state = OFFLOAD_PATH_WORKS};
}

void offload_path_init(struct offload_path *p, bool is_used)
{
    begin_anew(p);
    if (!is_used)
        p->state = OFFLOAD_PATH_UNUSED;
}

/* ---- sending ---- */

enum offload_path_burst offload_path_next(const struct offload_path *p, instant now)
{
    switch (p->state) {
    case OFFLOAD_PATH_DOUBTED:
        return p->was_test ? OFFLOAD_BURST_SINGLY : OFFLOAD_BURST_TEST;
    case OFFLOAD_PATH_FAILED:
        return p->retry <= now ? OFFLOAD_BURST_TEST : OFFLOAD_BURST_SINGLY;
    case OFFLOAD_PATH_UNUSED:
    case OFFLOAD_PATH_WORKS:
        break;
    }
    return OFFLOAD_BURST_CUT;
}

void offload_path_on_test(struct offload_path *p, instant now, uint64_t first, uint32_t datagrams)
{
    p->was_test = datagrams > 1;
    if (!p->was_test)
        return;
    p->test[p->tests++ % OFFLOAD_PATH_KEPT] = (struct offload_test){
        .first = first, .units = datagrams, .has_before = first == p->newest + 1};
    p->proofs = 0;
    p->retry = now + OFFLOAD_PATH_RETRY;
}

void offload_path_on_other(struct offload_path *p)
{
    p->was_test = false;
}

void offload_path_on_unsent(struct offload_path *p, instant now, uint64_t first)
{
    for (uint32_t i = 0; i < OFFLOAD_PATH_KEPT; i++) {
        if (p->test[i].units == 0 || p->test[i].first != first)
            continue;
        p->test[i].units = 0;
        p->test[i].lost = 0;
        p->was_test = false;
        p->retry = now;
    }
}

/* ---- arrivals ---- */

static void on_cut_arrived(struct offload_path *p, uint32_t units)
{
    int64_t good = (int64_t)units * OFFLOAD_PATH_GOOD;
    p->proofs += units;
    if (p->state == OFFLOAD_PATH_FAILED && p->proofs < OFFLOAD_PATH_PROOFS)
        return;
    if (p->state != OFFLOAD_PATH_WORKS)
        begin_anew(p);
    p->missed =
        p->missed - good > -OFFLOAD_PATH_CREDIT ? p->missed - (int32_t)good : -OFFLOAD_PATH_CREDIT;
}

static bool is_within(uint64_t seq, uint64_t first, uint64_t last)
{
    return first <= seq && seq <= last;
}

static void on_single_arrived(struct offload_path *p, uint64_t last, uint32_t units)
{
    uint64_t first = last + 1 - units;
    p->newest = greater(p->newest, last);
    for (uint32_t i = 0; p->state == OFFLOAD_PATH_DOUBTED && i < OFFLOAD_PATH_KEPT; i++) {
        struct offload_test *t = &p->test[i];
        t->has_before |= is_within(t->first - 1, first, last);
        t->has_behind |= is_within(t->first + t->units, first, last);
    }
}

void offload_path_on_arrived(struct offload_path *p, uint64_t last, uint32_t units, bool is_cut)
{
    bool is_usual = is_cut && p->missed == -OFFLOAD_PATH_CREDIT;
    if (p->state == OFFLOAD_PATH_UNUSED || is_usual)
        return;
    if (is_cut)
        on_cut_arrived(p, units);
    else
        on_single_arrived(p, last, units);
}

/* ---- losses ---- */

/* All of it is lost, and the datagrams beside it have arrived. */
static bool says_failure(const struct offload_test *t)
{
    return t->units > 0 && t->lost == t->units && t->has_before && t->has_behind;
}

static bool do_tests_say_failure(const struct offload_path *p)
{
    uint32_t tests = 0, lost = 0;
    for (uint32_t i = 0; i < OFFLOAD_PATH_KEPT; i++) {
        const struct offload_test *t = &p->test[i];
        tests += says_failure(t);
        lost += says_failure(t) ? t->lost : 0;
    }
    return tests >= OFFLOAD_PATH_TESTS && lost >= OFFLOAD_PATH_LOST;
}

bool offload_path_on_lost(struct offload_path *p, instant now, uint64_t seq)
{
    if (p->state == OFFLOAD_PATH_UNUSED || p->state == OFFLOAD_PATH_FAILED)
        return false;
    if (p->state == OFFLOAD_PATH_WORKS && ++p->missed >= OFFLOAD_PATH_LOST) {
        p->state = OFFLOAD_PATH_DOUBTED;
        p->was_test = true; /* first something that arrives in any case */
    }
    for (uint32_t i = 0; i < OFFLOAD_PATH_KEPT; i++) {
        struct offload_test *t = &p->test[i];
        t->lost += t->first <= seq && seq - t->first < t->units;
    }
    if (!do_tests_say_failure(p))
        return false;
    p->state = OFFLOAD_PATH_FAILED;
    p->proofs = 0;
    p->retry = now + OFFLOAD_PATH_RETRY;
    return true;
}

void offload_path_check(const struct offload_path *p)
{
    CHECK(p->missed >= -OFFLOAD_PATH_CREDIT);
    CHECK(p->state != OFFLOAD_PATH_WORKS || p->missed < OFFLOAD_PATH_LOST);
    CHECK(p->state != OFFLOAD_PATH_UNUSED || p->missed == 0);
    for (uint32_t i = 0; i < OFFLOAD_PATH_KEPT; i++)
        CHECK(p->test[i].lost <= p->test[i].units);
}
