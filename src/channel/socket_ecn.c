#include "socket_ecn.h"

#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>

struct names {
    int level, mark, tell;
};

static struct names names_of(const struct channel *c)
{
    if (c->kind == CHANNEL_UDP6)
        return (struct names){IPPROTO_IPV6, IPV6_TCLASS, IPV6_RECVTCLASS};
    return (struct names){IPPROTO_IP, IP_TOS, IP_RECVTOS};
}

static bool set(const struct channel *c, int level, int name, int value)
{
    return setsockopt(c->fd, level, name, &value, sizeof(value)) == 0;
}

void socket_ecn_begin(struct channel *c, const struct channel_options *options)
{
    struct names n = names_of(c);
    int before;
    socklen_t size = sizeof(before);

    c->ecn_before = -1;
    if (c->kind != CHANNEL_UDP4 && c->kind != CHANNEL_UDP6)
        return;
    if (options->reads_ecn)
        (void)set(c, n.level, n.tell, 1);
    if (!options->sends_ecn || getsockopt(c->fd, n.level, n.mark, &before, &size) != 0)
        return;
    if (set(c, n.level, n.mark, (before & ~IPTOS_ECN_MASK) | IPTOS_ECN_ECT0))
        c->ecn_before = before;
}

void socket_ecn_end(struct channel *c)
{
    struct names n = names_of(c);

    if (c->ecn_before >= 0)
        (void)set(c, n.level, n.mark, c->ecn_before);
    c->ecn_before = -1;
}

/* IPv4 says a byte, IPv6 an int. */
int socket_ecn_of(const struct cmsghdr *note)
{
    uint8_t byte = 0;
    int word = 0;

    if (note->cmsg_level == IPPROTO_IP && note->cmsg_type == IP_TOS) {
        memcpy(&byte, CMSG_DATA(note), sizeof(byte));
        word = byte;
    } else if (note->cmsg_level == IPPROTO_IPV6 && note->cmsg_type == IPV6_TCLASS) {
        memcpy(&word, CMSG_DATA(note), sizeof(word));
    }
    return word & IPTOS_ECN_MASK;
}
