#include "../../support/suite.h"
#include "link/message.h"

#include <signal.h>

/* The message ends, and its user may see it. */
static void end(struct message *m, int code, nlong length)
{
    message_decide(m, code, length);
    latch_open(&m->latch);
}

TEST(zcrp_alloc_msg__sizes)
{
    static const nlong sizes[] = {0, 1, 63, 64, 4096, (2 << 20) - 1, 2 << 20, 5000000};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct zcrp_msg *m = zcrp_alloc_msg(sizes[i]);
        uintptr_t alignment = sizes[i] >= 2 << 20 ? 2 << 20 : 64;
        ck_assert_ptr_nonnull(m);
        ck_assert_ptr_nonnull(m->buffer);
        ck_assert_uint_eq((uintptr_t)m->buffer % alignment, 0);
        ck_assert_uint_eq(m->message_size, sizes[i]);
        ck_assert_uint_ge(m->buffer_size, sizes[i]);
        if (sizes[i] > 0)
            m->buffer[0] = m->buffer[sizes[i] - 1] = 1;
        ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_IDLE);
        zcrp_free_msg(m);
    }
}

TEST(zcrp_wrap_msg__cases)
{
    nbyte bytes[10];
    struct zcrp_msg *m = zcrp_wrap_msg(bytes, 10);
    struct zcrp_msg *nothing = zcrp_wrap_msg(NULL, 0);

    ck_assert_ptr_eq(m->buffer, bytes);
    ck_assert_uint_eq(m->message_size, 10);
    ck_assert_uint_eq(m->buffer_size, 10);
    ck_assert_ptr_nonnull(nothing);
    ck_assert_ptr_null(zcrp_wrap_msg(NULL, 1));
    if (sizeof(size_t) == sizeof(uint32_t))
        ck_assert_ptr_null(zcrp_wrap_msg(bytes, (nlong)1 << 32));
    zcrp_free_msg(m);
    zcrp_free_msg(nothing);
}

TEST(zcrp_rewrap_msg__cases)
{
    nbyte bytes[10];
    struct zcrp_msg *m = zcrp_wrap_msg(bytes, 10);
    struct zcrp_msg *own = zcrp_alloc_msg(10);

    ck_assert_int_eq(zcrp_rewrap_msg(NULL, bytes, 1), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_rewrap_msg(own, bytes, 1), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_rewrap_msg(m, NULL, 1), ZCRP_ERROR_ARGUMENT);
    if (sizeof(size_t) == sizeof(uint32_t))
        ck_assert_int_eq(zcrp_rewrap_msg(m, bytes, (nlong)1 << 32), ZCRP_ERROR_ARGUMENT);
    ck_assert_ptr_null(m->context);
    m->context = &own;
    ck_assert_int_eq(zcrp_rewrap_msg(m, bytes + 5, 5), ZCRP_OK);
    ck_assert_ptr_eq(m->context, &own);
    ck_assert_ptr_eq(m->buffer, bytes + 5);
    ck_assert_uint_eq(m->message_size, 5);
    message_begin(message_of(m), NULL, 5);
    ck_assert_int_eq(zcrp_rewrap_msg(m, bytes, 10), ZCRP_ERROR_BUSY);
    end(message_of(m), ZCRP_OK, 5);
    zcrp_free_msg(m);
    zcrp_free_msg(own);
}

TEST(message_code__life)
{
    struct zcrp_msg *m = zcrp_alloc_msg(10);

    for (int i = 0; i < 2; i++) {
        message_begin(message_of(m), NULL, 10);
        ck_assert(message_is_in_flight(message_of(m)));
        ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_BUSY);
        zcrp_free_msg(m); /* refused */
        end(message_of(m), i == 0 ? ZCRP_OK : ZCRP_ERROR_SILENT, 7);
        ck_assert_int_eq(zcrp_error(m), i == 0 ? ZCRP_OK : ZCRP_ERROR_SILENT);
        ck_assert_uint_eq(zcrp_probe(m), 1);
        ck_assert_uint_eq(zcrp_wait(m), i == 0);
        ck_assert_uint_eq(m->length, 7);
    }
    zcrp_free_msg(m);
}

TEST(message_move__onwards)
{
    struct message m = {.life = MESSAGE_IDLE};

    message_move(&m, MESSAGE_QUEUED);
    message_move(&m, MESSAGE_IN_MACHINE);
    message_move(&m, MESSAGE_ENDED);
    ck_assert_int_eq(m.life, MESSAGE_ENDED);
    message_begin(&m, NULL, 1);
    ck_assert_int_eq(m.life, MESSAGE_IDLE);
    message_move(&m, MESSAGE_IN_MACHINE);
    ck_assert_int_eq(m.life, MESSAGE_IN_MACHINE);
}

TEST(message_move__never_back, .signal = SIGABRT)
{
    struct message m = {.life = MESSAGE_ENDED};

    message_move(&m, MESSAGE_QUEUED);
}

TEST(zcrp_strerror__all)
{
    for (int code = 0; code >= -ZCRP_ERROR_COUNT; code--)
        for (int other = code - 1; other >= -ZCRP_ERROR_COUNT; other--)
            ck_assert_str_ne(zcrp_strerror(code), zcrp_strerror(other));
    ck_assert_str_eq(zcrp_strerror(ZCRP_ERROR_TIMEOUT), "the time limit passed");
    ck_assert_str_eq(zcrp_strerror(1), zcrp_strerror(-ZCRP_ERROR_COUNT - 1));
    ck_assert_str_eq(zcrp_strerror(INT32_MIN), zcrp_strerror(1));
}

/* What ended well, with so many bytes, within the last second need not be looked at. */
TEST(message_is_unseen__table)
{
    static const struct {
        bool is_wrapped;
        int code;
        nlong length, size;
        instant later;
        bool is_unseen;
    } row[] = {
        {true, ZCRP_OK, 10, 10, SECOND, false},
        {true, ZCRP_OK, 10, 10, SECOND + 1, true},
        {true, ZCRP_OK, 9, 10, 0, true},
        {true, ZCRP_OK, 9, 9, 0, false},
        {true, ZCRP_ERROR_CANCELLED, 10, 10, 0, true},
        {false, ZCRP_ERROR_CANCELLED, 10, 10, 2 * SECOND, false},
    };
    nbyte bytes[10];

    for (int i = 0; i < ROWS(row); i++) {
        struct zcrp_msg *m = row[i].is_wrapped ? zcrp_wrap_msg(bytes, 10) : zcrp_alloc_msg(10);
        instant now = 5 * SECOND;

        ck_assert_int_eq(message_is_unseen(message_of(m), 10, now), row[i].is_wrapped);
        message_note_seen(message_of(m), 10, now);
        message_begin(message_of(m), NULL, 10);
        end(message_of(m), row[i].code, row[i].length);
        now += row[i].later;
        ck_assert_int_eq(message_is_unseen(message_of(m), row[i].size, now), row[i].is_unseen);
        if (row[i].is_wrapped) {
            ck_assert_int_eq(zcrp_rewrap_msg(m, bytes, 10), ZCRP_OK);
            ck_assert(message_is_unseen(message_of(m), 1, now));
        }
        zcrp_free_msg(m);
    }
}
