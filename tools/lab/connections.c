/* What many connections cost a process. Run by `make connections`.
 *
 * Two processes open N connections, one after the other, each carries a message both ways and then
 * stays idle; then all are closed. Told are, of the connecting process, the time for both, the
 * library's threads, and resident memory and descriptors for each connection. */
#include "lab.h"

#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 10000 };

static struct zcrp_connection *connection[MOST];

static double resident_kib(void)
{
    unsigned long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu %lu", &all, &resident) != 2)
        exit(EXIT_FAILURE);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static int count_entries(const char *path)
{
    DIR *directory = opendir(path);
    int count = 0;

    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* A message each way, which this thread waits for. */
static void exchange(struct zcrp_connection *c, struct zcrp_msg *in, struct zcrp_msg *out)
{
    must(zcrp_submit(zcrp_connection_receiver(c), in, in->message_size));
    must(zcrp_submit(zcrp_connection_sender(c), out, out->message_size));
    must(zcrp_wait_for(in, -1));
    must(zcrp_wait_for(out, -1));
}

static void close_all(int count)
{
    for (int i = 0; i < count; i++)
        (void)zcrp_connection_close(connection[i]);
}

static _Noreturn void serve(int count, int tell, struct zcrp_msg *in, struct zcrp_msg *out)
{
    const struct zcrp_options options = {.connections = 2 * MOST};
    struct zcrp_listener *listener;
    char port[8] = "";

    must(zcrp_listen(&listener, "127.0.0.1", "0", &options));
    snprintf(port, sizeof port, "%d", zcrp_listener_port(listener));
    if (write(tell, port, sizeof port) != sizeof port)
        exit(EXIT_FAILURE);
    for (int i = 0; i < count; i++) {
        must(zcrp_accept(listener, &connection[i], -1));
        exchange(connection[i], in, out);
    }
    while (zcrp_connection_status(connection[count - 1]) == ZCRP_OK)
        usleep(1000);
    close_all(count);
    (void)zcrp_listener_close(listener);
    exit(EXIT_SUCCESS);
}

static void run(int count, const char *port, struct zcrp_msg *in, struct zcrp_msg *out)
{
    double before_kib = resident_kib(), begin = now_s();
    int descriptors = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");

    for (int i = 0; i < count; i++) {
        must(zcrp_connect(&connection[i], "127.0.0.1", port, NULL, -1));
        exchange(connection[i], in, out);
    }
    double opened = now_s() - begin;
    threads = count_entries("/proc/self/task") - threads;
    descriptors = count_entries("/proc/self/fd") - descriptors;
    double kib = resident_kib() - before_kib;
    begin = now_s();
    close_all(count);
    printf(
        "%d connections: opened and used in %.2f s, closed in %.2f s; %d threads; each %.1f KiB, "
        "%.2f descriptors\n",
        count, opened, now_s() - begin, threads, kib / count, (double)descriptors / count);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    long bytes = argc > 2 ? atol(argv[2]) : 1 << 20;
    int tell[2], status;
    char port[8];

    if (argc > 3 || count < 1 || count > MOST || bytes < 0) {
        fprintf(stderr, "usage: connections [COUNT [BYTES]], at most %d\n", MOST);
        return 2;
    }
    (void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){2 * MOST, 2 * MOST});
    struct zcrp_msg *in = zcrp_alloc_msg((nlong)bytes), *out = zcrp_alloc_msg((nlong)bytes);
    if (in == NULL || out == NULL || pipe(tell) != 0)
        return EXIT_FAILURE;
    memset(in->buffer, 1, (size_t)bytes);
    memset(out->buffer, 2, (size_t)bytes);
    pid_t child = fork();
    if (child == 0)
        serve(count, tell[1], in, out);
    if (child < 0 || read(tell[0], port, sizeof port) != sizeof port)
        return EXIT_FAILURE;
    run(count, port, in, out);
    return waitpid(child, &status, 0) == child && status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
