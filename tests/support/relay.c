#include "relay.h"

#include "common/clock.h"
#include "core/adt/random.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DATAGRAM_MOST = 65536, POLL_MS = 20 };

struct relay_datagram {
    int64_t due;
    int to;
    size_t size;
    uint8_t bytes[];
};

void relay_open(struct relay *r, const struct relay_faults *faults, uint64_t seed)
{
    int sender = loopback_bind();
    int receiver = loopback_bind();

    *r = (struct relay){.faults = *faults, .near = loopback_bind(), .far = loopback_bind()};
    loopback_connect(sender, r->near);
    loopback_connect(r->near, sender);
    loopback_connect(receiver, r->far);
    loopback_connect(r->far, receiver);
    r->ends = (struct loopback){.sender = {sender, sender}, .receiver = {receiver, receiver}};
    r->random[0] = seed;
    r->random[1] = ~seed;
}

/* A full socket waits for its reader a little: the faults that count are the seed's. */
static void pass(struct relay *r, int to, const uint8_t *bytes, size_t size)
{
    if (send(to, bytes, size, MSG_NOSIGNAL) == (ssize_t)size)
        atomic_fetch_add(&r->passed, 1);
}

/* True if the datagram was kept for later. */
static bool hold(struct relay *r, int64_t due, int to, const uint8_t *bytes, size_t size)
{
    struct relay_datagram *d;

    if (r->held_count == RELAY_HELD || (d = malloc(sizeof(*d) + size)) == NULL)
        return false;
    *d = (struct relay_datagram){.due = due, .to = to, .size = size};
    memcpy(d->bytes, bytes, size);
    r->held[r->held_count++] = d;
    return true;
}

static void release(struct relay *r, int64_t until)
{
    unsigned left = 0;

    for (unsigned i = 0; i < r->held_count; i++) {
        struct relay_datagram *d = r->held[i];
        if (d->due > until) {
            r->held[left++] = d;
            continue;
        }
        pass(r, d->to, d->bytes, d->size);
        free(d);
    }
    r->held_count = left;
}

static bool happens(uint64_t *random, unsigned chance)
{
    return random_next(random) % 1000 < chance;
}

/* Everything that the seed decides is drawn for every datagram, so that one fault does not shift
 * the others. */
static void treat(struct relay *r, int direction, int to, size_t size)
{
    const struct relay_faults *f = &r->faults;
    uint64_t *random = &r->random[direction];
    bool is_lost = happens(random, f->lost);
    int copies = happens(random, f->doubled) ? 2 : 1;
    bool is_late = happens(random, f->late);
    bool is_damaged = happens(random, f->damaged);
    uint64_t draw = random_next(random);
    int64_t hold_ns = f->delay_ns;
    uint32_t mtu = atomic_load(&r->mtu);

    if (is_lost || atomic_load(&r->is_cut) || (mtu != 0 && size > mtu)) {
        atomic_fetch_add(&r->lost, 1);
        return;
    }
    if (is_late && f->late_ns > 0)
        hold_ns += (int64_t)(draw % (uint64_t)f->late_ns);
    if (is_damaged && size > 0)
        r->buffer[draw % size] ^= (uint8_t)(1u << (draw >> 32) % 8);
    for (int i = 0; i < copies; i++)
        if (hold_ns == 0 || !hold(r, clock_now_ns() + hold_ns, to, r->buffer, size))
            pass(r, to, r->buffer, size);
}

static void receive_all(struct relay *r, int direction)
{
    int from = direction == 0 ? r->near : r->far;
    int to = direction == 0 ? r->far : r->near;
    ssize_t head = (ssize_t)loopback_head();
    ssize_t size;

    for (int i = 0; i < 64; i++) {
        size = recv(from, r->buffer, DATAGRAM_MOST, MSG_DONTWAIT) - head;
        if (size < 0)
            return;
        memmove(r->buffer, r->buffer + head, (size_t)size);
        treat(r, direction, to, (size_t)size);
    }
}

static int64_t next_due(const struct relay *r, int64_t latest)
{
    for (unsigned i = 0; i < r->held_count; i++)
        if (r->held[i]->due < latest)
            latest = r->held[i]->due;
    return latest;
}

static void *run(void *context)
{
    struct relay *r = context;

    while (!atomic_load(&r->is_over)) {
        struct pollfd set[] = {{.fd = r->near, .events = POLLIN}, {.fd = r->far, .events = POLLIN}};
        int64_t wait = next_due(r, clock_now_ns() + POLL_MS * 1000000) - clock_now_ns();
        struct timespec limit = {.tv_nsec = wait > 0 ? wait : 0};
        (void)ppoll(set, 2, &limit, NULL);
        receive_all(r, 0);
        receive_all(r, 1);
        release(r, clock_now_ns());
    }
    return NULL;
}

void relay_run(struct relay *r)
{
    r->buffer = malloc(DATAGRAM_MOST);
    if (r->buffer == NULL || pthread_create(&r->thread, NULL, run, r) != 0)
        abort();
}

void relay_close(struct relay *r)
{
    atomic_store(&r->is_over, true);
    pthread_join(r->thread, NULL);
    release(r, INT64_MAX);
    free(r->buffer);
    close(r->near);
    close(r->far);
}
