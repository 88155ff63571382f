#include "capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/complain.h"
#include "common/erf.h"
#include "common/pcapng.h"
#include "flow.h"

/* In the order of the file. */
enum interface { OVER_UDP, OVER_AAL5 };

enum { FLOWS_MOST = 16, BUFFER_BYTES = 1 << 20 };

static struct {
    FILE *file; /* NULL: nothing is captured */
    const char *path;
    pthread_mutex_t mutex; /* flows, and whole blocks in the file */
    struct flow flows[FLOWS_MOST];
    size_t flow_count;
} capture = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int failed(void)
{
    return complain("cannot write '%s': %s", capture.path, strerror(errno));
}

int capture_open(const char *path)
{
    uint8_t start[PCAPNG_SECTION + 2 * PCAPNG_INTERFACE];

    if (path == NULL)
        return 0;
    capture.path = path;
    capture.file = fopen(path, "wb");
    if (capture.file == NULL)
        return failed();
    setvbuf(capture.file, NULL, _IOFBF, BUFFER_BYTES);
    pcapng_section(start);
    pcapng_interface(start + PCAPNG_SECTION, PCAPNG_RAW_IP);
    pcapng_interface(start + PCAPNG_SECTION + PCAPNG_INTERFACE, PCAPNG_ERF);
    fwrite(start, sizeof start, 1, capture.file);
    return 0;
}

int capture_close(void)
{
    bool is_whole;

    if (capture.file == NULL)
        return 0;
    is_whole = !ferror(capture.file);
    if (fclose(capture.file) != 0)
        is_whole = false;
    capture.file = NULL;
    capture.flow_count = 0;
    return is_whole ? 0 : failed();
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
        fwrite(crossing->pieces[i].iov_base, run, 1, capture.file);
        bytes -= run;
    }
}

/* Writes the heads and the first `bytes` bytes of what crossed. What cannot be written shows at the
 * end. */
static void write_packet(enum interface interface, const struct zcrp_crossing *crossing,
                         const uint8_t *heads, size_t heads_bytes, uint32_t bytes)
{
    uint8_t head[PCAPNG_HEAD], tail[PCAPNG_TAIL_MOST];
    struct pcapng_packet packet = {
        .interface = (uint32_t)interface,
        .time_ns = crossing->time_ns,
        .bytes = (uint32_t)heads_bytes + bytes,
        .is_outward = crossing->is_outward,
    };

    pcapng_head(head, &packet);
    fwrite(head, sizeof head, 1, capture.file);
    fwrite(heads, heads_bytes, 1, capture.file);
    write_pieces(crossing, bytes);
    fwrite(tail, pcapng_tail(tail, &packet), 1, capture.file);
}

static void write_pdu(const struct zcrp_crossing *crossing)
{
    uint8_t head[ERF_AAL5_HEAD];
    struct erf_pdu pdu = {
        .time_ns = crossing->time_ns,
        .is_outward = crossing->is_outward,
        .vpi = crossing->vpi,
        .vci = crossing->vci,
        .bytes = crossing->bytes < ERF_AAL5_MOST ? crossing->bytes : ERF_AAL5_MOST,
    };

    erf_aal5_head(head, &pdu);
    write_packet(OVER_AAL5, crossing, head, sizeof head, pdu.bytes);
}

static void write_datagram(const struct flow *flow, const struct zcrp_crossing *crossing)
{
    uint8_t heads[FLOW_HEAD_MOST];
    size_t bytes = flow_head(flow, heads, crossing->is_outward, crossing->pieces,
                             crossing->piece_count, crossing->bytes);

    write_packet(OVER_UDP, crossing, heads, bytes, crossing->bytes);
}

static void see(void *context, const struct zcrp_crossing *crossing)
{
    const struct flow *flow;

    (void)context;
    pthread_mutex_lock(&capture.mutex);
    flow = find(crossing->descriptor);
    if (crossing->is_pdu)
        write_pdu(crossing);
    else if (flow != NULL)
        write_datagram(flow, crossing);
    pthread_mutex_unlock(&capture.mutex);
}

/* A raw socket carries PDUs, which need no heads. */
static bool is_raw(int descriptor)
{
    socklen_t size = sizeof(int);
    int type = 0;

    return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_RAW;
}

int capture_channel(int descriptor, struct zcrp_options *options)
{
    struct flow flow;
    struct flow *place;

    if (capture.file == NULL)
        return 0;
    options->tap = see;
    if (is_raw(descriptor))
        return 0;
    if (flow_init(&flow, descriptor) < 0)
        return complain("cannot capture: %s", strerror(errno));
    pthread_mutex_lock(&capture.mutex);
    place = find(descriptor);
    if (place == NULL && capture.flow_count < FLOWS_MOST)
        place = &capture.flows[capture.flow_count++];
    if (place != NULL)
        *place = flow;
    pthread_mutex_unlock(&capture.mutex);
    return place != NULL ? 0 : complain("cannot capture more than %d channels", FLOWS_MOST);
}
