#include "house.h"

#include "../support/pattern.h"
#include "common/clock.h"
#include "victim.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(memory, MAP_FAILED);
    return memory;
}

/* 0 in the child, which is on that side. */
static pid_t part(const struct stage *stage, enum stage_side side)
{
    fflush(stdout);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stage_enter(stage, side);
    }
    return pid;
}

static void end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

struct place {
    char host[INET6_ADDRSTRLEN], port[8];
};

static struct place place_of(struct raw_end end)
{
    struct place p;

    place_text(end.address, p.host);
    snprintf(p.port, sizeof(p.port), "%u", (unsigned)end.port);
    return p;
}

/* One message of an entity's, from submit to its end. */
static int pass(struct zcrp_entity *entity, struct zcrp_msg *m, int64_t timeout_ns)
{
    int code = zcrp_submit(entity, m, HOUSE_ECHO);

    if (code == ZCRP_OK)
        code = zcrp_wait_for(m, timeout_ns);
    if (code == ZCRP_ERROR_TIMEOUT)
        (void)zcrp_cancel(m);
    return code;
}

/* ---- the server ---- */

struct service {
    struct house_book *book;
    struct zcrp_connection *connection;
};

static void *serve(void *context)
{
    struct service s = *(struct service *)context;
    struct zcrp_msg *m = zcrp_alloc_msg(HOUSE_ECHO);
    int code = ZCRP_OK;

    free(context);
    while (code == ZCRP_OK) {
        code = pass(zcrp_connection_receiver(s.connection), m, -1);
        if (code == ZCRP_OK)
            code = pass(zcrp_connection_sender(s.connection), m, -1);
    }
    if (code != ZCRP_ERROR_PEER_CLOSED) {
        s.book->why = code;
        s.book->failed++;
    }
    (void)zcrp_connection_close(s.connection);
    zcrp_free_msg(m);
    return NULL;
}

static void write_peer(struct house_book *book, const struct zcrp_connection *c)
{
    char text[64], *colon, *host = text;

    if (zcrp_connection_peer(c, text, sizeof(text)) != 0 || (colon = strrchr(text, ':')) == NULL)
        return;
    *colon = '\0';
    if (text[0] == '[') { /* [host]:port */
        host++;
        colon[-1] = '\0';
    }
    book->address = place_number(host);
    book->port = (uint32_t)atoi(colon + 1);
}

static void take_one(struct house_book *book, struct zcrp_listener *listener)
{
    struct zcrp_connection *c;
    struct zcrp_listener_stats stats;
    pthread_t thread;
    int code = zcrp_accept(listener, &c, 20 * VICTIM_MS);

    if (code == ZCRP_OK) {
        struct service *s = malloc(sizeof(*s));
        *s = (struct service){.book = book, .connection = c};
        write_peer(book, c);
        (void)pthread_create(&thread, NULL, serve, s);
        (void)pthread_detach(thread);
        book->accepted++;
    } else if (code != ZCRP_ERROR_TIMEOUT) {
        book->refused++;
    }
    (void)zcrp_listener_stats(listener, &stats);
    book->admitted = stats.admitted;
    book->dropped = stats.dropped;
    book->standing = stats.connections;
}

static _Noreturn void be_house(struct house_book *book, struct raw_end own,
                               const struct zcrp_options *options)
{
    struct place p = place_of(own);
    struct zcrp_listener *listener;

    book->listens = zcrp_listen(&listener, p.host, p.port, options);
    while (book->listens == ZCRP_OK)
        take_one(book, listener);
    _exit(EXIT_FAILURE);
}

void house_open(struct house *h, const struct stage *stage, enum stage_side side,
                struct raw_end own, const struct zcrp_options *options)
{
    h->book = share(sizeof(*h->book));
    h->book->listens = HOUSE_PENDING;
    h->pid = part(stage, side);
    if (h->pid == 0)
        be_house(h->book, own, options);
    while (h->book->listens == HOUSE_PENDING)
        usleep(1000);
    ck_assert_int_eq(h->book->listens, ZCRP_OK);
}

void house_close(struct house *h)
{
    end(h->pid);
    munmap(h->book, sizeof(*h->book));
}

uint64_t house_memory(const struct house *h)
{
    return victim_memory(&(struct victim){.pid = h->pid});
}

/* ---- a caller ---- */

/* A message there and back. */
static int echo(struct zcrp_connection *c, uint64_t seed)
{
    struct zcrp_msg *out = zcrp_alloc_msg(HOUSE_ECHO), *in = zcrp_alloc_msg(HOUSE_ECHO);
    int code = zcrp_submit(zcrp_connection_receiver(c), in, HOUSE_ECHO);

    pattern_fill(out->buffer, HOUSE_ECHO, seed);
    if (code == ZCRP_OK)
        code = pass(zcrp_connection_sender(c), out, 5000 * VICTIM_MS);
    int back = zcrp_wait_for(in, 5000 * VICTIM_MS);
    if (back == ZCRP_ERROR_TIMEOUT)
        (void)zcrp_cancel(in);
    if (back == ZCRP_OK && !pattern_holds(in->buffer, HOUSE_ECHO, seed))
        back = ZCRP_ERROR_PROTOCOL;
    zcrp_free_msg(out);
    zcrp_free_msg(in);
    return code != ZCRP_OK ? code : back;
}

static void note_echo(struct guest_book *book, int64_t since, int code)
{
    int64_t took = clock_now_ns() - since;

    book->failure = code;
    if (code != ZCRP_OK)
        return;
    if (book->echos == 0)
        book->echoed_ns = took;
    if (took > book->longest_ns)
        book->longest_ns = took;
    book->echos++;
}

static _Noreturn void be_guest(struct guest_book *book, struct raw_end to)
{
    struct place p = place_of(to);
    struct zcrp_connection *c;
    int64_t since = clock_now_ns();
    int code = zcrp_connect(&c, p.host, p.port, NULL, -1);

    book->connected_ns = clock_now_ns() - since;
    book->connected = code;
    for (uint64_t seed = 0; code == ZCRP_OK && !book->is_over; seed++) {
        since = clock_now_ns();
        code = echo(c, seed);
        note_echo(book, since, code);
        usleep(500);
    }
    while (!book->is_over)
        usleep(1000);
    book->closed = zcrp_connection_close(c);
    _exit(EXIT_SUCCESS);
}

void guest_call(struct guest *g, const struct stage *stage, enum stage_side side, struct raw_end to)
{
    g->book = share(sizeof(*g->book));
    g->book->connected = g->book->closed = HOUSE_PENDING;
    g->pid = part(stage, side);
    if (g->pid == 0)
        be_guest(g->book, to);
}

void guest_leave(struct guest *g)
{
    g->book->is_over = true;
    ck_assert_int_eq(waitpid(g->pid, NULL, 0), g->pid);
}

void guest_kill(struct guest *g)
{
    end(g->pid);
}
