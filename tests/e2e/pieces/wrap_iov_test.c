/* zcrp_wrap_iov: what it takes and refuses, and messages of several pieces from end to end, cut in
 * each way at either end. */
#include "../../support/cuts.h"
#include "../../support/ends.h"
#include "../../support/house.h"

#include <errno.h>
#include <sys/mman.h>

enum { MANY = 40, FAULTY = 50000 };

/* ---- what it takes ---- */

/* NULL, EINVAL and this line. */
static void refuses(const struct iovec *pieces, int count, const char *why)
{
    errno = 0;
    ck_assert_ptr_null(zcrp_wrap_iov(pieces, count));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), why);
}

TEST(wrap_iov__refuses)
{
    static struct iovec pieces[ZCRP_PIECES_MOST + 1];
    static nbyte byte;
    char why[100];

    refuses(pieces, -1, "count is -1; it has to be 0 to 1024");
    refuses(pieces, ZCRP_PIECES_MOST + 1, "count is 1025; it has to be 0 to 1024");
    refuses(NULL, 1, "pieces is NULL");
    pieces[3] = (struct iovec){NULL, 7};
    refuses(pieces, 5, "pieces[3] is NULL, and has 7 bytes");
    pieces[3] = (struct iovec){&byte, SIZE_MAX};
    snprintf(why, sizeof why, "pieces[3] has %zu bytes; together they have to be at most %td",
             SIZE_MAX, PTRDIFF_MAX);
    refuses(pieces, 5, why);
    pieces[2] = (struct iovec){&byte, 1};
    pieces[3] = (struct iovec){(void *)1, PTRDIFF_MAX}; /* NOLINT */
    snprintf(why, sizeof why, "pieces[3] has %td bytes; together they have to be at most %td",
             PTRDIFF_MAX, PTRDIFF_MAX);
    refuses(pieces, 5, why);
    pieces[3] = (struct iovec){(void *)(UINTPTR_MAX - 10), 11}; /* NOLINT */
    refuses(pieces, 5, "pieces[3] ends behind the last address");
}

TEST(wrap_iov__of_nothing)
{
    struct iovec empty[] = {{NULL, 0}, {NULL, 0}};
    struct zcrp_msg *m[] = {zcrp_wrap_iov(NULL, 0), zcrp_wrap_iov(empty, 2)};

    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_nonnull(m[i]);
        ck_assert_ptr_null(m[i]->buffer);
        ck_assert_uint_eq(m[i]->message_size, 0);
        ck_assert_int_eq(zcrp_error(m[i]), ZCRP_ERROR_IDLE);
        zcrp_free_msg(m[i]);
    }
}

/* The buffer is told where there is one. */
TEST(wrap_iov__what_a_message_says_of_itself)
{
    static nbyte bytes[100];
    struct iovec apart[] = {{bytes + 50, 10}, {bytes, 20}};
    struct iovec together[] = {{bytes + 10, 10}, {NULL, 0}, {bytes + 20, 5}};
    struct zcrp_msg *m = zcrp_wrap_iov(apart, 2);

    ck_assert_ptr_null(m->buffer);
    ck_assert_uint_eq(m->message_size, 30);
    ck_assert_uint_eq(m->buffer_size, 30);
    ck_assert_uint_eq(m->length, 0);
    ck_assert_ptr_null(m->context);
    zcrp_free_msg(m);
    m = zcrp_wrap_iov(together, 3);
    ck_assert_ptr_eq(m->buffer, bytes + 10);
    ck_assert_uint_eq(m->message_size, 15);
    zcrp_free_msg(m);
}

/* ---- from end to end ---- */

/* One message, of fewer bytes than there is room for at the other end. */
static void pass(const struct ends *e, nlong size, enum cut_kind from, nlong room, enum cut_kind to,
                 uint64_t seed)
{
    struct cut *in = cut_make(room, to, 2 * seed), *out = cut_make(size, from, 2 * seed + 1);

    cut_fill(out, seed);
    ends_submit(e, in->message, out->message, size);
    ck_assert_int_eq(ends_wait(out->message), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in->message), ZCRP_OK);
    ck_assert_uint_eq(out->message->length, size);
    ck_assert_uint_eq(in->message->length, size);
    ck_assert(cut_holds(in, size, seed));
    cut_free(in);
    cut_free(out);
}

static const nlong sizes[] = {0, 1, 39, 41, 1000, 1024, 5000, 66000, 300001, (1 << 20) + 77};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Each cut at the sender with each at the receiver; in units of the path's size, of Ethernet's, and
 * of Ethernet's without the kernel's cutting and joining. */
static const struct zcrp_options units[] = {
    {.unit_bytes = 0},
    {.unit_bytes = 1472},
    {.unit_bytes = 1472, .flags = ZCRP_NO_SEGMENT | ZCRP_NO_GRO},
};

TEST(wrap_iov__each_cut, .rows = 3 * CUT_KINDS)
{
    enum cut_kind from = (enum cut_kind)(_i % CUT_KINDS);
    struct ends e = ends_open(LOOPBACK_UDP4, false, &units[_i / CUT_KINDS]);

    for (unsigned to = 0; to < CUT_KINDS; to++)
        for (unsigned i = 0; i < SIZES; i++)
            pass(&e, sizes[i], from, sizes[i], to, 100 * to + i);
    ends_close(&e);
}

/* What is behind the message's end in the pieces stays, or becomes 0. */
TEST(wrap_iov__shorter_than_the_pieces, .rows = CUT_KINDS)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, &units[1]);

    for (unsigned from = 0; from < CUT_KINDS; from++)
        for (unsigned i = 0; i < SIZES; i++)
            pass(&e, sizes[i], from, sizes[i] + 5000 * i, (enum cut_kind)_i, 100 * from + i);
    ends_close(&e);
}

/* Many under way at once, in pieces and not. */
TEST(wrap_iov__among_others)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct cut *in[MANY], *out[MANY];

    for (unsigned i = 0; i < MANY; i++) {
        nlong size = i % 3 == 0 ? 100 * i : i * i * 331 % 100000;
        in[i] = cut_make(size + i % 5 * 100, (i / 2) % CUT_KINDS, i);
        out[i] = cut_make(size, i % CUT_KINDS, i);
        cut_fill(out[i], i);
        ends_submit(&e, in[i]->message, out[i]->message, size);
    }
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_int_eq(ends_wait(out[i]->message), ZCRP_OK);
        ck_assert_int_eq(ends_wait(in[i]->message), ZCRP_OK);
        ck_assert(cut_holds(in[i], out[i]->size, i));
        cut_free(in[i]);
        cut_free(out[i]);
    }
    ends_close(&e);
}

/* The array may change at once. The message is submitted again, with fewer bytes, and then points
 * elsewhere. */
TEST(wrap_iov__again)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct cut *in = cut_make(70000, CUT_RANDOM, 5), *out = cut_make(70000, CUT_CRUMBS, 6);
    struct iovec pieces[ZCRP_PIECES_MOST];
    static nbyte elsewhere[100];

    zcrp_free_msg(out->message);
    memcpy(pieces, out->piece, sizeof pieces);
    out->message = zcrp_wrap_iov(pieces, out->count);
    memset(pieces, 0xFF, sizeof pieces);
    for (unsigned i = 0; i < 4; i++) {
        nlong size = 70000 >> (3 * i);
        cut_fill(out, i);
        ends_submit(&e, in->message, out->message, size);
        ck_assert_int_eq(ends_wait(out->message), ZCRP_OK);
        ck_assert_int_eq(ends_wait(in->message), ZCRP_OK);
        ck_assert_uint_eq(in->message->length, size);
        uint8_t *bytes = cut_gather(in);
        ck_assert(pattern_holds(bytes, size, i));
        free(bytes);
    }
    pattern_fill(elsewhere, sizeof elsewhere, 9);
    ck_assert_int_eq(zcrp_rewrap_msg(out->message, elsewhere, sizeof elsewhere), ZCRP_OK);
    ck_assert_ptr_eq(out->message->buffer, elsewhere);
    ends_submit(&e, in->message, out->message, sizeof elsewhere);
    ck_assert_int_eq(ends_wait(in->message), ZCRP_OK);
    uint8_t *bytes = cut_gather(in);
    ck_assert(pattern_holds(bytes, sizeof elsewhere, 9));
    free(bytes);
    ck_assert_int_eq(ends_wait(out->message), ZCRP_OK);
    cut_free(in);
    cut_free(out);
    ends_close(&e);
}

/* Pieces that overlap can be sent, and not received into. */
TEST(wrap_iov__overlapping)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    static nbyte bytes[1000], expected[3000];
    struct iovec pieces[] = {{bytes, 1000}, {bytes, 1000}, {bytes + 500, 500}, {bytes, 500}};
    struct zcrp_msg *out = zcrp_wrap_iov(pieces, 4), *in = ends_empty(3000);

    pattern_fill(bytes, sizeof bytes, 3);
    for (size_t i = 0, at = 0; i < 4; at += pieces[i++].iov_len)
        memcpy(expected + at, pieces[i].iov_base, pieces[i].iov_len);
    ck_assert_int_eq(zcrp_submit(e.receiver, out, 10), ZCRP_ERROR_ARGUMENT);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), "pieces of the message overlap");
    ck_assert_int_eq(zcrp_submit(e.sender, out, 3001), ZCRP_ERROR_SIZE);
    out->message_size = 4000; /* the caller's mistake */
    ck_assert_int_eq(zcrp_submit(e.sender, out, 3001), ZCRP_ERROR_SIZE);
    ends_submit(&e, in, out, 3000);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert_mem_eq(in->buffer, expected, 3000);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    ends_close(&e);
}

/* ---- what else happens to messages ---- */

TEST(wrap_iov__cancelled)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct cut *in = cut_make(100000, CUT_RANDOM, 1), *out = cut_make(100000, CUT_GRAINS, 2);

    ck_assert_int_eq(zcrp_submit(e.sender, out->message, 100000), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(e.sender, out->message, 100000), ZCRP_ERROR_BUSY);
    zcrp_free_msg(out->message); /* it is in flight */
    ck_assert_int_eq(zcrp_cancel(out->message), ZCRP_OK);
    ck_assert_int_eq(zcrp_error(out->message), ZCRP_ERROR_CANCELLED);
    ck_assert_int_eq(zcrp_submit(e.receiver, in->message, 100000), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in->message), ZCRP_ERROR_PEER_CANCELLED);
    ck_assert_int_eq(zcrp_submit(e.receiver, in->message, 100000), ZCRP_OK);
    ck_assert_int_eq(zcrp_cancel(in->message), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(e.sender, out->message, 100000), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out->message), ZCRP_ERROR_PEER_CANCELLED);
    cut_free(in);
    cut_free(out);
    pass(&e, 50000, CUT_CRUMBS, 50000, CUT_RANDOM, 1);
    ends_close(&e);
}

/* One too large for its buffer fails at both ends, and says how large it is. */
TEST(wrap_iov__too_large)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct cut *in = cut_make(999, CUT_CRUMBS, 1), *out = cut_make(1000, CUT_RANDOM, 2);

    ends_submit(&e, in->message, out->message, 1000);
    ck_assert_int_eq(ends_wait(in->message), ZCRP_ERROR_TOO_LARGE);
    ck_assert_int_eq(ends_wait(out->message), ZCRP_ERROR_TOO_LARGE);
    ck_assert_uint_eq(in->message->length, 1000);
    cut_free(in);
    cut_free(out);
    ends_close(&e);
}

/* The receiver hears the size before it has a buffer. */
TEST(wrap_iov__expected)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct cut *out = cut_make(123456, CUT_AS_MANY, 2);
    nlong size = 0;

    cut_fill(out, 4);
    ck_assert_int_eq(zcrp_submit(e.sender, out->message, 123456), ZCRP_OK);
    ck_assert_int_eq(zcrp_expect(e.receiver, &size, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_uint_eq(size, 123456);
    struct cut *in = cut_make(size, CUT_GRAINS, 3);
    ck_assert_int_eq(zcrp_submit(e.receiver, in->message, size), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in->message), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out->message), ZCRP_OK);
    ck_assert(cut_holds(in, size, 4));
    cut_free(in);
    cut_free(out);
    ends_close(&e);
}

/* What is left at a close fails, and its memory is the caller's. */
TEST(wrap_iov__left_at_a_close)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct cut *in = cut_make(5000, CUT_RANDOM, 1);

    ck_assert_int_eq(zcrp_submit(e.receiver, in->message, 5000), ZCRP_OK);
    (void)zcrp_close(e.receiver);
    ck_assert_int_eq(zcrp_error(in->message), ZCRP_ERROR_CLOSED);
    cut_free(in);
    (void)zcrp_close(e.sender);
    loopback_close(&e.sockets);
}

static void count_trace(void *context, int64_t time_ns, const struct zcrp_stats *stats)
{
    (void)time_ns;
    (void)stats;
    ++*(_Atomic int *)context;
}

TEST(wrap_iov__traced)
{
    _Atomic int traced = 0;
    const struct zcrp_options options = {.trace = count_trace, .trace_context = (void *)&traced};
    struct ends e = ends_open(LOOPBACK_UDP4, false, &options);

    pass(&e, 300000, CUT_CRUMBS, 300000, CUT_RANDOM, 1);
    pass(&e, 300, CUT_CRUMBS, 300, CUT_HEADER, 2);
    ck_assert_int_gt(traced, 0);
    ends_close(&e);
}

/* ---- memory that cannot be accessed ---- */

struct fault {
    bool is_sender;
    unsigned piece; /* of three that cannot be accessed */
    nlong size;     /* of each */
};

static const struct fault faults[] = {
    {true, 0, FAULTY},  {true, 1, FAULTY},  {true, 2, FAULTY},  {true, 1, 100},  {true, 2, 3000},
    {false, 0, FAULTY}, {false, 1, FAULTY}, {false, 2, FAULTY}, {false, 1, 100}, {false, 2, 3000},
};

static bool finds_faults(void)
{
    return !loopback_is_aal5(); /* there the library itself reads, and a signal comes */
}

/* Three pieces of the same size, of which one is not to be read, or not to be written. */
static struct zcrp_msg *make_faulty(const struct fault *f, struct iovec pieces[3])
{
    int access = f->is_sender ? PROT_NONE : PROT_READ;

    for (unsigned i = 0; i < 3; i++) {
        pieces[i] = (struct iovec){
            mmap(NULL, FAULTY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            f->size};
        ck_assert_ptr_ne(pieces[i].iov_base, MAP_FAILED);
        memset(pieces[i].iov_base, 0x44, f->size);
    }
    ck_assert_int_eq(mprotect(pieces[f->piece].iov_base, FAULTY, access), 0);
    return zcrp_wrap_iov(pieces, 3);
}

/* That message fails alone. */
TEST(wrap_iov__faults, .rows = ROWS(faults), .needs = finds_faults)
{
    const struct fault *f = &faults[_i];
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct iovec pieces[3];
    struct zcrp_msg *bad = make_faulty(f, pieces), *in[3], *out[3];
    nlong size = 3 * f->size;

    for (unsigned i = 0; i < 30; i++)
        ends_move(&e, 30000, i); /* they may meet in memory */
    for (unsigned i = 0; i < 3; i++) {
        in[i] = i == 1 && !f->is_sender ? bad : ends_empty(size);
        out[i] = i == 1 && f->is_sender ? bad : ends_filled(size, i);
        ends_submit(&e, in[i], out[i], size);
    }
    for (unsigned i = 0; i < 3; i++) {
        int code = i == 1 ? ZCRP_ERROR_FAULT : ZCRP_OK;
        ck_assert_int_eq(ends_wait(in[i]), code);
        ck_assert_int_eq(ends_wait(out[i]),
                         i == 1 && !f->is_sender ? ZCRP_ERROR_PEER_CANCELLED : code);
        if (i != 1)
            ck_assert(pattern_holds(in[i]->buffer, size, i));
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    pass(&e, 300000, CUT_CRUMBS, 300000, CUT_RANDOM, 1);
    ends_close(&e);
}
