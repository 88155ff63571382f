/* ZCRP as a message transport. Simplex: a channel each way for round trips. */
#include <stdio.h>

#include "aal5.h"
#include "transport.h"
#include "watch.h"
#include "zcrp_end.h"

static int zcrp_offer(struct transport *transport, int listener)
{
    (void)listener;
    return aal5_offer(transport);
}

static int zcrp_accept(struct transport *transport, int listener, int port)
{
    (void)listener;
    return aal5_accept(transport, port) < 0 ? -1 : zcrp_end_open(transport, transport->is_back);
}

static int zcrp_connect(struct transport *transport, int port)
{
    int own = aal5_connect(transport, port);

    return own < 0 || zcrp_end_open(transport, !transport->is_back) < 0 ? -1 : own;
}

static int zcrp_send_job(struct transport *transport, struct job *job)
{
    uint64_t waited = 0;

    for (uint64_t n = 0; n < job->count; n++) {
        if (n >= job->depth && zcrp_end_wait(transport, job, waited++) < 0)
            return -1;
        if (zcrp_end_submit(transport, job, n, job_outgoing(job, n)) < 0)
            return -1;
    }
    while (waited < job->count) {
        if (zcrp_end_wait(transport, job, waited++) < 0)
            return -1;
    }
    return 0;
}

/* Posts ahead, up to `depth` messages before the one that is waited for. */
static int zcrp_receive_job(struct transport *transport, struct job *job)
{
    uint64_t posted = 0;

    for (uint64_t n = 0; n < job->count; n++) {
        for (; posted < job->count && posted - n < job->depth; posted++) {
            if (zcrp_end_submit(transport, job, posted, memory_slot(&job->memory, posted)) < 0)
                return -1;
        }
        if (zcrp_end_wait(transport, job, n) < 0 ||
            job_incoming(job, n, memory_slot(&job->memory, n)) < 0)
            return -1;
    }
    return 0;
}

static int post(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot)
{
    if (n >= job->count)
        return 0;
    return zcrp_end_submit(transport, job, n, memory_slot(&job->memory, slot));
}

/* Posts the first `depth` messages: buffers are there before anything arrives. Message n's question
 * has slot 2n, its answer slot 2n + 1. */
static int post_ahead(struct transport *transport, const struct job *job, uint64_t side)
{
    for (uint64_t n = 0; n < job->depth; n++) {
        if (post(transport, job, n, 2 * n + side) < 0)
            return -1;
    }
    return 0;
}

static int zcrp_ping(struct transport *there, struct transport *back, const struct job *job,
                     struct histogram *trips)
{
    if (post_ahead(back, job, 1) < 0)
        return -1;
    for (uint64_t n = 0; n < job->count; n++) {
        int64_t start = watch_now_ns();

        if (zcrp_end_submit(there, job, n, memory_slot(&job->memory, 2 * n)) < 0 ||
            zcrp_end_wait(back, job, n) < 0)
            return -1;
        histogram_add(trips, (uint64_t)(watch_now_ns() - start));
        if (zcrp_end_wait(there, job, n) < 0 ||
            post(back, job, n + job->depth, 2 * (n + job->depth) + 1) < 0)
            return -1;
    }
    return 0;
}

/* Answers with the question itself; all that can wait is done behind the answer. */
static int zcrp_pong(struct transport *there, struct transport *back, const struct job *job)
{
    if (post_ahead(there, job, 0) < 0 || control_say(there->control, "ready") < 0)
        return -1;
    for (uint64_t n = 0; n < job->count; n++) {
        if (zcrp_end_wait(there, job, n) < 0 ||
            zcrp_end_submit(back, job, n, memory_slot(&job->memory, 2 * n)) < 0)
            return -1;
        if (n > 0 && (zcrp_end_wait(back, job, n - 1) < 0 ||
                      post(there, job, n - 1 + job->depth, 2 * (n - 1 + job->depth)) < 0))
            return -1;
    }
    return zcrp_end_wait(back, job, job->count - 1);
}

const struct transport_kind transport_zcrp = {
    .name = "zcrp",
    .is_simplex = true,
    .offer = zcrp_offer,
    .accept = zcrp_accept,
    .connect = zcrp_connect,
    .prepare = zcrp_end_prepare,
    .send = zcrp_send_job,
    .receive = zcrp_receive_job,
    .ping = zcrp_ping,
    .pong = zcrp_pong,
    .count = zcrp_end_count,
    .close = zcrp_end_close,
    .look = zcrp_end_look,
};
