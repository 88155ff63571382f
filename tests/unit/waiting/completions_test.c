#include "../../support/suite.h"
#include "waiting/completions.h"

static struct completions completions, other;
static struct place place[3];
static int rings;

static void ring(void *queue)
{
    ck_assert_ptr_eq(queue, &rings);
    rings++;
}

static void begin(void)
{
    rings = 0;
    completions_init(&completions, ring, &rings, NULL);
    completions_init(&other, ring, &rings, NULL);
}

/* All leave. */
static void end(void)
{
    completions_lock();
    for (int i = 0; i < 3; i++)
        (void)place_leave(&place[i]);
    completions_unlock();
    completions_fini(&completions);
    completions_fini(&other);
}

FIXTURE(begin, end)

static void add(int i)
{
    ck_assert(completions_add(&completions, &place[i], &(struct place){.context = &place[i]}));
}

/* The first one that is ready, which keeps these of its facts. */
static struct place *take(uint32_t facts)
{
    completions_lock();
    struct place *p = completions_first(&completions);
    if (p != NULL)
        completions_put_back(&completions, p, p->facts & facts);
    completions_unlock();
    return p;
}

TEST(completions_add__once)
{
    ck_assert(!place_is_in_queue(&place[0]));
    add(0);
    ck_assert(place_is_in_queue(&place[0]));
    ck_assert(!completions_add(&completions, &place[0], &(struct place){.told = 1}));
    ck_assert(!completions_add(&other, &place[0], &(struct place){.told = 1}));
    ck_assert_int_eq(place[0].told, 0);
    ck_assert_ptr_null(take(0));
}

/* What it has already is told from then on, and rung for. */
TEST(completions_add__with_facts)
{
    for (int i = 0; i < 2; i++)
        ck_assert(completions_add(&completions, &place[i], &(struct place){.facts = FACT_ENDED}));
    ck_assert_int_eq(rings, 1);
    ck_assert_uint_eq(place[0].facts, FACT_ENDED);
    ck_assert_ptr_eq(take(0), &place[0]);
    ck_assert_ptr_eq(take(0), &place[1]);
    ck_assert_ptr_null(take(0));
}

/* Both, in this order, with one ring; or neither, whichever of them is in a queue. */
TEST(completions_add_both__or_neither, .rows = 3)
{
    const struct place as = {.context = &rings, .facts = FACT_ENDED};

    if (_i < 2)
        ck_assert(completions_add(&other, &place[_i], &(struct place){.told = 1}));
    ck_assert_int_eq(completions_add_both(&completions, &place[0], &place[1], &as), _i == 2);
    ck_assert_int_eq(rings, _i == 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(place_is_in_queue(&place[i]), _i == i || _i == 2);
        ck_assert_ptr_eq(take(0), _i == 2 ? &place[i] : NULL);
        if (_i == 2)
            ck_assert_ptr_eq(place[i].context, &rings);
    }
    ck_assert_ptr_null(take(0));
}

TEST(place_note__not_in_a_queue)
{
    place_note(&place[0], FACT_ENDED);
    place_note_callers(&place[0], 1);
    ck_assert_uint_eq(place[0].facts, 0);
    ck_assert_uint_eq(place[0].callers, 0);
}

/* Each is ready once, in the order in which they had something. */
TEST(completions_first__in_order)
{
    for (int i = 0; i < 3; i++)
        add(i);
    place_note(&place[1], FACT_ENDED);
    place_note(&place[0], FACT_OFFER);
    place_note(&place[1], FACT_LINK);
    place_note(&place[2], FACT_ENDED);
    ck_assert_uint_eq(place[1].facts, FACT_ENDED | FACT_LINK);
    ck_assert_ptr_eq(take(0), &place[1]);
    ck_assert_ptr_eq(take(0), &place[0]);
    ck_assert_ptr_eq(take(0), &place[2]);
    ck_assert_ptr_null(take(0));
}

/* One that has more goes to the end. */
TEST(completions_put_back__to_the_end)
{
    add(0);
    add(1);
    place_note(&place[0], FACT_ENDED | FACT_LINK);
    place_note(&place[1], FACT_ENDED);
    ck_assert_ptr_eq(take(FACT_ENDED), &place[0]);
    ck_assert_ptr_eq(take(FACT_ENDED), &place[1]);
    ck_assert_ptr_eq(take(0), &place[0]);
    ck_assert_ptr_eq(take(0), &place[1]);
    ck_assert_ptr_null(take(0));
}

/* ---- busy users ---- */

static struct place *take_busy(bool any)
{
    completions_lock();
    struct place *p = completions_take_busy(&completions, any);
    completions_unlock();
    return p;
}

static void note_all_busy(void)
{
    for (int i = 0; i < 3; i++)
        add(i);
    completions_lock();
    for (int i = 0; i < 3; i++) {
        completions_note_busy(&completions, &place[i]);
        completions_note_busy(&completions, &place[i]);
    }
    completions_unlock();
}

/* Each once; those with more messages to tell of only if any will do. */
TEST(completions_take_busy__each_once)
{
    bool was_taken[3] = {false};

    ck_assert(!completions_have_busy(&completions));
    note_all_busy();
    place_note(&place[1], FACT_ENDED);
    place_note(&place[2], FACT_LINK);
    for (int i = 0; i < 3; i++) {
        struct place *p = take_busy(i == 2);
        ck_assert_ptr_nonnull(p);
        ck_assert(!was_taken[p - place]);
        was_taken[p - place] = true;
        ck_assert(i < 2 || p == &place[1]);
    }
    ck_assert(!completions_have_busy(&completions));
    ck_assert_ptr_null(take_busy(true));
}

/* One that leaves is busy no more, wherever it is among them. */
TEST(place_leave__while_busy, .rows = 3)
{
    note_all_busy();
    completions_lock();
    (void)place_leave(&place[_i]);
    completions_unlock();
    for (int i = 0; i < 2; i++)
        ck_assert_ptr_ne(take_busy(true), &place[_i]);
    ck_assert(!completions_have_busy(&completions));
    add(_i);
    ck_assert_ptr_null(take_busy(true));
}

/* ---- rings ---- */

/* It rings when there is something and was nothing. */
TEST(place_note__rings_once)
{
    add(0);
    add(1);
    place_note(&place[0], 0);
    ck_assert_int_eq(rings, 0);
    place_note(&place[0], FACT_ENDED);
    place_note(&place[0], FACT_ENDED);
    place_note_callers(&place[1], 0);
    place_note_callers(&place[1], 2);
    ck_assert_int_eq(rings, 1);
    (void)take(0);
    (void)take(0);
    place_note_callers(&place[1], 3);
    ck_assert_int_eq(rings, 2);
    ck_assert_uint_eq(place[1].callers, 5);
}

/* What left is not ready any more, and can enter another queue, where it has nothing. */
TEST(place_leave__any_of_them, .rows = 3)
{
    for (int i = 0; i < 3; i++) {
        add(i);
        place_note_callers(&place[i], 1);
    }
    completions_lock();
    ck_assert(place_leave(&place[_i]));
    ck_assert(!place_leave(&place[_i]));
    completions_unlock();
    for (int i = 0; i < 3; i++)
        if (i != _i)
            ck_assert_ptr_eq(take(0), &place[i]);
    ck_assert_ptr_null(take(0));
    ck_assert(completions_add(&other, &place[_i], &(struct place){.owner = &other}));
    ck_assert_ptr_eq(place[_i].owner, &other);
    ck_assert_uint_eq(place[_i].facts, 0);
    ck_assert_uint_eq(place[_i].callers, 0);
}

TEST(completions_fini__while_something_is_in_it, .signal = SIGABRT)
{
    add(0);
    completions_fini(&completions);
}
