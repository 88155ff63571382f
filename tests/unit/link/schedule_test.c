#include "zcrp-link/packets.h"

#include "../../support/random.h"
#include "../../support/suite.h"

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
