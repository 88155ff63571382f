/* Many peers in one thread: 64 bytes each way in turn over each of 1,000 connections, all busy at
 * once. Run by `make many-peers`.
 *
 *      queue         one completion queue for all: zcrp_queue_take
 *      descriptors   epoll for the descriptors of both halves of each connection, and zcrp_collect
 *
 * Two processes, each with one thread that serves all, and each both ways alike. The two ways take
 * turns, each over connections of its own, so their ratio means something where a rate does not. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/turns.h"
#include "zcrp.h"

enum { TURNS = 5, BYTES = 64, AT_ONCE = 64, PAUSE_MS = 20, DESCRIPTORS_A_PEER = 4 };
enum way { QUEUE, DESCRIPTORS, WAYS, OVER };

static const char *const ways[] = {"queue", "descriptors"};

/* Both ends map it. */
struct course {
    _Atomic int way;  /* in use; OVER: the end */
    _Atomic int port; /* of the server */
    _Atomic bool is_met;
};

struct peer {
    struct zcrp_connection *connection;
    struct zcrp_msg *in, *out;
    bool has_in, has_out; /* they have ended, or nothing was submitted */
};

static struct course *course;
static struct zcrp_queue *queue;
static int epoll;
static bool is_client;
static bool is_asking; /* of the client: trips go on */
static uint64_t trips; /* of the client, in this turn */
static int busy;       /* peers of the client whose answer has not come */

static void must(int code)
{
    if (code >= 0)
        return;
    fprintf(stderr, "many_peers: %s\n", zcrp_explain(code));
    exit(EXIT_FAILURE);
}

static void must_have(bool is_there)
{
    must(is_there ? ZCRP_OK : ZCRP_ERROR_SYSTEM);
}

/* ---- a peer ---- */

static void receive(struct peer *p)
{
    p->has_in = false;
    must(zcrp_submit(zcrp_connection_receiver(p->connection), p->in, BYTES));
}

static void send_one(struct peer *p)
{
    p->has_out = false;
    must(zcrp_submit(zcrp_connection_sender(p->connection), p->out, BYTES));
}

static void ask(struct peer *p)
{
    receive(p);
    send_one(p);
    busy++;
}

static void on_trip(struct peer *p)
{
    trips++;
    busy--;
    if (is_asking)
        ask(p);
}

/* The server answers, and is ready for the next question first. */
static void on_end(struct peer *p, const struct zcrp_msg *m)
{
    if (course->way == OVER)
        return;
    must(zcrp_error(m));
    if (m == p->in)
        p->has_in = true;
    else
        p->has_out = true;
    if (!p->has_in || !p->has_out)
        return;
    if (is_client) {
        on_trip(p);
    } else {
        receive(p);
        send_one(p);
    }
}

static struct zcrp_entity *half_of(const struct peer *p, unsigned half)
{
    return half == 0 ? zcrp_connection_receiver(p->connection)
                     : zcrp_connection_sender(p->connection);
}

static void watch(struct peer *p)
{
    for (unsigned half = 0; half < 2; half++) {
        int fd = zcrp_descriptor(half_of(p, half));
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uintptr_t)p | half};
        must(fd);
        must_have(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    }
}

static void begin(struct peer *p, struct zcrp_connection *c, enum way way)
{
    *p = (struct peer){.connection = c, .has_in = true, .has_out = true};
    p->in = zcrp_alloc_msg(BYTES);
    p->out = zcrp_alloc_msg(BYTES);
    must_have(p->in != NULL && p->out != NULL);
    memset(p->out->buffer, 0, BYTES);
    if (way == QUEUE)
        must(zcrp_queue_add_connection(queue, c, p));
    else
        watch(p);
    if (!is_client)
        receive(p);
}

/* ---- serving all of them ---- */

static void serve_queue(void)
{
    struct zcrp_completion c[AT_ONCE];
    int count = zcrp_queue_take(queue, c, AT_ONCE, PAUSE_MS * 1000000);

    must(count);
    for (int i = 0; i < count; i++)
        if (c[i].kind == ZCRP_MESSAGE_ENDED)
            on_end(c[i].context, c[i].message);
}

static void serve_descriptors(void)
{
    struct epoll_event event[AT_ONCE];
    int count = epoll_wait(epoll, event, AT_ONCE, PAUSE_MS);

    for (int i = 0; i < count; i++) {
        unsigned half = event[i].data.u64 & 1;
        struct peer *p = (struct peer *)(uintptr_t)(event[i].data.u64 - half);
        struct zcrp_msg *m;
        while ((m = zcrp_collect(half_of(p, half))) != NULL)
            on_end(p, m);
    }
}

static void serve(enum way way)
{
    if (way == QUEUE)
        serve_queue();
    else
        serve_descriptors();
}

/* ---- the ends ---- */

static void serve_until_over(int peers, struct peer *peer[WAYS], struct zcrp_options options)
{
    struct zcrp_listener *listener;
    struct zcrp_connection *c;

    options.connections = options.backlog = 3U * (uint32_t)peers;
    must(zcrp_listen(&listener, "127.0.0.1", "0", &options));
    course->port = zcrp_listener_port(listener);
    for (int way = 0; way < WAYS; way++)
        for (int i = 0; i < peers; i++) {
            must(zcrp_accept(listener, &c, -1));
            begin(&peer[way][i], c, (enum way)way);
        }
    course->is_met = true;
    while (course->way != OVER)
        serve((enum way)course->way);
}

static void connect_all(int peers, struct peer *peer[WAYS], const struct zcrp_options *options)
{
    struct zcrp_connection *c;
    char port[8];

    while (course->port == 0)
        usleep(1000);
    (void)snprintf(port, sizeof(port), "%d", course->port);
    for (int way = 0; way < WAYS; way++)
        for (int i = 0; i < peers; i++) {
            must(zcrp_connect(&c, "127.0.0.1", port, options, -1));
            begin(&peer[way][i], c, (enum way)way);
        }
    while (!course->is_met)
        usleep(1000);
}

/* Round trips a second. What is under way at the end comes in, too. */
static double turn(int peers, struct peer *peer, enum way way, double seconds)
{
    double began = now_s();

    course->way = way;
    trips = 0;
    is_asking = true;
    for (int i = 0; i < peers; i++)
        ask(&peer[i]);
    while (now_s() < began + seconds)
        serve(way);
    is_asking = false;
    while (busy > 0)
        serve(way);
    return (double)trips / (now_s() - began);
}

static void measure(int peers, struct peer *peer[WAYS], double seconds)
{
    double rate[WAYS][TURNS];

    for (int i = -1; i < TURNS; i++) /* the first is for the caches */
        for (int way = 0; way < WAYS; way++)
            rate[way][i < 0 ? 0 : i] = turn(peers, peer[way], (enum way)way, seconds);
    for (int way = 0; way < WAYS; way++)
        printf("%-12s %8.0f round trips/s over %d connections\n", ways[way],
               median(rate[way], TURNS), peers);
    printf("ratio        %8.2f\n", median(rate[QUEUE], TURNS) / median(rate[DESCRIPTORS], TURNS));
}

static void raise_limit(int peers)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)peers * WAYS * DESCRIPTORS_A_PEER + 100;

    must_have(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted;
    limit.rlim_max = limit.rlim_max < wanted ? wanted : limit.rlim_max;
    must_have(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* many_peers [PEERS [SECONDS [memory]]]: 1,000, for 1 s a turn; over UDP, or memory of this host.
 */
int main(int argc, char **argv)
{
    int peers = argc > 1 ? atoi(argv[1]) : 1000;
    double seconds = argc > 2 ? atof(argv[2]) : 1;
    bool is_memory = argc > 3 && strcmp(argv[3], "memory") == 0;
    const struct zcrp_options options = {.flags = is_memory ? 0 : ZCRP_NO_MEMORY};
    struct peer *peer[WAYS];

    must(peers > 0 ? ZCRP_OK : ZCRP_ERROR_ARGUMENT);
    raise_limit(peers);
    course = mmap(NULL, sizeof(*course), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must_have(course != MAP_FAILED);
    pid_t child = fork();
    is_client = child == 0;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    must_have(child >= 0 && epoll >= 0);
    must(zcrp_queue_open(&queue));
    for (int way = 0; way < WAYS; way++) {
        peer[way] = calloc((size_t)peers, sizeof(*peer[way]));
        must_have(peer[way] != NULL);
    }
    if (is_client) {
        connect_all(peers, peer, &options);
        measure(peers, peer, seconds);
        course->way = OVER;
        return 0; /* the system takes what is left */
    }
    serve_until_over(peers, peer, options);
    int status;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
