#include "load.h"

#include "../support/pattern.h"
#include "watcher.h"

/* One end of it. */
struct half {
    const struct driver *driver;
    const struct load *load;
    void *comm;
    bool sends;
    uint8_t *memory; /* of as many messages as are under way at once */
    void *request[NET_REQUESTS_MOST];
    struct watcher watcher; /* of a receiver that is watched */
};

static uint8_t *memory_of(const struct half *h, int n)
{
    return h->memory + (size_t)(n % h->load->at_once) * h->load->bytes;
}

static size_t lines_of(const struct load *l)
{
    return l->bytes / sizeof(struct watcher_line);
}

static void fill(const struct half *h, int n)
{
    if (h->load->is_watched)
        watcher_fill((struct watcher_line *)memory_of(h, n), lines_of(h->load), n);
    else
        pattern_fill(memory_of(h, n), h->load->bytes, (uint64_t)n);
}

/* Message n uses the memory of message n - at_once, which has ended. */
static void submit(struct half *h, int n)
{
    void **request = &h->request[n % h->load->at_once];
    size_t bytes = h->load->bytes;

    if (h->sends)
        fill(h, n);
    *request = h->load->is_watched ? NET_END_IS_OPTIONAL : NULL;
    must((h->sends
              ? driver_send(h->driver, h->comm, memory_of(h, n), bytes, request)
              : driver_receive(h->driver, h->comm, 1, memory_of(h, n), bytes, request)) == NET_OK);
    must(*request != NULL);
}

static void end(struct half *h, int n)
{
    size_t bytes = h->load->bytes;
    int size = -1;

    must(driver_end(h->driver, h->request[n % h->load->at_once], &size) == NET_OK);
    must((size_t)size == bytes);
    if (!h->sends && h->load->is_watched)
        watcher_await(&h->watcher, n);
    else if (!h->sends)
        must(pattern_holds(memory_of(h, n), bytes, (uint64_t)n));
}

static void run(struct half *h)
{
    const struct load *l = h->load;

    h->memory = calloc((size_t)l->at_once, l->bytes + 1);
    must(h->memory != NULL && (!l->is_watched || l->bytes % sizeof(struct watcher_line) == 0));
    bool is_watched = l->is_watched && !h->sends;
    h->watcher = (struct watcher){.memory = (struct watcher_line *)h->memory,
                                  .lines = lines_of(l),
                                  .steps = l->messages,
                                  .at_once = l->at_once};
    if (is_watched)
        watcher_start(&h->watcher);
    for (int n = 0; n < l->messages + l->at_once; n++) {
        if (n >= l->at_once)
            end(h, n - l->at_once);
        if (n < l->messages)
            submit(h, n);
    }
    if (is_watched)
        watcher_finish(&h->watcher);
    free(h->memory);
}

void load_send(const struct driver *d, void *sender, const struct load *l)
{
    struct half h = {.driver = d, .load = l, .comm = sender, .sends = true};

    run(&h);
}

void load_receive(const struct driver *d, void *receiver, const struct load *l)
{
    struct half h = {.driver = d, .load = l, .comm = receiver};

    run(&h);
}
