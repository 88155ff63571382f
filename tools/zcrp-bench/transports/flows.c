/* A job in all flows of a channel at once. */
#include <pthread.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/transports/transport.h"

enum { SEED_SHIFT = 40 };

struct flow {
    struct transport *transport;
    struct job job; /* its part of it */
    bool is_sending;
    pthread_t thread;
    double bytes_per_s;
    int status; /* once the thread has ended */
};

/* Flow i's part: messages of its own, in its share of the memory. */
static struct job part_of(const struct transport *flows, const struct job *job, uint64_t i)
{
    struct job part = *job;

    part.memory.slots /= flows->settings->flows;
    part.memory.base += i * part.memory.slots * part.memory.slot_bytes;
    part.seed += i << SEED_SHIFT;
    part.course.flow = i;
    return part;
}

int flows_prepare(struct transport *flows, const struct job *job)
{
    const struct transport_kind *kind = flows->kind;

    for (uint64_t i = 0; kind->prepare != NULL && i < flows->settings->flows; i++) {
        const struct job part = part_of(flows, job, i);

        if (kind->prepare(&flows[i], &part) < 0)
            return -1;
    }
    return 0;
}

static void *move(void *argument)
{
    struct flow *flow = argument;
    struct transport *transport = flow->transport;
    const struct transport_kind *kind = transport->kind;
    int64_t start_ns = clock_now_ns();

    flow->status = transport_begin(transport);
    if (flow->status == 0)
        flow->status = (flow->is_sending ? kind->send : kind->receive)(transport, &flow->job);
    transport_end(transport);
    flow->bytes_per_s =
        (double)(flow->job.count * flow->job.size) / 1e-9 / (double)(clock_now_ns() - start_ns + 1);
    return NULL;
}

/* All at once, the first in this thread. */
static int move_all(struct flow *flow, size_t count)
{
    size_t started = 1;
    int error = 0;

    while (started < count && error == 0) {
        error = pthread_create(&flow[started].thread, NULL, move, &flow[started]);
        started += error == 0;
    }
    move(&flow[0]);
    int status =
        error == 0 ? flow[0].status : complain("cannot start a thread: %s", strerror(error));
    for (size_t i = 1; i < started; i++) {
        pthread_join(flow[i].thread, NULL);
        if (flow[i].status < 0)
            status = -1;
    }
    return status;
}

int flows_move(struct transport *flows, struct job *job, bool is_sending, double *fairness)
{
    struct news news = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct flow flow[FLOWS_MAX] = {0};
    size_t count = flows->settings->flows;
    double rates[FLOWS_MAX];

    job->course.news = &news;
    size_t made = 0;
    do
        flow[made] = (struct flow){
            .transport = &flows[made], .job = part_of(flows, job, made), .is_sending = is_sending};
    while (++made < count);
    int status = move_all(flow, count);
    job->count = 0;
    for (size_t i = 0; i < count; i++) {
        job->count += flow[i].job.count;
        rates[i] = flow[i].bytes_per_s;
        if (flow[i].job.is_different && !job->is_different) {
            job->is_different = true;
            job->message = flow[i].job.message;
            job->offset = flow[i].job.offset;
        }
    }
    if (flows->kind->fairness != NULL)
        *fairness = flows->kind->fairness(flows);
    else
        *fairness = is_sending ? 0 : fairness_index(rates, count);
    return status;
}

struct counts flows_count(struct transport *flows)
{
    struct counts sum = {0};

    for (uint64_t i = 0; flows->kind->count != NULL && i < flows->settings->flows; i++) {
        struct counts counts = {0};

        flows->kind->count(&flows[i], &counts);
        if (i == 0)
            sum = counts;
        else
            counts_add(&sum, &counts);
    }
    return sum;
}
