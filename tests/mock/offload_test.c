/* A sending kernel that cuts bursts wrongly, and says nothing: it eats them, or cuts at another
 * place. Then datagrams leave singly. And a receiving one that says a wrong length of what it has
 * joined. Then it joins no more. */
/* wrap: sendmsg sendmmsg recvmsg recvmmsg */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "../support/pattern.h"
#include "zcrp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

enum { SIZE = 1 << 20, MESSAGES = 20, EATEN_MOST = 60 };

enum cutting { CUTS, EATS, MISCUTS, MISJOINS };

static _Atomic enum cutting cutting;
static _Atomic uint64_t spoilt; /* calls' messages */

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags);

static ssize_t bytes_of(const struct msghdr *message)
{
    size_t bytes = 0;

    for (size_t i = 0; i < message->msg_iovlen; i++)
        bytes += message->msg_iov[i].iov_len;
    return (ssize_t)bytes;
}

static void miscut(const struct msghdr *message)
{
    struct cmsghdr *note = CMSG_FIRSTHDR(message);
    uint16_t segment;

    memcpy(&segment, CMSG_DATA(note), sizeof(segment));
    segment = (uint16_t)(segment - 8);
    memcpy(CMSG_DATA(note), &segment, sizeof(segment));
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    bool is_cut = message->msg_controllen > 0 && CMSG_FIRSTHDR(message)->cmsg_type == UDP_SEGMENT;
    enum cutting how = is_cut ? atomic_load(&cutting) : CUTS;

    if (how == EATS || how == MISCUTS)
        atomic_fetch_add(&spoilt, 1);
    if (how == EATS)
        return bytes_of(message);
    if (how == MISCUTS)
        miscut(message);
    return __real_sendmsg(fd, message, flags);
}

int __wrap_sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags)
{
    for (unsigned i = 0; i < count; i++) {
        ssize_t bytes = __wrap_sendmsg(fd, &message[i].msg_hdr, flags);
        if (bytes < 0)
            return i > 0 ? (int)i : -1;
        message[i].msg_len = (unsigned)bytes;
    }
    return (int)count;
}

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
int __real_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags,
                    struct timespec *limit);
int __wrap_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags,
                    struct timespec *limit);

static void misjoin(struct msghdr *message)
{
    for (struct cmsghdr *n = CMSG_FIRSTHDR(message); n; n = CMSG_NXTHDR(message, n)) {
        int segment;
        if (n->cmsg_level != IPPROTO_UDP || n->cmsg_type != UDP_GRO)
            continue;
        memcpy(&segment, CMSG_DATA(n), sizeof(segment));
        segment += 32;
        memcpy(CMSG_DATA(n), &segment, sizeof(segment));
        atomic_fetch_add(&spoilt, 1);
    }
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t bytes = __real_recvmsg(fd, message, flags);

    if (bytes > 0 && atomic_load(&cutting) == MISJOINS)
        misjoin(message);
    return bytes;
}

int __wrap_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags,
                    struct timespec *limit)
{
    int filled = __real_recvmmsg(fd, message, count, flags, limit);

    for (int i = 0; i < filled && atomic_load(&cutting) == MISJOINS; i++)
        misjoin(&message[i].msg_hdr);
    return filled;
}

static nbyte to[SIZE], from[SIZE];

static void transfer(struct zcrp_entity *sender, struct zcrp_entity *receiver, int messages)
{
    struct zcrp_msg *in = zcrp_wrap_msg(to, SIZE), *out = zcrp_wrap_msg(from, SIZE);

    for (int i = 0; i < messages; i++) {
        pattern_fill(from, SIZE, (uint64_t)i);
        assert_int_equal(zcrp_submit(receiver, in, SIZE), 0);
        assert_int_equal(zcrp_submit(sender, out, SIZE), 0);
        assert_int_equal(zcrp_wait_for(in, 60000000000), ZCRP_OK);
        assert_int_equal(zcrp_wait_for(out, 60000000000), ZCRP_OK);
        assert_true(pattern_holds(to, SIZE, (uint64_t)i));
    }
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* What is lost until it is found does not grow with what is sent. Of what is joined or cut at a
 * wrong place either end may know first. */
static void is_found(enum cutting how)
{
    const struct zcrp_options options = {
        .unit_bytes = 1472, .linger_ns = 200000000, .flags = ZCRP_NO_MEMORY};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *sender, *receiver;
    struct zcrp_stats of_sender, of_receiver;

    atomic_store(&cutting, how);
    atomic_store(&spoilt, 0);
    assert_int_equal(zcrp_open_sender(&sender, sockets.sender, &options), 0);
    assert_int_equal(zcrp_open_receiver(&receiver, sockets.receiver, &options), 0);
    transfer(sender, receiver, MESSAGES);
    assert_int_equal(zcrp_stats(sender, &of_sender), ZCRP_OK);
    assert_int_equal(zcrp_stats(receiver, &of_receiver), ZCRP_OK);
    uint64_t failures = of_sender.offload_failures + of_receiver.offload_failures;
    assert_true(how == CUTS ? failures == 0 : failures >= 1);
    assert_true(how == MISJOINS || of_sender.offload_failures == (how != CUTS));
    assert_true(atomic_load(&spoilt) < EATEN_MOST);
    (void)zcrp_close(sender);
    (void)zcrp_close(receiver);
    loopback_close(&sockets);
}

TEST(offload__bursts_that_are_cut_vanish)
{
    is_found(EATS);
}

TEST(offload__bursts_are_cut_at_another_place)
{
    is_found(MISCUTS);
}

TEST(offload__bursts_are_joined_wrongly)
{
    is_found(MISJOINS);
}

TEST(offload__bursts_are_cut_well)
{
    is_found(CUTS);
}
