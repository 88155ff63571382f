#include "capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/complain.h"
#include "common/pcapng.h"
#include "flow.h"

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
    uint8_t start[PCAPNG_SECTION + PCAPNG_INTERFACE];

    if (path == NULL)
        return 0;
    capture.path = path;
    capture.file = fopen(path, "wb");
    if (capture.file == NULL)
        return failed();
    setvbuf(capture.file, NULL, _IOFBF, BUFFER_BYTES);
    pcapng_section(start);
    pcapng_interface(start + PCAPNG_SECTION, PCAPNG_RAW_IP);
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

/* What cannot be written shows at the end. */
static void write_packet(const struct flow *flow, const struct zcrp_crossing *crossing)
{
    uint8_t head[PCAPNG_HEAD], heads[FLOW_HEAD_MOST], tail[PCAPNG_TAIL_MOST];
    size_t heads_bytes = flow_head(flow, heads, crossing->is_outward, crossing->pieces,
                                   crossing->piece_count, crossing->bytes);
    struct pcapng_packet packet = {
        .time_ns = crossing->time_ns,
        .bytes = (uint32_t)heads_bytes + crossing->bytes,
        .is_outward = crossing->is_outward,
    };

    pcapng_head(head, &packet);
    fwrite(head, sizeof head, 1, capture.file);
    fwrite(heads, heads_bytes, 1, capture.file);
    for (uint32_t i = 0; i < crossing->piece_count; i++)
        fwrite(crossing->pieces[i].iov_base, crossing->pieces[i].iov_len, 1, capture.file);
    fwrite(tail, pcapng_tail(tail, &packet), 1, capture.file);
}

static void see(void *context, const struct zcrp_crossing *crossing)
{
    const struct flow *flow;

    (void)context;
    pthread_mutex_lock(&capture.mutex);
    flow = find(crossing->descriptor);
    if (flow != NULL)
        write_packet(flow, crossing);
    pthread_mutex_unlock(&capture.mutex);
}

int capture_channel(int descriptor, struct zcrp_options *options)
{
    struct flow flow;
    struct flow *place;

    if (capture.file == NULL)
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
    options->tap = see;
    return place != NULL ? 0 : complain("cannot capture more than %d channels", FLOWS_MOST);
}
