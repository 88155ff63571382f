#include "ranks.h"

#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void ranks_sync(struct rank *r)
{
    int stage = atomic_fetch_add(&r->board->stage[r->number], 1) + 1;
    int64_t until = now_ms() + WITHIN_S * 1000;

    for (int i = 0; i < r->count; i++)
        while (atomic_load(&r->board->stage[i]) < stage) {
            ck_assert_msg(now_ms() < until, "rank %d waits for rank %d", r->number, i);
            nodes_turn();
        }
}

static void begin(struct rank *r, const struct ranks_plan *plan)
{
    if (plan->prepare != NULL)
        plan->prepare(r->number);
    node_open(&r->node, &plan->wish);
    (void)node_name(&r->node, r->board->name[r->number]);
    ranks_sync(r);
    for (int i = 0; i < r->count; i++)
        r->to[i] = node_insert(&r->node, r->board->name[i]);
}

/* What a child says of a failure goes to the test's report; its status counts, too. */
static void be_child(struct rank *r, const struct ranks_plan *plan)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    begin(r, plan);
    plan->part(r);
    node_close(&r->node);
    _exit(0);
}

void ranks_start(struct rank *r, const struct ranks_plan *plan)
{
    *r = (struct rank){.count = plan->count};
    (void)setenv("ZCRP_NO_MEMORY", plan->is_memory ? "0" : "1", 1);
    r->board =
        mmap(NULL, sizeof(*r->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(r->board, MAP_FAILED);
    for (int i = 1; i < plan->count; i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            r->number = i;
            be_child(r, plan);
        }
        r->board->pid[i] = child;
    }
    begin(r, plan);
}

/* Another test's socket that gets the dead one's port would answer in its place. This one hears
 * itself alone: for all others the system says that nobody listens. It is bound beside the one that
 * listens, as a listener's own children are. */
static void keep_port(const uint8_t *name)
{
    struct sockaddr_in at;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

    memcpy(&at, name, sizeof(at));
    ck_assert_int_eq(at.sin_family, AF_INET);
    ck_assert_int_ge(fd, 0);
    OK(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)));
    OK(bind(fd, (const struct sockaddr *)&at, sizeof(at)));
    OK(connect(fd, (const struct sockaddr *)&at, sizeof(at)));
}

void ranks_kill(struct rank *r, int number)
{
    keep_port(r->board->name[number]);
    OK(kill(r->board->pid[number], SIGKILL));
    ck_assert_int_eq(waitpid(r->board->pid[number], NULL, 0), r->board->pid[number]);
    r->board->pid[number] = 0;
}

void ranks_finish(struct rank *r)
{
    int64_t until = now_ms() + WITHIN_S * 1000;
    int status = 0;

    for (int i = 1; i < r->count; i++) {
        if (r->board->pid[i] == 0)
            continue;
        while (waitpid(r->board->pid[i], &status, WNOHANG) == 0) {
            ck_assert_msg(now_ms() < until, "rank %d does not end", i);
            nodes_turn();
        }
        ck_assert_msg(status == 0, "rank %d ended with status %d", i, status);
    }
    node_close(&r->node);
    (void)munmap(r->board, sizeof(*r->board));
}
