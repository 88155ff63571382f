/* Completion queues of listeners and connections: callers, offers, what begins and what ends. */
#include "../../support/house.h"

#include <string.h>
#include <unistd.h>

LOAD(asleep)

enum { MESSAGE = 10000, PEERS = 100, ROOM = 16 };

static struct zcrp_queue *q;
static struct house house;

static void begin(void)
{
    house = house_open("127.0.0.1", NULL);
    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
}

static void end(void)
{
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
    (void)zcrp_listener_close(house.listener);
}

FIXTURE(begin, end)

static struct zcrp_completion next(void)
{
    struct zcrp_completion c;

    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 10 * ENDS_SECOND), 1);
    return c;
}

/* A connection that was accepted may be told to be up. */
static struct zcrp_completion next_but_up(void)
{
    struct zcrp_completion c = next();

    while (c.kind == ZCRP_CONNECTION_UP)
        c = next();
    return c;
}

static void nothing_is_left(void)
{
    struct zcrp_completion c;

    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 0), 0);
}

/* ---- callers ---- */

/* One completion for each caller, also for those that came before. */
TEST(queue_add_listener__callers, .rows = 2)
{
    struct zcrp_connection *there[3], *here[3];

    if (_i == 1)
        ck_assert_int_eq(zcrp_queue_add_listener(q, house.listener, &house), ZCRP_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(house_connect(&house, &there[i], NULL, 5 * ENDS_SECOND), ZCRP_OK);
    if (_i == 0)
        ck_assert_int_eq(zcrp_queue_add_listener(q, house.listener, &house), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_listener(q, house.listener, NULL), ZCRP_ERROR_ARGUMENT);
    for (int i = 0; i < 3; i++) {
        struct zcrp_completion c = next();
        ck_assert_int_eq(c.kind, ZCRP_PEER_CALLED);
        ck_assert_ptr_eq(c.context, &house);
        ck_assert_ptr_eq(c.listener, house.listener);
        ck_assert_ptr_null(c.entity);
        ck_assert_int_eq(zcrp_accept(c.listener, &here[i], 0), ZCRP_OK);
    }
    nothing_is_left();
    for (int i = 0; i < 3; i++)
        house_part(&(struct both){there[i], here[i]});
}

/* One that was removed tells nothing, and can be added again. */
TEST(queue_remove_listener__with_pending)
{
    struct zcrp_connection *there, *here;

    ck_assert_int_eq(zcrp_queue_remove_listener(q, house.listener), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_add_listener(q, house.listener, NULL), ZCRP_OK);
    ck_assert_int_eq(house_connect(&house, &there, NULL, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_remove_listener(q, house.listener), ZCRP_OK);
    nothing_is_left();
    ck_assert_int_eq(zcrp_queue_add_listener(q, house.listener, NULL), ZCRP_OK);
    ck_assert_int_eq(next().kind, ZCRP_PEER_CALLED);
    ck_assert_int_eq(zcrp_accept(house.listener, &here, 0), ZCRP_OK);
    house_part(&(struct both){there, here});
}

/* Closing a listener, or the queue, removes it. */
TEST(queue_remove_listener__by_a_close, .rows = 2)
{
    struct zcrp_connection *there;

    ck_assert_int_eq(zcrp_queue_add_listener(q, house.listener, NULL), ZCRP_OK);
    ck_assert_int_eq(house_connect(&house, &there, NULL, 5 * ENDS_SECOND), ZCRP_OK);
    if (_i == 0) {
        (void)zcrp_listener_close(house.listener);
        house.listener = NULL;
    } else {
        (void)zcrp_queue_close(q);
        ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
    }
    nothing_is_left();
    (void)zcrp_connection_close(there);
}

/* ---- connections ---- */

/* One that is looked for is told when it is up, and that once. */
TEST(queue_add_connection__up)
{
    struct both b;

    ck_assert_int_eq(house_connect(&house, &b.there, NULL, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, b.there, &b), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, b.there, &b), ZCRP_ERROR_ARGUMENT);
    if (zcrp_connection_status(b.there) == ZCRP_ERROR_BUSY) { /* else it was up by then */
        struct zcrp_completion c = next();
        ck_assert_int_eq(c.kind, ZCRP_CONNECTION_UP);
        ck_assert_ptr_eq(c.context, &b);
        ck_assert_ptr_eq(c.connection, b.there);
        ck_assert_ptr_eq(c.entity, zcrp_connection_sender(b.there));
    }
    ck_assert_int_eq(zcrp_connection_wait(b.there, -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(house.listener, &b.here, 5 * ENDS_SECOND), ZCRP_OK);
    house_part(&b);
    nothing_is_left();
}

/* Nobody listens: that is the end. */
TEST(queue_add_connection__nobody)
{
    const struct zcrp_options hasty = {.connect_ns = 100 * ENDS_MILLISECOND};
    struct zcrp_connection *c;

    (void)zcrp_listener_close(house.listener);
    house.listener = NULL;
    ck_assert_int_eq(house_connect(&house, &c, &hasty, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, c, NULL), ZCRP_OK);
    while (zcrp_connection_status(c) == ZCRP_ERROR_BUSY)
        (void)usleep(1000);
    struct zcrp_completion told = next();
    ck_assert_int_eq(told.kind, ZCRP_CONNECTION_ENDED);
    ck_assert(told.code == ZCRP_ERROR_REFUSED || told.code == ZCRP_ERROR_UNREACHABLE);
    ck_assert_str_eq(zcrp_explain(told.code), zcrp_strerror(told.code)); /* another may have come */
    ck_assert_int_eq(told.code, zcrp_connection_status(c));
    bool has_address = strcmp(zcrp_explain(told.code), zcrp_strerror(told.code)) != 0;
    ck_assert(has_address == (told.code == ZCRP_ERROR_REFUSED));
    (void)zcrp_connection_close(c);
    nothing_is_left();
}

/* The peer closes: all that was posted ends, and so does the connection, once; also where that
 * happened before it was added. */
TEST(queue_add_connection__ended, .rows = 2)
{
    struct both b = house_meet(&house, NULL);
    struct zcrp_msg *m = ends_empty(10);
    int ended = 0, messages = 0;

    ck_assert_int_eq(zcrp_connection_wait(b.there, -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_wait(b.here, -1), ZCRP_OK);
    if (_i == 0)
        ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, &b), ZCRP_OK);
    nothing_is_left();
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b.here), m, 10), ZCRP_OK);
    (void)zcrp_connection_close(b.there);
    if (_i == 1) {
        while (zcrp_connection_status(b.here) == ZCRP_OK)
            usleep(1000);
        ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, &b), ZCRP_OK);
    }
    while (ended + messages < 2 - _i) {
        struct zcrp_completion c = next_but_up();
        ck_assert_ptr_eq(c.connection, b.here);
        ck_assert_ptr_eq(c.context, &b);
        ck_assert_int_eq(c.code, ZCRP_ERROR_PEER_CLOSED);
        ended += c.kind == ZCRP_CONNECTION_ENDED;
        messages += c.kind == ZCRP_MESSAGE_ENDED;
        ck_assert_ptr_eq(c.message, c.kind == ZCRP_MESSAGE_ENDED ? m : NULL);
    }
    ck_assert_int_eq(ended, 1);
    usleep(20000);
    nothing_is_left();
    (void)zcrp_connection_close(b.here);
    zcrp_free_msg(m);
}

/* The peer has sent, or received, and closes. A program that closes the connection when it is told
 * of that has been told of all that ended well, also behind a message that did not. */
TEST(queue_take__the_end_comes_last, .rows = 4)
{
    enum { COUNT = 200, MOST = 100 };
    struct both b = house_meet(&house, NULL);
    bool receives = _i < 2;
    const struct ends e = {
        .sender = zcrp_connection_sender(receives ? b.there : b.here),
        .receiver = zcrp_connection_receiver(receives ? b.here : b.there),
    };
    struct zcrp_msg *in[COUNT], *out[COUNT];
    int good = 0, ended = 0;

    ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, &b), ZCRP_OK);
    for (int i = 0; i < COUNT; i++) {
        in[i] = ends_empty(10);
        out[i] = ends_filled(10, 1);
        ends_submit(&e, in[i], out[i], 10);
        if (i == 0)
            (void)zcrp_cancel(receives ? in[0] : out[0]); /* it may have arrived */
    }
    for (int i = 1; i < COUNT; i++)
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
    (void)zcrp_connection_close(b.there);
    while (zcrp_connection_status(b.here) == ZCRP_OK)
        usleep(1000);
    while (ended == 0) {
        struct zcrp_completion c[MOST];
        int count = zcrp_queue_take(q, c, _i % 2 == 0 ? 1 : MOST, 10 * ENDS_SECOND);
        ck_assert_int_gt(count, 0);
        for (int i = 0; i < count; i++) {
            ck_assert_int_eq(ended, 0);
            good +=
                c[i].kind == ZCRP_MESSAGE_ENDED && c[i].message != in[0] && c[i].message != out[0];
            ended += c[i].kind == ZCRP_CONNECTION_ENDED;
        }
    }
    ck_assert_int_eq(good, COUNT - 1);
    nothing_is_left();
    (void)zcrp_connection_close(b.here);
    for (int i = 0; i < COUNT; i++) {
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
}

/* A buffer that the program posts again fails at once after the end, which is told nevertheless. */
TEST(queue_take__the_end_is_not_put_off)
{
    enum { COUNT = 10 };
    struct both b = house_meet(&house, NULL);
    struct zcrp_entity *r = zcrp_connection_receiver(b.here);
    struct zcrp_msg *m[COUNT];
    struct zcrp_completion c;
    int failed = 0;

    ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, &b), ZCRP_OK);
    for (int i = 0; i < COUNT; i++) {
        m[i] = ends_empty(10);
        ck_assert_int_eq(zcrp_submit(r, m[i], 10), ZCRP_OK);
    }
    (void)zcrp_connection_close(b.there);
    while ((c = next_but_up()).kind != ZCRP_CONNECTION_ENDED) {
        ck_assert_int_eq(c.kind, ZCRP_MESSAGE_ENDED);
        ck_assert_int_ne(c.code, ZCRP_OK);
        ck_assert_int_lt(++failed, 10 * COUNT);
        ck_assert_int_eq(zcrp_submit(r, c.message, 10), ZCRP_OK);
    }
    (void)zcrp_connection_close(b.here);
    for (int i = 0; i < COUNT; i++)
        zcrp_free_msg(m[i]);
}

/* What landed before the program could accept is told, by the queue or to who collects, and once.
 */
TEST(queue_add_connection__first_message_was_there, .rows = 2)
{
    const struct zcrp_options ours = {.first_messages = 1, .first_bytes = MESSAGE};
    struct house h = house_open("127.0.0.1", &ours);
    struct both b = house_meet(&h, NULL);
    struct zcrp_entity *r = zcrp_connection_receiver(b.here);
    struct zcrp_msg *out = ends_filled(10, 1), *in = zcrp_connection_first(b.here, 0);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b.there), out, 10), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    if (_i == 0) {
        ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, &b), ZCRP_OK);
        struct zcrp_completion c = next_but_up();
        ck_assert_int_eq(c.kind, ZCRP_MESSAGE_ENDED);
        ck_assert_ptr_eq(c.message, in);
        ck_assert_ptr_eq(c.entity, r);
        while (zcrp_queue_take(q, &c, 1, 0) == 1) /* it may be up only now */
            ck_assert_int_eq(c.kind, ZCRP_CONNECTION_UP);
    } else {
        ck_assert_int_ge(zcrp_descriptor(r), 0);
        ck_assert_ptr_eq(zcrp_collect(r), in);
        ck_assert_ptr_null(zcrp_collect(r));
    }
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    zcrp_free_msg(out);
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
}

/* An add that is refused, because one half is in a queue, loses no first message. */
TEST(queue_add_connection__refused, .rows = 2)
{
    const struct zcrp_options ours = {.first_messages = 1, .first_bytes = MESSAGE};
    struct house h = house_open("127.0.0.1", &ours);
    struct both b = house_meet(&h, NULL);
    struct zcrp_entity *half =
        _i == 0 ? zcrp_connection_sender(b.here) : zcrp_connection_receiver(b.here);
    struct zcrp_msg *out = ends_filled(10, 1), *in = zcrp_connection_first(b.here, 0);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b.there), out, 10), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, half, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), "connection is in a queue already");
    if (_i == 0) {
        ck_assert_int_eq(zcrp_queue_remove(q, half), ZCRP_OK);
        ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, NULL), ZCRP_OK);
    }
    ck_assert_ptr_eq(next_but_up().message, in);
    zcrp_free_msg(out);
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
}

/* Halves that were added by themselves tell of messages alone. A connection is removed as a whole,
 * and by the way in which it was added. */
TEST(queue_remove_connection__as_it_was_added)
{
    struct both b = house_meet(&house, NULL);
    struct zcrp_entity *s = zcrp_connection_sender(b.here), *r = zcrp_connection_receiver(b.here);

    ck_assert_int_eq(zcrp_queue_add(q, s, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_remove_connection(q, b.here), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_add(q, r, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_remove(q, r), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_remove(q, s), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_remove(q, r), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_remove(q, s), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_remove_connection(q, b.here), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, r, NULL), ZCRP_OK);
    (void)zcrp_connection_close(b.there);
    while (zcrp_connection_status(b.here) == ZCRP_OK)
        usleep(1000);
    nothing_is_left();
    (void)zcrp_connection_close(b.here);
}

/* ---- offers ---- */

TEST(queue_take__offers)
{
    struct both b = house_meet(&house, NULL);
    struct zcrp_entity *r = zcrp_connection_receiver(b.here);
    struct zcrp_msg *out = ends_filled(MESSAGE, 1), *in = ends_empty(MESSAGE);
    nlong size;

    ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, &b), ZCRP_OK);
    ck_assert_int_eq(zcrp_expect(r, &size, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b.there), out, MESSAGE), ZCRP_OK);
    struct zcrp_completion c = next_but_up();
    ck_assert_int_eq(c.kind, ZCRP_OFFER_CAME);
    ck_assert_ptr_eq(c.entity, r);
    ck_assert_int_eq(zcrp_expect(r, &size, 0), ZCRP_OK);
    ck_assert_uint_eq(size, MESSAGE);
    ck_assert_int_eq(zcrp_submit(r, in, size), ZCRP_OK);
    while ((c = next_but_up()).kind == ZCRP_OFFER_CAME)
        continue;
    ck_assert_int_eq(c.kind, ZCRP_MESSAGE_ENDED);
    ck_assert_ptr_eq(c.message, in);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    house_part(&b);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* It came before the connection was in the queue, and is told all the same. */
TEST(queue_add_connection__an_offer_was_there)
{
    struct both b = house_meet(&house, NULL);
    struct zcrp_entity *r = zcrp_connection_receiver(b.here);
    struct zcrp_msg *out = ends_filled(MESSAGE, 1), *in = ends_empty(MESSAGE);
    nlong size;

    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b.there), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_expect(r, &size, -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, &b), ZCRP_OK);
    struct zcrp_completion c = next_but_up();
    ck_assert_int_eq(c.kind, ZCRP_OFFER_CAME);
    ck_assert_ptr_eq(c.entity, r);
    ck_assert_int_eq(zcrp_submit(r, in, MESSAGE), ZCRP_OK);
    while ((c = next_but_up()).kind == ZCRP_OFFER_CAME)
        continue;
    ck_assert_ptr_eq(c.message, in);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    house_part(&b);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* ---- nobody starves ---- */

/* A connection that the library's threads have received for, and a wait. They may have left some to
 * it. */
TEST(queue_add_connection__behind_a_wait, .needs = loopback_is_udp)
{
    enum { ROUNDS = 20, LARGE = 16 << 20, WORD = 10 };
    const struct zcrp_options options = {.flags = ZCRP_NO_MEMORY};

    for (int round = 0; round < ROUNDS; round++) {
        struct both b = house_meet(&house, &options);
        const struct ends e = {.sender = zcrp_connection_sender(b.there),
                               .receiver = zcrp_connection_receiver(b.here)};
        struct zcrp_msg *in = ends_empty(LARGE), *out = ends_filled(LARGE, (uint64_t)round);
        struct zcrp_msg *word = ends_empty(WORD);

        ends_submit(&e, in, out, LARGE);
        while (ends_stats(e.receiver).bytes_arrived == 0)
            ;
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        ends_finish(in, out, LARGE, (uint64_t)round);
        ck_assert_int_eq(zcrp_queue_add_connection(q, b.here, NULL), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(e.receiver, word, WORD), ZCRP_OK);
        ck_assert_int_eq(zcrp_send_copy(e.sender, "0123456789", WORD), ZCRP_OK);
        ck_assert_ptr_eq(next_but_up().message, word);
        zcrp_free_msg(word);
        house_part(&b);
    }
}

/* One peer streams as fast as it can; another one says a word now and then, which is not late. */
TEST(queue_take__beside_a_stream)
{
    enum { BUFFERS = 8, STREAM = 1 << 16, WORDS = 20 };
    struct both stream = house_meet(&house, NULL), words = house_meet(&house, NULL);
    struct zcrp_msg *in[BUFFERS], *out[BUFFERS], *word = ends_filled(10, 1),
                                                 *heard = ends_empty(10);
    int said = 0;
    int64_t at = 0, streamed = 0;

    ck_assert_int_eq(zcrp_queue_add_connection(q, stream.there, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, stream.here, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, words.here, &words), ZCRP_OK);
    for (int i = 0; i < BUFFERS; i++) {
        in[i] = ends_empty(STREAM);
        out[i] = ends_filled(STREAM, 1);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(stream.here), in[i], STREAM),
                         ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(stream.there), out[i], STREAM),
                         ZCRP_OK);
    }
    while (said < WORDS || zcrp_probe(heard) == 0) {
        struct zcrp_completion c;
        if (zcrp_error(heard) != ZCRP_ERROR_BUSY && said < WORDS &&
            zcrp_error(word) != ZCRP_ERROR_BUSY) {
            ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(words.here), heard, 10), ZCRP_OK);
            ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(words.there), word, 10), ZCRP_OK);
            at = clock_now_ns();
            said++;
        }
        ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 10 * ENDS_SECOND), 1);
        if (c.context == &words || c.kind != ZCRP_MESSAGE_ENDED) {
            ck_assert_int_lt(clock_now_ns() - at, 10 * ENDS_SECOND);
            continue;
        }
        ck_assert_int_eq(c.code, ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(c.entity, c.message, STREAM), ZCRP_OK);
        streamed++;
    }
    ck_assert_int_gt(streamed, 0);
    house_part(&words);
    (void)zcrp_connection_close(stream.here);
    (void)zcrp_connection_close(stream.there);
    for (int i = 0; i < BUFFERS; i++) {
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    zcrp_free_msg(word);
    zcrp_free_msg(heard);
}

/* ---- many ---- */

/* Both ends of 100 connections, and the listener, in one queue and one thread: each peer asks some
 * questions, and each is answered. The context says whose it is. */
enum { QUESTIONS = 20 };

struct peer {
    struct zcrp_connection *connection;
    struct zcrp_msg *in, *out;
    bool asks;
    int done;
};

static struct peer *peer_create(struct zcrp_connection *c, bool asks)
{
    struct peer *p = calloc(1, sizeof(*p));

    *p = (struct peer){.connection = c,
                       .in = ends_empty(sizeof(int)),
                       .out = ends_empty(sizeof(int)),
                       .asks = asks};
    ck_assert_int_eq(zcrp_queue_add_connection(q, c, p), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(c), p->in, sizeof(int)), ZCRP_OK);
    return p;
}

static void say(struct peer *p, int word)
{
    memcpy(p->out->buffer, &word, sizeof word);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p->connection), p->out, sizeof word),
                     ZCRP_OK);
}

/* The message that was received; what it was sent with has ended by then, or is about to. */
static void on_word(struct peer *p)
{
    int word;

    memcpy(&word, p->in->buffer, sizeof word);
    ck_assert_int_eq(word, p->done);
    p->done++;
    ck_assert_int_eq(ends_wait(p->out), p->done == 1 && !p->asks ? ZCRP_ERROR_IDLE : ZCRP_OK);
    if (p->done < QUESTIONS)
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(p->connection), p->in, sizeof word),
                         ZCRP_OK);
    if (!p->asks)
        say(p, word);
    else if (p->done < QUESTIONS)
        say(p, p->done);
}

TEST(queue_take__hundred_connections)
{
    struct peer *peer[2 * PEERS];
    int count = 0, done = 0, accepted = 0;

    ck_assert_int_eq(zcrp_queue_add_listener(q, house.listener, NULL), ZCRP_OK);
    for (int i = 0; i < PEERS; i++) {
        struct zcrp_connection *c;
        ck_assert_int_eq(house_connect(&house, &c, NULL, 0), ZCRP_OK);
        peer[count] = peer_create(c, true);
        say(peer[count++], 0);
    }
    while (done < 2 * PEERS) {
        struct zcrp_completion c[ROOM];
        int taken = zcrp_queue_take(q, c, ROOM, 20 * ENDS_SECOND);
        ck_assert_int_gt(taken, 0);
        for (int i = 0; i < taken; i++) {
            struct peer *p = c[i].context;
            struct zcrp_connection *new;
            if (c[i].kind == ZCRP_PEER_CALLED && accepted < PEERS) {
                ck_assert_int_eq(zcrp_accept(c[i].listener, &new, 0), ZCRP_OK);
                peer[count++] = peer_create(new, false);
                accepted++;
            } else if (c[i].kind == ZCRP_MESSAGE_ENDED && c[i].message == p->in) {
                ck_assert_int_eq(c[i].code, ZCRP_OK);
                ck_assert_ptr_eq(c[i].connection, p->connection);
                on_word(p);
                done += p->done == QUESTIONS;
            }
        }
    }
    ck_assert_int_eq(accepted, PEERS);
    for (int i = 0; i < count; i++) {
        (void)zcrp_connection_close(peer[i]->connection);
        zcrp_free_msg(peer[i]->in);
        zcrp_free_msg(peer[i]->out);
        free(peer[i]);
    }
    nothing_is_left();
}
