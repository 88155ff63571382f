#include "zcrp-bench/transports/transport.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"

static const struct transport_kind *const kinds[] = {
    &transport_zcrp, &transport_tcp, &transport_unix, &transport_pipe, &transport_limit,
};

const struct transport_kind *transport_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    }
    const struct peer *peer = peers_find(name);
    return peer != NULL ? peer->kind : NULL;
}

/* With --peers a kind has connections. */
static int choose_kind(struct transport *transport)
{
    const char *name = transport->kind->name;

    transport->fd = -1;
    if (transport->settings->peers == 0)
        return 0;
    transport->kind = transport->kind->crowd;
    return transport->kind != NULL ? 0 : complain("--peers: zcrp and tcp only, not %s", name);
}

bool transport_is_simplex(const struct transport *transport)
{
    return transport->kind->is_simplex && transport->settings->is_connected == 0;
}

/* Hears "<verb> PORT". */
static int hear_port(struct transport *transport, const char *verb)
{
    const char *arguments = control_expect(transport->control, verb);

    if (arguments == NULL)
        return -1;
    long port = strtol(arguments, NULL, 10);
    transport->port = (int)port;
    return port > 0 && port < 65536 ? 0 : complain("the other end names no port");
}

/* The channel is open. From now on it loses what the settings ask for. */
static int spoil(const struct transport *transport)
{
    if (transport->settings->loss == 0)
        return 0;
    if (transport->fd < 0)
        return complain("--loss: %s has no socket of its own", transport->kind->name);
    return transport_lose(transport->fd, transport->settings->loss);
}

int transport_open(struct transport *transport)
{
    struct control *control = transport->control;

    if (choose_kind(transport) < 0 ||
        control_say(control, "%s %s", transport->is_back ? "back" : "open", transport->kind->name) <
            0 ||
        hear_port(transport, "opened") < 0)
        return -1;
    int port = transport->kind->connect(transport);
    if (port < 0 || control_say(control, "connected %d", port) < 0)
        return -1;
    if (transport->kind->meet != NULL && transport->kind->meet(transport) < 0)
        return -1;
    return control_expect(control, "open") != NULL ? spoil(transport) : -1;
}

int transport_answer(struct transport *transport)
{
    struct control *control = transport->control;

    int port = choose_kind(transport) < 0 ? -1 : transport->kind->offer(transport);
    if (port < 0 || control_say(control, "opened %d", port) < 0)
        return -1;
    if (hear_port(transport, "connected") < 0 || transport->kind->accept(transport) < 0)
        return -1;
    return spoil(transport) < 0 ? -1 : control_say(control, "open");
}

void transport_close(struct transport *transport)
{
    if (transport->kind == NULL)
        return;
    if (transport->kind->close != NULL)
        transport->kind->close(transport);
    if (transport->fd >= 0)
        close(transport->fd);
    *transport = (struct transport){0};
}

int transport_despair(struct transport *transport, int64_t since_ns)
{
    if (control_is_broken(transport->control) && control_hear(transport->control) < 0)
        return -1;
    if (clock_now_ns() - since_ns > (int64_t)transport->settings->limit_ns)
        return complain("%s: nothing moves", transport->kind->name);
    return 0;
}

int transport_go_on(struct transport *transport, bool has_moved, int64_t *since_ns)
{
    if (has_moved)
        *since_ns = 0;
    else if (*since_ns == 0)
        *since_ns = clock_now_ns();
    return has_moved ? 0 : transport_despair(transport, *since_ns);
}

int transport_begin(struct transport *transport)
{
    return transport->kind->begin != NULL ? transport->kind->begin(transport) : 0;
}

void transport_end(struct transport *transport)
{
    if (transport->kind->end != NULL)
        transport->kind->end(transport);
}

/* Weak: NULL where the file that defines it was left out of the build. */
extern const struct transport_kind transport_srt __attribute__((weak));
extern const struct transport_kind transport_quic __attribute__((weak));
extern const struct transport_kind transport_tls __attribute__((weak));
extern const struct transport_kind transport_ktls __attribute__((weak));

const struct peer peers[PEERS] = {
    {"srt", "libsrt-openssl-dev", "SRT in file mode", &transport_srt},
    {"quic", "libngtcp2-dev libngtcp2-crypto-gnutls-dev libgnutls28-dev",
     "QUIC, by ngtcp2 0.x; encrypts", &transport_quic},
    {"tls", "libssl-dev", "TLS 1.3 over TCP, by OpenSSL 3; encrypts", &transport_tls},
    {"ktls", "libssl-dev", "the same, sealed by the kernel", &transport_ktls},
};

const struct peer *peers_find(const char *name)
{
    for (size_t i = 0; i < PEERS; i++) {
        if (strcmp(peers[i].name, name) == 0)
            return &peers[i];
    }
    return NULL;
}

int peers_complain(const struct peer *peer)
{
    return complain("%s: not built in; install %s and build again", peer->name, peer->packages);
}

int transport_lose(int fd, uint64_t parts)
{
    /* A random number of 32 bits at or above this is kept. */
    const uint32_t threshold = (uint32_t)(parts * UINT32_MAX / LOSS_WHOLE);
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, threshold, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), /* all of it is kept */
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {.len = sizeof steps / sizeof *steps, .filter = steps};

    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0)
        return 0;
    return complain("--loss: the kernel cannot drop a socket's packets: %s", strerror(errno));
}
