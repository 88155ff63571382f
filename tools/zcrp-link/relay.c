#include "relay.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "core/adt/random.h"

/* Memory for packets under way, at most. */
static const uint64_t most_bytes = UINT64_C(512) << 20;

/* More than so many packets in a while are many; then it sleeps so long after each look. */
#define WHILE MILLISECOND
#define MANY 50
#define NAP (25 * MICROSECOND)

int relay_init(struct relay *r, const int wire[ENDS], const struct conditions conditions[ENDS],
               uint64_t mtu, uint64_t seed)
{
    *r = (struct relay){.wire = {wire[END_A], wire[END_B]}};
    packets_init(&r->packets, mtu, most_bytes / (mtu + sizeof(struct packet)));
    for (int end = 0; end < ENDS; end++) {
        if (path_init(&r->path[end], &conditions[end], &r->packets, random_next(&seed)) < 0) {
            relay_fini(r);
            return complain("there is no memory for the link");
        }
    }
    return 0;
}

void relay_fini(struct relay *r)
{
    for (int end = 0; end < ENDS; end++)
        path_fini(&r->path[end]);
    packets_fini(&r->packets);
}

void relay_hurry(void)
{
    const struct sched_param least = {.sched_priority = 1};

    prctl(PR_SET_TIMERSLACK, 1UL);
    (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least);
}

/* Reads what has come to a wire. Each packet comes when it is read. */
static void take_in(struct relay *r, int end)
{
    for (unsigned i = 0; i < RELAY_BATCH; i++) {
        struct packet *packet = packets_take(&r->packets);
        ssize_t size;

        if (packet == NULL)
            return;
        size = read(r->wire[end], packet->bytes, r->packets.room);
        if (size <= 0) {
            packets_put(&r->packets, packet);
            r->is_readable[end] = false;
            return;
        }
        packet->size = (uint32_t)size;
        r->counted++;
        path_enter(&r->path[end], clock_now_ns(), packet);
    }
}

/* Writes what has come out to the other wire. A packet whose version was hit by corruption is
 * refused. */
static void give_out(struct relay *r, int end, instant now)
{
    struct packet *packet;

    while ((packet = path_take(&r->path[end], now)) != NULL) {
        if (write(r->wire[ENDS - 1 - end], packet->bytes, packet->size) < 0)
            r->refused[end]++;
        packets_put(&r->packets, packet);
    }
}

static instant next_at(const struct relay *r, instant until)
{
    for (int end = 0; end < ENDS; end++)
        until = instant_earlier(until, path_next_at(&r->path[end]));
    return until;
}

static struct timespec time_until(const struct relay *r, instant at)
{
    duration left = at - clock_now_ns();

    if (left < 0 || r->is_spinning || r->is_readable[END_A] || r->is_readable[END_B])
        left = 0;
    return (struct timespec){.tv_sec = left / SECOND, .tv_nsec = left % SECOND};
}

/* Sleeps until a packet comes or is due, or there is something at `other`: then true. Without
 * memory nothing is read until something is due. */
static bool wait_for_more(struct relay *r, int other, instant until)
{
    bool is_full = r->packets.free == NULL && r->packets.made == r->packets.most;
    short events = is_full ? 0 : POLLIN;
    struct pollfd polled[] = {
        {.fd = r->wire[END_A], .events = events},
        {.fd = r->wire[END_B], .events = events},
        {.fd = other, .events = POLLIN},
    };
    struct timespec timeout = time_until(r, next_at(r, until));

    if (ppoll(polled, sizeof polled / sizeof *polled, &timeout, NULL) < 0) {
        assert(errno == EINTR);
        return false;
    }
    for (int end = 0; end < ENDS; end++)
        r->is_readable[end] = (polled[end].revents & POLLIN) != 0;
    return polled[ENDS].revents != 0;
}

/* Knows from the last while whether there is much to do. */
static void count(struct relay *r, instant now)
{
    if (now - r->counted_from < WHILE)
        return;
    r->is_busy = r->counted >= MANY;
    r->counted_from = now;
    r->counted = 0;
}

/* Gives packets the time to become several. */
static void nap(const struct relay *r)
{
    const struct timespec length = {.tv_nsec = NAP};

    if (r->is_busy && !r->is_spinning && !r->is_readable[END_A] && !r->is_readable[END_B])
        nanosleep(&length, NULL);
}

bool relay_run(struct relay *r, int other, instant until)
{
    do {
        nap(r);
        if (wait_for_more(r, other, until))
            return true;
        for (int end = 0; end < ENDS; end++) {
            if (r->is_readable[end])
                take_in(r, end);
        }
        for (int end = 0; end < ENDS; end++)
            give_out(r, end, clock_now_ns());
        count(r, clock_now_ns());
    } while (clock_now_ns() < until);
    return false;
}
