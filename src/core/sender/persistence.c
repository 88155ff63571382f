#include "persistence.h"

#include "core/check.h"

void persistence_init(struct persistence *p)
{
    p->marks = 0;
    p->found = (struct interval){0, 0};
}

static bool is_empty(struct interval i)
{
    return i.first >= i.last;
}

static uint64_t oldest(const struct persistence *p)
{
    return p->marks < PERSISTENCE_MARKS ? 0 : p->marks - PERSISTENCE_MARKS;
}

void persistence_on_sent(struct persistence *p, uint64_t seq, instant now, duration step)
{
    if (p->marks > 0 && now - p->mark[(p->marks - 1) % PERSISTENCE_MARKS].at < step)
        return;
    uint64_t i = p->marks++ % PERSISTENCE_MARKS;
    p->mark[i].seq = seq;
    p->mark[i].at = now;
    p->mark[i].step = step;
}

/* When this number was sent at the earliest; at the latest, `*slack` later. It must not be older
 * than the oldest mark. */
static instant sent_at(const struct persistence *p, uint64_t seq, duration *slack)
{
    uint64_t n = p->marks - 1;
    while (p->mark[n % PERSISTENCE_MARKS].seq > seq)
        n--;
    uint64_t i = n % PERSISTENCE_MARKS;
    *slack = p->mark[i].seq == seq ? 0 : p->mark[i].step;
    return p->mark[i].at;
}

/* From when its first was sent to when its last was, or is overdue. */
static duration length(const struct persistence *p, struct interval gap, instant overdue)
{
    duration slack;
    if (p->marks == 0)
        return 0;
    uint64_t known = p->mark[oldest(p) % PERSISTENCE_MARKS].seq;
    if (gap.first < known)
        gap.first = known;
    if (is_empty(gap))
        return 0;
    instant end = instant_earlier(sent_at(p, gap.last - 1, &slack), overdue);
    instant begin = sent_at(p, gap.first, &slack);
    return end - begin - slack;
}

static struct interval common(struct interval a, struct interval b)
{
    return (struct interval){.first = a.first > b.first ? a.first : b.first,
                             .last = a.last < b.last ? a.last : b.last};
}

void persistence_on_gap(const struct persistence *p, struct persistence_search *search,
                        struct interval gap)
{
    struct interval part = common(gap, p->found);
    if (!is_empty(part)) {
        duration missing = length(p, part, search->overdue);
        search->missing = missing > search->missing ? missing : search->missing;
    }
    struct interval fresh = common(gap, (struct interval){search->known + 1, search->newest});
    if (is_empty(fresh) || length(p, fresh, search->overdue) <= search->least)
        return;
    duration slack;
    search->found = fresh;
    search->end = sent_at(p, fresh.last - 1, &slack);
}

enum persistence_verdict
persistence_conclude(struct persistence *p, const struct persistence_search *search, uint64_t first)
{
    if (!is_empty(search->found)) {
        p->found = search->found;
        p->least = search->least;
        return PERSISTENCE_FOUND;
    }
    bool is_told = first <= p->found.first && search->newest >= p->found.last;
    if (is_empty(p->found) || !is_told || search->missing > p->least)
        return PERSISTENCE_NO_NEWS;
    p->found = (struct interval){0, 0};
    return PERSISTENCE_NOT;
}

void persistence_check(const struct persistence *p)
{
    for (uint64_t n = oldest(p); n + 1 < p->marks; n++) {
        CHECK(p->mark[n % PERSISTENCE_MARKS].seq < p->mark[(n + 1) % PERSISTENCE_MARKS].seq);
        CHECK(p->mark[n % PERSISTENCE_MARKS].at <= p->mark[(n + 1) % PERSISTENCE_MARKS].at);
    }
}
