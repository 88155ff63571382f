#include "aal5.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "address.h"
#include "common/complain.h"
#include "udp.h"

enum { NO_PORT = 1, USUAL_VCI = 32 };

const char *const aal5_names[AAL5_CARRIERS] = {
    [AAL5_NONE] = "udp",
    [AAL5_RAW] = "aal5",
    [AAL5_OVER_UDP] = "aal5-udp",
};

static bool is_raw(const struct transport *transport)
{
    return transport->settings->channel == AAL5_RAW;
}

int aal5_offer(struct transport *transport)
{
    struct address here;

    if (!is_raw(transport))
        return udp_offer(transport);
    if (address_local(transport->control->fd, &here) < 0)
        return -1;
    transport->fd = zcrp_aal5_listen(here.host);
    return transport->fd >= 0 ? NO_PORT : udp_failed(transport, "listen", transport->fd);
}

/* The same peer, without a port. */
static int replace_by_peer(struct transport *transport)
{
    struct address peer;

    if (address_peer(transport->control->fd, &peer) < 0)
        return -1;
    transport->fd = zcrp_aal5_connect(peer.host);
    return transport->fd >= 0 ? NO_PORT : udp_failed(transport, "connect", transport->fd);
}

/* The address of the control connection's peer is known only now. */
int aal5_accept(struct transport *transport, int port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
        struct sockaddr_storage room;
    } peer;
    socklen_t size = sizeof peer;

    if (!is_raw(transport))
        return udp_accept(transport, port);
    if (getpeername(transport->control->fd, &peer.any, &size) < 0)
        return complain("%s: where is the peer?", transport->kind->name);
    if (peer.any.sa_family == AF_INET6)
        peer.ip6.sin6_port = 0;
    else
        peer.ip4.sin_port = 0;
    if (connect(transport->fd, &peer.any, size) < 0)
        return complain("%s: cannot connect to the peer", transport->kind->name);
    return 0;
}

int aal5_connect(struct transport *transport, int port)
{
    int own = is_raw(transport) ? replace_by_peer(transport) : udp_connect(transport, port);

    snprintf(transport->channel, sizeof transport->channel, "%s",
             aal5_names[transport->settings->channel]);
    return own;
}

void aal5_options(const struct transport *transport, struct zcrp_options *options)
{
    const struct settings *settings = transport->settings;
    uint32_t vci = settings->vci != 0 ? (uint32_t)settings->vci : USUAL_VCI;

    if (settings->channel == AAL5_NONE)
        return;
    vci += transport->is_back ? 2 : 0;
    options->channel = ZCRP_CHANNEL_AAL5;
    options->aal5 = (struct zcrp_aal5){
        .vpi = (uint32_t)settings->vpi,
        .vci = vci,
        .vci_control = vci + 1,
        .mtu = (uint32_t)settings->mtu,
        .faults = {.loss = (uint32_t)settings->cell_loss, .seed = settings->seed + vci},
    };
}
