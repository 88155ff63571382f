/* One rank of two, for two network namespaces or hosts that share a folder: it loads the plugin of
 * $ZCRP_BUILD as NCCL does, and sends messages, or receives and verifies them. NCCL_SOCKET_IFNAME
 * says over which interface. The receiver prints how fast they came. A failure ends it with a
 * signal.
 *
 *     nccl-rank receive FOLDER [BYTES [MESSAGES [AT-ONCE]]]
 *     nccl-rank send FOLDER [BYTES [MESSAGES [AT-ONCE]]]
 *
 * The receiver writes its handle to FOLDER/handle; both take the same numbers. */
#include "../support/pattern.h"
#include "driver.h"

#include <string.h>
#include <time.h>

enum { VERSION = 11, WAIT_MS = 10, WAITS_MOST = 3000 };

struct load {
    size_t bytes;
    int messages, at_once;
    uint8_t *memory; /* of as many as are under way at once */
    void *request[NET_REQUESTS_MOST];
};

/* ---- the bootstrap network ---- */

static void give_handle(const char *folder, const char handle[NET_HANDLE_BYTES])
{
    char path[512], draft[520];

    (void)snprintf(path, sizeof(path), "%s/handle", folder);
    (void)snprintf(draft, sizeof(draft), "%s.new", path);
    FILE *file = fopen(draft, "we");
    must(file != NULL && fwrite(handle, NET_HANDLE_BYTES, 1, file) == 1 && fclose(file) == 0);
    must(rename(draft, path) == 0);
}

static void get_handle(const char *folder, char handle[NET_HANDLE_BYTES])
{
    const struct timespec some = {.tv_nsec = WAIT_MS * 1000000};
    FILE *file = NULL;
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/handle", folder);
    for (int i = 0; i < WAITS_MOST && (file = fopen(path, "re")) == NULL; i++)
        (void)nanosleep(&some, NULL);
    must(file != NULL && fread(handle, NET_HANDLE_BYTES, 1, file) == 1 && fclose(file) == 0);
}

/* ---- messages ---- */

/* Message n uses the memory of message n - at_once, which has ended. */
static void submit(const struct driver *d, void *comm, struct load *l, int n, bool sends)
{
    uint8_t *memory = l->memory + (size_t)(n % l->at_once) * l->bytes;
    void **request = &l->request[n % l->at_once];

    if (sends)
        pattern_fill(memory, l->bytes, (uint64_t)n);
    must((sends ? driver_send(d, comm, memory, l->bytes, request)
                : driver_receive(d, comm, 1, memory, l->bytes, request)) == NET_OK);
    must(*request != NULL);
}

static void end(const struct driver *d, const struct load *l, int n, bool sends)
{
    int size = -1;

    must(driver_end(d, l->request[n % l->at_once], &size) == NET_OK && (size_t)size == l->bytes);
    if (!sends)
        must(pattern_holds(l->memory + (size_t)(n % l->at_once) * l->bytes, l->bytes, (uint64_t)n));
}

static void run(const struct driver *d, void *comm, struct load *l, bool sends)
{
    for (int n = 0; n < l->messages + l->at_once; n++) {
        if (n >= l->at_once)
            end(d, l, n - l->at_once, sends);
        if (n < l->messages)
            submit(d, comm, l, n, sends);
    }
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void receive(const struct driver *d, const char *folder, struct load *l)
{
    char handle[NET_HANDLE_BYTES];
    void *listener, *receiver;

    must(driver_listen(d, handle, &listener) == NET_OK);
    give_handle(folder, handle);
    must(driver_accept_fully(d, listener, &receiver) == NET_OK);
    must(driver_endings(d).close_listener(listener) == NET_OK);
    double began = now();
    run(d, receiver, l, false);
    double seconds = now() - began;
    (void)printf("%d messages of %zu bytes, %d at once, in %.3f s: %.3f Gbit/s\n", l->messages,
                 l->bytes, l->at_once, seconds, 8e-9 * (double)l->bytes * l->messages / seconds);
    must(driver_endings(d).close_receiver(receiver) == NET_OK);
}

static void send(const struct driver *d, const char *folder, struct load *l)
{
    char handle[NET_HANDLE_BYTES];
    void *sender;

    get_handle(folder, handle);
    must(driver_connect_fully(d, handle, &sender) == NET_OK);
    run(d, sender, l, true);
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

int main(int argc, char **argv)
{
    struct load l = {.bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 524288,
                     .messages = argc > 4 ? atoi(argv[4]) : 1000,
                     .at_once = argc > 5 ? atoi(argv[5]) : 8};

    if (argc < 3 || l.at_once < 1 || l.at_once > NET_REQUESTS_MOST) {
        (void)fprintf(stderr,
                      "usage: nccl-rank receive|send FOLDER [BYTES [MESSAGES [AT-ONCE]]]\n");
        return 2;
    }
    l.memory = malloc((size_t)l.at_once * l.bytes + 1);
    must(l.memory != NULL);
    struct driver d = driver_load(VERSION);
    (strcmp(argv[1], "send") == 0 ? send : receive)(&d, argv[2], &l);
    driver_finalize(&d);
    free(l.memory);
    return 0;
}
