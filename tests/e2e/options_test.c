/* Each option at the least of its range, at the most, and out of it. */
#include "../support/house.h"

LOAD(asleep)

enum { MESSAGE = 10000, WRONG_MOST = 2 };

/* A field of the options: where it is, its range, and values beside that. */
struct range {
    const char *name;
    size_t at, bytes;
    uint64_t least, most;
    uint64_t wrong[WRONG_MOST]; /* as far as they are not 0, which is the default */
    bool is_short;              /* at the least a message may fail */
    int channel;                /* that has this option */
};

#define FIELD(name)                                                                                \
#name, offsetof(struct zcrp_options, name), sizeof(((struct zcrp_options *)NULL)->name)
#define TIME                                                                                       \
    1, INT64_MAX,                                                                                  \
    {                                                                                              \
        (uint64_t) - 1, (uint64_t)INT64_MIN                                                        \
    }

static const struct range ranges[] = {
    {FIELD(unit_bytes), 64, 65507, {63, 65508}, false, 0},
    {FIELD(messages), 1, 1 << 20, {(1 << 20) + 1, UINT32_MAX}, false, 0},
    {FIELD(window_bytes), 1, UINT64_MAX, {0}, false, 0},
    {FIELD(silence_ns), TIME, true, 0},
    {FIELD(accept_ns), TIME, false, 0},
    {FIELD(linger_ns), TIME, false, 0},
    {FIELD(spin_ns), TIME, false, 0},
    {FIELD(connect_ns), TIME, true, 0},
    {FIELD(progress_ns), TIME, true, 0},
    {FIELD(send_buffer), 1, UINT32_MAX, {0}, false, 0},
    {FIELD(receive_buffer), 1, UINT32_MAX, {0}, false, 0},
    {FIELD(congestion), 1, 4, {5, UINT32_MAX}, false, 0},
    {FIELD(flags), 1, 63, {64, 1U << 31}, false, 0},
    {FIELD(channel), 1, 2, {4, UINT32_MAX}, false, 0},
    {FIELD(connections), 1, 1 << 20, {(1 << 20) + 1, UINT32_MAX}, false, 0},
    {FIELD(backlog), 1, 1 << 20, {(1 << 20) + 1, UINT32_MAX}, false, 0},
    {FIELD(mapped_bytes), 1, UINT64_C(1) << 44, {(UINT64_C(1) << 44) + 1, UINT64_MAX}, false, 0},
    {FIELD(aal5.vpi), 1, 255, {256, UINT32_MAX}, false, ZCRP_CHANNEL_AAL5},
    {FIELD(aal5.vci), 32, 4127, {31, 4128}, false, ZCRP_CHANNEL_AAL5},
    {FIELD(aal5.vci_control), 32, 4127, {31, 4128}, false, ZCRP_CHANNEL_AAL5},
    {FIELD(aal5.mtu), 1200, 65535, {1199, 65536}, false, ZCRP_CHANNEL_AAL5},
};

static struct zcrp_options options_with(const struct range *r, uint64_t value)
{
    struct zcrp_options options = {.channel = r->channel};
    uint32_t narrow = (uint32_t)value;

    memcpy((char *)&options + r->at, r->bytes == 4 ? (void *)&narrow : (void *)&value, r->bytes);
    return options;
}

/* The code of opening an entity, which is closed again. */
static int open_one(const struct loopback *sockets, bool is_sender,
                    const struct zcrp_options *options)
{
    struct zcrp_entity *e;
    int code = ends_open_role(&e, sockets, is_sender, options);

    (void)zcrp_close(e);
    return code;
}

TEST(options__out_of_range, .rows = ROWS(ranges), .needs = loopback_is_udp)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_listener *listener;

    for (int i = 0; i < WRONG_MOST && ranges[_i].wrong[i] != 0; i++) {
        const struct zcrp_options options = options_with(&ranges[_i], ranges[_i].wrong[i]);
        printf("%s = %lld\n", ranges[_i].name, (long long)ranges[_i].wrong[i]);
        ck_assert_int_eq(open_one(&sockets, true, &options), ZCRP_ERROR_ARGUMENT);
        ck_assert_int_eq(open_one(&sockets, false, &options), ZCRP_ERROR_ARGUMENT);
        ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_ERROR_ARGUMENT);
    }
    loopback_close(&sockets);
}

/* A message crosses. Where a limit is so short that it may fail, it ends. */
static void move(const struct range *r, uint64_t value)
{
    const struct zcrp_options options = options_with(r, value);
    bool may_fail = value == r->least && r->is_short;
    struct ends e = ends_open(LOOPBACK_UDP4, false, &options);
    struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, 1);

    printf("%s = %lld\n", r->name, (long long)value);
    ends_submit(&e, in, out, MESSAGE);
    int sent = ends_wait(out);
    ck_assert_int_ne(sent, ZCRP_ERROR_TIMEOUT);
    if (!may_fail) {
        ck_assert_int_eq(sent, ZCRP_OK);
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        ck_assert(pattern_holds(in->buffer, MESSAGE, 1));
    }
    (void)zcrp_close(e.sender);
    (void)zcrp_close(e.receiver);
    ck_assert_int_ne(zcrp_error(in), ZCRP_ERROR_BUSY);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    loopback_close(&e.sockets);
}

TEST(options__least, .rows = ROWS(ranges), .needs = loopback_is_udp)
{
    move(&ranges[_i], ranges[_i].least);
}

TEST(options__most, .rows = ROWS(ranges), .needs = loopback_is_udp)
{
    move(&ranges[_i], ranges[_i].most);
}

/* The same of connections, which have some options alone. */
TEST(options__most_of_a_connection, .rows = ROWS(ranges), .needs = loopback_is_udp)
{
    struct zcrp_options options = options_with(&ranges[_i], ranges[_i].most);
    if (options.aal5.vci == 4127)
        options.aal5.vci_control = 32; /* there is no next one */
    struct house h = house_open("127.0.0.1", &options);
    struct both b = house_meet(&h, &options);

    printf("%s = %lld\n", ranges[_i].name, (long long)ranges[_i].most);
    house_pass(b.there, b.here, MESSAGE, 1);
    house_pass(b.here, b.there, MESSAGE, 2);
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}
