#include "zcrp-bench/ends/ends.h"

#include <stdlib.h>

#include "common/complain.h"
#include "zcrp-bench/ends/trips.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/transport.h"

/* As many transports as a sending end may open: the flows of each contender's lanes, and one back.
 */
enum { CHANNELS = OPTIONS_MAX_TRANSPORTS * (MANNERS_MAX * FLOWS_MAX + 1) };

struct receiving_end {
    const struct options *options; /* this end's command line */
    int listener;
    struct control control;
    struct settings settings;     /* as the sending end wants them */
    struct transport *transports; /* CHANNELS */
    size_t transport_count;
    struct memory memory;
    bool is_different; /* something arrived that was not sent */
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
        .ways = end->settings.peers > 0 ? end->settings.peers : end->settings.flows,
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
        job->course.start_ns = clock_now_ns();
    }
    int status = job->are_trips ? trips_answer(transport, back, job)
                                : flows_move(transport, job, transport->is_back, &record.fairness);
    if (status < 0)
        return -1;
    record_end(&record, transport, job);
    if (job->is_different) {
        end->is_different = true;
        job_complain(job, transport->kind->name);
    }
    return control_say_numbers(&end->control, "result", &record, sizeof record);
}

/* The channel with this number, if all its flows are there; else NULL. */
static struct transport *channel_at(struct receiving_end *end, uint64_t number)
{
    uint64_t flows = end->settings.flows;

    if (flows > end->transport_count || number > end->transport_count - flows)
        return NULL;
    struct transport *first = &end->transports[number];
    for (uint64_t i = 1; i < flows; i++) {
        if (first[i].kind != first->kind || first[i].is_back != first->is_back)
            return NULL;
    }
    return flows > 0 ? first : NULL;
}

static int obey_measure(struct receiving_end *end)
{
    struct order order;
    struct job job;

    if (control_hear_numbers(&end->control, &order, sizeof order) < 0)
        return -1;
    struct transport *transport = channel_at(end, order.transport);
    if (transport == NULL)
        return malformed(end);
    struct transport *back = back_of(end, transport);
    if (order.are_trips != 0 && back == NULL)
        return malformed(end);
    if (make_job(end, &order, &job) < 0 || flows_prepare(transport, &job) < 0 ||
        (job.are_trips && back != transport && flows_prepare(back, &job) < 0))
        return -1;
    return do_part(end, transport, back, &job);
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

int receiving_end_serve(const struct options *options, int listener, int fd)
{
    struct receiving_end end = {.options = options, .listener = listener};

    if (control_init(&end.control, fd, (int64_t)options->settings.limit_ns) < 0)
        return -1;
    end.transports = calloc(CHANNELS, sizeof *end.transports);
    int status = end.transports != NULL ? converse(&end) : complain("no memory for channels");
    control_fini(&end.control);
    for (size_t i = 0; i < end.transport_count; i++)
        transport_close(&end.transports[i]);
    free(end.transports);
    memory_fini(&end.memory);
    return status;
}
