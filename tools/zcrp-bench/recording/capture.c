#include "zcrp-bench/recording/recording.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/recording/capture_file.h"

enum { FLOWS_MOST = 16, BUFFER_BYTES = 1 << 20 };

static struct {
    struct recording to;
    pthread_mutex_t mutex;  /* flows, and whole packets in the file */
    enum capture_link link; /* of all packets in the file; 0: there are none yet */
    struct flow flows[FLOWS_MOST];
    size_t flow_count;
} capture = {.mutex = PTHREAD_MUTEX_INITIALIZER};

int recording_failed(const struct recording *recording)
{
    return complain("cannot write '%s': %s", recording->path, strerror(errno));
}

int recording_open(struct recording *recording, const char *path)
{
    if (path == NULL)
        return 0;
    *recording = (struct recording){fopen(path, "we"), path};
    if (recording->file == NULL)
        return recording_failed(recording);
    setvbuf(recording->file, NULL, _IOFBF, BUFFER_BYTES);
    return 0;
}

int recording_close(struct recording *recording)
{
    FILE *file = recording->file;
    bool is_whole = file == NULL || !ferror(file);

    if (file != NULL && fclose(file) != 0)
        is_whole = false;
    recording->file = NULL;
    return is_whole ? 0 : recording_failed(recording);
}

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

static void see(void *context, const struct zcrp_crossing *crossing)
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
    options->tap = see;
    options->flags |= ZCRP_NO_MEMORY; /* what goes that way crosses no channel */
    if (start(is_aal5 ? CAPTURE_PDU : CAPTURE_IP) < 0)
        return -1;
    if (is_aal5)
        return 0; /* PDUs need no heads */
    if (flow_init(&flow, descriptor) < 0)
        return complain("cannot capture: %s", strerror(errno));
    pthread_mutex_lock(&capture.mutex);
    struct flow *place = find(descriptor);
    if (place == NULL && capture.flow_count < FLOWS_MOST)
        place = &capture.flows[capture.flow_count++];
    if (place != NULL)
        *place = flow;
    pthread_mutex_unlock(&capture.mutex);
    return place != NULL ? 0 : complain("cannot capture more than %d channels", FLOWS_MOST);
}
