/* The kernel for tests of socket_receive: it hands out arrivals, and its result is what the test
 * queued. */
#ifndef ZCRP_TESTS_MOCK_SOCKET_RECEIVE_RIG_H
#define ZCRP_TESTS_MOCK_SOCKET_RECEIVE_RIG_H

#include "channel/socket.h"

#include "../support/mock.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { FD = 5 };

/* What the kernel says beside the data of each message. */
struct arrival {
    unsigned bytes;
    int segment;    /* 0: no cmsg */
    uint32_t drops; /* 0: no cmsg */
    int flags;
    int tos, class; /* of IPv4, IPv6; 0: no cmsg */
};

static struct channel c;
static struct landing l;
static struct arrival arrival[LANDING_OPENINGS];
static uint8_t buffer[CONTROL_BYTES];
static int calls;

static void write_notes(struct msghdr *m, const struct arrival *a)
{
    struct cmsghdr *note = CMSG_FIRSTHDR(m);

    memset(m->msg_control, 0, m->msg_controllen);
    if (a->drops) {
        *note = (struct cmsghdr){CMSG_LEN(sizeof(a->drops)), SOL_SOCKET, SO_RXQ_OVFL};
        memcpy(CMSG_DATA(note), &a->drops, sizeof(a->drops));
        note = CMSG_NXTHDR(m, note);
    }
    if (a->segment) {
        *note = (struct cmsghdr){CMSG_LEN(sizeof(a->segment)), IPPROTO_UDP, UDP_GRO};
        memcpy(CMSG_DATA(note), &a->segment, sizeof(a->segment));
        note = CMSG_NXTHDR(m, note);
    }
    if (a->tos) {
        uint8_t tos = (uint8_t)a->tos;
        *note = (struct cmsghdr){CMSG_LEN(sizeof(tos)), IPPROTO_IP, IP_TOS};
        memcpy(CMSG_DATA(note), &tos, sizeof(tos));
        note = CMSG_NXTHDR(m, note);
    }
    if (a->class) {
        *note = (struct cmsghdr){CMSG_LEN(sizeof(a->class)), IPPROTO_IPV6, IPV6_TCLASS};
        memcpy(CMSG_DATA(note), &a->class, sizeof(a->class));
    }
    m->msg_controllen = (a->drops ? CMSG_SPACE(sizeof(uint32_t)) : 0) +
                        (a->segment ? CMSG_SPACE(sizeof(int)) : 0) + (a->tos ? CMSG_SPACE(1) : 0) +
                        (a->class ? CMSG_SPACE(sizeof(int)) : 0);
    m->msg_flags = a->flags;
}

static uint16_t from_port; /* of the host 0.0.0.0 */

static void write_name(struct msghdr *m)
{
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(from_port)};

    assert_true(m->msg_namelen >= sizeof(from));
    memcpy(m->msg_name, &from, sizeof(from));
    m->msg_namelen = sizeof(from);
}

/* A result that is not negative is the number of the arrival. */
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
    int result = MOCK_RESULT();

    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT);
    calls++;
    if (result < 0)
        return result;
    if (m->msg_name)
        write_name(m);
    write_notes(m, &arrival[result]);
    return arrival[result].bytes;
}

int __wrap_recvmmsg(int fd, struct mmsghdr *m, unsigned count, int flags, struct timespec *limit)
{
    int filled = MOCK_RESULT();

    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT);
    assert_null(limit);
    assert_int_equal(count, l.openings);
    calls++;
    for (int d = 0; d < filled; d++) {
        assert_ptr_equal(m[d].msg_hdr.msg_iov, &l.iov[l.first[d]]);
        assert_int_equal(m[d].msg_hdr.msg_iovlen, l.first[d + 1] - l.first[d]);
        m[d].msg_len = arrival[d].bytes;
        write_notes(&m[d].msg_hdr, &arrival[d]);
    }
    return filled;
}

/* Openings of 3, 5, 3, 5, ... pieces. */
static void plan(uint32_t openings)
{
    l.openings = openings;
    for (uint32_t d = 0; d < openings; d++)
        l.first[d + 1] = (uint16_t)(l.first[d] + (d % 2 ? 5 : 3));
}

static void setup(void)
{
    c = (struct channel){.fd = FD, .kind = CHANNEL_UDP4, .has_gro = true};
    memset(&l, 0, sizeof(l));
    l.received = 99;
    memset(arrival, 0, sizeof(arrival));
    plan(1);
    calls = 0;
}

static inline void expect_opening(uint32_t d, uint32_t bytes, uint32_t segment)
{
    assert_int_equal(l.bytes[d], bytes);
    assert_int_equal(l.segment[d], segment);
}

#endif
