#include "zcrp-bench/transports/quic_end.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"

/* Room for one number of the kernel's. */
union note {
    struct cmsghdr head; /* aligns */
    uint8_t room[CMSG_SPACE(sizeof(int))];
};

static int failed(const char *doing)
{
    return complain("quic: cannot %s: %s", doing, strerror(errno));
}

int quic_socket_open(struct peer_address *here, int buffer)
{
    int fd = socket(here->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int one = 1;

    if (fd < 0)
        return failed("make a socket");
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one);
    if (bind(fd, &here->any, here->length) == 0 && getsockname(fd, &here->any, &here->length) == 0)
        return fd;
    failed("bind");
    close(fd);
    return -1;
}

int quic_socket_send(int fd, const uint8_t *burst, size_t bytes, size_t size)
{
    struct iovec piece = {(void *)burst, bytes};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    uint16_t segment = (uint16_t)size;
    union note note = {0};

    if (bytes > size) {
        message.msg_control = &note;
        message.msg_controllen = CMSG_SPACE(sizeof segment);
        note.head.cmsg_level = IPPROTO_UDP;
        note.head.cmsg_type = UDP_SEGMENT;
        note.head.cmsg_len = CMSG_LEN(sizeof segment);
        memcpy(CMSG_DATA(&note.head), &segment, sizeof segment);
    }
    while (sendmsg(fd, &message, MSG_NOSIGNAL) < 0) {
        if (errno == ECONNREFUSED)
            return 0;
        if (errno != EINTR)
            return failed("send");
    }
    return 0;
}

ssize_t quic_socket_receive(int fd, uint8_t burst[QUIC_BURST], size_t *size)
{
    struct iovec piece = {burst, QUIC_BURST};
    union note note = {0};
    struct msghdr message = {
        .msg_iov = &piece,
        .msg_iovlen = 1,
        .msg_control = &note,
        .msg_controllen = sizeof note,
    };
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);
    int segment = 0;

    if (got < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED ? 0 : failed("receive");
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_level == IPPROTO_UDP && head->cmsg_type == UDP_GRO)
        memcpy(&segment, CMSG_DATA(head), sizeof segment);
    *size = segment > 0 ? (size_t)segment : (size_t)got;
    return got;
}
