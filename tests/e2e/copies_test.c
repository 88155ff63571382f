/* zcrp_send_copy: messages that the library has copied, and that end by themselves. */
#include "../support/house.h"
#include "../support/lonely.h"

#include <unistd.h>

enum { MANY = 500 };

TEST(send_copy__arguments)
{
    struct lonely s = lonely_open(true), r = lonely_open(false);
    static nbyte bytes[ZCRP_COPY_MOST + 1];

    ck_assert_int_eq(zcrp_send_copy(NULL, bytes, 1), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_send_copy(s.entity, NULL, 1), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_send_copy(r.entity, bytes, 1), ZCRP_ERROR_ARGUMENT);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), "sender is a receiver");
    ck_assert_int_eq(zcrp_send_copy(s.entity, bytes, ZCRP_COPY_MOST + 1), ZCRP_ERROR_SIZE);
    ck_assert_int_eq(zcrp_send_copy(s.entity, NULL, 0), ZCRP_OK);
    (void)zcrp_close(s.entity);
    (void)zcrp_close(r.entity);
    loopback_close(&s.sockets);
    loopback_close(&r.sockets);
}

/* The bytes may change at once. Copies keep their order among other messages, of any size. */
TEST(send_copy__arrives)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    static nbyte bytes[ZCRP_COPY_MOST];
    struct zcrp_msg *in[MANY], *out = ends_filled(100, 7);

    for (unsigned i = 0; i < MANY; i++) {
        in[i] = ends_empty(ZCRP_COPY_MOST);
        ck_assert_int_eq(zcrp_submit(e.receiver, in[i], ZCRP_COPY_MOST), ZCRP_OK);
    }
    for (unsigned i = 0; i < MANY; i++) {
        nlong size = i % 10 == 9 ? 100 : i * 37 % (ZCRP_COPY_MOST + 1);
        int code = ZCRP_ERROR_BUSY;
        while (code == ZCRP_ERROR_BUSY && i % 10 != 9) {
            pattern_fill(bytes, size, i);
            code = zcrp_send_copy(e.sender, bytes, size);
            memset(bytes, 0xEE, sizeof bytes);
        }
        if (i % 10 == 9) {
            pattern_fill(out->buffer, size, i);
            code = zcrp_submit(e.sender, out, size);
            ck_assert_int_eq(ends_wait(out), ZCRP_OK);
        }
        ck_assert_int_eq(code, ZCRP_OK);
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert_uint_eq(in[i]->length, size);
        ck_assert(pattern_holds(in[i]->buffer, size, i));
        zcrp_free_msg(in[i]);
    }
    ck_assert_ptr_null(zcrp_collect(e.sender));
    zcrp_free_msg(out);
    ends_close(&e);
}

/* There is room for a mebibyte, and again once that has been read. What nobody takes ends with the
 * close. */
TEST(send_copy__room)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    static nbyte bytes[ZCRP_COPY_MOST];
    unsigned sent = 0;
    int code;

    while ((code = zcrp_send_copy(e.sender, bytes, sizeof bytes)) == ZCRP_OK)
        sent++;
    ck_assert_int_eq(code, ZCRP_ERROR_BUSY);
    ck_assert_uint_ge(sent, 60);
    ck_assert_uint_le(sent, 64);
    ck_assert_int_eq(zcrp_send_copy(e.sender, bytes, sizeof bytes), ZCRP_ERROR_BUSY);
    for (unsigned i = 0; i < sent; i++) {
        struct zcrp_msg *in = ends_empty(sizeof bytes);
        ck_assert_int_eq(zcrp_submit(e.receiver, in, sizeof bytes), ZCRP_OK);
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        zcrp_free_msg(in);
    }
    for (int i = 0; i < 5000 && zcrp_send_copy(e.sender, bytes, 10) != ZCRP_OK; i++)
        usleep(1000);
    ck_assert_int_eq(zcrp_close(e.receiver), ZCRP_OK);
    (void)zcrp_close(e.sender);
    loopback_close(&e.sockets);
}

/* Nothing is told of a copy, however it ends; those of a queue, neither. */
TEST(send_copy__is_not_told)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct both b = house_meet(&h, NULL);
    struct zcrp_entity *s = zcrp_connection_sender(b.there);
    struct zcrp_msg *in = ends_empty(10);
    struct zcrp_completion c;
    struct zcrp_queue *q;

    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, s, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b.here), in, 10), ZCRP_OK);
    ck_assert_int_eq(zcrp_send_copy(s, "hello", 5), ZCRP_OK);
    ck_assert_int_eq(zcrp_send_copy(s, "more", 4), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_mem_eq(in->buffer, "hello", 5);
    (void)zcrp_connection_close(b.here);
    while (zcrp_connection_status(b.there) == ZCRP_OK)
        usleep(1000);
    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 20 * ENDS_MILLISECOND), 0);
    ck_assert_int_ne(zcrp_send_copy(s, "late", 4), ZCRP_ERROR_BUSY);
    (void)zcrp_connection_close(b.there);
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
    (void)zcrp_listener_close(h.listener);
    zcrp_free_msg(in);
}
