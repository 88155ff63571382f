/* wrap: vmsplice splice send setsockopt pipe2 fcntl close sendmsg sendmmsg getsockopt */
/* sources: src/channel/socket_lend.c src/channel/socket_send.c src/channel/socket_path.c */
/* sources: src/channel/fault.c src/platform/check.c */
/* Lending as socket_send sees it: what cannot be lent is copied. */
#include "socket_lend_rig.h"

static void send__all_lent(void **state)
{
    (void)state;
    expect_send(CHANNEL_OK, UNITS);
    assert_int_equal(fake.left, UNITS);
    assert_int_equal(fake.copied, 0);
    expect_counter(CHANNEL_LOANS, UNITS);
    expect_counter(CHANNEL_CALLS_OUT, 3 * UNITS);
}

/* A last unit too short for it is copied. */
static void send__short_end(void **state)
{
    (void)state;
    b.iov[2 * (UNITS - 1)].iov_len = 100;
    expect_send(CHANNEL_OK, UNITS);
    assert_int_equal(fake.left, UNITS - 1);
    assert_int_equal(fake.copied, 1);
}

/* Each error at the second datagram: that one and the third are copied in one call, and in the next
 * burst all are lent, or copied, again. */
static void send__falls_back(void **state)
{
    static const struct {
        enum step step;
        int error;
        bool goes_on;
    } row[] = {
        {PAGES, EFAULT, false},    {PAGES, EAGAIN, false},     {PASS, EINVAL, false},
        {PASS, EMSGSIZE, false},   {PASS, ECONNREFUSED, true}, {PASS, EAGAIN, true},
        {PASS, ENOBUFS, true},     {END, EINVAL, false},       {END, EMSGSIZE, false},
        {END, ECONNREFUSED, true}, {END, EAGAIN, true},        {END, ENOBUFS, true},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup_lending(state);
        fake.result[row[i].step][1] = -row[i].error;
        expect_send(CHANNEL_OK, UNITS);
        assert_int_equal(fake.copied, UNITS - 1);
        assert_int_equal(fake.calls[COPY], 1);
        expect_counter(CHANNEL_FALLBACKS, !row[i].goes_on);
        assert_int_equal(channel_fault(&c), 0);
        expect_send(CHANNEL_OK, UNITS);
        expect_counter(CHANNEL_LOANS, row[i].goes_on ? 1 + UNITS : 1);
        socket_lend_end(&c);
        expect_over();
    }
}

/* The error persists: copying has the last word, and what was lent before stays sent. */
static void send__verdicts(void **state)
{
    static const struct {
        int error;
        enum channel_verdict verdict;
    } row[] = {
        {EAGAIN, CHANNEL_BLOCKED}, {ENOBUFS, CHANNEL_CROWDED},      {ENOMEM, CHANNEL_CROWDED},
        {EBADF, CHANNEL_BROKEN},   {ECONNREFUSED, CHANNEL_REFUSED}, {EPERM, CHANNEL_REFUSED},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup_lending(state);
        for (int call = 0; call < 8; call++) {
            fake.result[PASS][call] = call < 1 ? 0 : -row[i].error;
            fake.result[COPY][call] = -row[i].error;
        }
        expect_send(row[i].verdict, 1);
        assert_int_equal(channel_fault(&c), row[i].verdict == CHANNEL_BROKEN ? row[i].error : 0);
        assert_int_equal(fake.copied, 0);
        expect_counter(CHANNEL_LOANS, 1);
        if (row[i].verdict != CHANNEL_BROKEN)
            expect_going_on();
    }
}

/* The path became narrower than the size to cut at. */
static void send__path_became_narrower(void **state)
{
    (void)state;
    mtu = 1500;
    fake.result[PASS][0] = -EMSGSIZE;
    fake.result[COPY][0] = -EMSGSIZE;
    expect_send(CHANNEL_TOO_BIG, 0);
    assert_int_equal(channel_path_bytes(&c), 1500 - 28);
    expect_over();
}

/* A datagram that is not lent, and that the kernel refuses because of the size to cut at: without
 * lending it goes. */
static void send__dislikes_the_segment(void **state)
{
    static const int error[] = {EINVAL, EIO};

    for (int i = 0; i < 2; i++) {
        (void)setup_lending(state);
        fill_burst(1, 100);
        b.may_lend = true;
        fake.result[COPY][0] = -error[i];
        expect_send(CHANNEL_OK, 1);
        expect_over();
        expect_counter(CHANNEL_FALLBACKS, 1);
        fake.result[COPY][2] = -error[i]; /* but it was not that */
        expect_send(CHANNEL_BROKEN, 0);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(send__all_lent, setup_lending),
        cmocka_unit_test_setup(send__short_end, setup_lending),
        cmocka_unit_test_setup(send__falls_back, setup_lending),
        cmocka_unit_test_setup(send__verdicts, setup_lending),
        cmocka_unit_test_setup(send__path_became_narrower, setup_lending),
        cmocka_unit_test_setup(send__dislikes_the_segment, setup_lending),
    };
    return cmocka_run_group_tests_name("socket_lend_send", test, NULL, NULL);
}
