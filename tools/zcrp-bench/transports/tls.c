/* TLS 1.3 over TCP (OpenSSL): what a program has today that wants a stream with keys. It writes
 * each message from its place with one call, which OpenSSL cuts into records of 16 KiB, and blocks.
 * `tls` seals in this process; `ktls` leaves that to the kernel, where the kernel can. The cipher
 * is the one that ZCRP takes on such a processor. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/stream.h"

extern const struct transport_kind transport_ktls;

enum { READ_AHEAD = 64 << 10, ONE_DAY = 86400, ERROR_ROOM = 200 };

struct tls_state {
    SSL_CTX *context;
    SSL *session;
};

static int failed(const struct transport *transport, const char *doing)
{
    char reason[ERROR_ROOM];

    ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
    return complain("%s: cannot %s: %s", transport->kind->name, doing, reason);
}

/* ---- setting up ---- */

static bool has_aes(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
    return (getauxval(AT_HWCAP) & 1 << 3) != 0; /* HWCAP_AES */
#else
    return false;
#endif
}

static bool fill(X509 *certificate, EVP_PKEY *key)
{
    return X509_set_version(certificate, X509_VERSION_3) == 1 &&
           ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -ONE_DAY) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), ONE_DAY) != NULL &&
           X509_set_pubkey(certificate, key) == 1 && X509_sign(certificate, key, EVP_sha256()) > 0;
}

/* The listening end's own. */
static bool use_certificate(SSL_CTX *context)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    bool is_used = key != NULL && certificate != NULL && fill(certificate, key) &&
                   SSL_CTX_use_certificate(context, certificate) == 1 &&
                   SSL_CTX_use_PrivateKey(context, key) == 1;

    X509_free(certificate);
    EVP_PKEY_free(key);
    return is_used;
}

/* Nobody verifies the certificate: only the rate counts here. A program must. */
static bool set_up(SSL_CTX *context, bool is_kernel)
{
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE);
    if (is_kernel) {
        SSL_CTX_set_options(context, SSL_OP_ENABLE_KTLS);
    } else {
        SSL_CTX_set_read_ahead(context, 1); /* fewer calls; more would be moved about in vain */
        SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD);
    }
    return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_num_tickets(context, 0) == 1 &&
           SSL_CTX_set_ciphersuites(context, has_aes() ? "TLS_AES_128_GCM_SHA256"
                                                       : "TLS_CHACHA20_POLY1305_SHA256") == 1;
}

static bool is_kernel(const struct transport *transport)
{
    return transport->kind == &transport_ktls;
}

/* Makes a session over the socket. A peer that is gone is an error of the call, not a signal. */
static int start(struct transport *transport, bool is_server)
{
    struct tls_state *state = calloc(1, sizeof *state);

    transport->state = state;
    signal(SIGPIPE, SIG_IGN);
    if (state == NULL)
        return complain("%s: no memory", transport->kind->name);
    state->context = SSL_CTX_new(TLS_method());
    if (state->context == NULL || !set_up(state->context, is_kernel(transport)) ||
        (is_server && !use_certificate(state->context)))
        return failed(transport, "set up TLS");
    state->session = SSL_new(state->context);
    if (state->session == NULL || SSL_set_fd(state->session, transport->fd) != 1)
        return failed(transport, "set up TLS");
    if (is_server)
        SSL_set_accept_state(state->session);
    else
        SSL_set_connect_state(state->session);
    return 0;
}

/* What becomes of a call that has moved nothing. */
static ssize_t nothing_moved(const struct transport *transport, int result, const char *doing)
{
    const struct tls_state *state = transport->state;
    int error = errno;

    switch (SSL_get_error(state->session, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        return complain("%s: the connection ended in the middle of a job", transport->kind->name);
    case SSL_ERROR_SYSCALL:
        return complain("%s: cannot %s: %s", transport->kind->name, doing,
                        error != 0 ? strerror(error) : "the connection ended");
    default:
        return failed(transport, doing);
    }
}

static int shake_hands(struct transport *transport)
{
    struct tls_state *state = transport->state;
    int64_t since = clock_now_ns();
    int result;

    while ((result = SSL_do_handshake(state->session)) != 1) {
        if (nothing_moved(transport, result, "shake hands") < 0 ||
            transport_despair(transport, since) < 0)
            return -1;
    }
    if (is_kernel(transport) && !BIO_get_ktls_send(SSL_get_wbio(state->session)))
        return complain("ktls: the kernel seals nothing for this OpenSSL");
    return 0;
}

static int accept_one(struct transport *transport)
{
    if (tcp_accept(transport) < 0 || start(transport, true) < 0)
        return -1;
    return shake_hands(transport);
}

/* The channel is TCP's, with this before it. */
static void name(struct transport *transport)
{
    char tcp[TRANSPORT_CHANNEL_ROOM];

    tcp_name(transport->fd, &transport->manner, tcp);
    snprintf(transport->channel, sizeof transport->channel, "%s-%s%.24s", transport->kind->name,
             has_aes() ? "aes" : "chacha", strchr(tcp, '/'));
}

static int connect_to(struct transport *transport)
{
    int own = tcp_connect(transport);

    if (own < 0 || start(transport, false) < 0)
        return -1;
    name(transport);
    return own;
}

/* ---- moving ---- */

static ssize_t write_some(struct transport *transport, const void *bytes, size_t size)
{
    struct tls_state *state = transport->state;
    uint64_t most = transport->manner.write_bytes;
    size_t sent = 0;
    int result = SSL_write_ex(state->session, bytes, most != 0 && most < size ? most : size, &sent);

    return result == 1 ? (ssize_t)sent : nothing_moved(transport, result, "send");
}

static ssize_t read_some(struct transport *transport, const struct iovec *pieces, int count)
{
    struct tls_state *state = transport->state;
    size_t got = 0;
    int result = SSL_read_ex(state->session, pieces->iov_base, pieces->iov_len, &got);

    (void)count;
    return result == 1 ? (ssize_t)got : nothing_moved(transport, result, "receive");
}

static const struct stream stream = {write_some, read_some, 1};

static void close_end(struct transport *transport)
{
    struct tls_state *state = transport->state;

    if (state == NULL)
        return;
    SSL_free(state->session);
    SSL_CTX_free(state->context);
    free(state);
}

/* The kernel says so of any socket, connected or not. */
static int check_kernel(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there = fd >= 0 && (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls") == 0 ||
                                errno == ENOTCONN);

    if (fd >= 0)
        close(fd);
    return is_there ? 0 : complain("ktls: left out: this kernel has no TLS (modprobe tls)");
}

#define TLS_CALLS                                                                                  \
    .has_manners = true, .takes_turns = true, .offer = tcp_offer, .accept = accept_one,            \
    .connect = connect_to, .meet = shake_hands, STREAM_CALLS(&stream), .close = close_end,         \
    .look = tcp_look

const struct transport_kind transport_tls = {.name = "tls", TLS_CALLS};
const struct transport_kind transport_ktls = {.name = "ktls", .check = check_kernel, TLS_CALLS};
