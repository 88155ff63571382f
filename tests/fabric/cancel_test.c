/* Receives that are cancelled: each ends once, cancelled or with its message. */
#include "node.h"

PAIR_FIXTURE

static uint8_t in[3][SMALL];

static void post(bool is_tagged, uint8_t *to)
{
    if (is_tagged)
        POST(fi_trecv(p.b.ep, to, SMALL, NULL, FI_ADDR_UNSPEC, 1, 0, to));
    else
        POST(fi_recv(p.b.ep, to, SMALL, NULL, FI_ADDR_UNSPEC, to));
}

static void say(bool is_tagged)
{
    static uint8_t out[SMALL];

    if (is_tagged)
        POST(fi_tsend(p.a.ep, out, SMALL, NULL, p.to_b, 1, out));
    else
        POST(fi_send(p.a.ep, out, SMALL, NULL, p.to_b, out));
    (void)take_of(p.a.sent, out);
}

/* Its memory is the program's again: nothing lands there any more. */
TEST(cancel__of_a_posted_receive, .rows = 2)
{
    bool is_tagged = _i == 1;

    post(is_tagged, in[0]);
    post(is_tagged, in[1]);
    post(is_tagged, in[2]);
    OK(fi_cancel(&p.b.ep->fid, in[1]));
    struct fi_cq_err_entry e = take_error(p.b.received, in[1], FI_ECANCELED);
    ck_assert((e.flags & FI_RECV) != 0);
    memset(in[1], 0x33, SMALL);
    say(is_tagged);
    (void)take_of(p.b.received, in[0]);
    say(is_tagged);
    (void)take_of(p.b.received, in[2]);
    ck_assert(pattern_is_even(in[1], SMALL, 0x33));
    (void)fi_cancel(&p.b.ep->fid, in[1]); /* again: nothing */
    take_nothing(p.b.received);
}

/* Of one that has ended, or of a context that nobody uses. */
TEST(cancel__of_nothing, .rows = 2)
{
    bool is_tagged = _i == 1;

    post(is_tagged, in[0]);
    (void)fi_cancel(&p.b.ep->fid, in[2]);
    say(is_tagged);
    (void)take_of(p.b.received, in[0]);
    (void)fi_cancel(&p.b.ep->fid, in[0]);
    (void)fi_cancel(&p.b.ep->fid, NULL);
    take_nothing(p.b.received);
    post(is_tagged, in[1]);
    say(is_tagged);
    (void)take_of(p.b.received, in[1]);
}

/* While its message is on the way: one completion, and the next message is whole. */
TEST(cancel__beside_its_message, .rows = 20)
{
    enum { SIZE = 1 << 20 };
    uint8_t *large = blank(SIZE), *out = filled(SIZE, 4), *rest = blank(SIZE);

    POST(fi_trecv(p.b.ep, large, SIZE, NULL, FI_ADDR_UNSPEC, 1, 0, large));
    POST(fi_tsend(p.a.ep, out, SIZE, NULL, p.to_b, 1, out));
    for (int i = 0; i < _i * 10; i++)
        nodes_turn();
    (void)fi_cancel(&p.b.ep->fid, large);
    struct fi_cq_err_entry e = take(p.b.received);
    ck_assert_ptr_eq(e.op_context, large);
    ck_assert(e.err == 0 || e.err == FI_ECANCELED);
    if (e.err == 0) {
        ck_assert(pattern_holds(large, SIZE, 4));
    } else { /* it is still to be had */
        POST(fi_trecv(p.b.ep, rest, SIZE, NULL, FI_ADDR_UNSPEC, 1, 0, rest));
        (void)take_of(p.b.received, rest);
        ck_assert(pattern_holds(rest, SIZE, 4));
    }
    (void)take_of(p.a.sent, out);
    take_nothing(p.b.received);
    pass(&p.a, p.to_b, &p.b, LARGE, 2);
    free(large);
    free(out);
    free(rest);
}
