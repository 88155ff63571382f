#include "zcrp-bench/measuring/record.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/complain.h"

enum { NS_A_MILLISECOND = 1000000 };

static const char result[] = "result";
static const char pulse_verb[] = "pulse";

void record_begin(struct record *record, struct transport *transport)
{
    record->counts = transport_count(transport);
    allocations_begin();
    record->watch = watch_read();
}

void record_end(struct record *record, struct transport *transport)
{
    record->watch = watch_since(record->watch);
    record->allocations = allocations_read();
    struct counts after = transport_count(transport);
    record->counts = counts_since(&after, &record->counts);
}

int record_say(struct control *control, const struct record *record, const struct job *job)
{
    const struct allocations *allocations = &record->allocations;

    if (control_say(control,
                    "%s %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %d %d %" PRIu64 " %" PRIu64,
                    result, record->watch.wall_ns, record->watch.cpu_ns, allocations->calls,
                    allocations->peak_bytes, record->counts.is_known, (int)job_verdict(job),
                    job->message, job->offset) < 0)
        return -1;
    return control_say_numbers(control, record->counts.value, COUNTS);
}

int record_read(struct control *control, struct record *record, struct job *job,
                enum verdict *verdict)
{
    const char *arguments = control_arguments(control, result);
    uint64_t figures[8];

    if (arguments == NULL || control_figures(arguments, figures, 8) < 0 || figures[5] >= VERDICTS)
        return complain("the listening end says nonsense: '%.80s'", control->line);
    *record = (struct record){
        .watch = {.wall_ns = (int64_t)figures[0], .cpu_ns = (int64_t)figures[1]},
        .allocations = {.calls = figures[2], .peak_bytes = figures[3]},
        .counts = {.is_known = figures[4] != 0},
    };
    *verdict = (enum verdict)figures[5];
    job->message = figures[6];
    job->offset = figures[7];
    return control_hear_numbers(control, record->counts.value, COUNTS);
}

static void say(void *context, uint64_t n)
{
    const struct pulse *pulse = context;
    struct counts counts = transport_count(pulse->transport);

    counts = counts_since(&counts, &pulse->counts);
    control_say(pulse->transport->control, "%s %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64,
                pulse_verb, n, watch_since(pulse->watch).cpu_ns, counts.value[COUNT_units],
                counts.value[COUNT_units_in_place]);
}

int pulse_begin(struct pulse *pulse, struct transport *transport)
{
    bool is_wanted = transport->kind->look != NULL;

    pulse->transport = transport;
    pulse->watch = watch_read();
    pulse->counts = transport_count(transport);
    return ticker_begin(&pulse->ticker, is_wanted ? (int64_t)transport->settings->interval_ns : 0,
                        say, pulse);
}

void pulse_end(struct pulse *pulse)
{
    ticker_end(&pulse->ticker);
}

/* Whether the next line is a pulse; waits for a line until limit_ns. */
static bool is_next(const struct control *control, int64_t limit_ns)
{
    struct pollfd waiting = {.fd = control->fd, .events = POLLIN};
    int64_t left_ns = limit_ns - watch_now_ns();
    char first;

    poll(&waiting, 1, left_ns > 0 ? (int)(left_ns / NS_A_MILLISECOND) + 1 : 0);
    return recv(control->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && first == pulse_verb[0];
}

bool pulse_hear(const struct control *control, int64_t limit_ns, struct beat *beat)
{
    struct control own = {.fd = control->fd}; /* the other thread's line stays */
    uint64_t before = beat->n;
    const char *arguments;
    uint64_t figures[4];

    while (is_next(control, beat->n > before ? 0 : limit_ns)) {
        if (control_hear(&own) < 0 || (arguments = control_arguments(&own, pulse_verb)) == NULL ||
            control_figures(arguments, figures, 4) < 0)
            break;
        *beat = (struct beat){figures[0], figures[1], figures[2], figures[3]};
    }
    return beat->n > before;
}

int pulse_hear_past(struct control *control)
{
    do {
        if (control_hear(control) < 0)
            return -1;
    } while (control_arguments(control, pulse_verb) != NULL);
    return 0;
}
