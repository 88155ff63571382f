/* How long a message takes to wake the thread that waits for it. Run by `make latch-latency`.
 *
 *      alone  thread B is the only one that waits, for one message
 *      two    thread A waits for a stream of messages, then leaves; B sleeps meanwhile; then B's
 *             message is sent
 *
 * In the second case A has done the receiving for both, and B has to take over. The two should cost
 * the same. Version 0.1.0 took 20 us in the median alone, and 200 to 500 us with two. */
#include "lab.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS = 60, STREAM = 60, A = STREAM, B, MESSAGES, BYTES = 64 };

static const int64_t patience_ns = 1000000000;

struct rig {
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *received[MESSAGES]; /* A's stream, A's last one, B's */
    double b_woke_s;
};

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
    rig->b_woke_s = now_s();
    return NULL;
}

static void free_all(struct zcrp_msg *messages[MESSAGES])
{
    for (int i = 0; i < MESSAGES; i++) {
        must(zcrp_wait_for(messages[i], patience_ns));
        zcrp_free_msg(messages[i]);
    }
}

/* Microseconds from the submit of B's message to B's return from its wait. */
static double run_round(struct rig *rig, bool has_two)
{
    struct zcrp_msg *sent[MESSAGES];
    pthread_t a, b;

    for (int i = 0; i < MESSAGES; i++)
        rig->received[i] = submit(rig->receiver);
    if (has_two)
        pthread_create(&a, NULL, wait_for_a, rig);
    usleep(3000);
    pthread_create(&b, NULL, wait_for_b, rig);
    usleep(2000);
    for (int i = 0; i <= A; i++) {
        sent[i] = submit(rig->sender);
        usleep(250);
    }
    if (has_two)
        pthread_join(a, NULL);
    usleep(400);
    double begin_s = now_s();
    sent[B] = submit(rig->sender);
    pthread_join(b, NULL);
    free_all(sent);
    free_all(rig->received);
    return 1e6 * (rig->b_woke_s - begin_s);
}

int main(int argc, char **argv)
{
    bool has_two = argc == 2 && strcmp(argv[1], "two") == 0;
    struct rig rig = {0};
    double us[ROUNDS];
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
        us[i] = run_round(&rig, has_two);
    sort(us, ROUNDS);
    printf("%s: us: 10 %% %.0f, median %.0f, 90 %% %.0f, most %.0f\n", has_two ? "two" : "alone",
           us[ROUNDS / 10], us[ROUNDS / 2], us[ROUNDS * 9 / 10], us[ROUNDS - 1]);
    zcrp_close(rig.sender);
    zcrp_close(rig.receiver);
    return EXIT_SUCCESS;
}
