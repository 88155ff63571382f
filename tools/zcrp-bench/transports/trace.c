#include "zcrp-bench/transports/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/complain.h"

enum { TRACED_MOST = 64, BUFFER_BYTES = 1 << 20 };

/* One sender. */
struct traced {
    struct zcrp_stats last;
    uint64_t arrived_before; /* bytes, when the measurement began */
};

static struct {
    FILE *file; /* NULL: nothing is traced */
    const char *path;
    pthread_mutex_t mutex; /* all below, and whole lines in the file */
    struct traced flows[TRACED_MOST];
    size_t flow_count;
    bool is_on;       /* a measurement is under way */
    int64_t start_ns; /* of its first change; 0: there was none yet */
    unsigned measurement;
} trace = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int failed(void)
{
    return complain("cannot write '%s': %s", trace.path, strerror(errno));
}

int trace_open(const char *path)
{
    trace.path = path;
    if (path == NULL)
        return 0;
    trace.file = fopen(path, "we");
    if (trace.file == NULL)
        return failed();
    setvbuf(trace.file, NULL, _IOFBF, BUFFER_BYTES);
    return 0;
}

/* What could not be written before shows here. */
int trace_close(void)
{
    FILE *file = trace.file;
    bool is_whole = file == NULL || !ferror(file);

    if (file != NULL && fclose(file) != 0)
        is_whole = false;
    trace.file = NULL;
    return is_whole ? 0 : failed();
}

/* What did not happen is left out. */
static void write_count(const char *key, uint64_t now, uint64_t before)
{
    if (now != before)
        fprintf(trace.file, ", \"%s\": %" PRIu64, key, now - before);
}

static void write_change(const struct traced *flow, int64_t time_ns, const struct zcrp_stats *now)
{
    const struct zcrp_stats *last = &flow->last;

    if (trace.start_ns == 0)
        trace.start_ns = time_ns;
    fprintf(trace.file, "{\"t\": %.9f, \"flow\": %zu", (double)(time_ns - trace.start_ns) / 1e9,
            (size_t)(flow - trace.flows));
    write_count("sent", now->units, last->units);
    write_count("repeated", now->units_repeated, last->units_repeated);
    write_count("acknowledgements", now->acknowledgements, last->acknowledgements);
    write_count("requests", now->requests, last->requests);
    write_count("lost", now->units_lost, last->units_lost);
    write_count("spurious", now->units_spurious, last->units_spurious);
    write_count("probes", now->probes, last->probes);
    write_count("messages", now->messages, last->messages);
    fprintf(trace.file,
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
    if (trace.file == NULL)
        return 0;
    if (trace.flow_count == TRACED_MOST)
        return complain("cannot trace more than %d flows", TRACED_MOST);
    options->trace = see_change;
    options->trace_context = &trace.flows[trace.flow_count++];
    return 0;
}

void trace_begin(uint64_t size, uint64_t flows)
{
    if (trace.file == NULL)
        return;
    pthread_mutex_lock(&trace.mutex);
    for (size_t i = 0; i < trace.flow_count; i++)
        trace.flows[i].arrived_before = trace.flows[i].last.bytes_arrived;
    fprintf(trace.file, "{\"measurement\": %u, \"size\": %" PRIu64 ", \"flows\": %" PRIu64 "}\n",
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
