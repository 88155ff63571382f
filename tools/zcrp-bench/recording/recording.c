#include "zcrp-bench/recording/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/complain.h"

/* The file of the capture or of the trace. What follows returns 0, or -1 with a complaint. */
struct recording {
    FILE *file; /* NULL: nothing is recorded */
    const char *path;
};

/* Complains that it cannot be written. -1. */
static int recording_failed(const struct recording *recording)
{
    return complain("cannot write '%s': %s", recording->path, strerror(errno));
}

enum { BUFFER_BYTES = 1 << 20 };

/* With a NULL path nothing is opened, and that is fine. */
static int recording_open(struct recording *recording, const char *path)
{
    if (path == NULL)
        return 0;
    *recording = (struct recording){fopen(path, "we"), path};
    if (recording->file == NULL)
        return recording_failed(recording);
    setvbuf(recording->file, NULL, _IOFBF, BUFFER_BYTES);
    return 0;
}

/* Fine if nothing is open. What could not be written before shows here. */
static int recording_close(struct recording *recording)
{
    FILE *file = recording->file;
    bool is_whole = file == NULL || !ferror(file);

    if (file != NULL && fclose(file) != 0)
        is_whole = false;
    recording->file = NULL;
    return is_whole ? 0 : recording_failed(recording);
}

/* ---- the bytes of a capture ---- */

enum {
    MAGIC_OF_NANOSECONDS = (int)0xa1b23c4d,
    SNAPSHOT_BYTES = 1 << 18, /* no packet is longer */
    TYPE_AAL5 = 4,
    FLAG_VARYING_LENGTH = 4,
    INTERFACE_IN = 1,
    PTI_LAST_CELL = 1 << 1, /* in the last byte of the cell's head */
    CELL_HEAD = 4,
};

static const uint64_t second_ns = 1000000000;

void capture_file_head(uint8_t out[CAPTURE_FILE_HEAD], enum capture_link link)
{
    const uint16_t version[2] = {2, 4};
    const uint32_t words[4] = {0, 0, SNAPSHOT_BYTES, (uint32_t)link};
    const uint32_t magic = (uint32_t)MAGIC_OF_NANOSECONDS;

    memcpy(out, &magic, sizeof magic);
    memcpy(out + 4, version, sizeof version);
    memcpy(out + 8, words, sizeof words);
}

void capture_packet_head(uint8_t out[CAPTURE_PACKET_HEAD], int64_t time_ns, uint32_t bytes)
{
    uint64_t ns = (uint64_t)time_ns;
    const uint32_t words[4] = {(uint32_t)(ns / second_ns), (uint32_t)(ns % second_ns), bytes,
                               bytes};

    memcpy(out, words, sizeof words);
}

static uint8_t *put16(uint8_t *out, uint32_t value)
{
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
    return out + 2;
}

/* Seconds and 2^-32 seconds, the one number in the record that is little-endian. */
static uint8_t *put_time(uint8_t *out, int64_t time_ns)
{
    uint64_t ns = (uint64_t)time_ns;
    uint64_t time = (ns / second_ns << 32) + (ns % second_ns << 32) / second_ns;

    for (int i = 0; i < 8; i++)
        *out++ = (uint8_t)(time >> 8 * i);
    return out;
}

void capture_pdu_head(uint8_t out[CAPTURE_PDU_HEAD], const struct capture_pdu *pdu)
{
    uint32_t cell = (uint32_t)pdu->vpi << 20 | (uint32_t)pdu->vci << 4 | PTI_LAST_CELL;

    out = put_time(out, pdu->time_ns);
    *out++ = TYPE_AAL5;
    *out++ = (uint8_t)(FLAG_VARYING_LENGTH | (pdu->is_outward ? 0 : INTERFACE_IN));
    out = put16(out, CAPTURE_PDU_HEAD + pdu->bytes);
    out = put16(out, 0); /* nothing was lost between */
    out = put16(out, CELL_HEAD + pdu->bytes);
    put16(put16(out, cell >> 16), cell & 0xffff);
}

/* The head of IP and UDP that a datagram of a connected socket travels behind, made up again for a
 * capture. */
enum { IP4_HEAD = 20, IP6_HEAD = 40, UDP_HEAD = 8, FLOW_HEAD_MOST = 48, HOPS = 64 };

/* A socket's two ends. */
struct flow {
    int descriptor;
    bool is_ip6;
    uint8_t here[16], there[16]; /* addresses; IPv4 has the first 4 bytes of each */
    uint16_t here_port, there_port;
};

union name {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
};

/* An IPv4 address in an IPv6 socket is shown as what it is on the way. */
static int take_name(const union name *name, uint8_t address[16], uint16_t *port, bool *is_ip6)
{
    if (name->any.sa_family == AF_INET) {
        memcpy(address, &name->ip4.sin_addr, 4);
        *port = ntohs(name->ip4.sin_port);
        *is_ip6 = false;
        return 0;
    }
    if (name->any.sa_family != AF_INET6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    *is_ip6 = !IN6_IS_ADDR_V4MAPPED(&name->ip6.sin6_addr);
    memcpy(address, name->ip6.sin6_addr.s6_addr + (*is_ip6 ? 0 : 12), *is_ip6 ? 16 : 4);
    *port = ntohs(name->ip6.sin6_port);
    return 0;
}

/* Asks the socket. 0, or -1 with errno: not a connected UDP socket. */
static int flow_init(struct flow *flow, int descriptor)
{
    union name here = {0}, there = {0};
    socklen_t here_size = sizeof here, there_size = sizeof there;

    *flow = (struct flow){.descriptor = descriptor};
    if (getsockname(descriptor, &here.any, &here_size) < 0 ||
        getpeername(descriptor, &there.any, &there_size) < 0 ||
        take_name(&here, flow->here, &flow->here_port, &flow->is_ip6) < 0)
        return -1;
    return take_name(&there, flow->there, &flow->there_port, &flow->is_ip6);
}

/* The Internet checksum goes on over these bytes; `*at` counts them, for what is odd. */
static uint64_t sum(uint64_t so_far, const uint8_t *bytes, size_t count, size_t *at)
{
    for (size_t i = 0; i < count; i++, ++*at)
        so_far += *at % 2 == 0 ? (uint64_t)bytes[i] << 8 : bytes[i];
    return so_far;
}

static uint32_t fold(uint64_t sum)
{
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint32_t)(~sum & 0xffff);
}

static void put_ip4(uint8_t *out, const uint8_t *from, const uint8_t *to, uint32_t bytes)
{
    size_t at = 0;

    memset(out, 0, IP4_HEAD);
    out[0] = 0x45;
    put16(out + 2, IP4_HEAD + bytes);
    out[6] = 0x40; /* not to be cut */
    out[8] = HOPS;
    out[9] = IPPROTO_UDP;
    memcpy(out + 12, from, 4);
    memcpy(out + 16, to, 4);
    put16(out + 10, fold(sum(0, out, IP4_HEAD, &at)));
}

static void put_ip6(uint8_t *out, const uint8_t *from, const uint8_t *to, uint32_t bytes)
{
    memset(out, 0, IP6_HEAD);
    out[0] = 0x60;
    put16(out + 4, bytes);
    out[6] = IPPROTO_UDP;
    out[7] = HOPS;
    memcpy(out + 8, from, 16);
    memcpy(out + 24, to, 16);
}

/* IPv6 demands one (RFC 8200, 8.1), over addresses, UDP's head and the data. */
static uint32_t udp_checksum(const uint8_t *addresses, const uint8_t *udp,
                             const struct iovec *pieces, size_t count, uint32_t bytes)
{
    size_t at = 0;
    uint64_t total = sum(bytes + IPPROTO_UDP, addresses, 32, &at);

    total = sum(total, udp, UDP_HEAD, &at);
    for (size_t i = 0; i < count; i++)
        total = sum(total, pieces[i].iov_base, pieces[i].iov_len, &at);
    uint32_t checksum = fold(total);
    return checksum != 0 ? checksum : 0xffff;
}

/* Writes the heads of a datagram in these pieces, `bytes` bytes all together (at most what UDP
 * carries). Returns the bytes of the heads. Cannot fail. */
static size_t flow_head(const struct flow *flow, uint8_t out[FLOW_HEAD_MOST], bool is_outward,
                        const struct iovec *pieces, size_t count, uint32_t bytes)
{
    const uint8_t *from = is_outward ? flow->here : flow->there;
    const uint8_t *to = is_outward ? flow->there : flow->here;
    uint8_t *udp = out + (flow->is_ip6 ? IP6_HEAD : IP4_HEAD);

    put16(udp, is_outward ? flow->here_port : flow->there_port);
    put16(udp + 2, is_outward ? flow->there_port : flow->here_port);
    put16(udp + 4, UDP_HEAD + bytes);
    put16(udp + 6, 0); /* none, in IPv4 */
    if (flow->is_ip6) {
        put_ip6(out, from, to, UDP_HEAD + bytes);
        put16(udp + 6, udp_checksum(out + 8, udp, pieces, count, UDP_HEAD + bytes));
    } else {
        put_ip4(out, from, to, UDP_HEAD + bytes);
    }
    return (size_t)(udp - out) + UDP_HEAD;
}

/* ---- the capture ---- */

enum { CAPTURED_MOST = 16 };

static struct {
    struct recording to;
    pthread_mutex_t mutex;  /* flows, and whole packets in the file */
    enum capture_link link; /* of all packets in the file; 0: there are none yet */
    struct flow flows[CAPTURED_MOST];
    size_t flow_count;
} capture = {.mutex = PTHREAD_MUTEX_INITIALIZER};

int capture_open(const char *path)
{
    return recording_open(&capture.to, path);
}

/* The first channel decides what packets begin with. */
static int start(enum capture_link link)
{
    uint8_t head[CAPTURE_FILE_HEAD];

    if (capture.link == link)
        return 0;
    if (capture.link != 0)
        return complain("'%s' cannot hold both UDP and AAL5", capture.to.path);
    capture.link = link;
    capture_file_head(head, link);
    fwrite(head, sizeof head, 1, capture.to.file);
    return 0;
}

int capture_flush(void)
{
    FILE *file = capture.to.file;

    return file == NULL || fflush(file) == 0 ? 0 : recording_failed(&capture.to);
}

int capture_close(void)
{
    if (capture.to.file != NULL && capture.link == 0)
        (void)start(CAPTURE_IP); /* an empty capture is one, too */
    capture.link = 0;
    capture.flow_count = 0;
    return recording_close(&capture.to);
}

static struct flow *find(int descriptor)
{
    for (size_t i = 0; i < capture.flow_count; i++) {
        if (capture.flows[i].descriptor == descriptor)
            return &capture.flows[i];
    }
    return NULL;
}

static void write_pieces(const struct zcrp_crossing *crossing, size_t bytes)
{
    for (uint32_t i = 0; bytes > 0; i++) {
        size_t run = crossing->pieces[i].iov_len;

        run = run < bytes ? run : bytes;
        fwrite(crossing->pieces[i].iov_base, run, 1, capture.to.file);
        bytes -= run;
    }
}

/* Writes the heads and the first `bytes` bytes of what crossed. What cannot be written shows at the
 * end. */
static void write_packet(const struct zcrp_crossing *crossing, const uint8_t *heads,
                         size_t heads_bytes, uint32_t bytes)
{
    uint8_t head[CAPTURE_PACKET_HEAD];

    capture_packet_head(head, crossing->time_ns, (uint32_t)heads_bytes + bytes);
    fwrite(head, sizeof head, 1, capture.to.file);
    fwrite(heads, heads_bytes, 1, capture.to.file);
    write_pieces(crossing, bytes);
}

static void write_pdu(const struct zcrp_crossing *crossing)
{
    uint8_t head[CAPTURE_PDU_HEAD];
    struct capture_pdu pdu = {
        .time_ns = crossing->time_ns,
        .is_outward = crossing->is_outward,
        .vpi = crossing->vpi,
        .vci = crossing->vci,
        .bytes = crossing->bytes < CAPTURE_PDU_MOST ? crossing->bytes : CAPTURE_PDU_MOST,
    };

    capture_pdu_head(head, &pdu);
    write_packet(crossing, head, sizeof head, pdu.bytes);
}

static void write_datagram(const struct flow *flow, const struct zcrp_crossing *crossing)
{
    uint8_t heads[FLOW_HEAD_MOST];
    size_t bytes = flow_head(flow, heads, crossing->is_outward, crossing->pieces,
                             crossing->piece_count, crossing->bytes);

    write_packet(crossing, heads, bytes, crossing->bytes);
}

static void see_crossing(void *context, const struct zcrp_crossing *crossing)
{
    (void)context;
    pthread_mutex_lock(&capture.mutex);
    const struct flow *flow = find(crossing->descriptor);
    if (crossing->is_pdu)
        write_pdu(crossing);
    else if (flow != NULL)
        write_datagram(flow, crossing);
    pthread_mutex_unlock(&capture.mutex);
}

int capture_channel(int descriptor, struct zcrp_options *options)
{
    bool is_aal5 = options->channel == ZCRP_CHANNEL_AAL5;
    struct flow flow;

    if (capture.to.file == NULL)
        return 0;
    options->tap = see_crossing;
    options->flags |= ZCRP_NO_MEMORY; /* what goes that way crosses no channel */
    if (start(is_aal5 ? CAPTURE_PDU : CAPTURE_IP) < 0)
        return -1;
    if (is_aal5)
        return 0; /* PDUs need no heads */
    if (flow_init(&flow, descriptor) < 0)
        return complain("cannot capture: %s", strerror(errno));
    pthread_mutex_lock(&capture.mutex);
    struct flow *place = find(descriptor);
    if (place == NULL && capture.flow_count < CAPTURED_MOST)
        place = &capture.flows[capture.flow_count++];
    if (place != NULL)
        *place = flow;
    pthread_mutex_unlock(&capture.mutex);
    return place != NULL ? 0 : complain("cannot capture more than %d channels", CAPTURED_MOST);
}

/* ---- the trace ---- */

enum { TRACED_MOST = 64 };

/* One sender. */
struct traced {
    struct zcrp_stats last;
    uint64_t arrived_before; /* bytes, when the measurement began */
};

static struct {
    struct recording to;
    pthread_mutex_t mutex; /* all below, and whole lines in the file */
    struct traced flows[TRACED_MOST];
    size_t flow_count;
    bool is_on;       /* a measurement is under way */
    int64_t start_ns; /* of its first change; 0: there was none yet */
    unsigned measurement;
} trace = {.mutex = PTHREAD_MUTEX_INITIALIZER};

int trace_open(const char *path)
{
    return recording_open(&trace.to, path);
}

int trace_close(void)
{
    return recording_close(&trace.to);
}

/* What did not happen is left out. */
static void write_count(const char *key, uint64_t now, uint64_t before)
{
    if (now != before)
        fprintf(trace.to.file, ", \"%s\": %" PRIu64, key, now - before);
}

static void write_change(const struct traced *flow, int64_t time_ns, const struct zcrp_stats *now)
{
    const struct zcrp_stats *last = &flow->last;

    if (trace.start_ns == 0)
        trace.start_ns = time_ns;
    fprintf(trace.to.file, "{\"t\": %.9f, \"flow\": %zu", (double)(time_ns - trace.start_ns) / 1e9,
            (size_t)(flow - trace.flows));
    write_count("sent", now->units, last->units);
    write_count("repeated", now->units_repeated, last->units_repeated);
    write_count("acknowledgements", now->acknowledgements, last->acknowledgements);
    write_count("requests", now->requests, last->requests);
    write_count("lost", now->units_lost, last->units_lost);
    write_count("spurious", now->units_spurious, last->units_spurious);
    write_count("probes", now->probes, last->probes);
    write_count("messages", now->messages, last->messages);
    fprintf(trace.to.file,
            ", \"arrived\": %" PRIu64 ", \"transit\": %" PRIu64 ", \"window\": %" PRIu64
            ", \"rate\": %" PRIu64 ", \"rtt\": %.9f}\n",
            now->bytes_arrived - flow->arrived_before, now->transit_bytes, now->window_bytes,
            now->rate_bytes_per_s, (double)now->rtt_smoothed_ns / 1e9);
}

/* What cannot be written shows at the end. */
static void see_change(void *context, int64_t time_ns, const struct zcrp_stats *stats)
{
    struct traced *flow = context;

    pthread_mutex_lock(&trace.mutex);
    if (trace.is_on)
        write_change(flow, time_ns, stats);
    flow->last = *stats;
    pthread_mutex_unlock(&trace.mutex);
}

int trace_channel(struct zcrp_options *options)
{
    if (trace.to.file == NULL)
        return 0;
    if (trace.flow_count == TRACED_MOST)
        return complain("cannot trace more than %d flows", TRACED_MOST);
    options->trace = see_change;
    options->trace_context = &trace.flows[trace.flow_count++];
    return 0;
}

void trace_begin(uint64_t size, uint64_t flows)
{
    if (trace.to.file == NULL)
        return;
    pthread_mutex_lock(&trace.mutex);
    for (size_t i = 0; i < trace.flow_count; i++)
        trace.flows[i].arrived_before = trace.flows[i].last.bytes_arrived;
    fprintf(trace.to.file, "{\"measurement\": %u, \"size\": %" PRIu64 ", \"flows\": %" PRIu64 "}\n",
            ++trace.measurement, size, flows);
    trace.start_ns = 0;
    trace.is_on = true;
    pthread_mutex_unlock(&trace.mutex);
}

void trace_end(void)
{
    pthread_mutex_lock(&trace.mutex);
    trace.is_on = false;
    pthread_mutex_unlock(&trace.mutex);
}
