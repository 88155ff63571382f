#include "zcrp-bench/measuring/pulse.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/socket.h>

enum { NS_A_MILLISECOND = 1000000 };

static const char verb[] = "pulse";

static void say(void *context, uint64_t n)
{
    const struct pulse *pulse = context;
    struct counts counts;

    pulse->transport->kind->count(pulse->transport, &counts);
    counts = counts_since(&counts, &pulse->counts);
    control_say(pulse->transport->control, "%s %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64, verb,
                n, watch_since(pulse->watch).cpu_ns, counts.value[COUNT_units],
                counts.value[COUNT_units_in_place]);
}

int pulse_begin(struct pulse *pulse, struct transport *transport)
{
    bool is_wanted = transport->kind->look != NULL;

    pulse->transport = transport;
    pulse->watch = watch_read();
    transport->kind->count(transport, &pulse->counts);
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
    return recv(control->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && first == verb[0];
}

bool pulse_hear(const struct control *control, int64_t limit_ns, struct beat *beat)
{
    struct control own = {.fd = control->fd}; /* the other thread's line stays */
    uint64_t before = beat->n;
    const char *arguments;
    uint64_t figures[4];

    while (is_next(control, beat->n > before ? 0 : limit_ns)) {
        if (control_hear(&own) < 0 || (arguments = control_arguments(&own, verb)) == NULL ||
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
    } while (control_arguments(control, verb) != NULL);
    return 0;
}
