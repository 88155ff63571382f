/* Entities whose system calls fail: what passes by itself costs time, what does not ends. */
/* wrap: malloc calloc aligned_alloc posix_memalign mmap pthread_create eventfd */
/* wrap: sendmsg sendmmsg recvmsg recvmmsg */
#include "../support/loopback.h"
#include "../support/pattern.h"
#include "../support/seed.h"
#include "entity_faults.h"
#include "zcrp.h"

#include <string.h>

struct ends {
    struct loopback sockets;
    struct zcrp_entity *sender, *receiver;
};

static struct ends ends_open_with(const struct zcrp_options *options)
{
    struct ends e = {.sockets = loopback_open(LOOPBACK_UDP4, false)};

    assert_int_equal(zcrp_open_sender(&e.sender, e.sockets.sender, options), 0);
    assert_int_equal(zcrp_open_receiver(&e.receiver, e.sockets.receiver, options), 0);
    return e;
}

static struct ends ends_open(uint32_t unit_bytes, uint32_t flags)
{
    const struct zcrp_options options = {
        .unit_bytes = unit_bytes, .linger_ns = 200000000, .flags = flags};

    return ends_open_with(&options);
}

static void ends_close(struct ends *e)
{
    (void)zcrp_close(e->sender);
    (void)zcrp_close(e->receiver);
    loopback_close(&e->sockets);
}

/* `count` messages, one after the other, that end with `code` on both sides. */
static void transfer(struct ends *e, int count, int code)
{
    const nlong size = 20000;
    struct zcrp_msg *in = zcrp_alloc_msg(size), *out = zcrp_alloc_msg(size);

    for (int i = 0; i < count; i++) {
        pattern_fill(out->buffer, size, (uint64_t)i);
        assert_int_equal(zcrp_submit(e->receiver, in, size), 0);
        assert_int_equal(zcrp_submit(e->sender, out, size), 0);
        assert_int_equal(zcrp_wait_for(in, 20000000000), code);
        assert_int_equal(zcrp_wait_for(out, 20000000000), code);
        assert_true(code != ZCRP_OK || pattern_holds(in->buffer, size, (uint64_t)i));
    }
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* One message of 1 MB, in units as large as the path carries. */
static void transfer_large(struct ends *e, nbyte *to, nbyte *from)
{
    const nlong size = 1000000;
    struct zcrp_msg *in = zcrp_wrap_msg(to, size), *out = zcrp_wrap_msg(from, size);

    assert_int_equal(zcrp_submit(e->receiver, in, size), 0);
    assert_int_equal(zcrp_submit(e->sender, out, size), 0);
    assert_int_equal(zcrp_wait_for(in, 20000000000), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(out, 20000000000), ZCRP_OK);
    assert_true(pattern_holds(to, size, 9));
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

FIXTURE(heal, NULL)

/* Nothing allocates, starts threads or opens descriptors once both ends are open, whatever the size
 * of units. */
TEST(transfer__takes_nothing)
{
    enum { SIZE = 200000 };
    static nbyte to[SIZE], from[SIZE];
    struct zcrp_msg *in = zcrp_wrap_msg(to, SIZE), *out = zcrp_wrap_msg(from, SIZE);

    for (uint32_t unit_bytes = 0; unit_bytes <= 1472; unit_bytes += 1472) {
        struct ends e = ends_open(unit_bytes, 0);
        set_fault(&memory, 1, 1, ENOMEM);
        set_fault(&threads, 1, 1, EAGAIN);
        set_fault(&descriptors, 1, 1, EMFILE);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(zcrp_submit(e.receiver, in, SIZE), 0);
            assert_int_equal(zcrp_submit(e.sender, out, SIZE), 0);
            assert_int_equal(zcrp_wait_for(in, -1), 0);
            assert_int_equal(zcrp_wait_for(out, -1), 0);
        }
        int taken = memory.count + threads.count + descriptors.count;
        heal();
        assert_int_equal(taken, 0);
        ends_close(&e);
    }
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* What passes by itself, or that something can be done about, costs time and nothing else. */
TEST(transfer__sends_fail)
{
    static const int errors[] = {EAGAIN, EINTR,        ENOBUFS,      ENOMEM, EMSGSIZE,
                                 EPERM,  ECONNREFUSED, EHOSTUNREACH, EIO,    EINVAL};

    for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct ends e = ends_open(1472, 0);
        set_fault(&sends, 3, 5, errors[i]);
        transfer(&e, 10, ZCRP_OK);
        assert_true(sends.count > 0);
        set_fault(&sends, 0, 0, 0);
        ends_close(&e);
    }
}

/* The interface goes down and up again, and takes the sockets' address with it for a while; or the
 * tunnel that they use lacks its peer. No call says more than that. */
TEST(transfer__address_is_gone_for_a_while)
{
    static const int errors[] = {EADDRNOTAVAIL, ENETDOWN, ENETUNREACH, ENODEV, ENOKEY};
    const nlong size = 20000;
    struct zcrp_msg *in = zcrp_alloc_msg(size), *out = zcrp_alloc_msg(size);

    pattern_fill(out->buffer, size, 9);
    for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct ends e = ends_open(1472, ZCRP_NO_MEMORY);
        transfer(&e, 1, ZCRP_OK);
        set_fault(&sends, 1, 1, errors[i]);
        assert_int_equal(zcrp_submit(e.receiver, in, size), 0);
        assert_int_equal(zcrp_submit(e.sender, out, size), 0);
        assert_int_equal(zcrp_wait_for(out, 100000000), ZCRP_ERROR_TIMEOUT);
        assert_true(sends.count > 0);
        set_fault(&sends, 0, 0, 0);
        assert_int_equal(zcrp_wait_for(in, 20000000000), ZCRP_OK);
        assert_int_equal(zcrp_wait_for(out, 20000000000), ZCRP_OK);
        assert_true(pattern_holds(in->buffer, size, 9));
        ends_close(&e);
    }
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* What a receive ran into the kernel may tell with the next call, which sends. */
TEST(transfer__a_send_meets_a_fault)
{
    for (int n = 1; n <= 12; n++) {
        struct ends e = ends_open(1472, 0);
        set_fault(&sends, n, 0, EFAULT);
        transfer(&e, 5, ZCRP_OK);
        assert_true(sends.count == 1);
        ends_close(&e);
    }
}

/* Calls that succeed lie between two faults that no message's memory explains: then nothing fails,
 * however many they become. Nobody polls, so that only a few calls are for one message. */
TEST(transfer__faults_without_a_culprit)
{
    struct ends e = ends_open_with(&(struct zcrp_options){
        .unit_bytes = 1472, .flags = ZCRP_NO_MEMORY, .spin_ns = 1, .linger_ns = 200000000});

    set_fault(&sends, 3, 5, EFAULT);
    transfer(&e, 60, ZCRP_OK);
    assert_true(sends.count > 10);
    set_fault(&sends, 0, 0, 0);
    set_fault(&receives, 3, 20, EFAULT);
    transfer(&e, 200, ZCRP_OK);
    assert_true(receives.count > 10);
    heal();
    ends_close(&e);
}

TEST(transfer__receives_fail)
{
    static const int errors[] = {EAGAIN, EINTR, ENOMEM, ECONNREFUSED, EHOSTUNREACH};

    for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct ends e = ends_open(1472, 0);
        set_fault(&receives, 3, 5, errors[i]);
        transfer(&e, 10, ZCRP_OK);
        assert_true(receives.count > 0);
        set_fault(&receives, 0, 0, 0);
        ends_close(&e);
    }
}

/* Everything that may pass, any call, once in a hundred, in small units and large ones: it costs
 * time, and what the system cannot do is done without. */
TEST(transfer__calls_fail_by_chance)
{
    static const int errors[] = {ENOBUFS, EAGAIN, EINTR, EMSGSIZE, ECONNREFUSED, EIO};
    static nbyte to[1000000], from[1000000];
    struct seeds seeds = seeds_choose();

    pattern_fill(from, sizeof(from), 9);
    for (int i = 0; i < 2 * seeds.count; i++) {
        struct ends e = ends_open(i % 2 == 0 ? 1472 : 0, 0);
        print_message("ZCRP_SEED=%llu\n", (unsigned long long)seeds.seed[i / 2]);
        chances.random = seeds.seed[i / 2];
        chances.error = errors;
        chances.errors = sizeof(errors) / sizeof(errors[0]);
        chances.one_in = 100;
        for (int n = 0; n < 20 || sends.count == 0 || receives.count == 0; n++) {
            memset(to, 0, sizeof(to));
            (void)transfer_large(&e, to, from);
        }
        chances.one_in = 0;
        ends_close(&e);
        heal();
    }
}

/* Every datagram is too big, whatever its size: the unit shrinks to the least there is, and then
 * time goes by between attempts. */
TEST(transfer__nothing_fits)
{
    struct ends e = ends_open(1472, 0);
    struct zcrp_msg *m = zcrp_alloc_msg(100);

    set_fault(&sends, 1, 1, EMSGSIZE);
    assert_int_equal(zcrp_submit(e.sender, m, 100), 0);
    assert_int_equal(zcrp_wait_for(m, 100000000), ZCRP_ERROR_TIMEOUT);
    assert_true(sends.count < 1000);
    assert_int_equal(zcrp_cancel(m), 0);
    zcrp_free_msg(m);
    ends_close(&e);
}

static struct zcrp_stats stats_of(struct zcrp_entity *entity)
{
    struct zcrp_stats stats;

    assert_int_equal(zcrp_stats(entity, &stats), 0);
    return stats;
}

/* The machine refuses units that its interface carries. They become smaller until they fit, and not
 * much smaller; nothing counts as lost. */
TEST(transfer__units_are_refused)
{
    static const size_t row[] = {1300, 700, 100};

    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct ends e = ends_open(1472, 0);
        carried = row[i];
        transfer(&e, 2, ZCRP_OK);
        struct zcrp_stats stats = stats_of(e.sender);
        assert_true(sends.count > 0);
        assert_in_range(stats.path_bytes, row[i] / 2, row[i]);
        assert_in_range(stats.unit_bytes, row[i] / 2, row[i]);
        assert_int_equal(stats.units_lost, 0);
        heal();
        ends_close(&e);
    }
}

/* Not even the smallest unit fits, but what is no unit does: a unit that is refused is as good as
 * lost, and goes again when it is due. When it fits it arrives. */
TEST(transfer__the_least_unit_is_refused)
{
    enum { SIZE = 1000, LEAST = 64 };
    struct ends e = ends_open(96, 0); /* half of it would be none */
    struct zcrp_msg *in = zcrp_alloc_msg(SIZE), *out = zcrp_alloc_msg(SIZE);

    carried = LEAST - 1;
    pattern_fill(out->buffer, SIZE, 1);
    assert_int_equal(zcrp_submit(e.receiver, in, SIZE), 0);
    assert_int_equal(zcrp_submit(e.sender, out, SIZE), 0);
    assert_int_equal(zcrp_wait_for(out, 100000000), ZCRP_ERROR_TIMEOUT);
    assert_int_equal(stats_of(e.sender).unit_bytes, LEAST);
    assert_in_range(sends.count, 1, 1000);
    carried = LEAST;
    assert_int_equal(zcrp_wait_for(out, 20000000000), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(in, 20000000000), ZCRP_OK);
    assert_true(pattern_holds(in->buffer, SIZE, 1));
    assert_int_equal(stats_of(e.sender).unit_bytes, LEAST);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    ends_close(&e);
}

/* No call will do any more: messages fail, new ones are refused, close does not wait. */
TEST(transfer__broken)
{
    struct fault *const which[] = {&sends, &receives};

    for (int i = 0; i < 2; i++) {
        struct ends e = ends_open(1472, 0);
        struct zcrp_msg *m = zcrp_alloc_msg(10), *other = zcrp_alloc_msg(10);
        transfer(&e, 1, ZCRP_OK);
        /* The sender's unit breaks its sending, the receiver's request its receiving. */
        assert_int_equal(i == 0 ? zcrp_submit(e.receiver, other, 10) : 0, 0);
        set_fault(which[i], 1, 1, EBADF);
        int posted = i == 1 ? zcrp_submit(e.receiver, other, 10) : ZCRP_OK;
        int code = zcrp_submit(e.sender, m, 10);
        /* Either may have broken already. */
        assert_true(posted == ZCRP_OK || posted == ZCRP_ERROR_CHANNEL);
        if (code == ZCRP_OK)
            code = zcrp_wait_for(m, 20000000000);
        assert_int_equal(code, ZCRP_ERROR_CHANNEL);
        assert_int_equal(zcrp_submit(e.sender, m, 10), ZCRP_ERROR_CHANNEL);
        if (zcrp_error(other) == ZCRP_ERROR_BUSY)
            (void)zcrp_cancel(other);
        set_fault(which[i], 0, 0, 0);
        ends_close(&e);
        zcrp_free_msg(m);
        zcrp_free_msg(other);
    }
}
