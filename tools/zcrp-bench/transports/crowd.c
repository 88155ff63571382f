#include "zcrp-bench/transports/crowd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/transports/stream.h"

enum { EVENTS = 256 };

/* Each connection has a descriptor or two. */
static int raise_limit(uint64_t count)
{
    uint64_t wanted = 3 * count + 100;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return 0;
    limit.rlim_cur = wanted;
    limit.rlim_max = limit.rlim_max < wanted ? wanted : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return 0;
    return complain("--peers %llu needs %llu descriptors: `ulimit -n` allows fewer",
                    (unsigned long long)count, (unsigned long long)wanted);
}

void crowd_destroy(struct crowd *crowd)
{
    if (crowd->epoll >= 0)
        close(crowd->epoll);
    free(crowd->peer_bytes);
    free(crowd->way);
    free(crowd->connection);
    free(crowd->fd);
    free(crowd);
}

struct crowd *crowd_create(struct transport *transport, bool is_listening)
{
    uint64_t count = transport->settings->peers;
    struct crowd *crowd = raise_limit(count) < 0 ? NULL : calloc(1, sizeof *crowd);

    if (crowd == NULL)
        return NULL;
    crowd->peers = count;
    crowd->ways = transport->settings->is_duplex != 0 ? 2 * count : count;
    crowd->is_sender = is_listening == transport->is_back;
    crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
    crowd->peer_bytes = calloc(count, sizeof *crowd->peer_bytes);
    crowd->way = calloc(crowd->ways, sizeof *crowd->way);
    crowd->connection = calloc(count, sizeof(struct zcrp_connection *));
    crowd->fd = calloc(count, sizeof *crowd->fd);
    record_mark();
    if (crowd->epoll >= 0 && crowd->peer_bytes != NULL && crowd->way != NULL &&
        crowd->connection != NULL && crowd->fd != NULL)
        return transport->state = crowd;
    complain("no memory or no descriptor for %llu peers: %s", (unsigned long long)count,
             strerror(errno));
    crowd_destroy(crowd);
    return NULL;
}

bool crowd_begin_message(struct crowd *crowd)
{
    if (crowd->begun == crowd->job->count)
        return false;
    if (crowd->is_sender)
        job_due(crowd->job, crowd->begun);
    crowd->begun++;
    return true;
}

int crowd_arrive(struct crowd *crowd, uint64_t way, uint64_t bytes)
{
    crowd->peer_bytes[way % crowd->peers] += (double)bytes;
    crowd->arrived_bytes += bytes;
    while (crowd->arrived_bytes >= (crowd->arrived + 1) * crowd->job->size) {
        if (!crowd->is_sender && job_arrived(crowd->job, crowd->arrived) < 0)
            return -1;
        crowd->arrived++;
    }
    return 0;
}

static bool is_duplex(const struct crowd *crowd)
{
    return crowd->ways > crowd->peers;
}

static bool is_over(const struct crowd *crowd)
{
    bool has_sent = crowd->ended == crowd->job->count;
    bool has_received = crowd->arrived >= crowd->job->count;

    if (is_duplex(crowd))
        return has_sent && has_received;
    return crowd->is_sender ? has_sent : has_received;
}

int crowd_prepare(struct transport *transport, const struct job *job)
{
    struct crowd *crowd = transport->state;

    if (crowd->has_begun)
        return 0;
    crowd->has_begun = true;
    return transport->kind->crowd_calls->begin(transport, job);
}

/* A job, whichever part of it is this end's. The course of a job adds messages to it, also to those
 * that go back. */
int crowd_run(struct transport *transport, struct job *job)
{
    const struct crowd_calls *calls = transport->kind->crowd_calls;
    struct crowd *crowd = transport->state;
    struct epoll_event event[EVENTS];
    int64_t moved_ns = watch_now_ns();
    uint64_t known = 0;

    crowd->job = job;
    crowd->begun = crowd->ended = crowd->arrived = crowd->arrived_bytes = 0;
    for (uint64_t i = 0; i < crowd->peers; i++)
        crowd->peer_bytes[i] = 0;
    while (!is_over(crowd)) {
        if (known != job->count) {
            known = job->count;
            if ((crowd->is_sender || is_duplex(crowd)) && calls->fill(crowd) < 0)
                return -1;
        }
        int count = epoll_wait(crowd->epoll, event, EVENTS, STREAM_PAUSE_MS);
        if (count > 0)
            moved_ns = watch_now_ns();
        else if (transport_despair(transport, moved_ns) < 0)
            return -1;
        for (int i = 0; i < count; i++) {
            if (calls->serve(crowd, event[i].data.u64) < 0)
                return -1;
        }
    }
    return 0;
}

double crowd_fairness(struct transport *transport)
{
    const struct crowd *crowd = transport->state;

    return fairness_index(crowd->peer_bytes, crowd->peers);
}

int crowd_connect(struct transport *transport)
{
    return crowd_create(transport, false) == NULL ? -1 : transport->port;
}
