/* Rendezvous, word by word (fabric/wire.h): the test is one of the two ranks itself. */
#include "node.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <zcrp.h>

LOAD(asleep)

enum { EAGER = 1, RTS = 2, CTS = 3 };
enum { CONTROL = 1, BULK = 2 };
enum {
    GREETING_BYTES = 32,
    ENVELOPE_BYTES = 32,
    GRANT_BYTES = 12,
    GRANTS_MOST = 16,
    CTS_MOST = ENVELOPE_BYTES + (GRANTS_MOST - 1) * GRANT_BYTES,
    MANY = 40,
    BYTES = 20000, /* of a message that goes by rendezvous */
};

static const struct zcrp_options options = {.linger_ns = 1};
static struct node n;

static void open_node(void)
{
    node_open(&n, NULL);
}

static void close_node(void)
{
    node_close(&n);
}

FIXTURE(open_node, close_node)

/* ---- words */

static void put(uint8_t *to, int bytes, uint64_t value)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static void write_envelope(uint8_t to[ENVELOPE_BYTES], uint8_t what, uint32_t id, uint64_t tag,
                           uint64_t length)
{
    memset(to, 0, ENVELOPE_BYTES);
    to[0] = what;
    to[1] = what == CTS ? 0 : 1;
    put(to + 4, 4, id);
    put(to + 8, 8, tag);
    put(to + 24, 8, length);
}

/* Adds a grant; the size. */
static size_t write_grant(uint8_t *cts, size_t size, uint64_t id, uint64_t length)
{
    if (size == 0) {
        write_envelope(cts, CTS, (uint32_t)id, 0, length);
        return ENVELOPE_BYTES;
    }
    put(cts + size, 4, id);
    put(cts + size + 4, 8, length);
    return size + GRANT_BYTES;
}

/* The id of grant i; MANY if the CTS has none. */
static uint64_t id_of_grant(const struct zcrp_msg *cts, uint64_t i)
{
    uint64_t at = i == 0 ? 4 : ENVELOPE_BYTES + (i - 1) * GRANT_BYTES;

    ck_assert_uint_eq(cts->buffer[0], CTS);
    return at < cts->length ? get(cts->buffer + at, 4) : MANY;
}

/* ---- messages of ZCRP */

static struct zcrp_msg *say(struct zcrp_connection *c, const uint8_t *bytes, size_t size)
{
    struct zcrp_msg *m = zcrp_alloc_msg(size);

    ck_assert_ptr_nonnull(m);
    memcpy(m->buffer, bytes, size);
    OK(zcrp_submit(zcrp_connection_sender(c), m, size));
    return m;
}

static struct zcrp_msg *post(struct zcrp_connection *c, size_t size)
{
    struct zcrp_msg *m = zcrp_alloc_msg(size);

    ck_assert_ptr_nonnull(m);
    OK(zcrp_submit(zcrp_connection_receiver(c), m, size));
    return m;
}

/* Until it has ended well, while the node goes on. */
static void await(const struct zcrp_msg *m)
{
    int64_t until = now_ms() + WITHIN_S * 1000;

    while (zcrp_error(m) == ZCRP_ERROR_BUSY) {
        ck_assert_int_lt(now_ms(), until);
        nodes_turn();
    }
    OK(zcrp_error(m));
}

static void forget(struct zcrp_msg *m)
{
    (void)zcrp_cancel(m);
    zcrp_free_msg(m);
}

static void forget_all(struct zcrp_msg *const messages[], int count)
{
    for (int i = 0; i < count; i++)
        forget(messages[i]);
}

/* ---- the test sends */

struct caller {
    struct zcrp_connection *control, *bulk;
};

static struct zcrp_connection *call(uint8_t channel)
{
    uint8_t greeting[GREETING_BYTES] = {'z', 'f', 'i', '1', channel, 4, 9, 0, 10, 0, 0, 1};
    struct zcrp_connection *c;
    struct sockaddr_in own;
    size_t bytes = sizeof(own);
    char port[16];

    OK(fi_getname(&n.ep->fid, &own, &bytes));
    (void)snprintf(port, sizeof(port), "%d", ntohs(own.sin_port));
    OK(zcrp_connect(&c, "127.0.0.1", port, &options, -1));
    OK(zcrp_send_copy(zcrp_connection_sender(c), greeting, sizeof(greeting)));
    return c;
}

/* The node has taken the greeting once it has this message. */
static void be_known(const struct caller *c)
{
    uint8_t in[SMALL], eager[ENVELOPE_BYTES];

    write_envelope(eager, EAGER, 0, MANY, 0);
    POST(fi_trecv(n.ep, in, SMALL, NULL, FI_ADDR_UNSPEC, MANY, 0, in));
    struct zcrp_msg *m = say(c->control, eager, sizeof(eager));
    (void)take_of(n.received, in);
    await(m);
    zcrp_free_msg(m);
}

static struct zcrp_msg *announce(const struct caller *c, int i)
{
    uint8_t rts[ENVELOPE_BYTES];

    write_envelope(rts, RTS, (uint32_t)i, (uint64_t)i, BYTES);
    return say(c->control, rts, sizeof(rts));
}

static struct zcrp_msg *send_bulk(const struct caller *c, int i)
{
    uint8_t *bytes = filled(BYTES, (uint64_t)i);
    struct zcrp_msg *m = say(c->bulk, bytes, BYTES);

    free(bytes);
    return m;
}

/* One that comes alone is granted alone. */
static void send_one(const struct caller *c)
{
    uint8_t *in = blank(BYTES);
    struct zcrp_msg *cts = post(c->control, CTS_MOST);

    POST(fi_trecv(n.ep, in, BYTES, NULL, FI_ADDR_UNSPEC, 0, 0, in));
    struct zcrp_msg *rts = announce(c, 0);
    await(cts);
    ck_assert_uint_eq(cts->length, ENVELOPE_BYTES);
    struct zcrp_msg *m = send_bulk(c, 0);
    (void)take_of(n.received, in);
    ck_assert(pattern_holds(in, BYTES, 0));
    await(m);
    forget_all((struct zcrp_msg *[]){cts, rts, m}, 3);
    free(in);
}

/* Takes grants of all MANY, in order; returns in how many CTS they came. */
static int take_grants(struct zcrp_msg *const cts[MANY])
{
    int messages = 0;

    for (uint64_t granted = 0; granted < MANY; messages++) {
        uint64_t id;
        await(cts[messages]);
        for (uint64_t i = 0; (id = id_of_grant(cts[messages], i)) != MANY; i++)
            ck_assert_uint_eq(id, granted++);
    }
    return messages;
}

/* While the node reads no queue, MANY announcements land. Then the first one is granted at once,
 * and the others by as few messages as have room for them. */
TEST(bulk__many_are_granted_together)
{
    static struct zcrp_msg *cts[MANY], *rts[MANY], *m[MANY];
    static uint8_t *in[MANY];
    struct caller c = {.control = call(CONTROL)};

    be_known(&c);
    c.bulk = call(BULK);
    send_one(&c);
    for (int i = 0; i < MANY; i++) {
        in[i] = blank(BYTES);
        cts[i] = post(c.control, CTS_MOST);
        POST(fi_trecv(n.ep, in[i], BYTES, NULL, FI_ADDR_UNSPEC, (uint64_t)i, 0, in[i]));
    }
    for (int i = 0; i < MANY; i++)
        rts[i] = announce(&c, i);
    for (int i = 0; i < MANY; i++)
        OK(zcrp_wait_for(rts[i], WITHIN_S * INT64_C(1000000000)));
    ck_assert_int_eq(take_grants(cts), 1 + (MANY - 1 + GRANTS_MOST - 1) / GRANTS_MOST);
    for (int i = 0; i < MANY; i++)
        m[i] = send_bulk(&c, i);
    for (int i = 0; i < MANY; i++)
        (void)take_of(n.received, in[i]);
    for (int i = 0; i < MANY; i++) {
        ck_assert(pattern_holds(in[i], BYTES, (uint64_t)i));
        free(in[i]);
    }
    forget_all(cts, MANY);
    forget_all(rts, MANY);
    forget_all(m, MANY);
    (void)zcrp_connection_close(c.control);
    (void)zcrp_connection_close(c.bulk);
}

/* ---- the test receives */

struct callee {
    struct zcrp_listener *listener;
    struct zcrp_connection *control, *bulk;
    fi_addr_t to;
    uint8_t *out[MANY]; /* what the node sends, */
    int count;          /* so many */
    uint64_t id[MANY];  /* as they were announced, */
    int announced;      /* so many */
};

static void listen_for_node(struct callee *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    OK(zcrp_listen(&c->listener, "127.0.0.1", "0", &options));
    to.sin_port = htons((uint16_t)zcrp_listener_port(c->listener));
    c->to = node_insert(&n, (const uint8_t *)&to);
}

/* The node sends more messages, each with its number as its tag and seed. */
static void be_sent(struct callee *c, int more)
{
    for (int i = c->count; i < c->count + more; i++) {
        c->out[i] = filled(BYTES, (uint64_t)i);
        OK(fi_tsend(n.ep, c->out[i], BYTES, NULL, c->to, (uint64_t)i, c->out[i]));
    }
    c->count += more;
}

/* The first message of each connection says which it is. */
static void accept_node(struct callee *c)
{
    struct zcrp_connection *connection;

    for (int i = 0; i < 2; i++) {
        OK(zcrp_accept(c->listener, &connection, WITHIN_S * INT64_C(1000000000)));
        struct zcrp_msg *greeting = post(connection, GREETING_BYTES);
        await(greeting);
        *(greeting->buffer[4] == CONTROL ? &c->control : &c->bulk) = connection;
        zcrp_free_msg(greeting);
    }
    ck_assert_ptr_nonnull(c->control);
    ck_assert_ptr_nonnull(c->bulk);
}

static void take_announcements(struct callee *c)
{
    for (; c->announced < c->count; c->announced++) {
        struct zcrp_msg *rts = post(c->control, ENVELOPE_BYTES);
        await(rts);
        ck_assert_uint_eq(rts->buffer[0], RTS);
        ck_assert_uint_eq(get(rts->buffer + 8, 8), (uint64_t)c->announced);
        c->id[c->announced] = get(rts->buffer + 4, 4);
        zcrp_free_msg(rts);
    }
}

static void be_called(struct callee *c, int count)
{
    *c = (struct callee){.count = 0};
    listen_for_node(c);
    be_sent(c, count);
    accept_node(c);
    take_announcements(c);
}

static void end_call(struct callee *c)
{
    (void)zcrp_connection_close(c->control);
    (void)zcrp_connection_close(c->bulk);
    (void)zcrp_listener_close(c->listener);
    for (int i = 0; i < c->count; i++)
        free(c->out[i]);
}

/* The bulk messages come in the order of the grants, whether one CTS has them all, or each has one.
 */
TEST(bulk__messages_come_as_granted, .rows = 2)
{
    struct zcrp_msg *in[GRANTS_MOST], *cts[GRANTS_MOST];
    uint8_t bytes[CTS_MOST];
    struct callee c;
    size_t size = 0;
    int said = 0;

    be_called(&c, GRANTS_MOST);
    for (int i = 0; i < GRANTS_MOST; i++)
        in[i] = post(c.bulk, BYTES);
    for (int i = GRANTS_MOST - 1; i >= 0; i--) {
        size = write_grant(bytes, size, c.id[i], BYTES);
        if (_i == 0 && i > 0)
            continue;
        cts[said++] = say(c.control, bytes, size);
        size = 0;
    }
    for (int i = 0; i < GRANTS_MOST; i++) {
        await(in[i]);
        ck_assert_uint_eq(in[i]->length, BYTES);
        ck_assert(pattern_holds(in[i]->buffer, BYTES, (uint64_t)(GRANTS_MOST - 1 - i)));
    }
    for (int i = 0; i < GRANTS_MOST; i++)
        ck_assert_int_eq(take(n.sent).err, 0);
    forget_all(in, GRANTS_MOST);
    forget_all(cts, said);
    end_call(&c);
}

/* A receive may be smaller than the message, or want nothing of it. */
TEST(bulk__grants_of_less)
{
    uint8_t bytes[CTS_MOST];
    struct callee c;
    size_t size = 0;

    be_called(&c, 3);
    struct zcrp_msg *in[] = {post(c.bulk, BYTES), post(c.bulk, BYTES)};
    size = write_grant(bytes, size, c.id[0], 1);
    size = write_grant(bytes, size, c.id[1], 0);
    size = write_grant(bytes, size, c.id[2], BYTES - 1);
    struct zcrp_msg *cts = say(c.control, bytes, size);
    await(in[0]);
    await(in[1]);
    ck_assert_uint_eq(in[0]->length, 1);
    ck_assert_uint_eq(in[1]->length, BYTES - 1);
    ck_assert(pattern_holds(in[1]->buffer, BYTES - 8, 2));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(take(n.sent).err, 0);
    forget_all(in, 2);
    forget(cts);
    end_call(&c);
}

/* What no rank says in order; the sends end with an error. */
static const struct {
    int grants;
    int again;       /* this one grants what the first one does; 0: none */
    int unknown;     /* this one grants what was not announced; 0: none */
    int larger;      /* this one grants more than was announced; 0: none */
    size_t too_many; /* bytes behind the last one */
} wrong[] = {
    {.grants = 2, .again = 1},
    {.grants = 2, .unknown = 1},
    {.grants = 3, .larger = 2},
    {.grants = 2, .too_many = 1},
    {.grants = 1, .too_many = GRANT_BYTES - 1},
    {.grants = GRANTS_MOST + 1},
};

TEST(bulk__wrong_grants, .rows = ROWS(wrong))
{
    uint8_t bytes[CTS_MOST + 2 * GRANT_BYTES] = {0};
    struct callee c;
    size_t size = 0;

    be_called(&c, GRANTS_MOST + 1);
    for (int i = 0; i < wrong[_i].grants; i++) {
        uint64_t id = i > 0 && i == wrong[_i].again ? c.id[0] : c.id[i];
        if (i > 0 && i == wrong[_i].unknown)
            id = 0x7fffffff;
        size = write_grant(bytes, size, id, i > 0 && i == wrong[_i].larger ? BYTES + 1 : BYTES);
    }
    struct zcrp_msg *cts = say(c.control, bytes, size + wrong[_i].too_many);
    for (int i = 0; i < c.count; i++)
        ck_assert_int_ne(take(n.sent).err, 0);
    forget(cts);
    end_call(&c);
}

/* A program that sends on, and reads no queue meanwhile: what was granted leaves nevertheless. */
TEST(bulk__leaves_while_the_program_sends)
{
    enum { HALF = 8 };
    struct zcrp_msg *in[HALF], *cts[2];
    uint8_t bytes[CTS_MOST];
    struct callee c;
    size_t size = 0;

    be_called(&c, HALF);
    for (int i = 0; i < HALF; i++) {
        in[i] = post(c.bulk, BYTES);
        size = write_grant(bytes, size, c.id[i], BYTES);
    }
    cts[0] = say(c.control, bytes, size);
    OK(zcrp_wait_for(cts[0], WITHIN_S * INT64_C(1000000000)));
    be_sent(&c, HALF);
    for (int i = 0; i < HALF; i++) {
        OK(zcrp_wait_for(in[i], WITHIN_S * INT64_C(1000000000)));
        ck_assert(pattern_holds(in[i]->buffer, BYTES, (uint64_t)i));
    }
    take_announcements(&c);
    size = 0;
    for (int i = HALF; i < c.count; i++)
        size = write_grant(bytes, size, c.id[i], 0);
    cts[1] = say(c.control, bytes, size);
    for (int i = 0; i < c.count; i++)
        ck_assert_int_eq(take(n.sent).err, 0);
    forget_all(in, HALF);
    forget_all(cts, 2);
    end_call(&c);
}
