/* Lending over real sockets: the kernel reads the message itself. */
#include "channel_pair.h"

enum { LOANS = 4 };

static uint8_t lent[LOANS][LEND_MOST + 64];

static void open_lending(enum family family)
{
    struct channel_options out = {.use_gso = true, .use_lending = true, .send_bytes = 1 << 20};

    open_pair(family, true, false);
    channel_fini(&pair->sender);
    ck_assert_int_eq(channel_init(&pair->sender, pair->fd[0], &out), 0);
}

/* A burst of units that begin anywhere in a page. */
static void fill_loans(uint32_t bytes)
{
    struct burst *b = &pair->burst;

    b->may_lend = true;
    b->datagrams = LOANS;
    b->segment = bytes + TRAILER_BYTES;
    for (uint32_t i = 0; i < LOANS; i++) {
        for (uint32_t at = 0; at < sizeof(lent[i]); at++)
            lent[i][at] = (uint8_t)((i * 7919 + at) * 2654435761u >> 24);
        b->iov[2 * i] = (struct iovec){&lent[i][13 * i], bytes};
        b->iov[2 * i + 1] = (struct iovec){b->trailer[i], TRAILER_BYTES};
        memset(b->trailer[i], (int)i + 1, TRAILER_BYTES);
    }
}

static void send_loans(void)
{
    uint32_t sent;

    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_OK);
    ck_assert_uint_eq(sent, LOANS);
}

/* Datagram i arrives as the burst's pieces are now. */
static void expect_loan(uint32_t i)
{
    static uint8_t buffer[65536];
    const struct iovec *data = &pair->burst.iov[2 * i];
    int bytes = channel_receive_control(&pair->receiver, buffer, sizeof(buffer));

    ck_assert_int_eq(bytes, (int)data->iov_len + TRAILER_BYTES);
    ck_assert_mem_eq(buffer, data->iov_base, data->iov_len);
    ck_assert_mem_eq(buffer + data->iov_len, pair->burst.trailer[i], TRAILER_BYTES);
}

static const uint32_t loan_bytes[] = {LEND_LEAST - 1, LEND_LEAST, LEND_LEAST + 1, 50000,
                                      LEND_MOST - 1,  LEND_MOST,  LEND_MOST + 1};
enum { LOAN_SIZES = sizeof(loan_bytes) / sizeof(loan_bytes[0]) };

/* Sizes around the limits; a change after receipt, and to a trailer at once, does no harm. */
START_TEST(channel_send__lends)
{
    enum family family = (enum family)(_i / LOAN_SIZES);
    uint32_t bytes = loan_bytes[_i % LOAN_SIZES];
    bool fits = family != LOCAL && bytes >= LEND_LEAST && bytes <= LEND_MOST;

    open_lending(family);
    fill_loans(bytes);
    send_loans();
    ck_assert_uint_eq(channel_count(&pair->sender, CHANNEL_LOANS), fits ? LOANS : 0);
    for (uint32_t i = 0; i < LOANS; i++) {
        expect_loan(i);
        memset(lent[i], 0, sizeof(lent[i]));
    }
    ck_assert_uint_eq(channel_count(&pair->sender, CHANNEL_FALLBACKS), 0);
    close_pair();
}
END_TEST

/* What was lent is the receiver's though the sender has closed everything. */
START_TEST(channel_send__lent_then_closed)
{
    open_lending(IP4);
    fill_loans(LEND_MOST);
    send_loans();
    channel_fini(&pair->sender);
    close(pair->fd[0]);
    for (uint32_t i = 0; i < LOANS; i++)
        expect_loan(i);
    pair->fd[0] = dup(pair->fd[1]); /* for close_pair */
    close_pair();
}
END_TEST

/* Memory of a child's own: what the parent changes after a fork is the parent's, and arrives. */
START_TEST(channel_send__lends_after_fork)
{
    open_lending(IP4);
    fill_loans(LEND_MOST);
    pid_t child = fork();
    if (child == 0) {
        memset(lent, 0, sizeof(lent));
        _exit(0);
    }
    lent[0][0] ^= 1;
    lent[LOANS - 1][20000] ^= 1;
    send_loans();
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    for (uint32_t i = 0; i < LOANS; i++)
        expect_loan(i);
    close_pair();
}
END_TEST

/* There is nothing to be lent at a bad address, nor to be copied. */
START_TEST(channel_send__lends_bad_memory)
{
    uint32_t sent;

    open_lending(IP4);
    fill_loans(LEND_MOST);
    pair->burst.iov[2].iov_base =
        mmap(NULL, LEND_MOST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_BROKEN);
    ck_assert_uint_eq(sent, 1);
    ck_assert_int_eq(channel_fault(&pair->sender), EFAULT);
    expect_loan(0);
    munmap(pair->burst.iov[2].iov_base, LEND_MOST);
    close_pair();
}
END_TEST

/* Nobody listens: refusals do not end the lending. */
START_TEST(channel_send__lends_to_nobody)
{
    uint32_t sent;

    open_lending(IP4);
    fill_loans(LEND_MOST);
    close(pair->fd[1]);
    for (int i = 0; i < 5; i++) {
        enum channel_verdict verdict = channel_send(&pair->sender, &pair->burst, &sent);
        ck_assert(verdict == CHANNEL_OK || verdict == CHANNEL_REFUSED);
    }
    ck_assert_uint_gt(channel_count(&pair->sender, CHANNEL_REFUSALS), 0);
    ck_assert_uint_gt(channel_count(&pair->sender, CHANNEL_LOANS), 0);
    ck_assert(pair->sender.is_lending);
    pair->fd[1] = dup(pair->fd[0]);
    close_pair();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("sockets");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, channel_send__lends, 0, FAMILIES * LOAN_SIZES);
    tcase_add_test(tcase, channel_send__lent_then_closed);
    tcase_add_test(tcase, channel_send__lends_after_fork);
    tcase_add_test(tcase, channel_send__lends_bad_memory);
    tcase_add_test(tcase, channel_send__lends_to_nobody);
    return suite_run("channel_lend", tcase);
}
