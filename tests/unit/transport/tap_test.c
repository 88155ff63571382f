/* What a tap is shown, over real sockets of this machine. */
#include "channel_pair.h"
#include "transport/channel.h"

enum { SHOWN_MOST = 4 * UNITS, SHOWN_BYTES = 2 * UNITS * SEGMENT };

/* What was shown at one end, in its order. */
struct shown {
    const struct channel *channel;
    uint32_t datagrams, outward;
    uint32_t bytes[SHOWN_MOST];
    uint32_t pieces[SHOWN_MOST];
    uint32_t end;
    uint8_t content[SHOWN_BYTES];
    int64_t newest_ns;
};

static struct shown out, in;

static void see(void *context, const struct channel *c, const struct channel_crossing *crossing)
{
    struct shown *shown = context;
    uint32_t start = shown->end;

    ck_assert_ptr_eq(c, shown->channel);
    ck_assert_uint_lt(shown->datagrams, SHOWN_MOST);
    for (uint32_t i = 0; i < crossing->count; i++) {
        ck_assert_uint_gt(crossing->pieces[i].iov_len, 0);
        ck_assert_uint_le(shown->end + crossing->pieces[i].iov_len, SHOWN_BYTES);
        memcpy(shown->content + shown->end, crossing->pieces[i].iov_base,
               crossing->pieces[i].iov_len);
        shown->end += (uint32_t)crossing->pieces[i].iov_len;
    }
    ck_assert_uint_eq(shown->end - start, crossing->bytes);
    ck_assert_int_ge(crossing->time_ns, shown->newest_ns);
    shown->newest_ns = crossing->time_ns;
    shown->outward += crossing->is_outward;
    shown->pieces[shown->datagrams] = crossing->count;
    shown->bytes[shown->datagrams++] = crossing->bytes;
}

static void open_tapped(enum family family, bool use_offloads)
{
    open_pair(family, use_offloads, use_offloads);
    memset(&out, 0, sizeof(out));
    memset(&in, 0, sizeof(in));
    out.channel = &pair->sender;
    in.channel = &pair->receiver;
    pair->sender.tap = (struct channel_tap){.see = see, .context = &out};
    pair->receiver.tap = (struct channel_tap){.see = see, .context = &in};
    fill_burst();
}

/* Datagram by datagram what the burst has. */
static void expect_burst(const struct shown *shown)
{
    const uint8_t *at = shown->content;

    ck_assert_uint_eq(shown->datagrams, UNITS);
    for (uint32_t i = 0; i < UNITS; i++) {
        const struct iovec *pieces = &pair->burst.iov[2 * i];

        ck_assert_uint_eq(shown->bytes[i], pieces[0].iov_len + TRAILER_BYTES);
        ck_assert_mem_eq(at, pieces[0].iov_base, pieces[0].iov_len);
        ck_assert_mem_eq(at + pieces[0].iov_len, pieces[1].iov_base, TRAILER_BYTES);
        at += shown->bytes[i];
    }
}

/* Every family, with offloads and without: what lands in place lies in two pieces. */
TEST(tap__burst, .rows = 2 * FAMILIES)
{
    bool use_offloads = _i / FAMILIES;

    open_tapped((enum family)(_i % FAMILIES), use_offloads);
    move_burst(pair->receiver.has_gro ? 1 : LANDING_OPENINGS);
    expect_burst(&out);
    expect_burst(&in);
    ck_assert_uint_eq(out.outward, UNITS);
    ck_assert_uint_eq(in.outward, 0);
    for (uint32_t i = 0; i < UNITS; i++)
        ck_assert_uint_eq(in.pieces[i], 2);
    expect_landed();
    close_pair();
}

/* A unit from five pieces of memory is shown as these, and its trailer. */
TEST(tap_send__scattered)
{
    struct burst *b;

    open_tapped(IP4, true);
    b = &pair->burst;
    split_unit(b, 1, 5);
    move_burst(pair->receiver.has_gro ? 1 : LANDING_OPENINGS);
    ck_assert_uint_eq(out.datagrams, UNITS);
    ck_assert_uint_eq(out.pieces[0], 2);
    ck_assert_uint_eq(out.pieces[1], 6);
    ck_assert_uint_eq(out.bytes[1], SEGMENT);
    ck_assert_mem_eq(out.content + SEGMENT, pair->from + DATA, DATA);
    ck_assert_mem_eq(in.content, out.content, out.end);
    close_pair();
}

/* A plan that is wrong everywhere: slots of other sizes, also empty ones. */
TEST(tap_receive__pieces_in_order)
{
    struct landing *l;
    int filled;

    open_tapped(IP4, true);
    l = &pair->landing;
    l->openings = 1;
    for (uint16_t i = 0; i < 90; i++)
        l->iov[i] = (struct iovec){pair->to + 700 * i, i % 7 ? 700 : 0};
    l->iov[90] = (struct iovec){pair->spill, sizeof(pair->spill)};
    l->first[0] = 0;
    l->first[1] = 91;
    uint32_t sent;
    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_OK);
    while (in.datagrams < UNITS && (filled = channel_receive(&pair->receiver, l)) > 0)
        ck_assert_int_eq(filled, 1);
    expect_burst(&in);
    ck_assert_uint_gt(in.pieces[0], 2);
    close_pair();
}

TEST(tap_receive__one_piece)
{
    uint32_t sent;

    open_tapped(IP4, false);
    memset(pair->burst.control, 0x42, 24);
    burst_set_control(&pair->burst, 24);
    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_OK);
    ck_assert_int_eq(receive_one(&pair->receiver), 24);
    ck_assert_uint_eq(out.datagrams, 1);
    ck_assert_uint_eq(in.datagrams, 1);
    ck_assert_uint_eq(in.bytes[0], 24);
    ck_assert_uint_eq(out.pieces[0], 1);
    ck_assert_mem_eq(in.content, out.content, 24);
    ck_assert_int_eq(receive_one(&pair->receiver), 0);
    ck_assert_uint_eq(in.datagrams, 1); /* nothing came: nothing is shown */
    close_pair();
}

/* A socket with room for a part of the burst: that is shown, and then nothing. */
TEST(tap_send__what_was_taken)
{
    int room = 20000;
    uint32_t taken, sent;

    open_tapped(LOCAL, false);
    ck_assert_int_eq(setsockopt(pair->fd[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &taken), CHANNEL_BLOCKED);
    ck_assert_uint_gt(taken, 0);
    ck_assert_uint_lt(taken, UNITS);
    ck_assert_uint_eq(out.datagrams, taken);
    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_BLOCKED);
    ck_assert_uint_eq(sent, 0);
    ck_assert_uint_eq(out.datagrams, taken);
    close_pair();
}

/* To an address that is named. What cannot be sent there is not shown. */
TEST(tap_send_to)
{
    static const union address nowhere = {.any.sa_family = AF_UNIX};

    open_tapped(IP4, false);
    const union address peer = pair->sender.peer;
    memset(pair->burst.control, 0x42, 24);
    burst_set_control(&pair->burst, 24);
    channel_send_to(&pair->sender, &pair->burst, &nowhere);
    ck_assert_uint_eq(out.datagrams, 0);
    channel_send_to(&pair->sender, &pair->burst, &peer);
    ck_assert_int_eq(receive_one(&pair->receiver), 24);
    ck_assert_uint_eq(out.datagrams, 1);
    ck_assert_uint_eq(out.outward, 1);
    ck_assert_uint_eq(out.pieces[0], 1);
    ck_assert_mem_eq(in.content, out.content, 24);
    close_pair();
}

TEST(channel_init__tap)
{
    struct channel_options options = {.tap = {.see = see, .context = &out}};
    struct channel c;

    open_pair(IP4, false, false);
    ck_assert_int_eq(channel_init(&c, pair->fd[0], &options), 0);
    ck_assert(c.tap.see == see);
    ck_assert_ptr_eq(c.tap.context, &out);
    ck_assert(pair->sender.tap.see == NULL);
    channel_fini(&c);
    close_pair();
}
