#include "udp.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "address.h"
#include "common/complain.h"
#include "zcrp.h"

int udp_failed(const struct transport *transport, const char *what, int code)
{
    bool is_system = code == ZCRP_ERROR_SYSTEM;

    return complain("%s: cannot %s: %s%s%s", transport->kind->name, what, zcrp_strerror(code),
                    is_system ? ": " : "", is_system ? strerror(errno) : "");
}

/* The control connection's interface and, for the sake of firewalls, its port number; if that is
 * taken, any free one. */
int udp_offer(struct transport *transport)
{
    struct address here;
    int port;

    if (address_local(transport->control->fd, &here) < 0)
        return -1;
    transport->fd = zcrp_udp_listen(here.host, here.port);
    if (transport->fd < 0)
        transport->fd = zcrp_udp_listen(here.host, "0");
    if (transport->fd < 0)
        return udp_failed(transport, "listen", transport->fd);
    port = zcrp_udp_port(transport->fd);
    return port >= 0 ? port : udp_failed(transport, "listen", port);
}

/* The control connection's peer, at another port. */
static int find_peer(const struct transport *transport, int port, struct address *peer)
{
    if (address_peer(transport->control->fd, peer) < 0)
        return -1;
    snprintf(peer->port, sizeof peer->port, "%d", port);
    return 0;
}

int udp_accept(struct transport *transport, int port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    const char *name = transport->kind->name;
    struct addrinfo *found;
    struct address peer;
    int error;

    if (find_peer(transport, port, &peer) < 0)
        return -1;
    error = getaddrinfo(peer.host, peer.port, &hints, &found);
    if (error != 0)
        return complain("%s: cannot resolve the peer: %s", name, gai_strerror(error));
    error = connect(transport->fd, found->ai_addr, found->ai_addrlen) < 0 ? errno : 0;
    freeaddrinfo(found);
    return error == 0 ? 0 : complain("%s: cannot connect to the peer: %s", name, strerror(error));
}

int udp_connect(struct transport *transport, int port)
{
    struct address peer;

    if (find_peer(transport, port, &peer) < 0)
        return -1;
    snprintf(transport->channel, sizeof transport->channel, "udp");
    transport->fd = zcrp_udp_connect(peer.host, peer.port);
    if (transport->fd < 0)
        return udp_failed(transport, "connect", transport->fd);
    return zcrp_udp_port(transport->fd);
}
