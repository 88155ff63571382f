#include "zcrp-link/packets.h"

#include "../../support/suite.h"

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
