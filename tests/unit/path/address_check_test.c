#include "core/path/address_check.h"

#include "../../support/suite.h"

enum { OLD = 1, NEW = 2, THIRD = 3 };

static struct address_check c;
static uint64_t end[ADDRESS_CHECK_STREAMS]; /* of what the old address has brought */

static void setup(void)
{
    c = (struct address_check){.moves = 0};
    for (int i = 0; i < ADDRESS_CHECK_STREAMS; i++)
        end[i] = 100;
}

FIXTURE(setup, NULL)

static uint64_t known(void)
{
    return end[0] + end[1] + end[2];
}

static uint64_t arrive(instant now, uint64_t address, uint32_t stream, uint64_t number,
                       uint32_t bytes)
{
    const struct address_check_arrival a = {.address = address,
                                            .bytes = bytes,
                                            .stream = stream,
                                            .number = number,
                                            .end = end[stream],
                                            .known = known()};
    uint64_t challenge = address_check_on_arrival(&c, now, &a, 1000 + number);
    address_check_check(&c);
    return challenge;
}

static bool is_due(instant now)
{
    return address_check_is_due(&c, now, known());
}

TEST(address_check__moves)
{
    ck_assert_int_eq(address_check_deadline(&c), NEVER);
    ck_assert_uint_eq(arrive(SECOND, NEW, 0, 100, 1200), 1100);
    ck_assert(!is_due(10 * SECOND));
    address_check_on_answer(&c, 2 * SECOND, NEW, 1100, 0);
    ck_assert_int_eq(address_check_deadline(&c), 2 * SECOND + ADDRESS_CHECK_SETTLE);
    ck_assert(!is_due(2 * SECOND + ADDRESS_CHECK_SETTLE - 1));
    ck_assert(is_due(2 * SECOND + ADDRESS_CHECK_SETTLE));
    address_check_put_off(&c, 3 * SECOND);
    ck_assert(!is_due(3 * SECOND - 1));
    ck_assert(is_due(3 * SECOND));
    address_check_on_moved(&c);
    ck_assert_uint_eq(c.moves, 1);
    ck_assert_int_eq(address_check_deadline(&c), NEVER);
}

TEST(address_check__awaits_the_reader_for_a_while)
{
    ck_assert(!address_check_awaits_reader(&c, 0));
    ck_assert_uint_eq(arrive(SECOND, NEW, 0, 100, 1200), 1100);
    ck_assert(!address_check_awaits_reader(&c, SECOND));
    address_check_on_answer(&c, 2 * SECOND, NEW, 1100, 0);
    instant latest = address_check_deadline(&c) + ADDRESS_CHECK_UNREAD;
    address_check_put_off(&c, latest);
    ck_assert(address_check_awaits_reader(&c, latest - 1));
    ck_assert(!address_check_awaits_reader(&c, latest));
    ck_assert(is_due(latest));
}

TEST(address_check__old_number_begins_nothing)
{
    ck_assert_uint_eq(arrive(SECOND, NEW, 0, 99, 1200), 0);
    ck_assert_uint_eq(c.begun, 0);
    ck_assert_uint_eq(arrive(SECOND, NEW, 1, 100, 1200), 1100); /* each stream by itself */
}

TEST(address_check__a_number_counts_once)
{
    ck_assert_uint_ne(arrive(SECOND, NEW, 0, 100, 60), 0);
    ck_assert_uint_eq(arrive(2 * SECOND, NEW, 0, 100, 60), 0);
    ck_assert_uint_eq(arrive(2 * SECOND, THIRD, 0, 100, 60), 0);
    ck_assert_uint_eq(c.address, NEW);
    ck_assert_uint_eq(c.in, 60);
    ck_assert_uint_eq(c.begun, 1);
}

TEST(address_check__the_newest_address_is_checked)
{
    ck_assert_uint_eq(arrive(SECOND, NEW, 0, 100, 60), 1100);
    ck_assert_uint_eq(arrive(SECOND, THIRD, 0, 101, 60), 1101);
    address_check_on_answer(&c, SECOND, NEW, 1100, 0);
    ck_assert_int_eq(c.state, ADDRESS_CHECK_CHALLENGED);
    address_check_on_answer(&c, SECOND, THIRD, 1101, 0);
    ck_assert_int_eq(c.state, ADDRESS_CHECK_ANSWERED);
    ck_assert_uint_eq(c.address, THIRD);
}

TEST(address_check__no_more_leaves_than_came)
{
    ck_assert_uint_eq(arrive(SECOND, NEW, 0, 100, ADDRESS_CHECK_BYTES - 1), 0);
    ck_assert_uint_ne(arrive(SECOND, NEW, 0, 101, 49), 0);
    ck_assert_uint_eq(arrive(2 * SECOND, NEW, 0, 102, 2), 0);
    ck_assert_uint_eq(c.out, ADDRESS_CHECK_BYTES);
}

TEST(address_check__asked_again_rarely)
{
    uint64_t challenge = arrive(SECOND, NEW, 0, 100, 1200);
    ck_assert_uint_eq(arrive(SECOND + ADDRESS_CHECK_REPEAT - 1, NEW, 0, 101, 1200), 0);
    ck_assert_uint_eq(arrive(SECOND + ADDRESS_CHECK_REPEAT, NEW, 0, 102, 1200), challenge);
}

TEST(address_check__wrong_answers)
{
    uint64_t challenge = arrive(SECOND, NEW, 0, 100, 1200);
    address_check_on_answer(&c, SECOND, NEW, challenge + 1, 0);
    address_check_on_answer(&c, SECOND, THIRD, challenge, 0);
    address_check_on_answer(&c, SECOND, OLD, challenge, 0);
    ck_assert_int_eq(c.state, ADDRESS_CHECK_CHALLENGED);
}

TEST(address_check__answer_without_a_check)
{
    address_check_on_answer(&c, SECOND, 0, 0, 0);
    ck_assert_int_eq(c.state, ADDRESS_CHECK_NONE);
    (void)arrive(SECOND, NEW, 0, 100, 1); /* too little came: nothing was asked */
    address_check_on_answer(&c, SECOND, NEW, 1100, 0);
    ck_assert_int_eq(c.state, ADDRESS_CHECK_CHALLENGED);
}

TEST(address_check__void_while_challenged)
{
    uint64_t challenge = arrive(SECOND, NEW, 0, 100, 1200);
    end[0] = 101; /* the same came from the old address */
    ck_assert_uint_eq(arrive(SECOND, NEW, 0, 100, 1200), 0);
    address_check_on_answer(&c, SECOND, NEW, challenge, 0);
    ck_assert_int_eq(c.state, ADDRESS_CHECK_NONE);
    ck_assert_uint_eq(c.voided, 1);
}

TEST(address_check__void_once_answered)
{
    uint64_t challenge = arrive(SECOND, NEW, 0, 100, 1200);
    address_check_on_answer(&c, SECOND, NEW, challenge, 0);
    end[2]++; /* the answer itself came from the old address, too */
    ck_assert(!is_due(2 * SECOND));
    ck_assert_int_eq(c.state, ADDRESS_CHECK_NONE);
    ck_assert_int_eq(address_check_deadline(&c), NEVER);
}

TEST(address_check__given_up)
{
    uint64_t challenge = arrive(SECOND, NEW, 0, 100, 1200);
    address_check_on_answer(&c, SECOND, NEW, challenge, 0);
    address_check_give_up(&c);
    ck_assert(!is_due(10 * SECOND));
    ck_assert_uint_eq(c.moves, 0);
}

TEST(address_check__settles_for_a_round_trip)
{
    static const duration rows[][2] = {{0, ADDRESS_CHECK_SETTLE},
                                       {300 * MILLISECOND, 300 * MILLISECOND},
                                       {5 * SECOND, ADDRESS_CHECK_SETTLE_MOST}};
    for (int i = 0; i < ROWS(rows); i++) {
        setup();
        uint64_t challenge = arrive(SECOND, NEW, 0, 100, 1200);
        address_check_on_answer(&c, 2 * SECOND, NEW, challenge, rows[i][0]);
        ck_assert_int_eq(address_check_deadline(&c), 2 * SECOND + rows[i][1]);
    }
}
