#include "path_mtu.h"

#include "core/check.h"
#include "core/wire/datagram.h"

enum {
    DOUBT_ROUNDS = 2,                              /* of loss that large datagrams alone suffer */
    ERROR_ROUNDS = DOUBT_ROUNDS + PATH_MTU_PROBES, /* and BASE does not pass either */
    SLACK_PARTS = 8, /* a gain of less than such a part is not searched for */
};

/* Units are multiples of a grain. What interfaces carry over IPv6 and IPv4: IPv6's least MTU,
 * Ethernet, FDDI and IP over ATM, jumbo frames; then powers of two. */
static const uint32_t USUAL[] = {
    PATH_MTU_BASE_BYTES, 1248, 1440, 1472, 4320, 8928, 8960, 9152, 16352, 32736};
enum { USUALS = sizeof(USUAL) / sizeof(USUAL[0]) };

void path_mtu_init(struct path_mtu *p, uint32_t bytes, uint32_t most, instant now)
{
    *p = (struct path_mtu){.most = most,
                           .bytes = bytes,
                           .failed = most + 1,
                           .raise = now,
                           .hinted = now - PATH_MTU_HINTS};
}

static bool is_open(const struct path_mtu *p, uint32_t bytes)
{
    return p->bytes < bytes && bytes < p->failed && bytes <= p->most;
}

/* The next size to try, or 0: the usual ones upwards, then halves of what is left. */
static uint32_t next_size(const struct path_mtu *p)
{
    uint32_t middle = (p->bytes + p->failed) / 2 / GRAIN * GRAIN;
    if (is_open(p, p->aim))
        return p->aim;
    for (uint32_t i = 0; i < USUALS; i++)
        if (is_open(p, USUAL[i]))
            return USUAL[i];
    if (is_open(p, p->most))
        return p->most;
    bool is_worth = p->failed - p->bytes > p->bytes / SLACK_PARTS;
    return is_worth && is_open(p, middle) ? middle : 0;
}

static void complete(struct path_mtu *p, instant now)
{
    p->state = PATH_MTU_COMPLETE;
    p->probed = 0;
    p->raise = now + PATH_MTU_RAISE;
}

static void go_on(struct path_mtu *p, instant now)
{
    if (next_size(p) == 0)
        complete(p, now);
}

static void enter(struct path_mtu *p, enum path_mtu_state state)
{
    p->state = state;
    p->first = p->number;
    p->tries = 0;
    p->probed = 0;
    p->is_asked = false;
    p->small = 0;
}

static void search(struct path_mtu *p, uint32_t aim)
{
    enter(p, PATH_MTU_SEARCH);
    p->failed = p->most + 1;
    p->aim = aim;
}

/* Small ones pass where large ones do not. */
static void fall(struct path_mtu *p, uint32_t bytes)
{
    uint32_t before = p->bytes;
    p->rounds = 0;
    p->bytes = bytes < before ? bytes : before;
    search(p, before);
}

static void next_round(struct path_mtu *p, instant now)
{
    p->rounds++;
    p->round_at = now;
    if (p->small != 0) {
        fall(p, p->small);
        go_on(p, now);
        return;
    }
    if (!path_mtu_is_in_doubt(p) && p->rounds >= DOUBT_ROUNDS)
        enter(p, PATH_MTU_BASE);
    else if (p->state == PATH_MTU_BASE && p->rounds >= ERROR_ROUNDS)
        enter(p, PATH_MTU_ERROR);
    p->is_asked = path_mtu_is_in_doubt(p);
}

/* Large ones pass after all: nothing has happened. */
static void recover(struct path_mtu *p)
{
    p->rounds = 0;
    if (!path_mtu_is_in_doubt(p))
        return;
    enter(p, PATH_MTU_COMPLETE);
    if (p->bytes < p->most)
        search(p, 0);
}

/* Is BASE but for a hint, and nothing has been lost? */
static bool is_only_hinted(const struct path_mtu *p)
{
    return p->state == PATH_MTU_BASE && p->rounds == 0;
}

void path_mtu_on_arrived(struct path_mtu *p, uint32_t bytes)
{
    bool is_proof =
        is_only_hinted(p) ? bytes > PATH_MTU_BASE_BYTES : p->rounds > 0 && bytes >= p->suspect;
    p->is_vain = false;
    if (is_proof)
        recover(p);
}

/* Is the size one of which smaller ones may pass, and that is still being sent? */
static bool is_large(const struct path_mtu *p, uint32_t bytes)
{
    return PATH_MTU_BASE_BYTES < bytes && bytes <= p->bytes;
}

static void suspect(struct path_mtu *p, uint32_t bytes)
{
    if (p->rounds == 0 || bytes < p->suspect)
        p->suspect = bytes;
}

void path_mtu_on_lost(struct path_mtu *p, instant now, instant sent, uint32_t bytes)
{
    if (!is_large(p, bytes))
        return;
    suspect(p, bytes);
    if (p->rounds == 0 || sent >= p->round_at)
        next_round(p, now);
}

void path_mtu_on_timeout(struct path_mtu *p, instant now, uint32_t bytes)
{
    if (is_large(p, bytes))
        suspect(p, bytes);
    else if (!path_mtu_is_in_doubt(p) || is_only_hinted(p))
        return;
    next_round(p, now);
}

/* The next smaller size that is worth sending: a usual one, else half. */
static uint32_t size_below(uint32_t bytes, uint32_t least)
{
    for (uint32_t i = USUALS; i > 0; i--)
        if (USUAL[i - 1] < bytes)
            return USUAL[i - 1] > least ? USUAL[i - 1] : least;
    uint32_t half = bytes / 2 / GRAIN * GRAIN;
    return half > least ? half : least;
}

void path_mtu_on_refused(struct path_mtu *p, instant now, uint32_t bytes, uint32_t least)
{
    uint32_t failed = p->failed < bytes ? p->failed : bytes;
    CHECK(bytes > least);
    if (p->bytes >= bytes)
        p->bytes = size_below(bytes, least);
    enter(p, PATH_MTU_SEARCH);
    p->rounds = 0;
    p->failed = failed;
    if (p->aim >= bytes)
        p->aim = 0;
    go_on(p, now);
}

/* In a search a router speaks of its probes. */
void path_mtu_on_hint(struct path_mtu *p, instant now)
{
    bool is_news = now - p->hinted >= PATH_MTU_HINTS && p->state == PATH_MTU_COMPLETE;
    if (!is_news || p->bytes <= PATH_MTU_BASE_BYTES)
        return;
    p->hinted = now;
    enter(p, PATH_MTU_BASE);
    p->rounds = 0;
    p->is_asked = true;
}

uint32_t path_mtu_probe(struct path_mtu *p, instant due, uint64_t mark, uint32_t *number)
{
    if (p->state == PATH_MTU_COMPLETE)
        search(p, p->most);
    p->probed = p->state == PATH_MTU_BASE    ? PATH_MTU_BASE_BYTES
                : p->state == PATH_MTU_ERROR ? PATH_MTU_LEAST
                                             : next_size(p);
    p->is_asked = false;
    p->probe_due = due;
    p->mark = mark;
    *number = p->number++;
    return p->probed;
}

void path_mtu_forget_probe(struct path_mtu *p)
{
    p->is_asked |= p->probed != 0 && path_mtu_is_in_doubt(p);
    p->probed = 0;
}

/* So much passes; a search that was over without knowing it goes on. */
static void climb(struct path_mtu *p, uint32_t bytes)
{
    if (bytes <= p->bytes || bytes > p->most)
        return;
    p->state = PATH_MTU_SEARCH;
    p->bytes = bytes;
    if (p->failed <= bytes)
        p->failed = p->most + 1; /* the answer that was too late for it */
    if (p->probed > bytes)
        return;
    p->probed = 0;
    p->tries = 0;
}

void path_mtu_on_answer(struct path_mtu *p, instant now, uint32_t number, uint32_t bytes)
{
    if (number - p->first >= p->number - p->first)
        return;
    p->is_vain = false;
    uint32_t passed = bytes < PATH_MTU_LEAST ? PATH_MTU_LEAST : bytes;
    if (is_only_hinted(p))
        p->small = passed;
    else if (path_mtu_is_in_doubt(p))
        fall(p, passed);
    else
        climb(p, bytes);
    if (p->small != 0)
        p->probed = 0;
    if (p->state == PATH_MTU_SEARCH)
        go_on(p, now);
}

/* The size was tried often enough: the aim once, because it has its place among the others. */
static void give_up(struct path_mtu *p, instant now, uint32_t bytes)
{
    p->tries = 0;
    if (bytes == p->aim)
        p->aim = 0;
    else
        p->failed = bytes;
    go_on(p, now);
}

void path_mtu_expire(struct path_mtu *p, instant now, uint64_t mark)
{
    uint32_t bytes = p->probed;
    p->probed = 0;
    p->is_vain = p->state == PATH_MTU_SEARCH && mark == p->mark;
    if (p->state != PATH_MTU_SEARCH || p->is_vain)
        return;
    p->tries++;
    if (bytes == p->aim || p->tries == PATH_MTU_PROBES)
        give_up(p, now, bytes);
}

void path_mtu_check(const struct path_mtu *p)
{
    CHECK(p->bytes > 0);
    CHECK(p->bytes <= p->most);
    CHECK(p->state != PATH_MTU_SEARCH || p->bytes < p->failed);
    CHECK(p->state != PATH_MTU_SEARCH || p->probed != 0 || next_size(p) != 0);
    CHECK(p->probed == 0 || p->state != PATH_MTU_COMPLETE);
    CHECK(!p->is_asked || path_mtu_is_in_doubt(p));
}
