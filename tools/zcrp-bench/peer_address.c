#include "peer_address.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"

static void set_port(struct peer_address *address, int port)
{
    if (address->any.sa_family == AF_INET6)
        address->v6.sin6_port = htons((uint16_t)port);
    else
        address->v4.sin_port = htons((uint16_t)port);
}

int peer_address_here(const struct control *control, int port, struct peer_address *address)
{
    address->length = sizeof address->v6;
    if (getsockname(control->fd, &address->any, &address->length) < 0)
        return complain("a socket has no address: %s", strerror(errno));
    set_port(address, port);
    return 0;
}

int peer_address_there(const struct control *control, int port, struct peer_address *address)
{
    address->length = sizeof address->v6;
    if (getpeername(control->fd, &address->any, &address->length) < 0)
        return complain("a socket has no peer: %s", strerror(errno));
    set_port(address, port);
    return 0;
}

int peer_address_port(const struct peer_address *address)
{
    return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port : address->v4.sin_port);
}

int peer_address_free_port(const struct control *control)
{
    struct peer_address address;
    int port = -1;
    int fd;

    if (peer_address_here(control, 0, &address) < 0)
        return -1;
    fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, &address.any, address.length) == 0 &&
        getsockname(fd, &address.any, &address.length) == 0)
        port = peer_address_port(&address);
    if (fd >= 0)
        close(fd);
    return port >= 0 ? port : complain("there is no free port: %s", strerror(errno));
}
