/* Threads that share endpoints and completion queues (FI_THREAD_SAFE). */
#include "node.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, MESSAGES = 100, WINDOW = 4 };

static struct pair p;

/* An operation; whichever thread reads its completion says so here. */
struct operation {
    _Atomic bool is_done;
    uint8_t *bytes;
};

static void reap(struct fid_cq *cq)
{
    struct fi_cq_tagged_entry e;
    ssize_t count = fi_cq_read(cq, &e, 1);

    ck_assert(count == 1 || count == -FI_EAGAIN);
    if (count == 1)
        atomic_store(&((struct operation *)e.op_context)->is_done, true);
}

static void reap_all(void)
{
    reap(p.a.sent);
    reap(p.b.sent);
    reap(p.a.received);
    reap(p.b.received);
    (void)sched_yield();
}

static void start(struct operation *o)
{
    atomic_store(&o->is_done, false);
}

static void finish(struct operation *o)
{
    int64_t until = now_ms() + WITHIN_S * 1000;

    while (!atomic_load(&o->is_done)) {
        ck_assert_int_lt(now_ms(), until);
        reap_all();
    }
}

#define CALL(call)                                                                                 \
    do {                                                                                           \
        ssize_t code_;                                                                             \
        while ((code_ = (call)) == -FI_EAGAIN)                                                     \
            reap_all();                                                                            \
        ck_assert_int_eq(code_, 0);                                                                \
    } while (0)

/* Messages with the thread's tag, from a to b or back, some large, a few at a time. */
static void *talk(void *number)
{
    uint64_t tag = (uint64_t)(uintptr_t)number;
    bool is_back = tag % 2 == 1;
    const struct node *from = is_back ? &p.b : &p.a, *at = is_back ? &p.a : &p.b;
    fi_addr_t to = is_back ? p.to_a : p.to_b;
    struct operation out[WINDOW], in[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        out[i].bytes = filled(LARGE, tag);
        in[i].bytes = blank(LARGE);
    }
    for (uint64_t n = 0; n < MESSAGES; n++) {
        size_t size = n % 5 == 0 ? LARGE : SMALL + n;
        for (int i = 0; i < WINDOW; i++) {
            start(&in[i]);
            CALL(fi_trecv(at->ep, in[i].bytes, LARGE, NULL, FI_ADDR_UNSPEC, tag, 0, &in[i]));
            start(&out[i]);
            CALL(fi_tsend(from->ep, out[i].bytes, size, NULL, to, tag, &out[i]));
        }
        for (int i = 0; i < WINDOW; i++) {
            finish(&in[i]);
            finish(&out[i]);
            ck_assert(pattern_holds(in[i].bytes, size, tag));
        }
    }
    for (int i = 0; i < WINDOW; i++) {
        free(in[i].bytes);
        free(out[i].bytes);
    }
    return NULL;
}

/* Posts receives that nothing matches, and cancels them, beside the others. */
static void *cancel(void *unused)
{
    uint8_t bytes[SMALL];

    for (int i = 0; i < MESSAGES; i++) {
        struct operation o;
        struct fi_cq_err_entry e = {0};
        start(&o);
        CALL(fi_recv(p.b.ep, bytes, SMALL, NULL, FI_ADDR_UNSPEC, &o));
        POST(fi_cancel(&p.b.ep->fid, &o));
        int64_t until = now_ms() + WITHIN_S * 1000;
        while (fi_cq_readerr(p.b.received, &e, 0) != 1)
            ck_assert_int_lt(now_ms(), until);
        ck_assert_int_eq(e.err, FI_ECANCELED);
    }
    return unused;
}

/* Rows: progress by the program, by the provider. */
TEST(threads__send_and_receive, .rows = 2)
{
    pthread_t thread[THREADS];

    pair_open(&p, &(struct node_wish){.progress = _i ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL});
    for (uintptr_t i = 0; i < THREADS; i++)
        OK(pthread_create(&thread[i], NULL, talk, (void *)i));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(thread[i], NULL));
    pair_close(&p);
}

/* The other threads read b's queue of receives meanwhile. */
static void *watch(void *unused)
{
    for (int i = 0; i < 3000; i++) {
        (void)fi_cq_read(p.b.received, NULL, 0);
        (void)fi_cq_read(p.a.sent, NULL, 0);
    }
    return unused;
}

TEST(threads__cancel)
{
    pthread_t thread[2];

    pair_open(&p, NULL);
    OK(pthread_create(&thread[0], NULL, cancel, NULL));
    OK(pthread_create(&thread[1], NULL, watch, NULL));
    OK(pthread_join(thread[0], NULL));
    OK(pthread_join(thread[1], NULL));
    pair_close(&p);
}

/* Each opens, uses and closes nodes of its own. */
static void *live(void *unused)
{
    for (int i = 0; i < 3; i++) {
        struct pair own;
        pair_open(&own, NULL);
        pass(&own.a, own.to_b, &own.b, i % 2 ? SMALL : LARGE, 1);
        pair_close(&own);
    }
    return unused;
}

TEST(threads__open_and_close)
{
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        OK(pthread_create(&thread[i], NULL, live, NULL));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(thread[i], NULL));
}

static _Atomic int handled;

static void handle(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
}

/* The program's signals are its threads'. Row 0: a thread of the provider closes connections; row
 * 1: another one makes progress. */
TEST(threads__of_the_provider_take_no_signal, .rows = 2)
{
    const struct sigaction action = {.sa_handler = handle};
    sigset_t one;
    struct pair q;

    pair_open(&q, &(struct node_wish){.progress = _i ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL});
    pass(&q.a, q.to_b, &q.b, SMALL, 1);
    node_close(&q.b);
    for (int64_t until = now_ms() + 500; now_ms() < until;)
        nodes_turn();
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(sigemptyset(&one));
    OK(sigaddset(&one, SIGUSR1));
    OK(pthread_sigmask(SIG_BLOCK, &one, NULL));
    OK(kill(getpid(), SIGUSR1));
    (void)usleep(200000);
    ck_assert_int_eq(atomic_load(&handled), 0);
    OK(pthread_sigmask(SIG_UNBLOCK, &one, NULL));
    ck_assert_int_eq(atomic_load(&handled), 1);
    node_close(&q.a);
}

/* ---- threads that close */

enum { CLOSED = 6 };

/* The word of the file of the thread: its name, or as what it is listed. */
static bool read_word(const char *thread, const char *file, const char *format, char word[32])
{
    char path[300];

    (void)snprintf(path, sizeof(path), "/proc/self/task/%s/%s", thread, file);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    int count = fscanf(f, format, word);
    (void)fclose(f);
    return count == 1;
}

/* How many threads of the provider close connections; `must_sleep`: and have nothing to do? */
static int closing_threads(bool must_sleep)
{
    DIR *all = opendir("/proc/self/task");
    struct dirent *e;
    char name[32], state[32];
    int count = 0;

    ck_assert_ptr_nonnull(all);
    while ((e = readdir(all)) != NULL)
        count += read_word(e->d_name, "comm", "%31s", name) &&
                 strcmp(name, "zcrp-fabric-end") == 0 &&
                 (!must_sleep ||
                  (read_word(e->d_name, "stat", "%*d %*s %31s", state) && strcmp(state, "S") == 0));
    (void)closedir(all);
    return count;
}

/* Until there are so many: while a thread of the library ends, a look may miss others. */
static void await_closing_threads(int count, bool must_sleep)
{
    int64_t until = now_ms() + WITHIN_S * 1000;

    int found;

    while ((found = closing_threads(must_sleep)) < count && now_ms() < until)
        (void)sched_yield();
    ck_assert_int_ge(found, count);
}

static void send_to(const struct node *from, const struct node *at)
{
    fi_addr_t to = node_meet(from, at);
    uint8_t in[SMALL], out[SMALL] = {1};

    POST(fi_trecv(at->ep, in, SMALL, NULL, FI_ADDR_UNSPEC, 1, 0, in));
    POST(fi_tsend(from->ep, out, SMALL, NULL, to, 1, out));
    (void)take_of(at->received, in);
    (void)take_of(from->sent, out);
}

/* Each peer has a thread, also if one of an earlier close is still there. */
TEST(threads__close_all_at_once)
{
    struct node host, first, many, there[CLOSED];

    node_open(&host, NULL);
    node_join(&first, &host, NULL);
    node_join(&many, &host, NULL);
    node_open(&there[0], NULL);
    for (int i = 1; i < CLOSED; i++)
        node_join(&there[i], &there[0], NULL);
    for (int i = 0; i < CLOSED; i++)
        send_to(&many, &there[i]);
    send_to(&first, &there[0]);
    node_close(&first);
    await_closing_threads(1, true);
    node_close(&many);
    await_closing_threads(CLOSED, false);
    for (int i = CLOSED - 1; i >= 0; i--)
        node_close(&there[i]);
    node_close(&host);
}
