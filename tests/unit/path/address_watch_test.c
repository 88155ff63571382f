#include "core/path/address_watch.h"

#include "../../support/suite.h"

#define ROUND_TRIP (40 * MILLISECOND)
#define FIRST (ADDRESS_WATCH_FIRST + ROUND_TRIP)

static struct address_watch w;
static struct address_watch_facts f;

static void setup(void)
{
    w = (struct address_watch){.tries = 0};
    f = (struct address_watch_facts){
        .is_awaited = true, .heard = 10 * SECOND, .round_trip = ROUND_TRIP};
}

FIXTURE(setup, NULL)

TEST(address_watch__nothing_awaited)
{
    f.is_awaited = false;
    ck_assert_int_eq(address_watch_deadline(&w, &f), NEVER);
}

TEST(address_watch__awaited)
{
    ck_assert_int_eq(address_watch_deadline(&w, &f), 10 * SECOND + FIRST);
}

TEST(address_watch__ever_more_rarely)
{
    instant now = address_watch_deadline(&w, &f);
    duration wait[4];
    for (int i = 0; i < 4; i++) {
        address_watch_on_look(&w, now, &f);
        instant next = address_watch_deadline(&w, &f);
        wait[i] = next - now;
        now = next;
    }
    ck_assert_int_eq(wait[0], 2 * FIRST);
    ck_assert_int_eq(wait[1], 4 * FIRST);
    ck_assert_int_eq(wait[3], ADDRESS_WATCH_MOST);
}

TEST(address_watch__heard_again)
{
    for (int i = 0; i < 5; i++)
        address_watch_on_look(&w, (11 + i) * SECOND, &f);
    f.heard = 20 * SECOND;
    ck_assert_int_eq(address_watch_deadline(&w, &f), 20 * SECOND + FIRST);
}

TEST(address_watch__a_call_says_so)
{
    f.is_awaited = false;
    address_watch_on_look(&w, 11 * SECOND, &f);
    address_watch_on_homeless(&w);
    ck_assert_int_eq(address_watch_deadline(&w, &f), 11 * SECOND + ADDRESS_WATCH_HOMELESS);
    address_watch_on_look(&w, 12 * SECOND, &f);
    ck_assert_int_eq(address_watch_deadline(&w, &f), NEVER);
}

/* ---- a message that has no buffer of the peer's ---- */

static void block(void)
{
    f.is_awaited = false;
    f.blocked = 1;
    f.rarest = 5 * SECOND;
}

TEST(address_watch__blocked_however_often_it_is_answered)
{
    duration wait[8];

    block();
    instant now = address_watch_deadline(&w, &f);
    ck_assert_int_eq(now, 10 * SECOND + FIRST);
    for (int i = 0; i < 8; i++) {
        address_watch_on_look(&w, now, &f);
        f.heard = now;
        instant next = address_watch_deadline(&w, &f);
        wait[i] = next - now;
        now = next;
    }
    ck_assert_int_eq(wait[0], 2 * FIRST);
    ck_assert_int_eq(wait[1], 4 * FIRST);
    ck_assert_int_eq(wait[7], f.rarest);
}

TEST(address_watch__blocked_without_signs_of_life)
{
    block();
    f.rarest = NEVER;
    for (int i = 0; i < 100; i++)
        address_watch_on_look(&w, 11 * SECOND, &f);
    ck_assert_int_eq(address_watch_deadline(&w, &f), 11 * SECOND + (FIRST << 16));
}

TEST(address_watch__blocked_again)
{
    block();
    for (int i = 0; i < 5; i++)
        address_watch_on_look(&w, (11 + i) * SECOND, &f);
    f.blocked = 2;
    ck_assert_int_eq(address_watch_deadline(&w, &f), 15 * SECOND + FIRST);
}
