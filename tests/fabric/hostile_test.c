/* Peers that speak ZCRP and talk nonsense to the provider. It neither crashes nor hangs, and other
 * peers notice nothing. What the provider itself says is recorded, changed, and said to it. */
#include "../support/random.h"
#include "ranks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zcrp.h>

LOAD(asleep)

enum {
    BUFFERS = 16,
    BUFFER_BYTES = 70000,
    RECORDS = 32,
    CALLERS = 12,
    PORT = 16,
    SECOND = 1000000000
};

static const struct zcrp_options options = {.linger_ns = 1, .connect_ns = 5 * (int64_t)SECOND};

/* Messages that the provider sent. */
static struct record {
    size_t size;
    uint8_t bytes[BUFFER_BYTES];
} records[RECORDS];
static int recorded;

/* One end of a hostile connection. */
struct caller {
    struct zcrp_connection *connection;
    struct zcrp_msg *in[BUFFERS];
};

/* Where the connection has ended it stays as it is. */
static void post(struct caller *c, struct zcrp_msg *m)
{
    int code = zcrp_submit(zcrp_connection_receiver(c->connection), m, BUFFER_BYTES);

    (void)code;
}

static void post_buffers(struct caller *c)
{
    for (int i = 0; i < BUFFERS; i++) {
        c->in[i] = zcrp_alloc_msg(BUFFER_BYTES);
        post(c, c->in[i]);
    }
}

static void hang_up(struct caller *c)
{
    (void)zcrp_connection_close(c->connection);
    for (int i = 0; i < BUFFERS; i++)
        zcrp_free_msg(c->in[i]);
}

/* Keeps what has come, and posts the buffers again. */
static void record(struct caller *c)
{
    for (int i = 0; i < BUFFERS; i++) {
        struct zcrp_msg *m = c->in[i];
        if (zcrp_error(m) != ZCRP_OK)
            continue;
        if (recorded < RECORDS) {
            records[recorded].size = m->length;
            memcpy(records[recorded++].bytes, m->buffer, m->length);
        }
        post(c, m);
    }
}

/* A message that the peer may take or not; whether it was taken does not matter. */
static void say(struct caller *c, const uint8_t *bytes, size_t size)
{
    struct zcrp_msg *m = zcrp_alloc_msg(size);

    memcpy(m->buffer, bytes, size);
    if (zcrp_submit(zcrp_connection_sender(c->connection), m, size) == ZCRP_OK)
        (void)(zcrp_wait_for(m, SECOND / 20) == ZCRP_OK);
    (void)zcrp_cancel(m);
    zcrp_free_msg(m);
}

/* ---- nonsense */

static size_t of_noise(uint8_t *to, uint64_t *state)
{
    static const size_t sizes[] = {0, 1, 7, 8, 31, 32, 33, 64, 100, 16384, 16416, 65000};
    size_t size = sizes[random_below(state, 12)];
    uint8_t even = (uint8_t)(random_below(state, 3) * 0x7f);

    for (size_t i = 0; i < size; i++)
        to[i] = random_chance(state, 10) || even == 0xfe ? (uint8_t)random_next(state) : even;
    return size;
}

/* Something that the provider said, shorter, longer, with other numbers. */
static size_t of_record(uint8_t *to, uint64_t *state)
{
    if (recorded == 0)
        return of_noise(to, state);
    const struct record *r = &records[random_below(state, (uint64_t)recorded)];
    size_t size = r->size;

    memcpy(to, r->bytes, size);
    for (uint64_t n = random_below(state, 4); n > 0 && size > 0; n--) {
        static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
        size_t at = random_below(state, size < 64 ? size : 64),
               width = (size_t)1 << random_below(state, 4);
        for (size_t i = at; i < at + width && i < size; i++)
            to[i] = values[random_below(state, 6)];
    }
    if (random_chance(state, 20))
        size = random_below(state, size + 1);
    return size;
}

static void talk_nonsense(struct caller *c, int count, uint64_t *state)
{
    static uint8_t bytes[BUFFER_BYTES];

    for (int i = 0; i < count; i++)
        say(c, bytes, random_chance(state, 40) ? of_noise(bytes, state) : of_record(bytes, state));
}

/* ---- the hostile rank, which has no node */

/* Calls rank 0's listener in many ways. Rank 0 answers with what the hostile ones have not asked.
 */
static void call_listener(const char *port, uint64_t *state)
{
    for (int i = 0; i < CALLERS; i++) {
        struct caller c = {0};
        if (zcrp_connect(&c.connection, "127.0.0.1", port, &options, -1) != ZCRP_OK)
            continue;
        if (i % 4 != 3)
            post_buffers(&c);
        if (i % 2 == 1 && recorded > 0) /* begins as the provider does */
            for (int j = 0; j < 1 + i % 3 && j < recorded; j++)
                say(&c, records[j].bytes, records[j].size);
        if (i % 6 != 5)
            talk_nonsense(&c, 15, state);
        if (i % 4 != 3)
            record(&c);
        hang_up(&c);
    }
}

/* Takes the call of rank 0, which takes this for a rank. */
static void be_called(struct zcrp_listener *listener, bool is_noisy, uint64_t *state)
{
    for (int calls = 0; calls < 6; calls++) {
        struct caller c = {0};
        if (zcrp_accept(listener, &c.connection, 3 * (int64_t)SECOND) != ZCRP_OK)
            return;
        post_buffers(&c);
        (void)usleep(300000);
        record(&c);
        if (is_noisy)
            talk_nonsense(&c, 10, state);
        record(&c);
        hang_up(&c);
    }
}

/* What the hostile process and the test tell each other. */
struct stage {
    _Atomic int port_of_test, port_of_hostile;
    _Atomic bool is_over;
};

static void be_hostile(struct stage *s, uint64_t seed)
{
    struct zcrp_listener *listener;
    uint64_t state = seed;
    char port[PORT];

    if (zcrp_listen(&listener, "127.0.0.1", "0", &options) != ZCRP_OK)
        _exit(1);
    atomic_store(&s->port_of_hostile, zcrp_listener_port(listener));
    while (atomic_load(&s->port_of_test) == 0)
        (void)usleep(1000);
    (void)snprintf(port, sizeof(port), "%d", atomic_load(&s->port_of_test));
    be_called(listener, seed % 2 == 1, &state);
    (void)fprintf(stderr, "%d messages of the provider are known\n", recorded);
    call_listener(port, &state);
    atomic_store(&s->is_over, true);
    (void)zcrp_listener_close(listener);
    _exit(0);
}

static pid_t start_hostile(struct stage **s, uint64_t seed)
{
    *s = mmap(NULL, sizeof(**s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(*s, MAP_FAILED);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_hostile(*s, seed);
    }
    while (atomic_load(&(*s)->port_of_hostile) == 0)
        (void)usleep(1000);
    return child;
}

/* Sends to the hostile one, which may take it or not, and has receives that it may match. */
static void begin_with_hostile(const struct node *n, int port, uint8_t *bytes)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    fi_addr_t at = node_insert(n, (const uint8_t *)&to);

    POST(fi_tsend(n->ep, bytes, SMALL, NULL, at, 5, bytes));
    POST(fi_tsend(n->ep, bytes, LARGE, NULL, at, 5, bytes));
    POST(fi_send(n->ep, bytes, LARGE, NULL, at, bytes));
    POST(fi_trecv(n->ep, bytes, LARGE, NULL, FI_ADDR_UNSPEC, 5, 0, bytes));
    POST(fi_recv(n->ep, bytes, LARGE, NULL, at, bytes));
}

/* Those of the hostile one come in between, well or not. */
static void take_own(struct fid_cq *cq, const void *context)
{
    struct fi_cq_err_entry e;

    do
        e = take(cq);
    while (e.op_context != context);
    ck_assert_int_eq(e.err, 0);
}

static void exchange(const struct pair *p, uint8_t *in, uint8_t *out, uint64_t count)
{
    size_t size = count % 5 ? SMALL : LARGE;

    for (int i = 0; i < 2; i++) {
        const struct node *from = i ? &p->b : &p->a, *at = i ? &p->a : &p->b;
        memset(in, 0xEE, size);
        POST(fi_trecv(at->ep, in, size, NULL, FI_ADDR_UNSPEC, count, 0, in));
        POST(fi_tsend(from->ep, out, size, NULL, i ? p->to_a : p->to_b, count, out));
        take_own(at->received, in);
        take_own(from->sent, out);
        ck_assert(pattern_holds(in, size, 9));
    }
}

/* The hostile rank says nonsense from a fresh seed; two honest ones talk meanwhile. */
TEST(hostile__peer, .is_random = true)
{
    uint8_t *bytes = filled(LARGE, 1);
    uint64_t seed = suite_seed(_i), count = 1000;
    struct sockaddr_in own;
    size_t size = sizeof(own);
    struct stage *s;
    struct pair p;

    pid_t child = start_hostile(&s, seed);
    pair_open(&p, NULL);
    OK(fi_getname(&p.a.ep->fid, &own, &size));
    atomic_store(&s->port_of_test, ntohs(own.sin_port));
    begin_with_hostile(&p.a, atomic_load(&s->port_of_hostile), bytes);
    uint8_t *in = blank(LARGE), *out = filled(LARGE, 9);
    for (; !atomic_load(&s->is_over); count++) {
        ck_assert_int_eq(waitpid(child, NULL, WNOHANG), 0);
        exchange(&p, in, out, count);
    }
    (void)printf("%llu messages passed beside it\n", (unsigned long long)count - 1000);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    pair_close(&p);
    (void)munmap(s, sizeof(*s));
    free(bytes);
    free(in);
    free(out);
}

/* ---- one that says it is many */

enum { CONTROL = 1, BULK = 2 };

/* As wire.h has them; the caller's own address is made up. */
static void greet(struct caller *c, uint8_t channel, uint8_t number)
{
    uint8_t greeting[32] = {'z', 'f', 'i', '1', channel, 4, 9, 0, 10, 0, 0, number};

    ck_assert_int_eq(
        zcrp_send_copy(zcrp_connection_sender(c->connection), greeting, sizeof(greeting)), ZCRP_OK);
}

enum { ENVELOPE = 32, EAGER = ZCRP_COPY_MOST - ENVELOPE };

static void write_eager(uint8_t message[ZCRP_COPY_MOST])
{
    memset(message, 0, ZCRP_COPY_MOST);
    message[0] = 1;
    message[24] = EAGER & 0xff;
    message[25] = EAGER >> 8;
}

/* Opens the usual pair; the port that the second node listens at. */
static void open_pair_at(struct pair *p, char port[PORT])
{
    struct sockaddr_in own;
    size_t size = sizeof(own);

    pair_open(p, NULL);
    OK(fi_getname(&p->b.ep->fid, &own, &size));
    (void)snprintf(port, PORT, "%d", ntohs(own.sin_port));
}

static void call(struct caller *c, const char *port)
{
    int64_t until = now_ms() + WITHIN_S * 1000;

    ck_assert_int_eq(zcrp_connect(&c->connection, "127.0.0.1", port, &options, 0), ZCRP_OK);
    while (zcrp_connection_status(c->connection) == ZCRP_ERROR_BUSY && now_ms() < until)
        nodes_turn();
    ck_assert_int_eq(zcrp_connection_status(c->connection), ZCRP_OK);
}

static void call_as(struct caller *c, const char *port, uint8_t number)
{
    call(c, port);
    greet(c, CONTROL, number);
}

enum { CALM_MS = 1000 }; /* in which nothing lands: no more will */

static int landed_of(struct zcrp_msg *const messages[], int count)
{
    int landed = 0;

    for (int i = 0; i < count; i++)
        landed += zcrp_error(messages[i]) == ZCRP_OK;
    return landed;
}

/* Until all have landed, or no more do; how many have? */
static int await_landings(struct zcrp_msg *const messages[], int count)
{
    int64_t until = now_ms() + CALM_MS;
    int landed = 0;

    while (landed < count && now_ms() < until) {
        for (int i = 0; i < 100; i++)
            nodes_turn();
        int now = landed_of(messages, count);
        if (now > landed)
            until = now_ms() + CALM_MS;
        landed = now;
    }
    return landed;
}

/* Sends as much as it may; how many messages have landed? */
static int flood(struct caller *c, int count)
{
    static struct zcrp_msg *out[10000];

    for (int i = 0; i < count; i++) {
        out[i] = zcrp_alloc_msg(ZCRP_COPY_MOST);
        write_eager(out[i]->buffer);
        while (zcrp_submit(zcrp_connection_sender(c->connection), out[i], ZCRP_COPY_MOST) ==
               ZCRP_ERROR_BUSY)
            nodes_turn();
        if (i % 32 == 0)
            nodes_turn();
    }
    int landed = await_landings(out, count);
    for (int i = 0; i < count; i++) {
        (void)zcrp_cancel(out[i]);
        zcrp_free_msg(out[i]);
    }
    return landed;
}

static int look(const struct node *n, uint64_t tag)
{
    const struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .tag = tag};

    OK(fi_trecvmsg(n->ep, &m, FI_PEEK));
    return take(n->received).err;
}

/* A message of one that the program does not know waits. When the program gets to know its address,
 * the message is there for whoever only looks. */
static void meet_late(const struct node *n)
{
    static uint8_t bytes[EAGER];
    struct node late;

    node_open(&late, NULL);
    fi_addr_t to = node_meet(&late, n);
    OK(fi_tinject(late.ep, bytes, EAGER, to, 2));
    for (int64_t until = now_ms() + CALM_MS; now_ms() < until;)
        ck_assert_int_eq(look(n, 2), FI_ENOMSG);
    (void)node_meet(n, &late);
    int64_t until = now_ms() + WITHIN_S * 1000;
    while (look(n, 2) != 0)
        ck_assert_msg(now_ms() < until, "its message does not come");
    node_close(&late);
}

/* What strangers have sent is bounded, however many addresses they make up, and also when they have
 * gone. A peer that the program knows has memory of its own. */
TEST(hostile__strangers)
{
    enum { RING = 64, STRANGERS = 4, EACH = (64 << 20) / ZCRP_COPY_MOST + 2 * RING };
    uint8_t in[SMALL];
    struct caller c;
    char port[PORT];
    struct pair p;

    open_pair_at(&p, port);
    for (uint8_t i = 0; i < STRANGERS; i++) {
        call_as(&c, port, i);
        ck_assert_int_gt(flood(&c, EACH), EACH - 2 * RING - 200);
        (void)zcrp_connection_close(c.connection);
    }
    for (uint8_t i = 0; i < 2; i++) {
        call_as(&c, port, STRANGERS + i);
        ck_assert_int_le(flood(&c, 2 * RING), RING);
        (void)zcrp_connection_close(c.connection);
    }
    POST(fi_tinject(p.a.ep, in, SMALL, p.to_b, 1));
    POST(fi_trecv(p.b.ep, in, SMALL, NULL, FI_ADDR_UNSPEC, 1, 0, in));
    (void)take_of(p.b.received, in);
    meet_late(&p.b);
    pair_close(&p);
}

/* ---- one that says it is another */

/* With this number as its data. */
static void say_number(struct caller *c, uint8_t number)
{
    uint8_t message[ZCRP_COPY_MOST];

    write_eager(message);
    message[1] = 2;
    message[16] = number;
    ck_assert_int_eq(
        zcrp_send_copy(zcrp_connection_sender(c->connection), message, sizeof(message)), ZCRP_OK);
}

static uint64_t take_number(const struct node *n)
{
    static uint8_t in[ZCRP_COPY_MOST];

    POST(fi_recv(n->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in));
    return take_of(n->received, in).data;
}

static void await_end(const struct caller *c)
{
    int64_t until = now_ms() + WITHIN_S * 1000;

    while (zcrp_connection_status(c->connection) == ZCRP_OK && now_ms() < until)
        nodes_turn();
    ck_assert_int_ne(zcrp_connection_status(c->connection), ZCRP_OK);
}

/* Who is there stays, also if its connection is only about to be up. */
TEST(hostile__calls_as_one_who_is_there)
{
    struct caller old, new;
    char port[PORT];
    struct pair p;

    open_pair_at(&p, port);
    call_as(&old, port, 1);
    say_number(&old, 1);
    ck_assert_uint_eq(take_number(&p.b), 1);
    call_as(&new, port, 1);
    await_end(&new);
    say_number(&old, 2);
    ck_assert_uint_eq(take_number(&p.b), 2);
    take_nothing(p.b.received);
    (void)zcrp_connection_close(old.connection);
    (void)zcrp_connection_close(new.connection);
    pair_close(&p);
}

/* ---- one whose messages wait for room */

enum { FILL = (64 << 20) / ZCRP_COPY_MOST + 128 };

/* They come one after another, and have no number. */
static void take_unnumbered(const struct node *n, int count)
{
    for (int i = 0; i < count; i++)
        ck_assert_uint_eq(take_number(n), 0);
}

/* It goes, and calls again: what it has sent before comes first. */
TEST(hostile__calls_again_while_its_messages_wait)
{
    struct caller c, bulk;
    char port[PORT];
    struct pair p;

    open_pair_at(&p, port);
    call_as(&c, port, 1);
    int landed = flood(&c, FILL);
    ck_assert_int_lt(landed, FILL);
    (void)zcrp_connection_close(c.connection);
    call_as(&c, port, 1);
    say_number(&c, 7);
    call(&bulk, port); /* which is not the old connection's */
    greet(&bulk, BULK, 1);
    for (int i = 0; i < 100; i++)
        nodes_turn();
    take_unnumbered(&p.b, landed);
    ck_assert_uint_eq(take_number(&p.b), 7);
    take_nothing(p.b.received);
    ck_assert_int_eq(zcrp_connection_status(bulk.connection), ZCRP_OK);
    (void)zcrp_connection_close(bulk.connection);
    (void)zcrp_connection_close(c.connection);
    pair_close(&p);
}

/* A process that calls the test's port, once that is known, and lives until it is killed. */
static pid_t start_caller(struct stage **s, void (*call_test)(const char *port))
{
    *s = mmap(NULL, sizeof(**s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(*s, MAP_FAILED);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child > 0)
        return child;
    char port[PORT];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (atomic_load(&(*s)->port_of_test) == 0)
        (void)usleep(1000);
    (void)snprintf(port, sizeof(port), "%d", atomic_load(&(*s)->port_of_test));
    call_test(port);
    atomic_store(&(*s)->is_over, true);
    for (;;)
        (void)pause();
}

static void kill_caller(struct stage *s, pid_t child)
{
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    (void)munmap(s, sizeof(*s));
}

/* The bulk link of a way. */
static void call_for_bulk(const char *port)
{
    struct caller c;

    if (zcrp_connect(&c.connection, "127.0.0.1", port, &options, -1) != ZCRP_OK)
        _exit(1);
    greet(&c, BULK, 1);
}

/* What has landed on the control link outlives the way's bulk link. */
TEST(hostile__bulk_dies_while_messages_wait)
{
    struct caller c;
    struct stage *s;
    char port[PORT];
    struct pair p;

    (void)unsetenv("ZCRP_NO_MEMORY");
    pid_t child = start_caller(&s, call_for_bulk);
    open_pair_at(&p, port);
    call_as(&c, port, 1);
    int landed = flood(&c, FILL);
    ck_assert_int_lt(landed, FILL);
    atomic_store(&s->port_of_test, atoi(port));
    while (!atomic_load(&s->is_over))
        nodes_turn();
    for (int i = 0; i < 1000; i++)
        nodes_turn();
    kill_caller(s, child);
    for (int64_t until = now_ms() + CALM_MS; now_ms() < until;)
        nodes_turn();
    take_unnumbered(&p.b, landed);
    await_end(&c);
    (void)zcrp_connection_close(c.connection);
    pair_close(&p);
}

/* ---- many that answer nothing any more */

enum { SILENT = 90 }; /* each of their ways takes the provider five seconds to close */

static void call_badly(const char *port)
{
    static const uint8_t greeting[32];
    struct caller c;

    for (int i = 0; i < SILENT; i++) {
        if (zcrp_connect(&c.connection, "127.0.0.1", port, &options, -1) != ZCRP_OK)
            _exit(1);
        post(&c, zcrp_alloc_msg(BUFFER_BYTES));
        say(&c, greeting, sizeof(greeting));
    }
}

/* The process has made its calls, the node does not know of them yet, and hears no more. */
static void let_call(struct stage *s, pid_t child, const char *port)
{
    int64_t until = now_ms() + WITHIN_S * 1000;
    int status = 0;

    atomic_store(&s->port_of_test, atoi(port));
    while (!atomic_load(&s->is_over) && now_ms() < until)
        (void)usleep(1000);
    ck_assert(atomic_load(&s->is_over));
    ck_assert_int_eq(kill(child, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    ck_assert(WIFSTOPPED(status));
}

/* An operation ends before the callers' connections are closed. Many of those close at once. */
TEST(hostile__callers_that_answer_no_close)
{
    uint8_t *large = filled(LARGE, 1);
    struct stage *s;
    char port[PORT];
    struct pair p;

    pid_t child = start_caller(&s, call_badly);
    open_pair_at(&p, port);
    pass(&p.b, p.to_a, &p.a, LARGE, 1);
    OK(fi_tsend(p.b.ep, large, LARGE, NULL, p.to_a, 2, large));
    let_call(s, child, port);
    for (int i = 0; i < 100; i++)
        node_turn(&p.b);
    node_close(&p.a);
    int64_t began = now_ms();
    (void)take_error(p.b.sent, large, FI_ECONNRESET);
    int64_t told = now_ms();
    node_close(&p.b);
    int64_t closed = now_ms();
    (void)printf("told after %lld ms, closed after %lld ms\n", (long long)(told - began),
                 (long long)(closed - began));
    ck_assert_int_lt(told - began, 10000);
    ck_assert_int_lt(closed - began, 20000);
    kill_caller(s, child);
    free(large);
}
