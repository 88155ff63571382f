#include "zcrp-bench/ends/ends.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/ends/trips.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/transport.h"

/* As many channels as a sending end may open: each contender's lanes, and one back. */
enum { CHANNELS = OPTIONS_MAX_TRANSPORTS * (MANNERS_MAX + 1) };

struct receiving_end {
    const struct options *options; /* this end's command line */
    int listener;
    struct control control;
    struct settings settings; /* as the sending end wants them */
    struct transport transports[CHANNELS];
    size_t transport_count;
    struct memory memory;
    bool is_different; /* something arrived that was not sent */
    bool is_companion; /* another one has asked for it, with "flow" */
    struct companion *companions[OPTIONS_MAX_PARALLEL - 1]; /* that this one has asked for */
    size_t companion_count;
};

/* A flow beside the first, in a thread of its own. */
struct companion {
    pthread_t thread;
    struct receiving_end end;
    int fd;
    int status; /* once the thread has ended */
};

/* ---- a job ---- */

/* Complains of the last line. -1. */
static int malformed(const struct receiving_end *end)
{
    return complain("the sending end says nonsense: '%.80s'", end->control.line);
}

/* The job that is ordered, if it can be. */
static int make_job(struct receiving_end *end, const struct order *order, struct job *job)
{
    *job = (struct job){
        .size = order->size,
        .count = order->count,
        .ways = end->settings.peers > 0 ? end->settings.peers : 1,
        .depth = order->depth,
        .are_trips = order->are_trips != 0,
        .is_verified = order->is_verified != 0,
        .seed = order->seed,
        .course = {.control = &end->control, .look = order->look},
    };
    if (order->size == 0 || order->slots == 0 || order->duration_ns > INT64_MAX)
        return malformed(end);
    if (end->transports[order->transport].is_back)
        job->course = course_make(&end->control, order->size, (double)order->bits_per_s,
                                  (int64_t)order->duration_ns);
    if (memory_refit(&end->memory, order->slots, job->size) < 0)
        return -1;
    job->memory = end->memory;
    return job_is_sane(job) && job->depth <= end->settings.depth ? 0 : malformed(end);
}

/* The channel by which what comes by this one goes back; NULL: there is none. */
static struct transport *back_of(struct receiving_end *end, struct transport *there)
{
    const struct transport *behind = &end->transports[end->transport_count];

    if (there->kind->put == NULL || there->is_back)
        return NULL;
    if (!transport_is_simplex(there))
        return there;
    return there + 1 < behind && there[1].kind == there->kind && there[1].is_back ? there + 1
                                                                                  : NULL;
}

/* This end's part of the job, when the other end knows that it is ready. */
static int do_part(struct receiving_end *end, struct transport *transport, struct transport *back,
                   struct job *job)
{
    struct record record;

    record_begin(&record, transport);
    if ((job->are_trips && trips_expect(transport, job) < 0) ||
        control_say(&end->control, "ready") < 0)
        return -1;
    if (!job->are_trips && transport->is_back) {
        if (control_expect(&end->control, "go") == NULL)
            return -1;
        record_begin(&record, transport);
        job->course.start_ns = watch_now_ns();
    }
    int status;
    if (job->are_trips)
        status = trips_answer(transport, back, job);
    else
        status = transport->is_back ? transport->kind->send(transport, job)
                                    : transport->kind->receive(transport, job);
    if (status < 0)
        return -1;
    record_end(&record, transport, job);
    if (job->is_different) {
        end->is_different = true;
        job_complain(job, transport->kind->name);
    }
    return control_say_numbers(&end->control, "result", &record, sizeof record);
}

static int obey_measure(struct receiving_end *end)
{
    struct order order;
    struct job job;

    if (control_hear_numbers(&end->control, &order, sizeof order) < 0)
        return -1;
    if (order.transport >= end->transport_count)
        return malformed(end);
    struct transport *transport = &end->transports[order.transport];
    struct transport *back = back_of(end, transport);
    if (order.are_trips != 0 && back == NULL)
        return malformed(end);
    if (make_job(end, &order, &job) < 0 || transport_prepare(transport, &job) < 0 ||
        (job.are_trips && back != transport && transport_prepare(back, &job) < 0))
        return -1;
    int status = transport_begin(transport) < 0 ? -1 : do_part(end, transport, back, &job);
    transport_end(transport);
    return status;
}

/* ---- the conversation ---- */

/* Once: channels are as large as they say. */
static int obey_settings(struct receiving_end *end)
{
    if (end->settings.depth > 0)
        return malformed(end);
    return settings_hear(&end->control, &end->settings) < 0 ? -1
                                                            : control_say(&end->control, "settled");
}

/* "open TRANSPORT" or "back TRANSPORT" */
static int obey_open(struct receiving_end *end, const char *arguments, bool is_back)
{
    const struct transport_kind *kind = transport_find(arguments);
    struct transport *transport = &end->transports[end->transport_count];

    if (kind == NULL && peers_find(arguments) != NULL)
        return peers_complain(peers_find(arguments));
    if (kind == NULL || end->transport_count == CHANNELS)
        return malformed(end);
    *transport = (struct transport){
        .kind = kind,
        .settings = &end->settings,
        .control = &end->control,
        .is_back = is_back,
        .listener = end->listener,
    };
    end->transport_count++;
    return transport_answer(transport);
}

static int serve(struct receiving_end *end, int fd);

static void *run_companion(void *argument)
{
    struct companion *companion = argument;

    companion->status = serve(&companion->end, companion->fd);
    return NULL;
}

/* The connecting end's socket at `port`, which comes to the listener. */
static int accept_from_peer(struct receiving_end *end, long port)
{
    struct address peer;

    if (address_peer(end->control.fd, (int)port, &peer) < 0)
        return -1;
    return connection_accept_from(end->listener, &peer, (int64_t)end->settings.limit_ns);
}

static int start_companion(struct receiving_end *end, struct companion *companion)
{
    companion->end = (struct receiving_end){
        .options = end->options,
        .listener = end->listener,
        .is_companion = true,
    };
    int error = pthread_create(&companion->thread, NULL, run_companion, companion);
    if (error != 0)
        return complain("cannot start a thread: %s", strerror(error));
    end->companions[end->companion_count++] = companion;
    return 0;
}

/* "flow PORT": another connection has come from there, and is served beside this one. */
static int begin_companion(struct receiving_end *end, const char *arguments)
{
    struct companion *companion;
    long port = strtol(arguments, NULL, 10);

    if (end->is_companion || end->companion_count == OPTIONS_MAX_PARALLEL - 1 || port <= 0)
        return malformed(end);
    companion = calloc(1, sizeof *companion);
    if (companion == NULL)
        return complain("no memory for a flow: %s", strerror(ENOMEM));
    companion->fd = accept_from_peer(end, port);
    if (companion->fd >= 0 && start_companion(end, companion) == 0)
        return 0;
    if (companion->fd >= 0)
        close(companion->fd);
    free(companion);
    return -1;
}

/* They end with their own goodbyes, or when the sending end hangs up. */
static int end_companions(struct receiving_end *end)
{
    int status = 0;

    for (size_t i = 0; i < end->companion_count; i++) {
        pthread_join(end->companions[i]->thread, NULL);
        if (end->companions[i]->status < 0)
            status = -1;
        free(end->companions[i]);
    }
    return status;
}

/* 1 at the goodbye; 0 to go on; -1 with a complaint. */
static int obey(struct receiving_end *end)
{
    const char *arguments;

    if (control_hear(&end->control) < 0)
        return -1;
    if (control_arguments(&end->control, "measure") != NULL)
        return obey_measure(end);
    if (control_arguments(&end->control, "settings") != NULL)
        return obey_settings(end);
    if ((arguments = control_arguments(&end->control, "open")) != NULL)
        return obey_open(end, arguments, false);
    if ((arguments = control_arguments(&end->control, "back")) != NULL)
        return obey_open(end, arguments, true);
    if ((arguments = control_arguments(&end->control, "flow")) != NULL)
        return begin_companion(end, arguments);
    return control_arguments(&end->control, "bye") != NULL ? 1 : malformed(end);
}

static int converse(struct receiving_end *end)
{
    int status = 0;

    while (status == 0)
        status = obey(end);
    if (status < 0 && !control_is_broken(&end->control))
        control_say(&end->control, "failed %s", complain_last());
    return status < 0 || end->is_different ? -1 : 0;
}

/* A connection from the greeting to the end. */
static int serve(struct receiving_end *end, int fd)
{
    if (control_init(&end->control, fd, (int64_t)end->options->settings.limit_ns) < 0)
        return -1;
    int status = converse(end);
    control_fini(&end->control);
    if (end_companions(end) < 0)
        status = -1;
    for (size_t i = 0; i < end->transport_count; i++)
        transport_close(&end->transports[i]);
    memory_fini(&end->memory);
    return status;
}

int receiving_end_serve(const struct options *options, int listener, int fd)
{
    struct receiving_end end = {.options = options, .listener = listener};

    return serve(&end, fd);
}
