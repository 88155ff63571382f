#include "zcrp-bench/transports/carrier.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp.h"

int udp_failed(const struct transport *transport, const char *what, int code)
{
    return complain("%s: cannot %s: %s", transport->kind->name, what, zcrp_explain(code));
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

int udp_accept(struct transport *transport)
{
    const char *name = transport->kind->name;
    struct socket_address there;

    if (socket_address_peer(transport->control->fd, &there) < 0)
        return -1;
    socket_address_set_port(&there, transport->port);
    if (connect(transport->fd, &there.any, there.length) < 0)
        return complain("%s: cannot connect to the peer: %s", name, strerror(errno));
    return 0;
}

int udp_connect(struct transport *transport)
{
    struct address peer;

    if (address_peer(transport->control->fd, transport->port, &peer) < 0)
        return -1;
    snprintf(transport->channel, sizeof transport->channel, "udp");
    transport->fd = zcrp_udp_connect(peer.host, peer.port);
    if (transport->fd < 0)
        return udp_failed(transport, "connect", transport->fd);
    return zcrp_udp_port(transport->fd);
}

ssize_t udp_send(int fd, struct iovec *pieces, size_t count, size_t bytes, size_t segment)
{
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
    uint16_t size = (uint16_t)segment;
    union udp_note note = {0};

    if (bytes > segment) {
        message.msg_control = &note;
        message.msg_controllen = CMSG_SPACE(sizeof size);
        note.head.cmsg_level = IPPROTO_UDP;
        note.head.cmsg_type = UDP_SEGMENT;
        note.head.cmsg_len = CMSG_LEN(sizeof size);
        memcpy(CMSG_DATA(&note.head), &size, sizeof size);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

size_t udp_segment(struct msghdr *message, size_t bytes)
{
    const struct cmsghdr *note = CMSG_FIRSTHDR(message);
    int segment;

    if (note == NULL || note->cmsg_level != IPPROTO_UDP || note->cmsg_type != UDP_GRO)
        return bytes;
    memcpy(&segment, CMSG_DATA(note), sizeof segment);
    return (size_t)segment;
}

enum { USUAL_BUFFER = 4 << 20 };

void udp_grow(int fd, int plain, int force, uint64_t bytes)
{
    int size = bytes != 0 && bytes < INT_MAX / 2 ? (int)bytes : USUAL_BUFFER;
    int now = 0; /* as the kernel counts: twice */
    socklen_t length = sizeof now;

    if (getsockopt(fd, SOL_SOCKET, plain, &now, &length) == 0 && now >= 2 * size)
        return;
    if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof size) < 0)
        setsockopt(fd, SOL_SOCKET, plain, &size, sizeof size);
}

enum { USUAL_VCI = 32 };

static const int64_t linger_ns = 2000000000;

const char *const carrier_names[CARRIERS + 1] = {
    [CARRIER_AUTO] = "auto",     [CARRIER_UDP] = "udp",   [CARRIER_MEMORY] = "memory",
    [CARRIER_MAPPED] = "mapped", [CARRIER_AAL5] = "aal5", [CARRIER_AAL5_UDP] = "aal5-udp",
};

static const char *log_path; /* NULL: there is no key log */

void carrier_log_keys(const char *path)
{
    log_path = path;
}

static int make_keys(const struct settings *settings, struct zcrp_keys **keys)
{
    static const uint8_t key[32] = "every zcrp-bench has this key";

    *keys = NULL;
    if (!settings->has_keys)
        return ZCRP_OK;
    int code = zcrp_keys_psk(keys, "zcrp-bench", key, sizeof key);
    if (code == ZCRP_OK && log_path != NULL)
        code = zcrp_keys_log(*keys, log_path);
    if (code == ZCRP_OK)
        return ZCRP_OK;
    zcrp_keys_free(*keys);
    *keys = NULL;
    return code;
}

void carrier_name(const struct settings *settings, char name[TRANSPORT_CHANNEL_ROOM])
{
    uint64_t channel = settings->channel == CARRIER_AUTO ? CARRIER_UDP : settings->channel;

    snprintf(name, TRANSPORT_CHANNEL_ROOM, "%s%s", carrier_names[channel],
             settings->has_keys ? "+keys" : "");
}

static struct zcrp_aal5 circuits(const struct settings *settings, bool is_back)
{
    uint32_t first = settings->vci != 0 ? (uint32_t)settings->vci : USUAL_VCI;
    uint32_t vci = first + (is_back ? 2 : 0);

    return (struct zcrp_aal5){
        .vci = vci,
        .vci_control = vci + 1,
    };
}

struct zcrp_options carrier_options(const struct settings *settings, bool is_back)
{
    struct zcrp_options options = {
        .unit_bytes = (uint32_t)settings->unit_bytes,
        .messages = (uint32_t)settings->depth,
        .window_bytes = settings->window_bytes,
        .silence_ns = (int64_t)settings->limit_ns,
        .linger_ns = linger_ns,
        .send_buffer = (uint32_t)settings->buffer_bytes,
        .receive_buffer = (uint32_t)settings->buffer_bytes,
        .spin_ns = settings->is_spinless ? 1 : 0,
        .congestion = (int)settings->congestion,
    };

    if (settings->channel == CARRIER_UDP)
        options.flags = ZCRP_NO_MEMORY;
    if (carrier_is_memory(settings->channel))
        options.channel = ZCRP_CHANNEL_MEMORY;
    if (!carrier_is_aal5(settings->channel))
        return options;
    options.channel = ZCRP_CHANNEL_AAL5;
    options.aal5 = circuits(settings, is_back);
    return options;
}

bool carrier_is_memory(uint64_t channel)
{
    return channel == CARRIER_MEMORY || channel == CARRIER_MAPPED;
}

bool carrier_is_aal5(uint64_t channel)
{
    return channel == CARRIER_AAL5 || channel == CARRIER_AAL5_UDP;
}

bool carrier_was_memory(const struct counts *sender, uint64_t bytes)
{
    const uint64_t *value = sender->value;

    if (!sender->is_known)
        return false;
    return value[COUNT_bytes_copied_once] > bytes / 2 ||
           value[COUNT_system_calls] < value[COUNT_bursts]; /* over UDP each burst is a call */
}

/* Of a connection: the same at both ends. Connecting fails after the limit of the settings, too.
 * The caller frees the keys. A code. */
static int make_options(const struct transport *transport, struct zcrp_options *options)
{
    const struct settings *settings = transport->settings;

    *options = carrier_options(settings, transport->is_back);
    options->connect_ns = options->silence_ns;
    if (settings->peers > 0) {
        options->progress_ns = options->silence_ns;
        options->connections = 2 * (uint32_t)settings->peers; /* one host gets seven of eight */
        options->mapped_bytes = settings->mapped_bytes;
    }
    return make_keys(settings, &options->keys);
}

int carrier_listen(const struct transport *transport, struct zcrp_listener **listener)
{
    struct zcrp_options options;
    struct address here;

    if (address_local(transport->control->fd, &here) < 0)
        return -1;
    int code = make_options(transport, &options);
    if (code != ZCRP_OK)
        return udp_failed(transport, "make keys", code);
    code = zcrp_listen(listener, here.host, here.port, &options);
    if (code != ZCRP_OK)
        code = zcrp_listen(listener, here.host, "0", &options);
    zcrp_keys_free(options.keys);
    return code == ZCRP_OK ? zcrp_listener_port(*listener) : udp_failed(transport, "listen", code);
}

int carrier_accept(const struct transport *transport, struct zcrp_listener *listener,
                   struct zcrp_connection **connections, uint64_t count)
{
    int code = ZCRP_OK;

    for (uint64_t i = 0; i < count && code == ZCRP_OK; i++)
        code = zcrp_accept(listener, &connections[i], (int64_t)transport->settings->limit_ns);
    return code == ZCRP_OK ? 0 : udp_failed(transport, "accept", code);
}

int carrier_connect(const struct transport *transport, struct zcrp_connection **connections,
                    uint64_t count)
{
    struct zcrp_options options;
    struct address peer;

    if (address_peer(transport->control->fd, transport->port, &peer) < 0)
        return -1;
    int code = make_options(transport, &options);
    if (code != ZCRP_OK)
        return udp_failed(transport, "make keys", code);
    for (uint64_t i = 0; i < count && code == ZCRP_OK; i++)
        code = zcrp_connect(&connections[i], peer.host, peer.port, &options, -1);
    zcrp_keys_free(options.keys);
    return code == ZCRP_OK ? 0 : udp_failed(transport, "connect", code);
}
