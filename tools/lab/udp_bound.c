/* What UDP over loopback carries before any protocol is added: an upper bound for ZCRP. Two
 * processes, credit through shared memory, nothing repeated. Run by `make udp-bound`.
 *
 *      udp_bound UNIT UNITS_A_CALL GRO BUFFER_KIB
 *      udp_bound 1472  1 0 4096     one unit a system call
 *      udp_bound 1472 44 1 4096     44 units a call: UDP_SEGMENT out, UDP_GRO in
 *      udp_bound 65000 1 1 4096     units as large as loopback carries
 *
 * Sending gathers {data, trailer, data, trailer, ...}; receiving scatters the same shape. So the
 * data of each unit lands in the user's buffer, and each trailer in memory of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRAILER = 32, UNITS_MOST = 128, SOCKET_BYTES = 8 << 20, WINDOW_BYTES = 2 << 20 };

static const double seconds_to_send = 2;

/* What both processes see. */
struct shared {
    _Atomic uint64_t arrived; /* bytes */
    _Atomic bool is_over;     /* nothing is sent any more */
};

struct bound {
    size_t data;  /* bytes of a unit without its trailer */
    size_t units; /* in a call */
    bool has_gro;
    size_t size; /* of the buffer */
    char *base;
    size_t at; /* where the next unit belongs */
    struct shared *shared;
    struct iovec pieces[2 * UNITS_MOST];
    char trailers[UNITS_MOST][TRAILER];
};

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Processor time of this process. */
static double cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "udp_bound: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void *map(size_t bytes, int sharing)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (memory == MAP_FAILED)
        fail("no memory");
    return memory;
}

/* The message of `units` units from bound->at on, and where the one behind it begins. */
static struct msghdr plan(struct bound *bound, size_t units, size_t *next)
{
    *next = bound->at;
    for (size_t i = 0; i < units; i++) {
        bound->pieces[2 * i] = (struct iovec){bound->base + *next, bound->data};
        bound->pieces[2 * i + 1] = (struct iovec){bound->trailers[i], TRAILER};
        *next += bound->data;
        if (*next + bound->data > bound->size)
            *next = 0;
    }
    return (struct msghdr){.msg_iov = bound->pieces, .msg_iovlen = 2 * units};
}

static void receive(struct bound *bound, int fd)
{
    const struct timeval patience = {.tv_usec = 300000};
    uint64_t bytes = 0;
    uint64_t calls = 0;
    double first = 0;
    double last = 0;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (;;) {
        size_t next;
        struct msghdr message = plan(bound, bound->has_gro ? bound->units : 1, &next);
        ssize_t got = recvmsg(fd, &message, 0);

        if (got < 0 && errno == EAGAIN && bound->shared->is_over)
            break;
        if (got < 0)
            continue;
        last = now_s();
        first = first > 0 ? first : last;
        bytes += (uint64_t)got;
        calls++;
        bound->shared->arrived += (uint64_t)got;
        bound->at = next;
    }
    printf("in  %6.2f Gb/s, %5.0f bytes a call, %.3f CPU s/GB\n",
           (double)bytes * 8e-9 / (last - first), (double)bytes / (double)calls,
           cpu_s() / ((double)bytes / 1e9));
}

static void send_all(struct bound *bound, int fd)
{
    const struct timespec pause = {.tv_nsec = 20000};
    double start = now_s();
    uint64_t sent = 0;
    double seconds;

    while (now_s() - start < seconds_to_send) {
        struct msghdr message;
        ssize_t taken;

        if (sent - bound->shared->arrived > WINDOW_BYTES) {
            nanosleep(&pause, NULL);
            continue;
        }
        message = plan(bound, bound->units, &bound->at);
        taken = sendmsg(fd, &message, 0);
        if (taken < 0)
            fail("cannot send");
        sent += (uint64_t)taken;
    }
    bound->shared->is_over = true;
    seconds = now_s() - start;
    wait(NULL);
    printf("out %6.2f Gb/s, %zu x %zu bytes a call, %.3f CPU s/GB, %.3f %% lost\n",
           (double)sent * 8e-9 / seconds, bound->units, bound->data + TRAILER,
           cpu_s() / ((double)sent / 1e9),
           100 * (double)(sent - bound->shared->arrived) / (double)sent);
}

/* Two sockets, the first connected to the second. */
static void open_sockets(const struct bound *bound, int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int bytes = SOCKET_BYTES;
    int unit = (int)bound->data + TRAILER;
    int one = 1;

    for (int i = 0; i < 2; i++) {
        ends[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        setsockopt(ends[i], SOL_SOCKET, i == 0 ? SO_SNDBUFFORCE : SO_RCVBUFFORCE, &bytes,
                   sizeof bytes);
    }
    if (bind(ends[1], (struct sockaddr *)&address, sizeof address) < 0 ||
        getsockname(ends[1], (struct sockaddr *)&address, &length) < 0 ||
        connect(ends[0], (struct sockaddr *)&address, length) < 0)
        fail("cannot connect");
    if (bound->has_gro && setsockopt(ends[1], IPPROTO_UDP, UDP_GRO, &one, sizeof one) < 0)
        fail("no UDP_GRO");
    if (bound->units > 1 && setsockopt(ends[0], IPPROTO_UDP, UDP_SEGMENT, &unit, sizeof unit) < 0)
        fail("no UDP_SEGMENT");
}

/* A number from least to most; the usage if there is none. */
static size_t number(const char *text, size_t least, size_t most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (end != text && *end == '\0' && value >= least && value <= most)
        return value;
    fprintf(stderr, "udp_bound: '%s' is not a number from %zu to %zu\n", text, least, most);
    exit(2);
}

int main(int argc, char **argv)
{
    static struct bound bound;
    int ends[2];

    if (argc != 5) {
        fprintf(stderr, "usage: udp_bound UNIT UNITS_A_CALL GRO BUFFER_KIB\n");
        return 2;
    }
    bound.data = number(argv[1], TRAILER + 1, 65507) - TRAILER;
    bound.units = number(argv[2], 1, UNITS_MOST);
    bound.has_gro = number(argv[3], 0, 1) == 1;
    bound.size = (number(argv[4], 1, 1 << 20) << 10) + bound.data;
    bound.shared = map(sizeof *bound.shared, MAP_SHARED);
    open_sockets(&bound, ends);
    fflush(stdout);
    if (fork() == 0) {
        bound.base = map(bound.size, MAP_PRIVATE);
        receive(&bound, ends[1]);
        return EXIT_SUCCESS;
    }
    bound.base = map(bound.size, MAP_PRIVATE);
    send_all(&bound, ends[0]);
    return EXIT_SUCCESS;
}
