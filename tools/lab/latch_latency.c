/* How long a message takes to wake the thread that waits for it. Run by `make latch-latency`.
 *
 *      alone  thread B is the only one that waits, for one message
 *      two    thread A waits for a stream of messages, then leaves; B sleeps meanwhile; then B's
 *             message is sent
 *
 * In the second case A has done the receiving for both, and B has to take over. The two should cost
 * the same. Version 0.1.0 took 20 us in the median alone, and 200 to 500 us with two. */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "zcrp.h"

enum { ROUNDS = 60, STREAM = 60, A = STREAM, B, MESSAGES, BYTES = 64 };

static const int64_t patience_ns = 1000000000;

struct rig {
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *received[MESSAGES]; /* A's stream, A's last one, B's */
    int64_t b_woke_ns;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_us(long us)
{
    const struct timespec length = {.tv_nsec = us * 1000};

    nanosleep(&length, NULL);
}

static void must(int code)
{
    if (code == ZCRP_OK)
        return;
    fprintf(stderr, "latch_latency: %s\n", zcrp_strerror(code));
    exit(EXIT_FAILURE);
}

static struct zcrp_msg *submit(struct zcrp_entity *entity)
{
    struct zcrp_msg *message = zcrp_alloc_msg(BYTES);

    must(message != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY);
    must(zcrp_submit(entity, message, BYTES));
    return message;
}

static void *wait_for_a(void *argument)
{
    const struct rig *rig = argument;

    for (int i = 0; i <= A; i++)
        zcrp_wait(rig->received[i]);
    return NULL;
}

static void *wait_for_b(void *argument)
{
    struct rig *rig = argument;

    zcrp_wait(rig->received[B]);
    rig->b_woke_ns = now_ns();
    return NULL;
}

static void free_all(struct zcrp_msg *messages[MESSAGES])
{
    for (int i = 0; i < MESSAGES; i++) {
        must(zcrp_wait_for(messages[i], patience_ns));
        zcrp_free_msg(messages[i]);
    }
}

/* Nanoseconds from the submit of B's message to B's return from its wait. */
static int64_t run_round(struct rig *rig, bool has_two)
{
    struct zcrp_msg *sent[MESSAGES];
    pthread_t a;
    pthread_t b;
    int64_t begin_ns;

    for (int i = 0; i < MESSAGES; i++)
        rig->received[i] = submit(rig->receiver);
    if (has_two)
        pthread_create(&a, NULL, wait_for_a, rig);
    sleep_us(3000);
    pthread_create(&b, NULL, wait_for_b, rig);
    sleep_us(2000);
    for (int i = 0; i <= A; i++) {
        sent[i] = submit(rig->sender);
        sleep_us(250);
    }
    if (has_two)
        pthread_join(a, NULL);
    sleep_us(400);
    begin_ns = now_ns();
    sent[B] = submit(rig->sender);
    pthread_join(b, NULL);
    free_all(sent);
    free_all(rig->received);
    return rig->b_woke_ns - begin_ns;
}

static int compare(const void *left, const void *right)
{
    const int64_t *a = left;
    const int64_t *b = right;

    return (*a > *b) - (*a < *b);
}

int main(int argc, char **argv)
{
    bool has_two = argc == 2 && strcmp(argv[1], "two") == 0;
    struct rig rig = {0};
    int64_t ns[ROUNDS];
    int ends[2];

    if (argc > 2 || (argc == 2 && !has_two)) {
        fprintf(stderr, "usage: latch_latency [two]\n");
        return 2;
    }
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0) {
        perror("latch_latency: no sockets");
        return EXIT_FAILURE;
    }
    must(zcrp_open_receiver(&rig.receiver, (const int[]){ends[0], ends[0]}, NULL));
    must(zcrp_open_sender(&rig.sender, (const int[]){ends[1], ends[1]}, NULL));
    for (int i = 0; i < ROUNDS; i++)
        ns[i] = run_round(&rig, has_two);
    qsort(ns, ROUNDS, sizeof *ns, compare);
    printf("%s: us: 10 %% %" PRId64 ", median %" PRId64 ", 90 %% %" PRId64 ", most %" PRId64 "\n",
           has_two ? "two" : "alone", ns[ROUNDS / 10] / 1000, ns[ROUNDS / 2] / 1000,
           ns[ROUNDS * 9 / 10] / 1000, ns[ROUNDS - 1] / 1000);
    zcrp_close(rig.sender);
    zcrp_close(rig.receiver);
    return EXIT_SUCCESS;
}
