/* What computing beside communication costs. Run by `make overlap`.
 *
 * Another process sends messages of 1 MiB as fast as it can. Here one thread waits for a message,
 * computes for 150 us, and posts its buffer again; four buffers are posted. Told is the time that
 * takes, over the longer of both alone: the messages without the work, and the work without the
 * messages. 1.0 is perfect: the library receives while the program computes. */
#include "lab.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20, POSTED = 4, TURNS = 5, WORK_US = 150, TRIALS = 200 };

static struct zcrp_msg *message[POSTED];
static volatile uint64_t result;
static uint64_t steps; /* of work that take WORK_US alone */
static int messages = 2000;

static void work(uint64_t count)
{
    uint64_t x = result + 1;

    for (uint64_t i = 0; i < count; i++)
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
    result = x;
}

/* The best of many trials: nothing else ran then. */
static void calibrate(void)
{
    const uint64_t probe = 10000;
    double best_s = 1;

    for (int i = 0; i < TRIALS; i++) {
        double begin_s = now_s();
        work(probe);
        double taken_s = now_s() - begin_s;
        best_s = taken_s < best_s ? taken_s : best_s;
    }
    steps = (uint64_t)((double)probe * WORK_US / 1e6 / best_s);
}

static _Noreturn void send_all(const char *port)
{
    struct zcrp_connection *c;

    must(zcrp_connect(&c, "127.0.0.1", port, NULL, -1));
    for (int i = 0; i < messages + POSTED; i++) {
        struct zcrp_msg *m = message[i % POSTED];
        if (i >= POSTED)
            must(zcrp_wait_for(m, -1));
        if (i < messages)
            must(zcrp_submit(zcrp_connection_sender(c), m, BYTES));
    }
    must(zcrp_connection_close(c));
    exit(EXIT_SUCCESS);
}

/* Seconds for all messages, with work behind each or without. */
static double receive_all(struct zcrp_listener *listener, const char *port, uint64_t work_steps)
{
    struct zcrp_connection *c;
    int status;
    pid_t sender = fork();

    if (sender == 0)
        send_all(port);
    must(sender < 0 ? ZCRP_ERROR_SYSTEM : zcrp_accept(listener, &c, -1));
    struct zcrp_entity *receiver = zcrp_connection_receiver(c);
    for (int i = 0; i < POSTED; i++)
        must(zcrp_submit(receiver, message[i], BYTES));
    must(zcrp_wait_for(message[0], -1)); /* the first does not count: it begins */
    double begin_s = now_s();
    for (int i = 0; i < messages; i++) {
        struct zcrp_msg *m = message[i % POSTED];
        must(zcrp_wait_for(m, -1));
        work(work_steps);
        if (i + POSTED < messages)
            must(zcrp_submit(receiver, m, BYTES));
    }
    double taken_s = now_s() - begin_s;
    must(zcrp_connection_close(c));
    (void)waitpid(sender, &status, 0);
    return taken_s;
}

static double work_alone(void)
{
    double begin_s = now_s();

    for (int i = 0; i < messages; i++)
        work(steps);
    return now_s() - begin_s;
}

int main(int argc, char **argv)
{
    struct zcrp_listener *listener;
    double ratio[TURNS], messages_s = 0, work_s = 0, both_s = 0;
    char port[8];

    if (argc > 1)
        messages = atoi(argv[1]);
    if (argc > 2 || messages < POSTED) {
        fprintf(stderr, "usage: overlap [MESSAGES], at least %d\n", POSTED);
        return 2;
    }
    for (int i = 0; i < POSTED; i++) {
        message[i] = zcrp_alloc_msg(BYTES);
        must(message[i] != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY);
        memset(message[i]->buffer, i, BYTES);
    }
    must(zcrp_listen(&listener, "127.0.0.1", "0", NULL));
    snprintf(port, sizeof port, "%d", zcrp_listener_port(listener));
    calibrate();
    for (int i = 0; i < TURNS; i++) {
        messages_s = receive_all(listener, port, 0);
        work_s = work_alone();
        both_s = receive_all(listener, port, steps);
        ratio[i] = both_s / (messages_s > work_s ? messages_s : work_s);
    }
    sort(ratio, TURNS);
    printf("%d messages: %.3f s, the work %.3f s, both %.3f s; both over the longer: median %.2f "
           "(%.2f..%.2f)\n",
           messages, messages_s, work_s, both_s, ratio[TURNS / 2], ratio[0], ratio[TURNS - 1]);
    return zcrp_listener_close(listener) == ZCRP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
