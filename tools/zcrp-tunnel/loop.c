#include "loop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "common/signals.h"

enum { EVENTS = 256, TAKEN = 64, TAKES = 16, TICK_MS = 250, SIGNALLED = 128, SHARES = 64 };

static const int64_t tick_ns = (int64_t)TICK_MS * 1000000, finish_ns = 2000000000;

static struct loop {
    const struct loop_calls *calls;
    int epoll;
    struct zcrp_queue *queue;
    struct watch completions;
    struct turn *due;
    int64_t ticked_ns;
    bool has_ended;
    int status;
} loop;

static atomic_int ending_signal;
static atomic_bool usr1_came;

/* ---- jobs ---- */

/* Askers with the same hash: their jobs that wait, in order, and how many threads they have. */
struct share {
    struct job *first, *last;
    int threads;
};

static struct work {
    struct crew crew;
    struct share shares[SHARES];
    int threads; /* that all shares have */
} works[JOB_KINDS];

static struct {
    pthread_mutex_t lock;
    struct crew_job *done; /* under the lock */
    int closes;            /* that have not finished */
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_done(struct crew_job *job)
{
    pthread_mutex_lock(&jobs.lock);
    job->next = jobs.done;
    jobs.done = job;
    pthread_mutex_unlock(&jobs.lock);
    (void)zcrp_queue_interrupt(loop.queue); /* which wakes the loop */
}

/* A host may take any address of its IPv6 network of 64 bits, so the network is the asker. One on a
 * single link, which is written behind the address, is an asker by itself. */
static unsigned share_of(const char *asker)
{
    struct in6_addr ip6;
    uint32_t hash = 0;

    if (inet_pton(AF_INET6, asker, &ip6) == 1)
        for (size_t i = 0; i < sizeof(ip6) / 2; i++)
            hash = 31 * hash + ip6.s6_addr[i];
    else
        while (*asker != '\0')
            hash = 31 * hash + (uint8_t)*asker++;
    return hash % SHARES;
}

static void wait_for_thread(struct job *job)
{
    struct share *share = &works[job->kind].shares[job->share];

    job->waits = true;
    job->next = NULL;
    job->before = share->last;
    if (job->before != NULL)
        job->before->next = job;
    else
        share->first = job;
    share->last = job;
}

static void leave(struct job *job)
{
    struct share *share = &works[job->kind].shares[job->share];

    job->waits = false;
    if (job->before != NULL)
        job->before->next = job->next;
    else
        share->first = job->next;
    if (job->next != NULL)
        job->next->before = job->before;
    else
        share->last = job->before;
}

/* No share has more threads than are free: one whose jobs take long leaves half of the threads to
 * the others, two leave a third. The share behind `last` comes first. */
static void begin_jobs(enum job_kind kind, unsigned last)
{
    struct work *work = &works[kind];

    for (unsigned i = 1; i <= SHARES; i++) {
        struct share *share = &work->shares[(last + i) % SHARES];

        while (share->first != NULL && share->threads < CREW_THREADS_MOST - work->threads) {
            struct job *job = share->first;

            leave(job);
            share->threads++;
            work->threads++;
            crew_add(&work->crew, &job->crew);
        }
    }
}

void loop_job(struct job *job, enum job_kind kind, const char *asker)
{
    job->kind = kind;
    job->share = share_of(asker);
    wait_for_thread(job);
    jobs.closes += kind == JOB_CLOSE;
    begin_jobs(kind, job->share);
}

bool loop_withdraw(struct job *job)
{
    if (!job->waits)
        return false;
    leave(job);
    jobs.closes -= job->kind == JOB_CLOSE;
    return true;
}

static void finish_jobs(void)
{
    pthread_mutex_lock(&jobs.lock);
    struct crew_job *job = jobs.done;
    jobs.done = NULL;
    pthread_mutex_unlock(&jobs.lock);
    while (job != NULL) {
        struct job *finished = (struct job *)((char *)job - offsetof(struct job, crew));
        struct work *work = &works[finished->kind];

        job = job->next;
        jobs.closes -= finished->kind == JOB_CLOSE;
        work->threads--;
        work->shares[finished->share].threads--;
        begin_jobs(finished->kind, finished->share);
        finished->finish(finished);
    }
}

/* ---- the queue, and signals ---- */

static void on_completions(struct watch *watch, uint32_t events)
{
    struct zcrp_completion done[TAKEN];
    int count = TAKEN;

    (void)watch;
    (void)events;
    for (int i = 0; i < TAKES && count == TAKEN; i++) {
        count = zcrp_queue_take(loop.queue, done, TAKEN, 0);
        for (int j = 0; j < count; j++)
            loop.calls->on_completion(&done[j]);
    }
}

/* In any thread. */
static void on_signal(int number)
{
    if (number == SIGUSR1)
        usr1_came = true;
    else
        ending_signal = number;
    (void)zcrp_queue_interrupt(loop.queue);
}

static void catch_signals(void)
{
    const struct sigaction usr1 = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    signals_catch_ends(on_signal, 0);
    (void)sigaction(SIGUSR1, &usr1, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

int loop_open(const struct loop_calls *calls)
{
    loop.calls = calls;
    loop.epoll = epoll_create1(EPOLL_CLOEXEC);
    int code = zcrp_queue_open(&loop.queue);
    if (code == 0)
        loop.completions = (struct watch){zcrp_queue_descriptor(loop.queue), on_completions, NULL};
    if (code != 0 || loop.completions.fd < 0)
        return complain("cannot open a queue: %s", zcrp_explain(code));
    catch_signals();
    for (int kind = 0; kind < JOB_KINDS; kind++) {
        if (crew_init(&works[kind].crew, "zcrp-tunnel job", CREW_THREADS_MOST) != 0)
            return complain("cannot start threads: %s", strerror(errno));
        works[kind].crew.on_done = on_done;
    }
    if (!loop_watch(&loop.completions, EPOLLIN))
        return complain("cannot poll: %s", strerror(errno));
    return 0;
}

struct zcrp_queue *loop_queue(void)
{
    return loop.queue;
}

/* ---- descriptors and turns ---- */

bool loop_watch(struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};

    return epoll_ctl(loop.epoll, EPOLL_CTL_ADD, watch->fd, &event) == 0 ||
           (errno == EEXIST && epoll_ctl(loop.epoll, EPOLL_CTL_MOD, watch->fd, &event) == 0);
}

void loop_leave(struct watch *watch)
{
    if (watch->fd >= 0)
        (void)epoll_ctl(loop.epoll, EPOLL_CTL_DEL, watch->fd, NULL);
}

int loop_release(struct watch *watch)
{
    int fd = watch->fd;

    loop_leave(watch);
    watch->fd = -1;
    return fd;
}

void loop_close(struct watch *watch)
{
    int fd = loop_release(watch);

    if (fd >= 0)
        (void)close(fd);
}

void loop_soon(struct turn *turn)
{
    if (turn->is_due)
        return;
    turn->is_due = true;
    turn->next = loop.due;
    loop.due = turn;
}

/* Those that are due now; what becomes due meanwhile waits for the next round. */
static void run_turns(void)
{
    struct turn *turn = loop.due;

    loop.due = NULL;
    while (turn != NULL) {
        struct turn *next = turn->next;

        turn->is_due = false;
        turn->run(turn);
        turn = next;
    }
}

static void tick(void)
{
    int64_t now_ns = clock_now_ns();

    if (now_ns - loop.ticked_ns >= tick_ns) {
        loop.ticked_ns = now_ns;
        loop.calls->on_tick(now_ns);
    }
    if (atomic_exchange(&usr1_came, false))
        loop.calls->on_usr1();
}

static void run_once(void)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(loop.epoll, events, EVENTS, loop.due != NULL ? 0 : TICK_MS);

    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;

        if (watch->fd >= 0)
            watch->on_event(watch, events[i].events);
    }
    run_turns();
    tick();
    finish_jobs();
}

int loop_run(void)
{
    while (!loop_has_ended())
        run_once();
    loop.calls->on_end();
    int64_t end_ns = clock_now_ns() + finish_ns;
    while (jobs.closes > 0 && clock_now_ns() < end_ns)
        run_once();
    return ending_signal != 0 ? SIGNALLED + ending_signal : loop.status;
}

void loop_stop(int status)
{
    if (!loop.has_ended)
        loop.status = status;
    loop.has_ended = true;
}

bool loop_has_ended(void)
{
    return loop.has_ended || ending_signal != 0;
}
