/* Which receive a message goes to: tags, sources, messages that came first, and looks at those. */
#include "node.h"

LOAD(asleep)

PAIR_FIXTURE

/* Looks for a message with this tag at b; the completion, whose err is FI_ENOMSG if there is none.
 */
static struct fi_cq_err_entry look(uint64_t tag, uint64_t ignore, uint64_t flags,
                                   struct fi_context *context)
{
    const struct fi_msg_tagged m = {
        .addr = FI_ADDR_UNSPEC, .tag = tag, .ignore = ignore, .context = context};

    POST(fi_trecvmsg(p.b.ep, &m, flags));
    struct fi_cq_err_entry e = take(p.b.received);
    ck_assert_ptr_eq(e.op_context, context);
    return e;
}

/* Waits until a message with this tag has come, and leaves it there. */
static void await_tag(uint64_t tag)
{
    struct fi_context context;
    int64_t until = now_ms() + WITHIN_S * 1000;

    while (look(tag, 0, FI_PEEK, &context).err != 0) {
        ck_assert_int_lt(now_ms(), until);
        nodes_turn();
    }
}

/* ---- tags */

#define HIGH (UINT64_C(1) << 63)

static const struct {
    uint64_t sent, posted, ignore;
    bool matches;
} tags[] = {
    {5, 5, 0, true},
    {5, 4, 0, false},
    {5, 4, 1, true},
    {0x1205, 0x1200, 0xff, true},
    {0x1305, 0x1200, 0xff, false},
    {0x1205, 0x12ff, 0xff, true}, /* bits of the receive that are ignored */
    {~UINT64_C(0), 0, ~UINT64_C(0), true},
    {HIGH | 7, 7, 0, false},
    {HIGH | 7, 7, HIGH, true},
    {HIGH, HIGH, 0, true},
    {0, 0, 0, true},
};

static void send_tagged(uint64_t tag, size_t size)
{
    uint8_t *out = filled(size, tag);

    POST(fi_tsend(p.a.ep, out, size, NULL, p.to_b, tag, out));
    (void)take_of(p.a.sent, out);
    free(out);
}

TEST(tags__posted_first, .rows = ROWS(tags))
{
    uint8_t first[SMALL], any[SMALL];

    POST(fi_trecv(p.b.ep, first, SMALL, NULL, FI_ADDR_UNSPEC, tags[_i].posted, tags[_i].ignore,
                  first));
    POST(fi_trecv(p.b.ep, any, SMALL, NULL, FI_ADDR_UNSPEC, 0, ~UINT64_C(0), any));
    send_tagged(tags[_i].sent, SMALL);
    struct fi_cq_err_entry e = take(p.b.received);
    ck_assert_int_eq(e.err, 0);
    ck_assert_ptr_eq(e.op_context, tags[_i].matches ? first : any);
    ck_assert_uint_eq(e.tag, tags[_i].sent);
    ck_assert(pattern_holds(e.op_context, SMALL, tags[_i].sent));
}

TEST(tags__sent_first, .rows = ROWS(tags))
{
    uint8_t first[SMALL], any[SMALL];

    send_tagged(tags[_i].sent, SMALL);
    await_tag(tags[_i].sent);
    POST(fi_trecv(p.b.ep, first, SMALL, NULL, FI_ADDR_UNSPEC, tags[_i].posted, tags[_i].ignore,
                  first));
    if (!tags[_i].matches)
        take_nothing(p.b.received);
    POST(fi_trecv(p.b.ep, any, SMALL, NULL, FI_ADDR_UNSPEC, 0, ~UINT64_C(0), any));
    struct fi_cq_err_entry e = take(p.b.received);
    ck_assert_ptr_eq(e.op_context, tags[_i].matches ? first : any);
    ck_assert(pattern_holds(e.op_context, SMALL, tags[_i].sent));
}

/* Tagged and untagged messages never meet, whichever comes first. */
TEST(tags__and_none, .rows = 2)
{
    uint8_t tagged[SMALL], plain[SMALL], out[SMALL];

    pattern_fill(out, SMALL, 9);
    for (int i = 0; i < 2; i++) {
        bool is_tagged = i == _i;
        if (is_tagged)
            POST(fi_tsend(p.a.ep, out, SMALL, NULL, p.to_b, 0, out));
        else
            POST(fi_send(p.a.ep, out, SMALL, NULL, p.to_b, out));
        (void)take_of(p.a.sent, out);
    }
    POST(fi_recv(p.b.ep, plain, SMALL, NULL, FI_ADDR_UNSPEC, plain));
    (void)take_of(p.b.received, plain);
    take_nothing(p.b.received);
    POST(fi_trecv(p.b.ep, tagged, SMALL, NULL, FI_ADDR_UNSPEC, 0, ~UINT64_C(0), tagged));
    (void)take_of(p.b.received, tagged);
}

TEST(tags__the_first_that_matches)
{
    uint8_t in[3][SMALL];

    POST(fi_trecv(p.b.ep, in[0], SMALL, NULL, FI_ADDR_UNSPEC, 1, 0, in[0]));
    POST(fi_trecv(p.b.ep, in[1], SMALL, NULL, FI_ADDR_UNSPEC, 0, 0xff, in[1]));
    POST(fi_trecv(p.b.ep, in[2], SMALL, NULL, FI_ADDR_UNSPEC, 2, 0, in[2]));
    send_tagged(2, SMALL);
    (void)take_of(p.b.received, in[1]);
    send_tagged(2, SMALL);
    (void)take_of(p.b.received, in[2]);
    send_tagged(1, SMALL);
    (void)take_of(p.b.received, in[0]);
}

/* ---- sources (FI_DIRECTED_RECV) */

static void post(bool is_tagged, uint8_t *in, fi_addr_t from)
{
    if (is_tagged)
        POST(fi_trecv(p.b.ep, in, LARGE, NULL, from, 3, 0, in));
    else
        POST(fi_recv(p.b.ep, in, LARGE, NULL, from, in));
}

static void say(const struct node *n, fi_addr_t to, bool is_tagged, uint8_t *out, size_t size)
{
    if (is_tagged)
        POST(fi_tsend(n->ep, out, size, NULL, to, 3, out));
    else
        POST(fi_send(n->ep, out, size, NULL, to, out));
    (void)take_of(n->sent, out);
}

/* Rows: tagged; the messages come first. */
TEST(source__of_a_directed_receive, .rows = 4)
{
    bool is_tagged = _i % 2 == 1, is_first = _i / 2 == 1;
    uint8_t *of_c = blank(LARGE), *of_any = blank(LARGE), *out = filled(LARGE, 8);
    struct node c;

    node_open(&c, NULL);
    fi_addr_t from_c = node_meet(&p.b, &c), to = node_meet(&c, &p.b);
    if (is_first) {
        say(&p.a, p.to_b, is_tagged, out, SMALL);
        say(&c, to, is_tagged, out, SMALL - 1);
        take_nothing(p.b.received);
    }
    post(is_tagged, of_c, from_c);
    if (!is_first) {
        say(&p.a, p.to_b, is_tagged, out, SMALL);
        take_nothing(p.b.received);
        say(&c, to, is_tagged, out, SMALL - 1);
    }
    ck_assert_uint_eq(take_of(p.b.received, of_c).len, SMALL - 1);
    post(is_tagged, of_any, FI_ADDR_UNSPEC);
    ck_assert_uint_eq(take_of(p.b.received, of_any).len, SMALL);
    node_close(&c);
    free(of_c);
    free(of_any);
    free(out);
}

/* ---- messages that nobody expects */

TEST(unexpected__many)
{
    enum { COUNT = 3000 };
    uint8_t in[SMALL], out[SMALL];

    for (uint64_t i = 0; i < COUNT; i++) {
        pattern_fill(out, SMALL, i);
        POST(fi_tinject(p.a.ep, out, 8, p.to_b, i));
    }
    for (uint64_t i = COUNT; i-- > 0;) {
        POST(fi_trecv(p.b.ep, in, SMALL, NULL, p.to_a, i, 0, in));
        ck_assert_uint_eq(take_of(p.b.received, in).len, 8);
        ck_assert(pattern_holds(in, 8, i));
    }
}

TEST(unexpected__large)
{
    enum { COUNT = 20, SIZE = 1000000 };
    uint8_t *out[COUNT], *in = blank(SIZE);

    for (uint64_t i = 0; i < COUNT; i++) {
        out[i] = filled(SIZE, i);
        POST(fi_tsend(p.a.ep, out[i], SIZE, NULL, p.to_b, i, out[i]));
    }
    await_tag(COUNT - 1);
    for (uint64_t i = COUNT; i-- > 0;) {
        POST(fi_trecv(p.b.ep, in, SIZE, NULL, FI_ADDR_UNSPEC, i, 0, in));
        (void)take_of(p.b.received, in);
        ck_assert(pattern_holds(in, SIZE, i));
        (void)take_of(p.a.sent, out[i]);
        free(out[i]);
    }
    free(in);
}

/* ---- looks at messages: as fabtests' rdm_tagged_peek has them */

static const size_t looked_at[] = {0, SMALL, LARGE};

/* A message of each of the tags 1 to 4 has come, with a number of its own as data. */
static void send_four(uint8_t *out[4], size_t size)
{
    for (uint64_t i = 0; i < 4; i++) {
        out[i] = filled(size, i + 1);
        POST(fi_tsenddata(p.a.ep, out[i], size, NULL, i + 100, p.to_b, i + 1, out[i]));
    }
    await_tag(4);
}

static void receive(uint8_t *in, size_t size, uint64_t tag, uint64_t flags, void *context)
{
    struct iovec one = {in, size};
    const struct fi_msg_tagged m = {
        .msg_iov = &one, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = tag, .context = context};

    POST(fi_trecvmsg(p.b.ep, &m, flags));
    ck_assert_uint_eq(take_of(p.b.received, context).len, size);
    ck_assert(pattern_holds(in, size, tag));
}

/* Discards what was claimed, which reads no buffers, whatever their number says. */
static void discard(uint64_t tag, void *context)
{
    const struct fi_msg_tagged m = {
        .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = tag, .context = context};

    POST(fi_trecvmsg(p.b.ep, &m, FI_CLAIM | FI_DISCARD));
    (void)take_of(p.b.received, context);
}

static void take_sends(uint8_t *out[4])
{
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(take(p.a.sent).err, 0);
    for (int i = 0; i < 4; i++)
        free(out[i]);
}

TEST(peek__finds, .rows = ROWS(looked_at))
{
    size_t size = looked_at[_i];
    uint8_t *out[4], *in = blank(size);
    struct fi_context context, claimed, discarded;

    send_four(out, size);
    ck_assert_int_eq(look(0xbad, 0, FI_PEEK, &context).err, FI_ENOMSG);
    ck_assert_int_eq(look(0xbad, 0, FI_PEEK | FI_CLAIM, &context).err, FI_ENOMSG);
    ck_assert_int_eq(look(0xbad, 0, FI_PEEK | FI_DISCARD, &context).err, FI_ENOMSG);
    for (int i = 0; i < 3; i++) { /* it stays, as long as it is only looked at */
        struct fi_cq_err_entry e = look(0, 7, FI_PEEK, &context);
        ck_assert_int_eq(e.err, 0);
        ck_assert_uint_eq(e.tag, 1);
        ck_assert_uint_eq(e.len, size);
        ck_assert((e.flags & FI_REMOTE_CQ_DATA) != 0);
        ck_assert_uint_eq(e.data, 100);
    }
    receive(in, size, 1, 0, &context);
    ck_assert_int_eq(look(2, 0, FI_PEEK | FI_CLAIM, &claimed).err, 0);
    ck_assert_int_eq(look(2, 0, FI_PEEK, &context).err, FI_ENOMSG); /* claimed */
    ck_assert_int_eq(look(3, 0, FI_PEEK | FI_DISCARD, &context).err, 0);
    ck_assert_int_eq(look(3, 0, FI_PEEK, &context).err, FI_ENOMSG); /* discarded */
    ck_assert_int_eq(look(4, 0, FI_PEEK | FI_CLAIM, &discarded).err, 0);
    receive(in, size, 2, FI_CLAIM, &claimed);
    discard(4, &discarded);
    take_sends(out);
    pass(&p.a, p.to_b, &p.b, size, 2);
    free(in);
}

/* ---- messages that are larger than their buffers */

static const struct {
    size_t sent, posted;
    bool is_tagged, is_first;
} cuts[] = {{SMALL, 10, true, false},    {SMALL, 10, false, false},      {LARGE, 1000, true, false},
            {LARGE, 1000, false, false}, {SMALL, 0, true, true},         {SMALL, 99, false, true},
            {LARGE, 0, true, true},      {LARGE, LARGE - 1, false, true}};

static void post_short(bool is_tagged, uint8_t *in, size_t size)
{
    if (is_tagged)
        POST(fi_trecv(p.b.ep, in, size, NULL, FI_ADDR_UNSPEC, 5, 0, in));
    else
        POST(fi_recv(p.b.ep, in, size, NULL, FI_ADDR_UNSPEC, in));
}

/* The rest is discarded, and counted in olen; the sender does not fail, nor does what follows. */
TEST(truncation__is_told, .rows = ROWS(cuts))
{
    size_t sent = cuts[_i].sent, posted = cuts[_i].posted;
    uint8_t *out = filled(sent, 5), *in = blank(LARGE);

    if (!cuts[_i].is_first)
        post_short(cuts[_i].is_tagged, in, posted);
    if (cuts[_i].is_tagged)
        POST(fi_tsend(p.a.ep, out, sent, NULL, p.to_b, 5, out));
    else
        POST(fi_send(p.a.ep, out, sent, NULL, p.to_b, out));
    POST(fi_tinject(p.a.ep, out, 8, p.to_b, 77)); /* comes behind it */
    if (cuts[_i].is_first) {
        await_tag(77);
        post_short(cuts[_i].is_tagged, in, posted);
    }
    struct fi_cq_err_entry e = take_error(p.b.received, in, FI_ETRUNC);
    ck_assert_uint_eq(e.olen, sent - posted);
    ck_assert(pattern_is_even(in + posted, LARGE - posted, 0xEE));
    if (cuts[_i].is_tagged)
        ck_assert_uint_eq(e.tag, 5);
    (void)take_of(p.a.sent, out);
    free(in);
    pass(&p.a, p.to_b, &p.b, LARGE, 6);
    free(out);
}
