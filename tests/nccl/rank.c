/* One rank of two, for two network namespaces or hosts that share a folder: it loads the plugin of
 * $ZCRP_BUILD as NCCL does, and sends messages, or receives and verifies them. NCCL_SOCKET_IFNAME
 * says over which interface. The receiver prints how fast they came. A failure ends it with a
 * signal.
 *
 *     nccl-rank receive FOLDER [BYTES [MESSAGES [AT-ONCE [watch]]]]
 *     nccl-rank send FOLDER [BYTES [MESSAGES [AT-ONCE [watch]]]]
 *
 * The receiver writes its handle to FOLDER/handle; both take the same numbers, and `watch`, with
 * which a thread of the receiver takes the messages as a GPU does (watcher.h). */
#include "load.h"

#include "common/clock.h"

#include <string.h>
#include <time.h>

enum { VERSION = 11, WAIT_MS = 10, WAITS_MOST = 3000 };

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

static double now(void)
{
    return (double)clock_now_ns() / 1e9;
}

static void receive(const struct driver *d, const char *folder, const struct load *l)
{
    char handle[NET_HANDLE_BYTES];
    void *listener, *receiver;

    must(driver_listen(d, handle, &listener) == NET_OK);
    give_handle(folder, handle);
    must(driver_accept_fully(d, listener, &receiver) == NET_OK);
    must(driver_endings(d).close_listener(listener) == NET_OK);
    double began = now();
    load_receive(d, receiver, l);
    double seconds = now() - began;
    (void)printf("%d messages of %zu bytes, %d at once, in %.3f s: %.3f Gbit/s\n", l->messages,
                 l->bytes, l->at_once, seconds, 8e-9 * (double)l->bytes * l->messages / seconds);
    must(driver_endings(d).close_receiver(receiver) == NET_OK);
}

static void send(const struct driver *d, const char *folder, const struct load *l)
{
    char handle[NET_HANDLE_BYTES];
    void *sender;

    get_handle(folder, handle);
    must(driver_connect_fully(d, handle, &sender) == NET_OK);
    load_send(d, sender, l);
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

int main(int argc, char **argv)
{
    struct load l = {.bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 524288,
                     .messages = argc > 4 ? atoi(argv[4]) : 1000,
                     .at_once = argc > 5 ? atoi(argv[5]) : 8,
                     .is_watched = argc > 6 && strcmp(argv[6], "watch") == 0};

    if (argc < 3 || l.at_once < 1 || l.at_once > NET_REQUESTS_MOST) {
        (void)fprintf(
            stderr, "usage: nccl-rank receive|send FOLDER [BYTES [MESSAGES [AT-ONCE [watch]]]]\n");
        return 2;
    }
    struct driver d = driver_load(VERSION);
    (strcmp(argv[1], "send") == 0 ? send : receive)(&d, argv[2], &l);
    driver_finalize(&d);
    return 0;
}
