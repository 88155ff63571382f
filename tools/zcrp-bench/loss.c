#include "loss.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"
#include "loss_seeded.h"

/* A random number of 32 bits at or above this is kept. */
static uint32_t threshold_of(uint64_t parts)
{
    return (uint32_t)(parts * UINT32_MAX / LOSS_WHOLE);
}

static int begin_by_chance(int fd, uint64_t parts)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, threshold_of(parts), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), /* all of it is kept */
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {.len = sizeof steps / sizeof *steps, .filter = steps};

    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0)
        return 0;
    return complain("--loss: the kernel will not lose for a socket: %s", strerror(errno));
}

static int begin_by_seed(int fd, uint64_t parts, uint64_t seed)
{
    int program = loss_seeded_open(threshold_of(parts), seed);
    int status;

    if (program < 0 && errno == EPERM)
        return complain("--seed: --loss that can be repeated takes CAP_BPF at both ends");
    if (program < 0)
        return complain("--seed: the kernel takes no filter: %s", strerror(errno));
    status = setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program);
    if (status < 0)
        complain("--loss: the kernel will not lose for a socket: %s", strerror(errno));
    close(program); /* the socket has it */
    return status;
}

int loss_begin(int fd, uint64_t parts, uint64_t seed)
{
    return seed == 0 ? begin_by_chance(fd, parts) : begin_by_seed(fd, parts, seed);
}
