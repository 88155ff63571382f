#include "persistence.h"

#include "core/check.h"

void persistence_init(struct persistence *p)
{
    p->marks = p->oldest = 0;
    p->unsent = p->found = (struct interval){0, 0};
}

static bool is_empty(struct interval i)
{
    return i.first >= i.last;
}

/* Is there a mark at all, and is it younger than this? */
static bool is_marked_since(const struct persistence *p, instant since)
{
    return p->marks > p->oldest && p->mark[(p->marks - 1) % PERSISTENCE_MARKS].at > since;
}

void persistence_on_sent(struct persistence *p, uint64_t seq, instant now, duration step)
{
    if (is_marked_since(p, now - step))
        return;
    uint64_t i = p->marks++ % PERSISTENCE_MARKS;
    p->mark[i].seq = seq;
    p->mark[i].at = now;
    p->mark[i].step = step;
    p->mark[i].unsent = p->unsent.last == seq ? p->unsent.first : seq;
    if (p->marks - p->oldest <= PERSISTENCE_MARKS)
        return;
    p->oldest++;
    if (p->found.first < p->mark[p->oldest % PERSISTENCE_MARKS].seq)
        p->found = (struct interval){0, 0}; /* nobody can tell any more how long it was */
}

void persistence_on_unsent(struct persistence *p, uint64_t first, uint64_t last)
{
    if (first == last)
        return;
    if (p->unsent.last != first)
        p->unsent.first = first;
    p->unsent.last = last;
    if (p->marks > p->oldest && p->mark[(p->marks - 1) % PERSISTENCE_MARKS].seq == first)
        p->marks--;
}

/* The last mark that is not behind this number, which must not be older than the oldest. */
static uint64_t mark_of(const struct persistence *p, uint64_t seq)
{
    uint64_t n = p->marks - 1;
    while (p->mark[n % PERSISTENCE_MARKS].seq > seq)
        n--;
    return n;
}

/* When this number was sent at the latest, or the first one behind it that was. */
static instant sent_until(const struct persistence *p, uint64_t seq)
{
    uint64_t n = mark_of(p, seq);
    uint64_t i = n % PERSISTENCE_MARKS, next = (n + 1) % PERSISTENCE_MARKS;
    if (n + 1 < p->marks && seq >= p->mark[next].unsent)
        return p->mark[next].at;
    return p->mark[i].seq == seq ? p->mark[i].at : p->mark[i].at + p->mark[i].step;
}

/* When this number was sent at the earliest, or the last one before it that was. */
static instant sent_from(const struct persistence *p, uint64_t seq)
{
    return p->mark[mark_of(p, seq) % PERSISTENCE_MARKS].at;
}

/* From when its first was sent to when its last was, or is overdue. */
static duration length(const struct persistence *p, struct interval gap, instant overdue)
{
    if (p->marks == p->oldest)
        return 0;
    uint64_t known = p->mark[p->oldest % PERSISTENCE_MARKS].seq;
    if (gap.first < known)
        gap.first = known;
    if (is_empty(gap))
        return 0;
    instant end = instant_earlier(sent_from(p, gap.last - 1), overdue);
    return end - sent_until(p, gap.first);
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
    search->found = fresh;
    search->end = sent_from(p, fresh.last - 1);
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
    CHECK(p->oldest <= p->marks);
    CHECK(p->marks - p->oldest <= PERSISTENCE_MARKS);
    for (uint64_t n = p->oldest; n + 1 < p->marks; n++) {
        CHECK(p->mark[n % PERSISTENCE_MARKS].seq < p->mark[(n + 1) % PERSISTENCE_MARKS].seq);
        CHECK(p->mark[n % PERSISTENCE_MARKS].at <= p->mark[(n + 1) % PERSISTENCE_MARKS].at);
    }
}
