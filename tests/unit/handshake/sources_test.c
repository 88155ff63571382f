/* Hosts whose handshakes fail. */
#include "handshake/sources.h"

#include "../../support/suite.h"

enum { HOST = 7, OTHER = 9, AT_ONCE = 32 };

static struct sources s;
static const instant start = 1000 * SECOND;

static void nobody(void)
{
    s = (struct sources){.source = {{0, 0}}};
}

FIXTURE(nobody, NULL)

static void charge(uint64_t host, int count, instant now)
{
    for (int i = 0; i < count; i++)
        sources_charge(&s, host, now);
}

TEST(sources_ready__so_many_at_once)
{
    for (int i = 0; i < AT_ONCE; i++) {
        ck_assert_int_le(sources_ready(&s, HOST, AT_ONCE, start), start);
        sources_charge(&s, HOST, start);
    }
    ck_assert_int_eq(sources_ready(&s, HOST, AT_ONCE, start), start + HANDSHAKE_PAUSE);
    ck_assert_int_le(sources_ready(&s, OTHER, AT_ONCE, start), start);
}

TEST(sources_ready__then_one_after_each_pause)
{
    charge(HOST, AT_ONCE, start);
    for (int i = 1; i <= 100; i++) {
        instant now = start + i * HANDSHAKE_PAUSE;
        ck_assert_int_gt(sources_ready(&s, HOST, AT_ONCE, now - 1), now - 1);
        ck_assert_int_le(sources_ready(&s, HOST, AT_ONCE, now), now);
        sources_charge(&s, HOST, now);
    }
}

/* However long it waits, no more than before are had at once. */
TEST(sources_ready__nothing_is_saved_up)
{
    instant later = start + 3600 * SECOND;

    charge(HOST, 3, start);
    charge(HOST, AT_ONCE, later);
    ck_assert_int_eq(sources_ready(&s, HOST, AT_ONCE, later), later + HANDSHAKE_PAUSE);
}

TEST(sources_refund__of_those_that_end_well)
{
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_le(sources_ready(&s, HOST, AT_ONCE, start), start);
        sources_charge(&s, HOST, start);
        sources_refund(&s, HOST);
    }
    ck_assert_int_eq(sources_debt(&s, HOST, start), start);
    sources_refund(&s, OTHER); /* nobody knows it */
    charge(HOST, 2, start);
    ck_assert_int_eq(sources_debt(&s, HOST, start), start + 2 * HANDSHAKE_PAUSE);
}

/* More hosts than there is room for: those with the most debt are remembered. */
TEST(sources_charge__forgets_the_least)
{
    charge(HOST, 20, start);
    for (uint64_t host = 100; host < 100 + 10 * SOURCES_MOST; host++)
        charge(host, 2, start);
    ck_assert_int_eq(sources_debt(&s, HOST, start), start + 20 * HANDSHAKE_PAUSE);
    ck_assert_int_eq(sources_debt(&s, 100, start), start);
}
