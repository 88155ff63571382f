/* Marks of congestion over real sockets of this machine: what is sent, and what is read of it. */
#include "channel_pair.h"

#include <netinet/ip.h>

/* As a network would that is congested. */
static void send_as(enum family family, int type_of_service)
{
    bool is_6 = family == IP6;

    ck_assert_int_eq(setsockopt(pair->fd[0], is_6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                is_6 ? IPV6_TCLASS : IP_TOS, &type_of_service,
                                sizeof(type_of_service)),
                     0);
}

/* Moves a burst; what is said of all of it, or -1 if that is not one thing. */
static int moved_ecn(void)
{
    fill_burst();
    (void)move_burst(1);
    expect_landed();
    for (uint32_t d = 1; d < pair->landing.received; d++)
        if (pair->landing.ecn[d] != pair->landing.ecn[0])
            return -1;
    return pair->landing.ecn[0];
}

/* With and without each offload. */
TEST(ecn__is_said_of_each_opening, .rows = LOCAL * 4)
{
    enum family family = (enum family)(_i % LOCAL);

    open_pair_with(family, (struct channel_options){.use_gso = _i / LOCAL % 2, .sends_ecn = true},
                   (struct channel_options){.use_gro = _i / LOCAL / 2 % 2, .reads_ecn = true});
    ck_assert_int_eq(moved_ecn(), IPTOS_ECN_ECT0);
    send_as(family, IPTOS_ECN_CE);
    ck_assert_int_eq(moved_ecn(), LANDING_ECN_CONGESTED);
    send_as(family, IPTOS_ECN_ECT0);
    ck_assert_int_eq(moved_ecn(), IPTOS_ECN_ECT0);
    close_pair();
}

static int arriving_tos(int fd)
{
    union {
        struct cmsghdr head;
        uint8_t room[64];
    } notes;
    uint8_t bytes[16];
    struct iovec piece = {bytes, sizeof(bytes)};
    struct msghdr m = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &notes, .msg_controllen = sizeof(notes)};

    ck_assert_int_ge(recvmsg(fd, &m, MSG_DONTWAIT), 0);
    struct cmsghdr *n = CMSG_FIRSTHDR(&m);
    ck_assert_ptr_nonnull(n);
    return *CMSG_DATA(n); /* the low byte of an int, as well */
}

/* From init to fini, and beside what the user has set. */
TEST(ecn__is_what_is_sent, .rows = LOCAL)
{
    static const struct channel_options out = {.sends_ecn = true};
    enum family family = (enum family)_i;
    bool is_6 = family == IP6;
    int on = 1;

    pair = calloc(1, sizeof(*pair));
    open_sockets(family, pair->fd);
    send_as(family, 0xb8);
    ck_assert_int_eq(setsockopt(pair->fd[1], is_6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                is_6 ? IPV6_RECVTCLASS : IP_RECVTOS, &on, sizeof(on)),
                     0);
    ck_assert_int_eq(channel_init(&pair->sender, pair->fd[0], &out), 0);
    ck_assert_int_eq(send(pair->fd[0], "?", 1, 0), 1);
    ck_assert_int_eq(arriving_tos(pair->fd[1]), 0xb8 | IPTOS_ECN_ECT0);
    for (int i = 0; i < 4; i++) {
        bool may = i > 1; /* each twice */
        channel_mark(&pair->sender, may);
        ck_assert_int_eq(send(pair->fd[0], "?", 1, 0), 1);
        ck_assert_int_eq(arriving_tos(pair->fd[1]), may ? 0xb8 | IPTOS_ECN_ECT0 : 0xb8);
    }
    channel_fini(&pair->sender);
    ck_assert_int_eq(send(pair->fd[0], "?", 1, 0), 1);
    ck_assert_int_eq(arriving_tos(pair->fd[1]), 0xb8);
    close(pair->fd[0]);
    close(pair->fd[1]);
    free(pair);
}

static int priority_of(int fd)
{
    int value;
    socklen_t size = sizeof(value);

    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_PRIORITY, &value, &size), 0);
    return value;
}

/* The priority that the user has set stays: the kernel derives one from IPv4's type of service. */
TEST(ecn__leaves_the_priority, .rows = LOCAL)
{
    enum { PRIORITY = 5 };
    static const struct channel_options out = {.sends_ecn = true};
    const int wanted = PRIORITY;
    struct channel c;
    int fd[2];

    open_sockets((enum family)_i, fd);
    ck_assert_int_eq(setsockopt(fd[0], SOL_SOCKET, SO_PRIORITY, &wanted, sizeof(wanted)), 0);
    ck_assert_int_eq(channel_init(&c, fd[0], &out), 0);
    ck_assert_int_eq(priority_of(fd[0]), PRIORITY);
    channel_fini(&c);
    ck_assert_int_eq(priority_of(fd[0]), PRIORITY);
    close(fd[0]);
    close(fd[1]);
}
