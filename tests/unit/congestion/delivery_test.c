#include "core/congestion/delivery.h"

#include "../../support/suite.h"
#include "../../support/tables.h"

#include <signal.h>

enum { UNIT = 1000, FEW = 4 };

static struct delivery_note few[FEW];
static struct delivery_note notes[DELIVERY_NOTES];
static struct delivery d;

static void setup(void)
{
    delivery_init(&d, TABLE_FROM(few, FEW, notes, DELIVERY_NOTES), 0);
}

static void send(instant now, uint64_t first, uint32_t in_transit)
{
    delivery_on_sent(&d, now, first, in_transit * (uint64_t)UNIT, in_transit);
    delivery_check(&d);
}

FIXTURE(setup, NULL)

/* A burst of ten units at 0 and another at 5 ms, each back after 10 ms. */
TEST(delivery_on_acknowledged__rate)
{
    delivery_on_begin(&d, 0);
    send(0, 0, 10);
    send(5 * MILLISECOND, 10, 20);
    struct delivery_sample one =
        delivery_on_acknowledged(&d, 10 * MILLISECOND, 10 * UNIT, 9, MILLISECOND);
    ck_assert_uint_eq(one.rate, 1000000);
    ck_assert_uint_eq(one.bytes, 10 * UNIT);
    ck_assert_uint_eq(one.prior, 0);
    ck_assert_uint_eq(one.in_transit, 10 * UNIT);
    send(10 * MILLISECOND, 20, 20);
    struct delivery_sample two =
        delivery_on_acknowledged(&d, 15 * MILLISECOND, 10 * UNIT, 19, MILLISECOND);
    ck_assert_uint_eq(two.bytes, 20 * UNIT);
    struct delivery_sample three =
        delivery_on_acknowledged(&d, 20 * MILLISECOND, 10 * UNIT, 29, MILLISECOND);
    ck_assert_uint_eq(three.rate, 2000000);
    ck_assert_uint_eq(three.prior, 10 * UNIT);
}

/* Acknowledgements that come all at once do not make the path faster than it was sent on. */
TEST(delivery_on_acknowledged__lumps)
{
    delivery_on_begin(&d, 0);
    send(0, 0, 1);
    send(10 * MILLISECOND, 1, 2);
    delivery_on_acknowledged(&d, 20 * MILLISECOND, UNIT, 0, 0);
    send(20 * MILLISECOND, 2, 2);
    struct delivery_sample sample = delivery_on_acknowledged(&d, 21 * MILLISECOND, 2 * UNIT, 2, 0);
    ck_assert_uint_eq(sample.bytes, 2 * UNIT);
    ck_assert_uint_eq(sample.rate, 2 * UNIT * UINT64_C(1000) / 20);
}

TEST(delivery_on_acknowledged__too_short_to_tell)
{
    delivery_on_begin(&d, 0);
    send(0, 0, 10);
    struct delivery_sample sample =
        delivery_on_acknowledged(&d, 10 * MILLISECOND, UNIT, 5, 10 * MILLISECOND + 1);
    ck_assert(sample.is_valid);
    ck_assert_uint_eq(sample.rate, 0);
}

TEST(delivery_on_acknowledged__just_long_enough_to_tell)
{
    delivery_on_begin(&d, 0);
    send(0, 0, 10);
    ck_assert_uint_eq(
        delivery_on_acknowledged(&d, 10 * MILLISECOND, UNIT, 5, 10 * MILLISECOND).rate, 100000);
}

/* With each acknowledgement that is slower it is a 256th less. */
TEST(delivery_on_acknowledged__the_fastest_rate_fades)
{
    delivery_on_begin(&d, 0);
    send(0, 0, 10);
    delivery_on_acknowledged(&d, MILLISECOND, 256 * UNIT, 0, 0);
    ck_assert_uint_eq(d.fastest, 256 * UNIT * UINT64_C(1000));
    delivery_on_acknowledged(&d, SECOND, UNIT, 0, 0);
    ck_assert_uint_eq(d.fastest, 255 * UNIT * UINT64_C(1000));
}

TEST(delivery_on_acknowledged__unknown_number)
{
    send(0, 7, 1);
    ck_assert(!delivery_on_acknowledged(&d, 1, UNIT, 6, 0).is_valid);
    ck_assert_uint_eq(d.delivered, UNIT);
}

/* What was sent when there was too little to send says so, and so on until it has arrived. */
TEST(delivery_on_limited__until_it_arrived)
{
    send(0, 0, 2);
    delivery_on_limited(&d, 2 * UNIT);
    send(1, 2, 3);
    ck_assert(!delivery_on_acknowledged(&d, 2, 2 * UNIT, 1, 0).is_limited);
    ck_assert(delivery_on_acknowledged(&d, 3, UNIT, 2, 0).is_limited);
    send(4, 3, 1);
    ck_assert(!delivery_on_acknowledged(&d, 5, UNIT, 3, 0).is_limited);
}

/* Also if nothing was sent or arrived before. */
TEST(delivery_on_limited__from_the_beginning)
{
    delivery_on_limited(&d, 0);
    send(0, 0, 1);
    ck_assert(delivery_on_acknowledged(&d, 1, UNIT, 0, 0).is_limited);
    send(2, 1, 1);
    ck_assert(!delivery_on_acknowledged(&d, 3, UNIT, 1, 0).is_limited);
}

/* Of what is acknowledged only the newest note stays. */
TEST(delivery_forget__below)
{
    for (uint64_t first = 0; first < 30; first += 10)
        send((instant)first, first, 1);
    delivery_forget(&d, 9);
    ck_assert(delivery_on_acknowledged(&d, 40, UNIT, 0, 0).is_valid);
    delivery_forget(&d, 10);
    ck_assert(!delivery_on_acknowledged(&d, 40, UNIT, 9, 0).is_valid);
    ck_assert(delivery_on_acknowledged(&d, 40, UNIT, 10, 0).is_valid);
    delivery_forget(&d, 1000);
    ck_assert(!delivery_on_acknowledged(&d, 40, UNIT, 19, 0).is_valid);
    ck_assert(delivery_on_acknowledged(&d, 40, UNIT, 20, 0).is_valid);
}

TEST(delivery_on_lost__counts)
{
    send(0, 0, 4);
    struct delivery_sample sample = delivery_on_lost(&d, UNIT, 1);
    ck_assert(sample.is_valid);
    ck_assert_uint_eq(sample.lost, UNIT);
    ck_assert_uint_eq(sample.in_transit, 4 * UNIT);
    send(1, 4, 4);
    ck_assert_uint_eq(delivery_on_lost(&d, UNIT, 4).lost, UNIT);
    ck_assert_uint_eq(d.lost, 2 * UNIT);
}

/* However much is in transit, there is a note for what was sent first. */
TEST(delivery_on_sent__shares_notes)
{
    enum { MANY = 100000 };
    for (uint32_t i = 0; i < MANY; i++)
        send(i, i, i + 1);
    for (uint64_t i = 0; i < 2 * MANY; i++) {
        struct delivery_sample sample =
            delivery_on_acknowledged(&d, (instant)(MANY + i), UNIT, MANY / 2 + i, 0);
        ck_assert(sample.is_valid);
        ck_assert_uint_le(MANY / 2 + i - sample.prior / UNIT, 3 * MANY);
        send((instant)(MANY + i), MANY + i, MANY);
    }
}

TEST(delivery_check__fires, .signal = SIGABRT)
{
    send(0, 0, 1);
    send(0, 1, 2);
    d.note[1].first = 0;
    delivery_check(&d);
}
