/* wrap: vmsplice splice send setsockopt pipe2 fcntl close sendmsg sendmmsg getsockopt */
/* sources: src/channel/socket_lend.c src/channel/socket_send.c src/channel/socket_path.c */
/* sources: src/channel/fault.c src/platform/check.c */
#include "socket_lend_rig.h"

/* ---- begin and end */

static void begin__prepares(void **state)
{
    (void)state;
    socket_lend_begin(&c);
    expect_going_on();
    socket_lend_end(&c);
    expect_over();
    socket_lend_end(&c);
    assert_int_equal(fake.pipes, 1);
}

static void begin__path_too_small(void **state)
{
    (void)state;
    atomic_store(&c.path_bytes, LEND_LEAST - 1);
    socket_lend_begin(&c);
    assert_false(c.is_lending);
    assert_int_equal(fake.calls[OPTION] + fake.calls[PIPE], 0);
}

/* Each call that begin needs; a pipe that stays too small, too. */
static void begin__refused(void **state)
{
    static const struct {
        enum step step;
        int result;
    } row[] = {{OPTION, -ENOPROTOOPT}, {PIPE, -EMFILE}, {SIZE, -EPERM}, {SIZE, 1 << 16}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup(state);
        fake.result[row[i].step][0] = row[i].result;
        socket_lend_begin(&c);
        expect_over();
        expect_counter(CHANNEL_FALLBACKS, 0);
    }
}

/* ---- fits */

static void fits__table(void **state)
{
    static const struct {
        uint32_t data;
        bool may_lend, is_lending, fits;
    } row[] = {
        {LEND_LEAST - 1, true, true, false},
        {LEND_LEAST, true, true, true},
        {LEND_MOST, true, true, true},
        {LEND_MOST + 1, true, true, false},
        {LEND_MOST, false, true, false},
        {LEND_MOST, true, false, false},
        {0, true, true, false},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup(state);
        c.is_lending = row[i].is_lending;
        fill_burst(2, row[i].data + TRAILER_BYTES);
        b.may_lend = row[i].may_lend;
        assert_int_equal(socket_lend_fits(&c, &b, 1), row[i].fits);
    }
}

/* ---- lend */

/* Three calls, and everything left as one datagram. */
static void lend__whole(void **state)
{
    (void)state;
    assert_true(socket_lend(&c, &b, 1));
    assert_int_equal(fake.left, 1);
    assert_int_equal(fake.left_bytes[0], SEGMENT);
    assert_int_equal(fake.left_end[0], 0x11);
    assert_int_equal(fake.calls[PAGES] + fake.calls[PASS] + fake.calls[END], 3);
    expect_counter(CHANNEL_LOANS, 1);
    expect_going_on();
}

static void lend__interrupted(void **state)
{
    (void)state;
    for (enum step step = PAGES; step <= END; step++)
        fake.result[step][0] = fake.result[step][1] = -EINTR;
    assert_true(socket_lend(&c, &b, 0));
    assert_int_equal(fake.left_bytes[0], SEGMENT);
    assert_int_equal(fake.calls[PAGES] + fake.calls[PASS] + fake.calls[END], 9);
    expect_going_on();
}

static void lend__spliced_in_parts(void **state)
{
    (void)state;
    fake.result[PASS][0] = 4096;
    fake.result[PASS][1] = 1;
    fake.result[PASS][2] = -EINTR;
    assert_true(socket_lend(&c, &b, 0));
    assert_int_equal(fake.calls[PASS], 4);
    assert_int_equal(fake.left, 1);
    assert_int_equal(fake.left_bytes[0], SEGMENT);
}

/* Nothing was sent but, at most, what nobody takes for a unit. */
static void expect_failed(void)
{
    assert_false(socket_lend(&c, &b, 0));
    assert_true(fake.left <= 1);
    assert_true(fake.left == 0 || fake.left_end[0] == 0);
    expect_counter(CHANNEL_LOANS, 0);
    expect_counter(CHANNEL_CALLS_OUT, 0);
    assert_int_equal(channel_fault(&c), 0);
}

/* Not the network's doing, whatever the number: some memory cannot be lent. */
static void lend__pages_fail(void **state)
{
    static const int result[] = {-EFAULT, -ENOMEM, -EAGAIN, -EPERM, -ENOSYS, -EINVAL, 4096};

    for (size_t i = 0; i < sizeof(result) / sizeof(result[0]); i++) {
        (void)setup_lending(state);
        fake.result[PAGES][0] = result[i];
        expect_failed();
        assert_int_equal(fake.calls[PASS], 0);
        expect_over();
        expect_counter(CHANNEL_FALLBACKS, 1);
        assert_int_equal(fake.pipes, 1);
    }
}

/* Each error at the socket, before anything is in it, in the middle, and at the end. */
static void lend__socket_fails(void **state)
{
    static const struct {
        int error;
        enum channel_counter counter;
    } row[] = {
        {EAGAIN, CHANNEL_BLOCKS},         {ENOBUFS, CHANNEL_CROWDS},
        {ENOMEM, CHANNEL_CROWDS},         {ECONNREFUSED, CHANNEL_REFUSALS},
        {EHOSTUNREACH, CHANNEL_REFUSALS}, {EPERM, CHANNEL_REFUSALS},
        {EMSGSIZE, CHANNEL_FALLBACKS},    {EINVAL, CHANNEL_FALLBACKS},
        {EIO, CHANNEL_FALLBACKS},         {EBADF, CHANNEL_FALLBACKS},
        {EPIPE, CHANNEL_FALLBACKS},
    };

    for (size_t i = 0; i < 3 * sizeof(row) / sizeof(row[0]); i++) {
        (void)setup_lending(state);
        fake.result[PASS][0] = i % 3 == 0 ? -row[i / 3].error : i % 3 == 1 ? 4096 : 0;
        fake.result[PASS][1] = i % 3 == 1 ? -row[i / 3].error : 0;
        fake.result[END][0] = i % 3 == 2 ? -row[i / 3].error : 0;
        expect_failed();
        expect_counter(row[i / 3].counter, 1);
        if (row[i / 3].counter == CHANNEL_FALLBACKS)
            expect_over();
        else
            expect_going_on();
    }
}

/* The socket holds a beginning: it leaves with an end that makes it rubbish. */
static void lend__nothing_more_to_splice(void **state)
{
    (void)state;
    fake.result[PASS][0] = 8192;
    fake.dries_up = true;
    expect_failed();
    assert_int_equal(fake.left, 1);
    assert_int_equal(fake.left_bytes[0], 8192 + 1);
    expect_over();
    expect_counter(CHANNEL_FALLBACKS, 1);
}

/* No new pipe: lending ends quietly. */
static void lend__no_new_pipe(void **state)
{
    (void)state;
    fake.result[PASS][0] = -EAGAIN;
    fake.result[PIPE][0] = -EMFILE;
    expect_failed();
    expect_over();
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(begin__prepares, setup),
        cmocka_unit_test_setup(begin__path_too_small, setup),
        cmocka_unit_test_setup(begin__refused, setup),
        cmocka_unit_test_setup(fits__table, setup),
        cmocka_unit_test_setup(lend__whole, setup_lending),
        cmocka_unit_test_setup(lend__interrupted, setup_lending),
        cmocka_unit_test_setup(lend__spliced_in_parts, setup_lending),
        cmocka_unit_test_setup(lend__pages_fail, setup_lending),
        cmocka_unit_test_setup(lend__socket_fails, setup_lending),
        cmocka_unit_test_setup(lend__nothing_more_to_splice, setup_lending),
        cmocka_unit_test_setup(lend__no_new_pipe, setup_lending),
    };
    return cmocka_run_group_tests_name("socket_lend", test, NULL, NULL);
}
