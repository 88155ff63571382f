/* Programs that ask again and again whether a message has ended, and never wait: they receive
 * themselves, and cost nothing where nothing comes. */
#include "../support/house.h"

#include <stdlib.h>
#include <unistd.h>

enum { MESSAGE = 3000, ROUNDS = 300 };

static uint64_t calls_of(struct zcrp_connection *c)
{
    struct zcrp_stats s, r;

    ck_assert_int_eq(zcrp_stats(zcrp_connection_sender(c), &s), ZCRP_OK);
    ck_assert_int_eq(zcrp_stats(zcrp_connection_receiver(c), &r), ZCRP_OK);
    return s.system_calls + r.system_calls;
}

/* Has one of them ended, by a probe or by collecting? */
static bool has_ended(struct zcrp_entity *half, struct zcrp_msg *m, bool collects)
{
    if (!collects)
        return zcrp_probe(m);
    struct zcrp_msg *got = zcrp_collect(half);
    ck_assert(got == NULL || got == m);
    return got != NULL;
}

/* Both ends in one thread, which does nothing but ask. */
TEST(probe__both_ends, .rows = 2)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct both b = house_meet(&h, NULL);
    struct zcrp_entity *s = zcrp_connection_sender(b.there), *r = zcrp_connection_receiver(b.here);
    struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, 0);

    ck_assert_int_ge(zcrp_descriptor(s), 0);
    ck_assert_int_ge(zcrp_descriptor(r), 0);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        pattern_fill(out->buffer, MESSAGE, i);
        ck_assert_int_eq(zcrp_submit(r, in, MESSAGE), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(s, out, MESSAGE), ZCRP_OK);
        int64_t limit = clock_now_ns() + 20 * ENDS_SECOND;
        bool has_in = false, has_out = false;
        while (!has_in || !has_out) {
            has_in = has_in || has_ended(r, in, _i == 1);
            has_out = has_out || has_ended(s, out, _i == 1);
            ck_assert_int_lt(clock_now_ns(), limit);
        }
        ck_assert(pattern_holds(in->buffer, MESSAGE, i));
    }
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* A link where nothing comes: a hundred thousand probes make no more system calls than the library
 * needs to say that it is there. */
TEST(probe__quiet)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct both b = house_meet(&h, NULL);
    struct zcrp_msg *m = ends_empty(10);

    house_pass(b.there, b.here, MESSAGE, 1);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b.here), m, 10), ZCRP_OK);
    usleep(100000);
    uint64_t before = calls_of(b.here);
    for (int i = 0; i < 100000; i++)
        ck_assert_uint_eq(zcrp_probe(m), 0);
    ck_assert_uint_lt(calls_of(b.here) - before, 100);
    ck_assert_int_eq(zcrp_cancel(m), ZCRP_OK);
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
    zcrp_free_msg(m);
}

static int by_count(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool loses_nothing(void)
{
    return !loopback_is_lossy();
}

/* Naps for a moment; false if that took so long that the lease is not kept any more. */
static bool nap_briefly(void)
{
    int64_t began = clock_now_ns();

    usleep(70);
    return clock_now_ns() - began < ENDS_MILLISECOND;
}

/* Who asks eagerly, and then goes on with something else to do between, still receives by itself:
 * nobody else does while the lease is kept for it. Where cells are lost, messages wait for timers.
 * What is asked beside others that have the processor does not count. */
TEST(probe__now_and_then, .needs = loses_nothing)
{
    const struct zcrp_options options = {.flags = ZCRP_NO_MEMORY};
    struct house h = house_open("127.0.0.1", &options);
    struct both b = house_meet(&h, &options);
    struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, 1);
    int asked[ROUNDS], count = 0;

    for (int i = 0; i < ROUNDS; i++) {
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b.here), in, MESSAGE), ZCRP_OK);
        for (int k = 0; k < 50; k++)
            (void)zcrp_probe(in);
        bool is_calm = nap_briefly();
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b.there), out, MESSAGE), ZCRP_OK);
        for (asked[count] = 1; !zcrp_probe(in); asked[count]++) {
            ck_assert_int_lt(asked[count], 100000);
            is_calm &= nap_briefly();
        }
        count += is_calm;
        ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    }
    qsort(asked, (size_t)count, sizeof(*asked), by_count);
    if (count >= ROUNDS / 4)
        ck_assert_int_le(asked[count / 2], 6);
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* Who stops asking leaves it to the library's threads. */
TEST(probe__then_leaves)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct both b = house_meet(&h, NULL);
    struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, 1);

    for (int i = 0; i < 30; i++) {
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b.here), in, MESSAGE), ZCRP_OK);
        for (int k = 0; k < 50; k++)
            ck_assert_uint_eq(zcrp_probe(in), 0);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b.there), out, MESSAGE), ZCRP_OK);
        for (int k = 0; k < 2000 && zcrp_error(in) == ZCRP_ERROR_BUSY; k++)
            usleep(10000);
        ck_assert_int_eq(zcrp_error(in), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    }
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}
