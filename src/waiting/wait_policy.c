#include "wait_policy.h"

#include "core/check.h"

enum {
    RESERVE = 2, /* naps that the bytes on their way fill, lest one outlasts the message */
    PARTS = 16,  /* what a nap brought is believed a little less each time that it forbids one */
};

/* ---- spin ---- */

void spin_init(struct spin *spin, duration most)
{
    *spin = (struct spin){.most = most, .credit = SPIN_CREDIT, .spins = true};
}

duration spin_limit(const struct spin *spin)
{
    return spin->spins ? spin->most : 0;
}

static bool is_long(const struct spin *spin, duration waited)
{
    return spin->spins ? waited >= spin->most : waited / SPIN_ASLEEP >= spin->most;
}

void spin_learn(struct spin *spin, duration waited)
{
    int credit = spin->credit + (is_long(spin, waited) ? -SPIN_LONG_COST : 1);

    spin->credit = credit < 0 ? 0 : credit > SPIN_CREDIT ? SPIN_CREDIT : credit;
    if (spin->credit == 0)
        spin->spins = false;
    else if (spin->credit == SPIN_CREDIT)
        spin->spins = true;
}

void spin_check(const struct spin *spin)
{
    CHECK(spin->credit >= 0);
    CHECK(spin->credit <= SPIN_CREDIT);
    CHECK(!spin->spins || spin->credit > 0);
    CHECK(spin->spins || spin->credit < SPIN_CREDIT);
}

/* ---- spinning ---- */

void spinning_init(struct spinning *s, duration most)
{
    s->now = WAITING_FOR_NEXT;
    spin_init(&s->of[WAITING_FOR_NEXT], most);
    spin_init(&s->of[WAITING_FOR_REST], most);
    spin_init(&s->of[WAITING_TO_PUSH], most < NEVER / 2 ? 2 * most : most);
}

void spinning_begin(struct spinning *s, enum waiting now)
{
    s->now = now;
}

duration spinning_limit(const struct spinning *s)
{
    bool spins = s->now != WAITING_FOR_REST || spin_limit(&s->of[WAITING_FOR_NEXT]) > 0;

    return spins ? spin_limit(&s->of[s->now]) : 0;
}

void spinning_learn(struct spinning *s, duration waited)
{
    spin_learn(&s->of[s->now], waited);
}

/* ---- interrupt moderation ---- */

void moderation_init(struct moderation *m)
{
    *m = (struct moderation){.nap = MODERATION_LEAST};
}

void moderation_on_arrivals(struct moderation *m, uint32_t arrivals, uint64_t bytes)
{
    m->bytes += bytes;
    m->arrivals += arrivals;
    m->calls++;
}

/* `part` of the round trip may be slept. */
static void learn_nap(struct moderation *m, duration part)
{
    uint32_t few = 2 * m->nap <= part ? MODERATION_ENOUGH : MODERATION_FEW;
    duration most = part < MODERATION_MOST  ? MODERATION_MOST
                    : part < MODERATION_FAR ? part
                                            : MODERATION_FAR;

    m->usual = m->bytes;
    if ((m->calls > MODERATION_MANY || m->nap > most) && m->nap / 2 >= MODERATION_LEAST) {
        m->nap /= 2;
    } else if (m->arrivals < few && 2 * m->nap <= most) {
        m->nap *= 2;
    } else if (m->arrivals < MODERATION_FEW) {
        m->nap = MODERATION_LEAST;
        m->polls = MODERATION_POLLS;
    }
}

/* For less than a whole nap may bring: a part of it, from which nothing is learnt. */
static duration shorter_nap(const struct moderation *m, uint64_t expected)
{
    double share = (double)expected / (double)(RESERVE * m->usual);
    duration nap = (duration)((double)m->nap * share);

    return nap >= MODERATION_LEAST ? nap : 0;
}

duration moderation_rest(struct moderation *m, uint64_t expected, duration round_trip)
{
    duration nap = 0;

    if (m->has_napped)
        learn_nap(m, round_trip / MODERATION_PART);
    m->has_napped = m->polls == 0 && expected > RESERVE * m->usual;
    if (m->has_napped) {
        nap = m->nap;
    } else if (expected > 0 && m->polls > 0) {
        m->polls--;
    } else if (expected > 0) {
        nap = shorter_nap(m, expected);
        m->usual -= m->usual / PARTS;
    }
    m->bytes = 0;
    m->arrivals = 0;
    m->calls = 0;
    return nap;
}

void moderation_check(const struct moderation *m)
{
    CHECK(m->nap >= MODERATION_LEAST);
    CHECK(m->nap <= MODERATION_FAR);
}

/* ---- answering ---- */

void answering_on_message(struct answering *a)
{
    atomic_store(&a->is_open, true);
}

void answering_on_answer(struct answering *a)
{
    if (atomic_exchange(&a->is_open, false) && a->count < ANSWERS_USUAL)
        a->count++;
}

void answering_on_wait(struct answering *a)
{
    if (atomic_exchange(&a->is_open, false))
        a->count = 0;
}

void answering_on_late(struct answering *a)
{
    a->count = 0;
}

bool answering_is_open(const struct answering *a)
{
    return atomic_load(&a->is_open);
}

bool answering_is_usual(const struct answering *a)
{
    return a->count == ANSWERS_USUAL;
}

void answering_check(const struct answering *a)
{
    CHECK(a->count >= 0);
    CHECK(a->count <= ANSWERS_USUAL);
}
