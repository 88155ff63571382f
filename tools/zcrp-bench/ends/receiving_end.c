#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/ends/ends.h"
#include "zcrp-bench/transports/carrier.h"
#include "zcrp-bench/transports/transport.h"

/* A flow beside the first, in a thread of its own. */
struct companion {
    pthread_t thread;
    struct receiving_end end;
    int fd;
    int status; /* once the thread has ended */
};

static int obey_settings(struct receiving_end *end, const char *arguments)
{
    if (settings_read(arguments, &end->settings) < 0)
        return serving_malformed(end);
    return control_say(&end->control, "settled");
}

/* "open TRANSPORT" or "back TRANSPORT" */
static int obey_open(struct receiving_end *end, const char *arguments, bool is_back)
{
    const struct transport_kind *kind = transport_find(arguments);
    struct transport *transport = &end->transports[end->transport_count];

    if (kind == NULL && peers_find(arguments) != NULL)
        return peers_complain(peers_find(arguments));
    if (kind == NULL || end->transport_count == CHANNELS)
        return serving_malformed(end);
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
static int accept_from_peer(struct receiving_end *end, uint64_t port)
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
        .output = -1,
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
    uint64_t port;

    if (end->is_companion || end->companion_count == OPTIONS_MAX_PARALLEL - 1 ||
        control_figures(arguments, &port, 1) < 0)
        return serving_malformed(end);
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
    if ((arguments = control_arguments(&end->control, "measure")) != NULL)
        return serving_measure(end, arguments);
    if ((arguments = control_arguments(&end->control, "settings")) != NULL)
        return obey_settings(end, arguments);
    if ((arguments = control_arguments(&end->control, "open")) != NULL)
        return obey_open(end, arguments, false);
    if ((arguments = control_arguments(&end->control, "back")) != NULL)
        return obey_open(end, arguments, true);
    if ((arguments = control_arguments(&end->control, "flow")) != NULL)
        return begin_companion(end, arguments);
    return control_arguments(&end->control, "bye") != NULL ? 1 : serving_malformed(end);
}

/* The output is the first flow's. */
static int open_files(struct receiving_end *end)
{
    const char *output = end->is_companion ? NULL : end->options->output;

    if (end->options->input != NULL && input_open(&end->input, end->options->input) < 0)
        return -1;
    if (output == NULL)
        return 0;
    end->output = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return end->output >= 0 ? 0 : complain("cannot write '%s': %s", output, strerror(errno));
}

static int converse(struct receiving_end *end)
{
    int status = open_files(end);

    while (status == 0)
        status = obey(end);
    if (status < 0 && !control_is_broken(&end->control))
        control_say(&end->control, "failed %s", complain_last());
    return status < 0 || end->is_different ? -1 : 0;
}

static void close_files(struct receiving_end *end)
{
    if (end->output >= 0)
        close(end->output);
    input_close(&end->input);
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
    close_files(end);
    return status;
}

int receiving_end_serve(const struct options *options, int listener, int fd)
{
    struct receiving_end end = {.options = options, .listener = listener, .output = -1};

    return serve(&end, fd);
}
