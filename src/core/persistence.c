#include "persistence.h"

#include "check.h"

void persistence_init(struct persistence *p)
{
    *p = (struct persistence){.least = 0};
}

static bool is_empty(const struct lost_run *run)
{
    return run->first == run->last;
}

void persistence_on_lost(struct persistence *p, uint64_t seq, instant sent)
{
    struct lost_run *run = &p->run;
    if (is_empty(run) || seq != run->last) {
        run->first = seq;
        run->begin = sent;
    }
    run->last = seq + 1;
    run->end = sent;
}

/* The longer part is kept. Its bound is taken to have been sent with `seq`, which is next to it. */
static void cut(struct lost_run *run, uint64_t seq, instant sent)
{
    if (seq < run->first || seq >= run->last)
        return;
    bool has_before = seq > run->first;
    bool has_behind = seq + 1 < run->last;
    if (has_before && (!has_behind || sent - run->begin > run->end - sent)) {
        run->last = seq;
        run->end = sent;
    } else {
        run->first = seq + 1;
        run->begin = sent;
    }
}

bool persistence_on_arrived(struct persistence *p, uint64_t seq, instant sent)
{
    struct lost_run *found = &p->found;
    cut(&p->run, seq, sent);
    if (is_empty(found))
        return false;
    cut(found, seq, sent);
    if (!is_empty(found) && found->end - found->begin > p->least)
        return false;
    found->first = found->last;
    return true;
}

bool persistence_find(struct persistence *p, uint64_t newest, duration least)
{
    const struct lost_run *run = &p->run;
    if (is_empty(run) || run->last > newest || run->end - run->begin <= least)
        return false;
    bool is_known = !is_empty(&p->found) && p->found.first == run->first;
    p->found = *run;
    p->least = least;
    return !is_known;
}

static void check_run(const struct lost_run *run)
{
    CHECK(run->first <= run->last);
    if (!is_empty(run))
        CHECK(run->begin <= run->end);
}

void persistence_check(const struct persistence *p)
{
    check_run(&p->run);
    check_run(&p->found);
}
