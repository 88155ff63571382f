/* QUIC as a transport (ngtcp2 with GnuTLS): a connection with one stream from the connecting end,
 * the client, to the server, of datagrams in bursts and with windows of 8 MiB. The library has no
 * threads and no socket: nothing happens but in `work`, at both ends.
 *
 *      [ ring ] --> packets, a burst --> socket ...... socket --> packets --> [ ring ]
 */
#include <errno.h>
#include <gnutls/crypto.h>
#include <netinet/udp.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/transports/carrier.h"
#include "zcrp-bench/transports/stream.h"

enum {
    RING = 8 << 20,
    NO_STREAM = -1,
    PAYLOAD = 1452, /* of a packet for an MTU of 1500, over IPv6 too */
    BURST = 65507,
    BURST_DATAGRAMS = 64,
    BURSTS_AT_ONCE = 16,
    CID = 8,
    NS_A_MILLISECOND = 1000000,
    NS_A_SECOND = 1000000000,
};

/* A stretch of a stream, kept by the offset of its bytes.
 *
 *      start <= end <= start + RING; byte `offset` is at bytes[offset % RING] */
struct ring {
    uint64_t start, end;
    uint8_t bytes[RING];
};

struct quic {
    int fd; /* a connected socket; the transport's */
    struct socket_address here, there;
    ngtcp2_conn *conn; /* NULL: none yet; a server has one from the first packet on */
    ngtcp2_crypto_conn_ref reference;
    gnutls_psk_server_credentials_t server; /* one of these two */
    gnutls_psk_client_credentials_t client;
    gnutls_session_t session;
    int64_t stream;   /* NO_STREAM: not open yet */
    uint64_t sent;    /* bytes of the stream that were put in packets */
    struct ring ring; /* client: what is not acknowledged; server: what nobody has taken */
    uint8_t burst[BURST];
};

/* ---- the ring ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Where the byte at an offset lies; up to the end of the array, *room more may lie behind it. */
static uint8_t *ring_at(struct ring *ring, uint64_t offset, size_t *room)
{
    *room = RING - offset % RING;
    return &ring->bytes[offset % RING];
}

/* Client, server: moves bytes of the stream; returns how many, 0 if there is no room or nothing. */
static size_t ring_put(struct quic *end, const void *bytes, size_t size)
{
    struct ring *ring = &end->ring;
    size_t room;
    uint8_t *at = ring_at(ring, ring->end, &room);
    size_t count = least(least(size, room), RING - (size_t)(ring->end - ring->start));

    memcpy(at, bytes, count);
    ring->end += count;
    return count;
}

static size_t ring_take(struct quic *end, void *bytes, size_t size)
{
    struct ring *ring = &end->ring;
    size_t room;
    const uint8_t *at = ring_at(ring, ring->start, &room);
    size_t count = least(least(size, room), (size_t)(ring->end - ring->start));

    memcpy(bytes, at, count);
    ring->start += count;
    if (count > 0) {
        ngtcp2_conn_extend_max_stream_offset(end->conn, end->stream, count);
        ngtcp2_conn_extend_max_offset(end->conn, count);
    }
    return count;
}

/* Client: bytes that are not acknowledged yet. */
static uint64_t left_of(const struct quic *end)
{
    return end->ring.end - end->ring.start;
}

/* ---- datagrams of the socket ---- */

static int socket_failed(const char *doing)
{
    return complain("quic: cannot %s: %s", doing, strerror(errno));
}

/* Sends datagrams of `size` bytes, the last of which may be shorter, of `bytes` in all; waits while
 * the socket is full. What the other end is not there for is lost. 0, or -1 with a complaint. */
static int send_burst(int fd, const uint8_t *burst, size_t bytes, size_t size)
{
    struct iovec piece = {(void *)burst, bytes};

    while (udp_send(fd, &piece, 1, bytes, size) < 0) {
        if (errno == ECONNREFUSED)
            return 0;
        if (errno != EINTR)
            return socket_failed("send");
    }
    return 0;
}

/* Receives without waiting: bytes, of datagrams of *size each (the last may be shorter); 0 if there
 * are none, -1 with a complaint. */
static ssize_t receive_burst(int fd, uint8_t burst[BURST], size_t *size)
{
    struct iovec piece = {burst, BURST};
    union udp_note note = {0};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &note, .msg_controllen = sizeof note};
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED
                   ? 0
                   : socket_failed("receive");
    *size = udp_segment(&message, (size_t)got);
    return got;
}

/* ---- TLS by GnuTLS, with a pre-shared key that every zcrp-bench has ---- */

/* AES with 128 bits: the fastest where the processor has it. */
static const char priority[] = "%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:"
                               "-CIPHER-ALL:+AES-128-GCM:-GROUP-ALL:+GROUP-X25519:+ECDHE-PSK";

static char secret[] = "every zcrp-bench has this key";

static int on_psk(gnutls_session_t session, const char *name, gnutls_datum_t *key)
{
    (void)session;
    (void)name;
    key->data = gnutls_malloc(sizeof secret);
    if (key->data == NULL)
        return -1;
    memcpy(key->data, secret, sizeof secret);
    key->size = sizeof secret;
    return 0;
}

static ngtcp2_conn *connection_of(ngtcp2_crypto_conn_ref *reference)
{
    const struct quic *end = reference->user_data;

    return end->conn;
}

/* The session finds its connection by the reference. */
static int start_tls(struct quic *end, bool is_server)
{
    const gnutls_datum_t protocol = {(unsigned char *)"zcrp-bench", 10};
    const gnutls_datum_t key = {(unsigned char *)secret, sizeof secret};
    int code = gnutls_init(&end->session, is_server ? GNUTLS_SERVER : GNUTLS_CLIENT);

    if (code >= 0)
        code = is_server ? ngtcp2_crypto_gnutls_configure_server_session(end->session)
                         : ngtcp2_crypto_gnutls_configure_client_session(end->session);
    if (code >= 0)
        code = gnutls_priority_set_direct(end->session, priority, NULL);
    if (code >= 0)
        code = is_server ? gnutls_psk_allocate_server_credentials(&end->server)
                         : gnutls_psk_allocate_client_credentials(&end->client);
    if (code >= 0 && is_server)
        gnutls_psk_set_server_credentials_function(end->server, on_psk);
    if (code >= 0 && !is_server)
        code =
            gnutls_psk_set_client_credentials(end->client, "zcrp-bench", &key, GNUTLS_PSK_KEY_RAW);
    if (code >= 0)
        code = gnutls_credentials_set(end->session, GNUTLS_CRD_PSK,
                                      is_server ? (void *)end->server : (void *)end->client);
    if (code >= 0)
        code = gnutls_alpn_set_protocols(end->session, &protocol, 1, GNUTLS_ALPN_MANDATORY);
    if (code < 0)
        return complain("quic: cannot set up TLS: %s", gnutls_strerror(code));
    end->reference = (ngtcp2_crypto_conn_ref){connection_of, end};
    gnutls_session_set_ptr(end->session, &end->reference);
    ngtcp2_conn_set_tls_native_handle(end->conn, end->session);
    return 0;
}

static int failed(const char *doing, ssize_t code)
{
    return complain("quic: cannot %s: %s", doing, ngtcp2_strerror((int)code));
}

static ngtcp2_tstamp now(void)
{
    return (ngtcp2_tstamp)clock_now_ns();
}

/* ---- what ngtcp2 calls ---- */

static void on_random(uint8_t *bytes, size_t size, const ngtcp2_rand_ctx *context)
{
    (void)context;
    gnutls_rnd(GNUTLS_RND_NONCE, bytes, size);
}

static void random_cid(ngtcp2_cid *cid, size_t length)
{
    cid->datalen = length;
    gnutls_rnd(GNUTLS_RND_NONCE, cid->data, length);
}

static int on_new_cid(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t length, void *user)
{
    (void)conn;
    (void)user;
    random_cid(cid, length);
    gnutls_rnd(GNUTLS_RND_NONCE, token, NGTCP2_STATELESS_RESET_TOKENLEN);
    return 0;
}

/* In order, and never more than there is room for: flow control says so. */
static int on_data(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t offset,
                   const uint8_t *data, size_t size, void *user, void *stream_user)
{
    struct quic *end = user;

    (void)conn;
    (void)flags;
    (void)offset;
    (void)stream_user;
    end->stream = stream;
    size_t first = ring_put(end, data, size);
    return first + ring_put(end, &data[first], size - first) == size ? 0
                                                                     : NGTCP2_ERR_CALLBACK_FAILURE;
}

static int on_acknowledged(ngtcp2_conn *conn, int64_t stream, uint64_t offset, uint64_t size,
                           void *user, void *stream_user)
{
    struct quic *end = user;

    (void)conn;
    (void)stream;
    (void)stream_user;
    end->ring.start = offset + size;
    return 0;
}

static const ngtcp2_callbacks callbacks = {
    .client_initial = ngtcp2_crypto_client_initial_cb,
    .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
    .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
    .encrypt = ngtcp2_crypto_encrypt_cb,
    .decrypt = ngtcp2_crypto_decrypt_cb,
    .hp_mask = ngtcp2_crypto_hp_mask_cb,
    .recv_retry = ngtcp2_crypto_recv_retry_cb,
    .update_key = ngtcp2_crypto_update_key_cb,
    .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
    .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
    .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
    .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
    .rand = on_random,
    .get_new_connection_id = on_new_cid,
    .recv_stream_data = on_data,
    .acked_stream_data_offset = on_acknowledged,
};

/* ---- making a connection ---- */

static void set_up(ngtcp2_settings *settings, ngtcp2_transport_params *params)
{
    ngtcp2_settings_default(settings);
    settings->initial_ts = now();
    settings->max_tx_udp_payload_size = PAYLOAD;
    settings->no_tx_udp_payload_size_shaping = 1;
    settings->no_pmtud = 1;
    ngtcp2_transport_params_default(params);
    params->initial_max_stream_data_uni = RING;
    params->initial_max_data = RING;
    params->initial_max_streams_uni = 1;
    params->max_idle_timeout = 0; /* never */
}

static ngtcp2_path path_of(struct quic *end)
{
    return (ngtcp2_path){
        .local = {&end->here.any, end->here.length},
        .remote = {&end->there.any, end->there.length},
    };
}

/* The client's connection, or the server's, of the head of the client's first packet. */
static int begin(struct quic *end, const ngtcp2_pkt_hd *head)
{
    ngtcp2_path path = path_of(end);
    ngtcp2_transport_params params;
    ngtcp2_settings settings;
    ngtcp2_cid there, here;
    int code;

    random_cid(&there, CID);
    random_cid(&here, CID);
    set_up(&settings, &params);
    end->stream = NO_STREAM;
    if (head != NULL) {
        params.original_dcid = head->dcid;
        code = ngtcp2_conn_server_new(&end->conn, &head->scid, &here, &path, head->version,
                                      &callbacks, &settings, &params, NULL, end);
    } else {
        code = ngtcp2_conn_client_new(&end->conn, &there, &here, &path, NGTCP2_PROTO_VER_V1,
                                      &callbacks, &settings, &params, NULL, end);
    }
    return code != 0 ? failed("connect", code) : start_tls(end, head != NULL);
}

static bool is_connected(const struct quic *end)
{
    return end->conn != NULL && ngtcp2_conn_get_handshake_completed(end->conn) != 0;
}

/* ---- work: packets in and out, and the time in between ---- */

static int read_packet(struct quic *end, const uint8_t *packet, size_t size)
{
    ngtcp2_path path = path_of(end);
    ngtcp2_pkt_info info = {0};
    ngtcp2_pkt_hd head;

    if (end->conn == NULL && ngtcp2_accept(&head, packet, size) != 0)
        return 0; /* no client's first */
    if (end->conn == NULL && begin(end, &head) < 0)
        return -1;
    int code = ngtcp2_conn_read_pkt(end->conn, &path, &info, packet, size, now());
    return code == 0 ? 0 : failed("go on", code);
}

static int read_all(struct quic *end)
{
    for (int i = 0; i < BURSTS_AT_ONCE; i++) {
        size_t size = 0;
        ssize_t got = receive_burst(end->fd, end->burst, &size);

        if (got <= 0)
            return (int)got;
        for (size_t at = 0; at < (size_t)got; at += size) {
            if (read_packet(end, &end->burst[at], least((size_t)got - at, size)) < 0)
                return -1;
        }
    }
    return 0;
}

/* The next packet, with data of the stream if there is any and it may be sent. Its bytes; 0 if
 * there is nothing to send now. */
static ssize_t write_packet(struct quic *end, uint8_t *packet, ngtcp2_tstamp time)
{
    ngtcp2_pkt_info info;
    ngtcp2_ssize taken = -1;
    ngtcp2_vec piece = {0};
    bool has_data =
        end->stream != NO_STREAM && end->sent < end->ring.end && !ngtcp2_conn_is_server(end->conn);

    if (has_data) {
        piece.base = ring_at(&end->ring, end->sent, &piece.len);
        piece.len = least(piece.len, (size_t)(end->ring.end - end->sent));
    }
    ngtcp2_ssize written = NGTCP2_ERR_STREAM_DATA_BLOCKED;
    for (; written == NGTCP2_ERR_STREAM_DATA_BLOCKED; has_data = false)
        written = ngtcp2_conn_writev_stream(
            end->conn, NULL, &info, packet, PAYLOAD, &taken, NGTCP2_WRITE_STREAM_FLAG_NONE,
            has_data ? end->stream : NO_STREAM, &piece, has_data ? 1 : 0, time);
    if (taken > 0)
        end->sent += (uint64_t)taken;
    return written;
}

/* One burst, of packets of one size but for the last; 1 if there may be more, 0 if not. A larger
 * packet behind smaller ones (data behind an acknowledgement) goes by itself. */
static int write_burst(struct quic *end)
{
    ngtcp2_tstamp time = now();
    size_t size = 0;
    size_t bytes = 0;
    size_t last = PAYLOAD;

    for (int i = 0; i < BURST_DATAGRAMS && last > 0 && last >= size && bytes + PAYLOAD <= BURST;
         i++) {
        ssize_t written = write_packet(end, &end->burst[bytes], time);

        if (written < 0)
            return failed("go on", written);
        last = (size_t)written;
        if (size == 0)
            size = last;
        if (last > size)
            break;
        bytes += last;
    }
    ngtcp2_conn_update_pkt_tx_time(end->conn, time);
    if (bytes > 0 && send_burst(end->fd, end->burst, bytes, size) < 0)
        return -1;
    if (last > size && send_burst(end->fd, &end->burst[bytes], last, last) < 0)
        return -1;
    return last > 0;
}

/* Until something is there to be read or the connection's timer is due. */
static void wait_for_work(const struct quic *end, int wait_ms)
{
    struct pollfd waiting = {.fd = end->fd, .events = POLLIN};
    uint64_t wait_ns = (uint64_t)wait_ms * NS_A_MILLISECOND;

    if (end->conn != NULL) {
        ngtcp2_tstamp due = ngtcp2_conn_get_expiry(end->conn);
        ngtcp2_tstamp time = now();

        if (due <= time)
            return;
        if (due - time < wait_ns)
            wait_ns = due - time;
    }
    const struct timespec limit = {(time_t)(wait_ns / NS_A_SECOND), (long)(wait_ns % NS_A_SECOND)};
    ppoll(&waiting, 1, &limit, NULL);
}

/* Waits for at most wait_ms until there is something to do, and does it. 0, or -1 with a complaint.
 */
static int work(struct quic *end, int wait_ms)
{
    int code = 0;
    int more = 1;

    if (wait_ms > 0)
        wait_for_work(end, wait_ms);
    if (read_all(end) < 0)
        return -1;
    if (end->conn == NULL)
        return 0;
    if (ngtcp2_conn_get_expiry(end->conn) <= now())
        code = ngtcp2_conn_handle_expiry(end->conn, now());
    if (code != 0)
        return failed("go on", code);
    if (end->stream == NO_STREAM && is_connected(end) && !ngtcp2_conn_is_server(end->conn) &&
        (code = ngtcp2_conn_open_uni_stream(end->conn, &end->stream, NULL)) != 0)
        return failed("open a stream", code);
    for (int i = 0; i < BURSTS_AT_ONCE && more > 0; i++)
        more = write_burst(end);
    return more < 0 ? -1 : 0;
}

/* ---- the transport ---- */

/* Both ends' beginning, once the socket is connected. */
static int start(struct transport *transport, bool is_client)
{
    uint64_t buffer = transport->settings->buffer_bytes;
    struct quic *end = calloc(1, sizeof *end);
    int fd = transport->fd;
    int one = 1;

    transport->state = end;
    if (end == NULL)
        return complain("quic: no memory");
    udp_grow(fd, SO_RCVBUF, SO_RCVBUFFORCE, buffer);
    udp_grow(fd, SO_SNDBUF, SO_SNDBUFFORCE, buffer);
    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one);
    end->fd = fd;
    if (socket_address_local(fd, &end->here) < 0 || socket_address_peer(fd, &end->there) < 0)
        return -1;
    return is_client ? begin(end, NULL) : 0;
}

static int connect_to(struct transport *transport)
{
    int own = udp_connect(transport);

    snprintf(transport->channel, sizeof transport->channel, "quic/aes");
    return own < 0 || start(transport, true) < 0 ? -1 : own;
}

/* Until this end is connected and, at the client's, the other end has something to say: that it is
 * connected too. */
static int shake_hands(struct transport *transport, bool is_server)
{
    struct quic *end = transport->state;
    int64_t since = clock_now_ns();

    while (!is_connected(end) || (!is_server && !control_has_news(transport->control))) {
        if (work(end, is_server ? STREAM_PAUSE_MS : 1) < 0 ||
            transport_despair(transport, since) < 0)
            return -1;
    }
    return 0;
}

static int accept_one(struct transport *transport)
{
    return udp_accept(transport) < 0 || start(transport, false) < 0 ? -1
                                                                    : shake_hands(transport, true);
}

static int meet(struct transport *transport)
{
    return shake_hands(transport, false);
}

static ssize_t write_some(struct transport *transport, const void *bytes, size_t size)
{
    struct quic *end = transport->state;
    size_t taken = ring_put(end, bytes, size);

    return work(end, taken > 0 ? 0 : STREAM_PAUSE_MS) < 0 ? -1 : (ssize_t)taken;
}

static ssize_t read_some(struct transport *transport, const struct iovec *piece, int count)
{
    struct quic *end = transport->state;
    size_t taken = ring_take(end, piece->iov_base, piece->iov_len);

    (void)count;
    return taken == 0 ? work(end, STREAM_PAUSE_MS) : (ssize_t)taken;
}

static const struct stream stream = {write_some, read_some, 1};

/* The last bytes are on their way until they are acknowledged, or the other end says that it has
 * got all it waits for. */
static int send_job(struct transport *transport, struct job *job)
{
    struct quic *end = transport->state;
    uint64_t left = 0;
    int64_t since = 0;

    if (stream_send(transport, job) < 0)
        return -1;
    while (left_of(end) > 0 && !control_has_news(transport->control)) {
        if (work(end, 1) < 0 || transport_go_on(transport, left_of(end) != left, &since) < 0)
            return -1;
        left = left_of(end);
    }
    return 0;
}

/* Then once more: the acknowledgement of the last bytes. */
static int receive_job(struct transport *transport, struct job *job)
{
    return stream_receive(transport, job) < 0 ? -1 : work(transport->state, 0);
}

static void close_end(struct transport *transport)
{
    struct quic *end = transport->state;

    if (end == NULL)
        return;
    if (end->conn != NULL)
        ngtcp2_conn_del(end->conn);
    if (end->session != NULL)
        gnutls_deinit(end->session);
    if (end->server != NULL)
        gnutls_psk_free_server_credentials(end->server);
    if (end->client != NULL)
        gnutls_psk_free_client_credentials(end->client);
    free(end);
}

const struct transport_kind transport_quic = {
    .name = "quic",
    .stream = &stream,
    .is_one_way = true,
    .offer = udp_offer,
    .accept = accept_one,
    .connect = connect_to,
    .meet = meet,
    .send = send_job,
    .receive = receive_job,
    .close = close_end,
};
