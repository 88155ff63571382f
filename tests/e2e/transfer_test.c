/* Messages from one end to the other, over each kind of channel. */
#include "../support/ends.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

LOAD(asleep)

enum { MESSAGES = 1000, GUARD = 64 };

/* Every way a burst can be cut: around a unit of Ethernet, around one of loopback. */
static const nlong sizes[] = {0,     1,     2,     31,    32,    33,    64,     1000,  1439,
                              1440,  1441,  65475, 65476, 65535, 65536, 300000, 32767, 32768,
                              32769, 61408, 61439, 61440, 61441, 94208, 122880};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static const struct way {
    enum loopback_kind kind;
    bool is_simplex;
    struct zcrp_options options;
} ways[] = {
    {LOOPBACK_UDP4, false, {0}},
    {LOOPBACK_UDP4, true, {0}},
    {LOOPBACK_UDP6, false, {0}},
    {LOOPBACK_UNIX, false, {0}},
    {LOOPBACK_UNIX, true, {0}},
    {LOOPBACK_UDP4, false, {.unit_bytes = 1472}},
    {LOOPBACK_UDP4, false, {.unit_bytes = 1472, .flags = ZCRP_NO_SEGMENT | ZCRP_NO_GRO}},
    {LOOPBACK_UDP4, false, {.unit_bytes = 64, .congestion = ZCRP_CONGESTION_NONE}},
    {LOOPBACK_UDP4, false, {.messages = 1, .window_bytes = 4096, .spin_ns = 20000}},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* One after the other, each waited for. */
TEST(transfer__sizes, .rows = WAYS)
{
    const struct way *w = &ways[_i];
    struct ends e = ends_open(w->kind, w->is_simplex, &w->options);

    for (unsigned i = 0; i < SIZES; i++) {
        struct zcrp_msg *out = ends_filled(sizes[i], i);
        struct zcrp_msg *in = ends_empty(sizes[i] + 10);
        ends_submit(&e, in, out, sizes[i]);
        ends_finish(in, out, sizes[i], i);
    }
    ends_close(&e);
}

/* All in flight at once, in the default table and in one far too small for them. */
TEST(transfer__many, .rows = 2)
{
    static struct zcrp_msg *out[MESSAGES], *in[MESSAGES];
    const struct zcrp_options options = {.messages = _i == 0 ? 0 : 8};
    struct ends e = ends_open(LOOPBACK_UDP4, false, &options);
    struct zcrp_stats stats;

    for (unsigned i = 0; i < MESSAGES; i++) {
        nlong size = sizes[i * 7 % SIZES] / (i % 3 + 1);
        out[i] = ends_filled(size, i);
        in[i] = ends_empty(size);
        ends_submit(&e, in[i], out[i], size);
    }
    for (unsigned i = 0; i < MESSAGES; i++)
        ends_finish(in[i], out[i], out[i]->message_size, i);
    ck_assert_int_eq(zcrp_stats(e.receiver, &stats), 0);
    ck_assert_uint_eq(stats.messages, MESSAGES);
    ck_assert_uint_eq(stats.messages_failed, 0);
    ck_assert_uint_ge(stats.units + stats.messages_whole, MESSAGES);
    ck_assert_uint_eq(stats.units, stats.units_in_place + stats.units_moved);
    ends_close(&e);
}

/* Slices of one array, in any order, with zones between them that nobody may touch. */
TEST(transfer__slices)
{
    enum { SLICES = 64, SLICE = 5000, STEP = SLICE + GUARD };
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    nbyte *to = malloc(SLICES * STEP + GUARD);
    nbyte *from = malloc(SLICE);
    struct zcrp_msg *in[SLICES], *out[SLICES];

    memset(to, 0xA5, SLICES * STEP + GUARD);
    pattern_fill(from, SLICE, 7);
    for (int i = 0; i < SLICES; i++) {
        in[i] = zcrp_wrap_msg(to + GUARD + i * 37 % SLICES * STEP, SLICE);
        out[i] = zcrp_wrap_msg(from, SLICE);
        ends_submit(&e, in[i], out[i], (nlong)(SLICE - i));
    }
    for (int i = 0; i < SLICES; i++)
        ends_finish(in[i], out[i], (nlong)(SLICE - i), 7);
    for (int i = 0; i <= SLICES; i++)
        ck_assert(pattern_is_even(to + i * STEP, GUARD, 0xA5));
    ends_close(&e);
    free(to);
    free(from);
}

/* Once a message has ended, its buffer may be made unwritable: nothing late arrives there. */
TEST(transfer__untouched_afterwards)
{
    const size_t size = 1 << 20;
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);

    for (uint64_t i = 0; i < 20; i++) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct zcrp_msg *in = zcrp_wrap_msg(memory, size);
        struct zcrp_msg *out = ends_filled(size - i, i);
        ends_submit(&e, in, out, size - i);
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        ck_assert_int_eq(mprotect(memory, size, PROT_READ), 0);
        ends_finish(in, out, size - i, i);
        munmap(memory, size);
    }
    ends_close(&e);
}

/* One that does not fit fails on both sides; those around it go on. */
TEST(transfer__too_large)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in[5], *out[5];

    for (unsigned i = 0; i < 5; i++) {
        out[i] = ends_filled(10000, i);
        in[i] = ends_empty(10000);
        ck_assert_int_eq(zcrp_submit(e.sender, out[i], 10000), 0);
        ck_assert_int_eq(zcrp_submit(e.receiver, in[i], i == 2 ? 9999 : 10000), 0);
    }
    for (unsigned i = 0; i < 5; i++) {
        int code = i == 2 ? ZCRP_ERROR_TOO_LARGE : ZCRP_OK;
        ck_assert_int_eq(ends_wait(in[i]), code);
        ck_assert_int_eq(ends_wait(out[i]), code);
        if (i != 2)
            ck_assert(pattern_holds(in[i]->buffer, 10000, i));
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    ends_close(&e);
}

/* A message walks over an array, as one that is used again does. */
TEST(transfer__again)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    nbyte from[600], to[600];
    struct zcrp_msg *out = zcrp_wrap_msg(from, 6);
    struct zcrp_msg *in = zcrp_wrap_msg(to, 6);

    pattern_fill(from, sizeof(from), 3);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(zcrp_rewrap_msg(out, from + 6 * i, 6), 0);
        ck_assert_int_eq(zcrp_rewrap_msg(in, to + 6 * i, 6), 0);
        ends_submit(&e, in, out, 6);
        ck_assert_int_eq(ends_wait(out), 0);
        ck_assert_int_eq(ends_wait(in), 0);
    }
    ck_assert_mem_eq(from, to, sizeof(to));
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    ends_close(&e);
}

/* ---- large units */

/* From and to any place in a page, all in flight at once. */
TEST(transfer__anywhere)
{
    enum { STEP = 1 << 18, COUNT = 24 };
    static const nlong around[] = {32768, 61440, 92160, 94208, 122880, 184320};
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    nbyte *from = malloc(COUNT * STEP), *to = malloc(COUNT * STEP);
    struct zcrp_msg *in[COUNT], *out[COUNT];
    struct zcrp_stats stats;

    pattern_fill(from, COUNT * STEP, 11);
    memset(to, 0xA5, COUNT * STEP);
    for (nlong i = 0; i < COUNT; i++) {
        nlong size = around[i % 6] + i / 6 - 1;
        out[i] = zcrp_wrap_msg(from + i * STEP + 1 + i * 977 % 4096, size);
        in[i] = zcrp_wrap_msg(to + i * STEP + GUARD + i * 1013 % 4096, size);
        ends_submit(&e, in[i], out[i], size);
    }
    for (nlong i = 0; i < COUNT; i++) {
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
        ck_assert_mem_eq(in[i]->buffer, out[i]->buffer, out[i]->length);
        ck_assert(pattern_is_even(in[i]->buffer - GUARD, GUARD, 0xA5));
        ck_assert(pattern_is_even(in[i]->buffer + in[i]->length, GUARD, 0xA5));
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    ck_assert_int_eq(zcrp_stats(e.sender, &stats), 0);
    ck_assert_uint_eq(stats.offload_fallbacks, 0);
    ends_close(&e);
    free(from);
    free(to);
}

/* A message's memory is the sender's again when it has ended: what is written there then is not
 * what arrives. */
TEST(transfer__changed_afterwards)
{
    const nlong size = 1 << 20;
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *out = ends_filled(size, 0), *in[20];

    for (unsigned i = 0; i < 20; i++) {
        in[i] = ends_empty(size);
        ck_assert_int_eq(zcrp_submit(e.receiver, in[i], size), 0);
    }
    for (unsigned i = 0; i < 20; i++) {
        pattern_fill(out->buffer, size, i);
        ck_assert_int_eq(zcrp_submit(e.sender, out, size), 0);
        ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    }
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert(pattern_holds(in[i]->buffer, size, i));
        zcrp_free_msg(in[i]);
    }
    zcrp_free_msg(out);
    ends_close(&e);
}

/* A file, as it is mapped, is a message like any other. */
TEST(transfer__mapped_file, .rows = 2)
{
    static const int kinds[] = {MAP_PRIVATE, MAP_SHARED};
    const nlong size = 3000001;
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    FILE *file = tmpfile();
    struct zcrp_msg *in = ends_empty(size), *whole = ends_filled(size, 23);
    struct zcrp_stats stats;

    ck_assert_uint_eq(fwrite(whole->buffer, 1, size, file), size);
    ck_assert_int_eq(fflush(file), 0);
    void *memory = mmap(NULL, size, PROT_READ, kinds[_i], fileno(file), 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    struct zcrp_msg *out = zcrp_wrap_msg(memory, size);
    ends_submit(&e, in, out, size);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    munmap(memory, size);
    fclose(file);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_mem_eq(in->buffer, whole->buffer, size);
    ck_assert_int_eq(zcrp_stats(e.sender, &stats), 0);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    zcrp_free_msg(whole);
    ends_close(&e);
}
