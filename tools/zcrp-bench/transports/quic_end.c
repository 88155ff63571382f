#include "zcrp-bench/transports/quic_end.h"

#include <gnutls/crypto.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"

enum { CID = 8 };

static int quic_end_failed(const char *doing, ssize_t code)
{
    return complain("quic: cannot %s: %s", doing, ngtcp2_strerror((int)code));
}

static ngtcp2_tstamp quic_end_now(void)
{
    return (ngtcp2_tstamp)watch_now_ns();
}

/* ---- what ngtcp2 calls */

static ngtcp2_conn *connection_of(ngtcp2_crypto_conn_ref *reference)
{
    const struct quic_end *end = reference->user_data;

    return end->conn;
}

static void on_random(uint8_t *bytes, size_t size, const ngtcp2_rand_ctx *context)
{
    (void)context;
    gnutls_rnd(GNUTLS_RND_NONCE, bytes, size);
}

static int on_new_cid(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t length, void *user)
{
    (void)conn;
    (void)user;
    gnutls_rnd(GNUTLS_RND_NONCE, cid->data, length);
    gnutls_rnd(GNUTLS_RND_NONCE, token, NGTCP2_STATELESS_RESET_TOKENLEN);
    cid->datalen = length;
    return 0;
}

/* In order, and never more than there is room for: flow control says so. */
static int on_data(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t offset,
                   const uint8_t *data, size_t size, void *user, void *stream_user)
{
    struct quic_end *end = user;

    (void)conn;
    (void)flags;
    (void)offset;
    (void)stream_user;
    end->stream = stream;
    return quic_ring_add(&end->ring, data, size) == size ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}

static int on_acknowledged(ngtcp2_conn *conn, int64_t stream, uint64_t offset, uint64_t size,
                           void *user, void *stream_user)
{
    struct quic_end *end = user;

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

/* ---- making a connection */

static void random_cid(ngtcp2_cid *cid)
{
    cid->datalen = CID;
    gnutls_rnd(GNUTLS_RND_NONCE, cid->data, CID);
}

static void set_up(ngtcp2_settings *settings, ngtcp2_transport_params *params)
{
    ngtcp2_settings_default(settings);
    settings->initial_ts = quic_end_now();
    settings->max_tx_udp_payload_size = QUIC_PAYLOAD;
    settings->no_tx_udp_payload_size_shaping = 1;
    settings->no_pmtud = 1;
    ngtcp2_transport_params_default(params);
    params->initial_max_stream_data_uni = QUIC_RING;
    params->initial_max_data = QUIC_RING;
    params->initial_max_streams_uni = 1;
    params->max_idle_timeout = 0; /* never */
}

static ngtcp2_path quic_end_path(struct quic_end *end)
{
    return (ngtcp2_path){
        .local = {&end->here.any, end->here.length},
        .remote = {&end->there.any, end->there.length},
    };
}

static int start_tls(struct quic_end *end, bool is_server)
{
    end->reference = (ngtcp2_crypto_conn_ref){connection_of, end};
    if (quic_tls_init(&end->tls, is_server, &end->reference) < 0)
        return -1;
    ngtcp2_conn_set_tls_native_handle(end->conn, end->tls.session);
    return 0;
}

int quic_end_connect(struct quic_end *end)
{
    ngtcp2_path path = quic_end_path(end);
    ngtcp2_transport_params params;
    ngtcp2_settings settings;
    ngtcp2_cid there;
    ngtcp2_cid here;

    random_cid(&there);
    random_cid(&here);
    set_up(&settings, &params);
    end->stream = QUIC_NO_STREAM;
    int code = ngtcp2_conn_client_new(&end->conn, &there, &here, &path, NGTCP2_PROTO_VER_V1,
                                      &callbacks, &settings, &params, NULL, end);
    return code != 0 ? quic_end_failed("connect", code) : start_tls(end, false);
}

/* The server's connection, made by the client's first packet. Any other packet is ignored. */
static int quic_end_accept(struct quic_end *end, const uint8_t *packet, size_t size)
{
    ngtcp2_path path = quic_end_path(end);
    ngtcp2_transport_params params;
    ngtcp2_settings settings;
    ngtcp2_pkt_hd head;
    ngtcp2_cid here;

    if (ngtcp2_accept(&head, packet, size) != 0)
        return 0;
    random_cid(&here);
    set_up(&settings, &params);
    params.original_dcid = head.dcid;
    end->stream = QUIC_NO_STREAM;
    int code = ngtcp2_conn_server_new(&end->conn, &head.scid, &here, &path, head.version,
                                      &callbacks, &settings, &params, NULL, end);
    return code != 0 ? quic_end_failed("accept a connection", code) : start_tls(end, true);
}

bool quic_end_is_connected(const struct quic_end *end)
{
    return end->conn != NULL && ngtcp2_conn_get_handshake_completed(end->conn) != 0;
}

size_t quic_end_take(struct quic_end *end, void *bytes, size_t size)
{
    size_t taken = quic_ring_take(&end->ring, bytes, size);

    if (taken > 0) {
        ngtcp2_conn_extend_max_stream_offset(end->conn, end->stream, taken);
        ngtcp2_conn_extend_max_offset(end->conn, taken);
    }
    return taken;
}

void quic_end_fini(struct quic_end *end)
{
    if (end->conn != NULL)
        ngtcp2_conn_del(end->conn);
    quic_tls_fini(&end->tls);
}

/* quic_end_work: packets in and out, and the time in between. */

enum { BURSTS_AT_ONCE = 16, NS_A_MILLISECOND = 1000000 };

static int read_packet(struct quic_end *end, const uint8_t *packet, size_t size)
{
    ngtcp2_path path = quic_end_path(end);
    ngtcp2_pkt_info info = {0};

    if (end->conn == NULL && quic_end_accept(end, packet, size) < 0)
        return -1;
    if (end->conn == NULL)
        return 0;
    int code = ngtcp2_conn_read_pkt(end->conn, &path, &info, packet, size, quic_end_now());
    return code == 0 ? 0 : quic_end_failed("go on", code);
}

static int read_all(struct quic_end *end)
{
    for (int i = 0; i < BURSTS_AT_ONCE; i++) {
        size_t size = 0;
        ssize_t got = quic_socket_receive(end->fd, end->burst, &size);

        if (got <= 0)
            return (int)got;
        for (size_t at = 0; at < (size_t)got; at += size) {
            size_t rest = (size_t)got - at;

            if (read_packet(end, &end->burst[at], rest < size ? rest : size) < 0)
                return -1;
        }
    }
    return 0;
}

/* The next packet, with data of the stream if there is any and it may be sent. Its bytes; 0 if
 * there is nothing to send now. */
static ssize_t write_packet(struct quic_end *end, uint8_t *packet, ngtcp2_tstamp time)
{
    ngtcp2_pkt_info info;
    ngtcp2_ssize taken = -1;
    ngtcp2_vec piece = {0};
    bool has_data = end->stream != QUIC_NO_STREAM && end->sent < end->ring.end &&
                    !ngtcp2_conn_is_server(end->conn);

    if (has_data)
        piece.len = quic_ring_piece(&end->ring, end->sent, &piece.base);
    ngtcp2_ssize written = ngtcp2_conn_writev_stream(
        end->conn, NULL, &info, packet, QUIC_PAYLOAD, &taken, NGTCP2_WRITE_STREAM_FLAG_NONE,
        has_data ? end->stream : QUIC_NO_STREAM, &piece, has_data ? 1 : 0, time);
    if (written == NGTCP2_ERR_STREAM_DATA_BLOCKED)
        written =
            ngtcp2_conn_writev_stream(end->conn, NULL, &info, packet, QUIC_PAYLOAD, NULL,
                                      NGTCP2_WRITE_STREAM_FLAG_NONE, QUIC_NO_STREAM, NULL, 0, time);
    if (taken > 0)
        end->sent += (uint64_t)taken;
    return written;
}

/* One burst, of packets of one size but for the last; 1 if there may be more, 0 if not. A larger
 * packet behind smaller ones (data behind an acknowledgement) goes by itself. */
static int write_burst(struct quic_end *end)
{
    ngtcp2_tstamp time = quic_end_now();
    size_t size = 0;
    size_t bytes = 0;
    size_t last = QUIC_PAYLOAD;

    for (int i = 0;
         i < QUIC_BURST_DATAGRAMS && last > 0 && last >= size && bytes + QUIC_PAYLOAD <= QUIC_BURST;
         i++) {
        ssize_t written = write_packet(end, &end->burst[bytes], time);

        if (written < 0)
            return quic_end_failed("go on", written);
        last = (size_t)written;
        if (size == 0)
            size = last;
        if (last > size)
            break;
        bytes += last;
    }
    ngtcp2_conn_update_pkt_tx_time(end->conn, time);
    if (bytes > 0 && quic_socket_send(end->fd, end->burst, bytes, size) < 0)
        return -1;
    if (last > size && quic_socket_send(end->fd, &end->burst[bytes], last, last) < 0)
        return -1;
    return last > 0;
}

static int write_all(struct quic_end *end)
{
    int more = 1;

    for (int i = 0; i < BURSTS_AT_ONCE && more > 0; i++)
        more = write_burst(end);
    return more < 0 ? -1 : 0;
}

/* Until something is there to be read or the connection's timer is due. */
static void wait_for_work(const struct quic_end *end, int wait_ms)
{
    struct pollfd waiting = {.fd = end->fd, .events = POLLIN};
    uint64_t wait_ns = (uint64_t)wait_ms * NS_A_MILLISECOND;
    struct timespec limit = {0};

    if (end->conn != NULL) {
        ngtcp2_tstamp due = ngtcp2_conn_get_expiry(end->conn);
        ngtcp2_tstamp time = quic_end_now();

        if (due <= time)
            return;
        if (due - time < wait_ns)
            wait_ns = due - time;
    }
    limit.tv_sec = (time_t)(wait_ns / 1000000000);
    limit.tv_nsec = (long)(wait_ns % 1000000000);
    ppoll(&waiting, 1, &limit, NULL);
}

int quic_end_work(struct quic_end *end, int wait_ms)
{
    int code;

    if (wait_ms > 0)
        wait_for_work(end, wait_ms);
    if (read_all(end) < 0)
        return -1;
    if (end->conn == NULL)
        return 0;
    if (ngtcp2_conn_get_expiry(end->conn) <= quic_end_now()) {
        code = ngtcp2_conn_handle_expiry(end->conn, quic_end_now());
        if (code != 0)
            return quic_end_failed("go on", code);
    }
    if (end->stream == QUIC_NO_STREAM && quic_end_is_connected(end) &&
        !ngtcp2_conn_is_server(end->conn) &&
        (code = ngtcp2_conn_open_uni_stream(end->conn, &end->stream, NULL)) != 0)
        return quic_end_failed("open a stream", code);
    return write_all(end);
}

/* ---- the ring */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t quic_ring_add(struct quic_ring *ring, const void *bytes, size_t size)
{
    size_t count = least(size, QUIC_RING - (size_t)(ring->end - ring->start));
    size_t at = ring->end % QUIC_RING;
    size_t first = least(count, QUIC_RING - at);

    memcpy(&ring->bytes[at], bytes, first);
    memcpy(ring->bytes, (const uint8_t *)bytes + first, count - first);
    ring->end += count;
    return count;
}

size_t quic_ring_piece(struct quic_ring *ring, uint64_t offset, uint8_t **at)
{
    size_t place = offset % QUIC_RING;

    *at = &ring->bytes[place];
    return least((size_t)(ring->end - offset), QUIC_RING - place);
}

size_t quic_ring_take(struct quic_ring *ring, void *bytes, size_t size)
{
    uint8_t *at;
    size_t first = least(size, quic_ring_piece(ring, ring->start, &at));

    memcpy(bytes, at, first);
    ring->start += first;
    size_t rest = least(size - first, quic_ring_piece(ring, ring->start, &at));
    memcpy((uint8_t *)bytes + first, at, rest);
    ring->start += rest;
    return first + rest;
}
