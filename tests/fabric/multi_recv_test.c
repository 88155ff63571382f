/* One buffer for many messages (FI_MULTI_RECV). */
#include "node.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

LOAD(asleep)

enum { BUFFER = 65536, LEAST = 4096 };

static struct pair p;

static void open_pair(void)
{
    size_t least = LEAST;

    pair_open(&p, NULL);
    OK(fi_setopt(&p.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
}

static void close_pair(void)
{
    pair_close(&p);
}

FIXTURE(open_pair, close_pair)

static void post(uint8_t *buffer, size_t size)
{
    struct iovec one = {buffer, size};
    const struct fi_msg m = {
        .msg_iov = &one, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buffer};

    POST(fi_recvmsg(p.b.ep, &m, FI_MULTI_RECV));
}

static void send_to_b(size_t size, uint64_t seed)
{
    uint8_t *out = filled(size, seed);

    POST(fi_send(p.a.ep, out, size, NULL, p.to_b, out));
    (void)take_of(p.a.sent, out);
    free(out);
}

/* Takes completions until a message has come or the buffer is released; is it released? */
static bool take_message(uint8_t *buffer, uint8_t **end, uint64_t seed, size_t size)
{
    struct fi_cq_err_entry e = take_of(p.b.received, buffer);

    if ((e.flags & FI_RECV) != 0 && (e.len != 0 || e.buf != NULL)) {
        ck_assert_uint_eq(e.len, size);
        ck_assert((uint8_t *)e.buf >= *end);
        ck_assert(pattern_holds(e.buf, size, seed));
        *end = (uint8_t *)e.buf + size;
    }
    return (e.flags & FI_MULTI_RECV) != 0;
}

TEST(option__is_kept)
{
    size_t least = 0, bytes = sizeof(least);

    OK(fi_getopt(&p.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &bytes));
    ck_assert_uint_eq(least, LEAST);
    ck_assert_uint_eq(bytes, sizeof(least));
    bytes = 1;
    ck_assert_int_lt(
        fi_getopt(&p.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &bytes), 0);
    ck_assert_int_lt(fi_setopt(&p.b.ep->fid, FI_OPT_ENDPOINT, 9999, &least, sizeof(least)), 0);
}

/* It is released when less than the least is left, and not before. */
TEST(buffer__is_released, .rows = 3)
{
    static const size_t size[] = {1000, 4000, 1};
    uint8_t *buffer = blank(BUFFER), *end = buffer;
    uint64_t seed = 0;
    bool is_released = false;

    post(buffer, BUFFER);
    while (!is_released && seed < 70000) {
        send_to_b(size[_i], seed);
        is_released = take_message(buffer, &end, seed++, size[_i]);
        if (size[_i] == 1 && seed == 1000)
            break;
        size_t left = (size_t)(buffer + BUFFER - end);
        if (!is_released && left < LEAST) /* the release has a completion of its own */
            is_released = take_message(buffer, &end, 0, 0);
        ck_assert_int_eq(is_released, left < LEAST);
    }
    ck_assert_uint_eq(buffer[BUFFER], 0xEE);
    (void)fi_cancel(&p.b.ep->fid, buffer);
    if (!is_released)
        (void)take_error(p.b.received, buffer, FI_ECANCELED);
    take_nothing(p.b.received);
    free(buffer);
}

/* The program learns that the buffer is its own again, also if it asked for no completions. */
TEST(buffer__is_released_without_other_completions)
{
    enum { COUNT = BUFFER / LEAST };
    uint8_t *buffer = blank(BUFFER), *out = filled(LEAST, 1);
    struct iovec one = {buffer, BUFFER};
    struct fi_msg m = {.msg_iov = &one, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buffer};
    struct pair q;

    pair_open(&q, &(struct node_wish){.selective = FI_SELECTIVE_COMPLETION});
    POST(fi_recvmsg(q.b.ep, &m, FI_MULTI_RECV));
    for (int i = 0; i < COUNT; i++) {
        take_nothing(q.b.received);
        POST(fi_inject(q.a.ep, out, LEAST, q.to_b));
    }
    ck_assert((take_of(q.b.received, buffer).flags & FI_MULTI_RECV) != 0);
    take_nothing(q.b.received);
    for (int i = 0; i < COUNT; i++)
        ck_assert(pattern_holds(buffer + (size_t)i * LEAST, LEAST, 1));
    pair_close(&q);
    free(buffer);
    free(out);
}

/* Messages of any size pass from buffer to buffer in order; each is posted again when it is free.
 */
TEST(buffers__in_turn, .rows = 2)
{
    enum { COUNT = 400, BUFFERS = 3 };
    bool is_large = _i == 1;
    size_t bytes = is_large ? 1 << 20 : BUFFER, most = is_large ? LARGE : LEAST;
    uint8_t *out = filled(most, 1), *buffer[BUFFERS];
    int received = 0, sent = 0;

    OK(fi_setopt(&p.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &most, sizeof(most)));
    for (int i = 0; i < BUFFERS; i++)
        post(buffer[i] = blank(bytes), bytes);
    while (received < COUNT) {
        for (; sent < COUNT && sent < received + 10; sent++)
            POST(fi_senddata(p.a.ep, out, (size_t)(sent * 7919) % most, NULL, (uint64_t)sent,
                             p.to_b, NULL));
        struct fi_cq_err_entry e = take(p.b.received);
        ck_assert_int_eq(e.err, 0);
        if ((e.flags & FI_REMOTE_CQ_DATA) != 0) {
            ck_assert_uint_eq(e.len, (e.data * 7919) % most);
            ck_assert(pattern_holds(e.buf, e.len, 1));
            if (!is_large)
                ck_assert_uint_eq(e.data, (uint64_t)received);
            received++;
        }
        if ((e.flags & FI_MULTI_RECV) != 0)
            post(e.op_context, bytes);
    }
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(take(p.a.sent).err, 0);
    for (int i = 0; i < BUFFERS; i++) {
        OK(fi_cancel(&p.b.ep->fid, buffer[i]));
        ck_assert_int_eq(take(p.b.received).err, FI_ECANCELED);
        free(buffer[i]);
    }
    free(out);
}

/* Messages that came before any buffer was there. */
TEST(buffer__for_messages_that_were_there)
{
    uint8_t *buffer = blank(BUFFER), *end = buffer;

    for (uint64_t i = 0; i < 50; i++)
        send_to_b(SMALL, i);
    post(buffer, BUFFER);
    for (uint64_t i = 0; i < 50; i++)
        ck_assert(!take_message(buffer, &end, i, SMALL));
    OK(fi_cancel(&p.b.ep->fid, buffer));
    (void)take_error(p.b.received, buffer, FI_ECANCELED);
    free(buffer);
}

/* Also a message without bytes has a place in the buffer. */
TEST(buffer__of_an_empty_message)
{
    uint8_t *buffer = blank(BUFFER);

    post(buffer, BUFFER);
    send_to_b(0, 1);
    ck_assert_ptr_eq(take_of(p.b.received, buffer).buf, buffer);
    send_to_b(SMALL, 2);
    ck_assert_ptr_eq(take_of(p.b.received, buffer).buf, buffer);
    send_to_b(0, 3);
    ck_assert_ptr_eq(take_of(p.b.received, buffer).buf, buffer + SMALL);
    OK(fi_cancel(&p.b.ep->fid, buffer));
    (void)take_error(p.b.received, buffer, FI_ECANCELED);
    free(buffer);
}

/* Sends empty messages or bytes, numbered, until none is taken for a second; how many were? */
static int send_until_it_stalls(size_t size, int most)
{
    int sent = 0;

    for (int64_t moved = now_ms(); sent < most && now_ms() < moved + 1000;) {
        uint8_t byte = (uint8_t)sent;
        ssize_t code = fi_injectdata(p.a.ep, &byte, size, (uint64_t)sent, p.to_b);
        if (code == -FI_EAGAIN) {
            nodes_turn();
            continue;
        }
        ck_assert_int_eq(code, 0);
        moved = now_ms();
        sent++;
    }
    return sent;
}

/* Messages that need no room in the buffer make completions nevertheless, and those need memory. So
 * the sender has to wait at some time. Rows: bytes that each has. */
TEST(buffer__whose_completions_nobody_reads, .rows = 2)
{
    enum { MOST = 200000 };
    uint8_t *buffer = blank(MOST);
    size_t size = (size_t)_i;

    post(buffer, MOST);
    int sent = send_until_it_stalls(size, MOST / 2);
    (void)printf("%d messages of %zu bytes were taken\n", sent, size);
    ck_assert_int_lt(sent, MOST / 2);
    for (int i = 0; i < sent; i++) {
        struct fi_cq_err_entry e = take_of(p.b.received, buffer);
        ck_assert_uint_eq(e.data, (uint64_t)i);
        ck_assert_uint_eq(e.len, size);
        ck_assert_ptr_eq(e.buf, buffer + (size_t)i * size);
        ck_assert(size == 0 || buffer[i] == (uint8_t)i);
    }
    OK(fi_cancel(&p.b.ep->fid, buffer));
    (void)take_error(p.b.received, buffer, FI_ECANCELED);
    free(buffer);
}

/* ---- no memory */

/* The last size that this thread asked for, and the one that it is refused; 0: none is. */
static _Thread_local size_t last_size, refused_size;

#if defined(__GLIBC__) && !IS_SANITIZED
/* glibc's own, below the name that is taken over. */
void *__libc_malloc(size_t size);

/* A program's functions go before a library's, so the provider's calls of malloc come here. */
__attribute__((visibility("default"))) void *malloc(size_t size)
{
    last_size = size;
    if (size == 0 || size != refused_size)
        return __libc_malloc(size);
    errno = ENOMEM;
    return NULL;
}

static bool memory_can_end(void)
{
    return true;
}
#else
static bool memory_can_end(void)
{
    return false;
}
#endif

/* The provider has a struct for each operation, and keeps those that have ended: now it has one.
 * The size of these. */
static size_t learn_size(void)
{
    uint8_t byte;
    ssize_t code = fi_trecv(p.b.ep, &byte, 1, NULL, FI_ADDR_UNSPEC, 9, 0, &byte);
    size_t size = last_size;

    OK(code);
    OK(fi_cancel(&p.b.ep->fid, &byte));
    (void)take_error(p.b.received, &byte, FI_ECANCELED);
    return size;
}

/* The buffer is posted with the one struct that there is. */
static void post_without_memory(uint8_t *buffer, size_t refused)
{
    struct iovec one = {buffer, BUFFER};
    const struct fi_msg m = {
        .msg_iov = &one, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buffer};

    refused_size = refused;
    ssize_t code = fi_recvmsg(p.b.ep, &m, FI_MULTI_RECV);
    refused_size = 0;
    OK(code);
}

static void await_unexpected(void)
{
    const struct fi_msg m = {.addr = FI_ADDR_UNSPEC};
    int64_t until = now_ms() + WITHIN_S * 1000;
    int err = FI_ENOMSG;

    while (err == FI_ENOMSG && now_ms() < until) {
        OK(fi_recvmsg(p.b.ep, &m, FI_PEEK));
        err = take(p.b.received).err;
    }
    OK(err);
}

/* The second node, that is; until there is something to read. */
static void go_on_without_memory(size_t refused)
{
    int64_t until = now_ms() + WITHIN_S * 1000;
    struct fi_cq_tagged_entry e;
    ssize_t count = -FI_EAGAIN;

    while (count == -FI_EAGAIN && now_ms() < until) {
        refused_size = refused;
        count = fi_cq_read(p.b.received, &e, 1);
        refused_size = 0;
        (void)usleep(20);
    }
    ck_assert_int_eq(count, -FI_EAVAIL);
}

/* Both messages go into the next buffer, in order. */
TEST(buffer__without_memory_for_messages_that_were_there, .needs = memory_can_end)
{
    uint8_t *buffer = blank(BUFFER), *next = blank(BUFFER), *end = next;
    size_t size = learn_size();

    send_to_b(SMALL, 0);
    send_to_b(SMALL, 1);
    await_unexpected();
    take_nothing(p.b.received);
    post_without_memory(buffer, size);
    (void)take_error(p.b.received, buffer, FI_ENOMEM);
    ck_assert_int_eq(fi_cancel(&p.b.ep->fid, buffer), -FI_ENOENT);
    post(next, BUFFER);
    for (uint64_t i = 0; i < 2; i++)
        ck_assert(!take_message(next, &end, i, SMALL));
    OK(fi_cancel(&p.b.ep->fid, next));
    (void)take_error(p.b.received, next, FI_ECANCELED);
    free(next);
    free(buffer);
}

/* The buffer ends with what it has, and the message goes into the next one. */
TEST(buffer__without_memory_for_a_message_that_comes, .needs = memory_can_end)
{
    uint8_t *buffer = blank(BUFFER), *next = blank(BUFFER), *end = buffer, byte = 0;
    size_t size = learn_size();

    post(buffer, BUFFER);
    send_to_b(SMALL, 0);
    ck_assert(!take_message(buffer, &end, 0, SMALL));
    POST(fi_trecv(p.b.ep, &byte, 1, NULL, FI_ADDR_UNSPEC, 9, 0, &byte)); /* takes the one */
    uint8_t *out = filled(SMALL, 1);
    OK(fi_inject(p.a.ep, out, SMALL, p.to_b));
    go_on_without_memory(size);
    (void)take_error(p.b.received, buffer, FI_ENOMEM);
    post(next, BUFFER);
    end = next;
    ck_assert(!take_message(next, &end, 1, SMALL));
    OK(fi_cancel(&p.b.ep->fid, next));
    (void)take_error(p.b.received, next, FI_ECANCELED);
    OK(fi_cancel(&p.b.ep->fid, &byte));
    (void)take_error(p.b.received, &byte, FI_ECANCELED);
    free(out);
    free(next);
    free(buffer);
}
