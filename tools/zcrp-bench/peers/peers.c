#include "zcrp-bench/peers/peers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/pin.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/results/report.h"

enum {
    WARM_UP_PART = 4,
    USUAL_SECONDS = 2,
    EVENTS = 256,
    LOOK_MS = 5, /* how often a process that waits looks at the stage */
};

static const int64_t second_ns = 1000000000;

/* ---- a process ---- */

static double resident_kib(void)
{
    unsigned long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file != NULL && fscanf(file, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    if (file != NULL)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static int count_threads(void)
{
    DIR *directory = opendir("/proc/self/task");
    int count = 0;

    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count > 2 ? count - 2 : 0; /* without . and .. */
}

/* The messages' memory is touched, so that it is not counted as the peers'. */
static int crowd_init(struct crowd *crowd, struct stage *stage, bool is_sender)
{
    uint64_t bytes = stage->ways * stage->depth * stage->size;

    *crowd = (struct crowd){.stage = stage,
                            .is_sender = is_sender,
                            .epoll = epoll_create1(EPOLL_CLOEXEC),
                            .memory = malloc(bytes),
                            .received = calloc(stage->ways, sizeof *crowd->received)};
    if (crowd->epoll < 0 || crowd->memory == NULL || crowd->received == NULL)
        return complain("no memory or no descriptor for %llu peers: %s",
                        (unsigned long long)stage->peers, strerror(errno));
    memset(crowd->memory, 1, bytes);
    return 0;
}

/* What a process has while it is measured. */
struct gauge {
    struct watch begun;
    double kib;
};

static void gauge_end(const struct gauge *gauge, const struct stage *stage, struct peers_side *side)
{
    side->cpu_ns = watch_since(gauge->begun).cpu_ns;
    side->kib = (resident_kib() - gauge->kib) / (double)stage->peers;
    side->threads = count_threads() - 1;
}

/* Of the ways on which this process receives. */
static void note_bytes(const struct crowd *crowd, bool is_begin)
{
    struct stage *stage = crowd->stage;

    for (uint64_t i = 0; i < stage->ways; i++)
        if (!crowd_sends(crowd, i))
            stage->bytes[i] = crowd->received[i] - (is_begin ? 0 : stage->bytes[i]);
}

/* Does what can be done; waits for it a little. */
static int turn(const struct crowd_kind *kind, struct crowd *crowd)
{
    struct epoll_event event[EVENTS];
    int count = epoll_wait(crowd->epoll, event, EVENTS, LOOK_MS);
    int64_t now_ns = watch_now_ns();

    for (int i = 0; i < count; i++) {
        if (kind->serve(crowd, event[i].data.u64) < 0)
            return -1;
    }
    if (count > 0)
        crowd->moved_ns = now_ns;
    if (kind->when_idle != NULL &&
        now_ns - crowd->moved_ns > (int64_t)crowd->stage->settings.limit_ns)
        return complain("--peers: %s", kind->when_idle);
    return 0;
}

/* The receiving process says when it is measured: some time after the first message. */
static int receive(const struct crowd_kind *kind, struct crowd *crowd)
{
    struct stage *stage = crowd->stage;
    struct gauge gauge = {.kib = resident_kib()};
    int port = kind->listen(crowd);

    if (port < 0)
        return -1;
    stage->port = port;
    if (kind->accept(crowd) < 0 || kind->begin(crowd) < 0)
        return -1;
    stage->phase = PEERS_OPEN;
    int64_t begin_ns = watch_now_ns() + stage->duration_ns / WARM_UP_PART;
    crowd->moved_ns = watch_now_ns();
    while (stage->phase != PEERS_OVER) {
        int64_t now_ns = watch_now_ns();
        if (stage->phase == PEERS_OPEN && now_ns >= begin_ns) {
            gauge.begun = watch_read();
            note_bytes(crowd, true);
            stage->phase = PEERS_MEASURING;
        } else if (stage->phase == PEERS_MEASURING && now_ns >= begin_ns + stage->duration_ns) {
            note_bytes(crowd, false);
            stage->seconds = (double)(now_ns - gauge.begun.wall_ns) / 1e9;
            gauge_end(&gauge, stage, &stage->receiver);
            stage->phase = PEERS_OVER;
        }
        if (turn(kind, crowd) < 0)
            return -1;
    }
    return 0;
}

/* Waits until the receiving process has got so far. */
static int await_word(const struct stage *stage, const _Atomic int *word, int not_yet)
{
    int64_t limit_ns = watch_now_ns() + (int64_t)stage->settings.limit_ns;

    while (*word == not_yet) {
        if (watch_now_ns() > limit_ns)
            return complain("--peers: the receiving process does not get ready");
        usleep(1000);
    }
    return 0;
}

static int send_until_over(const struct crowd_kind *kind, struct crowd *crowd)
{
    struct stage *stage = crowd->stage;
    struct gauge gauge = {.kib = resident_kib()};
    enum peers_phase seen = PEERS_OPENING;

    if (await_word(stage, &stage->port, 0) < 0 || kind->connect(crowd, stage->port) < 0 ||
        await_word(stage, &stage->phase, PEERS_OPENING) < 0)
        return -1;
    if (kind->begin(crowd) < 0)
        return -1;
    crowd->moved_ns = watch_now_ns();
    while (stage->phase != PEERS_OVER) {
        if (seen != PEERS_MEASURING && stage->phase == PEERS_MEASURING) {
            gauge.begun = watch_read();
            note_bytes(crowd, true);
            seen = PEERS_MEASURING;
        }
        if (turn(kind, crowd) < 0)
            return -1;
    }
    note_bytes(crowd, false);
    gauge_end(&gauge, stage, &stage->sender);
    if (kind->name != NULL)
        kind->name(crowd);
    return 0;
}

/* The process ends with all its connections, and with its parent. */
static pid_t start(const struct crowd_kind *kind, struct stage *stage, bool is_sender, int core)
{
    pid_t parent = getpid();
    pid_t child = fork();
    struct crowd crowd;

    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || pin_to(core) < 0 || crowd_init(&crowd, stage, is_sender) < 0)
        _exit(EXIT_FAILURE);
    int status = is_sender ? send_until_over(kind, &crowd) : receive(kind, &crowd);
    _exit(status < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* ---- a measurement ---- */

static double jain(const uint64_t *bytes, uint64_t count)
{
    double sum = 0, squares = 0;

    for (uint64_t i = 0; i < count; i++) {
        sum += (double)bytes[i];
        squares += (double)bytes[i] * (double)bytes[i];
    }
    return squares > 0 ? sum * sum / ((double)count * squares) : 0;
}

static void note_run(const struct stage *stage, const struct choice *choice, struct run *run)
{
    *run = (struct run){
        .transport = choice->name,
        .size = stage->size,
        .depth = stage->depth,
        .seconds = stage->seconds,
        .sender = {.watch.cpu_ns = stage->sender.cpu_ns, .allocations.calls = ALLOCATIONS_UNKNOWN},
        .receiver = {.watch.cpu_ns = stage->receiver.cpu_ns,
                     .allocations.calls = ALLOCATIONS_UNKNOWN},
        .flows = stage->peers,
        .fairness = jain(stage->bytes, stage->ways),
        .peers = {.sender_threads = stage->sender.threads,
                  .receiver_threads = stage->receiver.threads,
                  .sender_kib = stage->sender.kib,
                  .receiver_kib = stage->receiver.kib}};
    snprintf(run->channel, sizeof run->channel, "%s", stage->channel);
    for (uint64_t i = 0; i < stage->ways; i++)
        run->bytes += stage->bytes[i];
    run->count = run->bytes / stage->size;
}

/* Waits for both; if one fails, the other one is ended. */
static int await_both(pid_t children[2])
{
    int status, result = 0;

    for (int i = 0; i < 2; i++) {
        pid_t ended = wait(&status);
        bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
        if (!is_good && result == 0) {
            result = complain("--peers: the %s process failed",
                              ended == children[0] ? "receiving" : "sending");
            kill(children[ended == children[0] ? 1 : 0], SIGKILL);
        }
    }
    return result;
}

static int measure(const struct options *options, const struct choice *choice, struct stage *stage,
                   struct run *run)
{
    const struct crowd_kind *kind = choice->kind == &transport_zcrp ? &crowd_zcrp : &crowd_tcp;
    pid_t children[2];

    children[0] = start(kind, stage, false, options->cores[1]);
    children[1] = children[0] < 0 ? -1 : start(kind, stage, true, options->cores[0]);
    if (children[1] < 0) {
        int error = errno;
        if (children[0] > 0)
            kill(children[0], SIGKILL);
        (void)wait(NULL);
        return complain("cannot start a process: %s", strerror(error));
    }
    if (await_both(children) < 0)
        return -1;
    note_run(stage, choice, run);
    return 0;
}

static int measure_one(const struct options *options, const struct choice *choice, uint64_t size,
                       struct run *run)
{
    uint64_t ways = options->is_duplex ? 2 * options->peers : options->peers;
    size_t bytes = sizeof(struct stage) + ways * sizeof(uint64_t);
    uint64_t slots = options->memory_bytes / (ways * size);
    uint64_t depth = options->settings.depth;
    struct stage *stage =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (stage == MAP_FAILED)
        return complain("no memory for %llu peers: %s", (unsigned long long)options->peers,
                        strerror(errno));
    slots = slots < 2 ? 2 : slots;
    stage->settings = options->settings;
    stage->manner = contender_manner(choice);
    stage->peers = options->peers;
    stage->ways = ways;
    stage->size = size;
    stage->depth = depth < slots ? depth : slots;
    stage->duration_ns =
        options->duration_ns != 0 ? options->duration_ns : USUAL_SECONDS * second_ns;
    int status = measure(options, choice, stage, run);
    munmap(stage, bytes);
    return status;
}

static int measure_all(void *nothing, const struct results *results)
{
    const struct options *options = results->options;
    size_t done = 0;

    (void)nothing;
    for (size_t size = 0; size < results->sizes; size++) {
        for (size_t repeat = 0; repeat < results->repeats; repeat++) {
            for (size_t i = 0; i < results->transports; i++) {
                progress_show("%zu of %zu", done++, results_count(results));
                if (measure_one(options, &options->transports[i], options->sizes[size],
                                results_run(results, size, repeat, i)) < 0)
                    return -1;
            }
        }
    }
    progress_clear();
    return 0;
}

/* Each connection has a descriptor or two. */
static int raise_limit(uint64_t count)
{
    uint64_t wanted = 3 * count + 100;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
        limit.rlim_max = limit.rlim_max < wanted ? wanted : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
            return complain("--peers %llu needs %llu descriptors: `ulimit -n` allows fewer",
                            (unsigned long long)count, (unsigned long long)wanted);
    }
    return 0;
}

int peers_run(const struct options *options)
{
    return raise_limit(options->peers) < 0 ? -1 : report_on(options, measure_all, NULL);
}
