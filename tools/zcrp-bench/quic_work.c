/* quic_end_work: packets in and out, and the time in between. */
#include <poll.h>
#include <time.h>

#include "quic_end.h"

enum { BURSTS_AT_ONCE = 16, NS_A_MILLISECOND = 1000000 };

static int read_packet(struct quic_end *end, const uint8_t *packet, size_t size)
{
    ngtcp2_path path = quic_end_path(end);
    ngtcp2_pkt_info info = {0};
    int code;

    if (end->conn == NULL && quic_end_accept(end, packet, size) < 0)
        return -1;
    if (end->conn == NULL)
        return 0;
    code = ngtcp2_conn_read_pkt(end->conn, &path, &info, packet, size, quic_end_now());
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
    ngtcp2_ssize written;
    ngtcp2_vec piece = {0};
    bool has_data = end->stream != QUIC_NO_STREAM && end->sent < end->ring.end &&
                    !ngtcp2_conn_is_server(end->conn);

    if (has_data)
        piece.len = quic_ring_piece(&end->ring, end->sent, &piece.base);
    written = ngtcp2_conn_writev_stream(
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
