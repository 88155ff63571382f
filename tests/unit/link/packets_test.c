#include "zcrp-link/packets.h"

#include "../../support/random.h"
#include "../../support/suite.h"

#include <signal.h>
#include <string.h>

TEST(packets_take__as_many_as_there_may_be)
{
    struct packets p;
    struct packet *taken[3];
    packets_init(&p, 1500, 3);
    for (int i = 0; i < 3; i++) {
        taken[i] = packets_take(&p);
        ck_assert_ptr_nonnull(taken[i]);
        memset(taken[i]->bytes, i, 1500);
    }
    ck_assert_ptr_null(packets_take(&p));
    packets_put(&p, taken[1]);
    ck_assert_ptr_eq(packets_take(&p), taken[1]);
    ck_assert_ptr_null(packets_take(&p));
    for (int i = 0; i < 3; i++)
        packets_put(&p, taken[i]);
    ck_assert_uint_eq(p.made, 3);
    packets_fini(&p);
}

TEST(packets_fini__notices_what_is_still_out, .signal = SIGABRT)
{
    struct packets p;
    packets_init(&p, 100, 1);
    packets_take(&p);
    packets_fini(&p);
}

enum { PACKETS = 1000 };

/* The earliest first; the first of those due together. */
TEST(schedule_take__in_order)
{
    static struct packet packets[PACKETS];
    struct schedule s;
    const struct packet *last = NULL;
    uint64_t random = 1998;
    ck_assert_int_eq(schedule_init(&s, PACKETS), 0);
    ck_assert_ptr_null(schedule_first(&s));
    for (int i = 0; i < PACKETS; i++) {
        packets[i].due = (instant)random_below(&random, 100);
        schedule_add(&s, &packets[i]);
    }
    for (int i = 0; i < PACKETS; i++) {
        struct packet *first = schedule_first(&s);
        ck_assert_ptr_eq(schedule_take(&s), first);
        if (last != NULL)
            ck_assert(last->due < first->due || (last->due == first->due && last < first));
        last = first;
    }
    ck_assert_ptr_null(schedule_first(&s));
    schedule_fini(&s);
}

/* Added and taken in turns, as on the link. */
TEST(schedule_take__while_others_come)
{
    static struct packet packets[PACKETS];
    struct schedule s;
    uint64_t random = 7;
    instant now = 0;
    int taken = 0;
    ck_assert_int_eq(schedule_init(&s, PACKETS), 0);
    for (int i = 0; i < PACKETS; i++, now += 10) {
        packets[i].due = now + (instant)random_below(&random, 300);
        schedule_add(&s, &packets[i]);
        for (; schedule_first(&s) != NULL && schedule_first(&s)->due <= now; taken++)
            ck_assert_int_gt(schedule_take(&s)->due, now - 10);
    }
    ck_assert_uint_eq(s.count, (size_t)(PACKETS - taken));
    ck_assert_int_gt(taken, PACKETS / 2);
    schedule_fini(&s);
}

TEST(held_take__after_so_many_others)
{
    struct held h;
    struct packet packet = {.due = 100}, other = {.due = 100};
    held_init(&h, 3);
    ck_assert_int_eq(held_until(&h), NEVER);
    held_enter(&h, &packet, true);
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(held_take(&h, INT64_MIN));
        held_enter(&h, &other, false);
    }
    ck_assert_ptr_eq(held_take(&h, INT64_MIN), &packet);
    ck_assert_ptr_null(held_take(&h, INT64_MIN));
}

TEST(held_take__when_nobody_comes)
{
    struct held h;
    struct packet packet = {.due = 100};
    held_init(&h, 1);
    held_enter(&h, &packet, true);
    ck_assert_int_eq(held_until(&h), 100 + HELD_LONGEST);
    ck_assert_ptr_null(held_take(&h, held_until(&h) - 1));
    ck_assert_ptr_eq(held_take(&h, held_until(&h)), &packet);
    ck_assert_int_eq(held_until(&h), NEVER);
}

/* If all are held back, all come, in order, and the ring suffices. */
TEST(held_enter__all_of_them, .rows = HELD_MOST)
{
    static struct packet packets[1000];
    struct held h;
    unsigned taken = 0;
    held_init(&h, (unsigned)(_i + 1));
    for (unsigned i = 0; i < 1000; i++) {
        struct packet *packet;
        held_enter(&h, &packets[i], true);
        while ((packet = held_take(&h, INT64_MIN)) != NULL)
            ck_assert_ptr_eq(packet, &packets[taken++]);
        ck_assert_uint_le(h.count, (unsigned)(_i + 1));
    }
    ck_assert_uint_eq(taken + h.count, 1000);
    ck_assert_uint_eq(h.count, (unsigned)(_i + 1));
}
