/* How a message ends for its user: at once, or with the section if somebody collects it. */
#include "../../support/suite.h"
#include "link/entity.h"

#include <string.h>

static struct zcrp_entity e;
static struct message *m;

static void setup(void)
{
    memset(&e, 0, sizeof(e));
    collection_init(&e.collection);
    m = message_create(10);
    ck_assert_ptr_nonnull(m);
    message_begin(m, &e, 10);
}

static void teardown(void)
{
    latch_open(&m->latch);
    message_destroy(m);
}

FIXTURE(setup, teardown)

TEST(entity_end__opens_the_latch)
{
    entity_end(&e, m, ZCRP_OK, 7, false);
    ck_assert(latch_is_open(&m->latch));
    ck_assert_int_eq(message_end(m), ZCRP_OK);
    ck_assert_uint_eq(m->public.length, 7);
    ck_assert(e.has_opened);
    ck_assert_ptr_null(e.ended.first);
    ck_assert_uint_eq(e.opened.count, 0); /* nobody sleeps */
    ck_assert_uint_eq(e.messages, 1);
    ck_assert_uint_eq(e.bytes, 7);
}

/* Who sleeps on it is woken behind the mutex. */
TEST(entity_end__remembers_a_sleeper)
{
    atomic_store(&m->latch.state, LATCH_SLEEPERS);
    entity_end(&e, m, ZCRP_ERROR_CLOSED, 0, false);
    ck_assert(latch_is_open(&m->latch));
    ck_assert_uint_eq(e.opened.count, 1);
    ck_assert_ptr_eq(e.opened.latch[0], &m->latch);
    ck_assert_uint_eq(e.failures, 1);
}

/* A message that is to be collected is in the collection before its user sees that it has ended. */
TEST(entity_end__waits_for_whoever_collects, .rows = 2)
{
    if (_i == 0)
        atomic_store(&e.collection.is_on, true);
    else
        m->is_lent = true;
    entity_end(&e, m, ZCRP_OK, 7, entity_has_taker(&e));
    ck_assert(!latch_is_open(&m->latch));
    ck_assert(!e.has_opened);
    ck_assert_ptr_eq(e.ended.first, m);
    m->is_lent = false;
}

/* Nobody has a copy. */
TEST(entity_end__of_a_copy)
{
    struct message *copy = copy_create("0123456789", 10);

    copies_add(&e.copies, copy);
    message_begin(copy, &e, 10);
    entity_end(&e, copy, ZCRP_OK, 10, false);
    ck_assert_ptr_null(e.copies.first);
    ck_assert_uint_eq(e.copies.bytes, 0);
    ck_assert(!e.has_opened);
    ck_assert_ptr_null(e.ended.first);
}
