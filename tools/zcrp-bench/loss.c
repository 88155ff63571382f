#include "loss.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>

#include "common/complain.h"

int loss_begin(int fd, uint64_t parts)
{
    /* A random number of 32 bits at or above this is kept. */
    const uint32_t threshold = (uint32_t)(parts * UINT32_MAX / LOSS_WHOLE);
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, threshold, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), /* all of it is kept */
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {.len = sizeof steps / sizeof *steps, .filter = steps};

    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0)
        return 0;
    return complain("--loss: the kernel will not lose for a socket: %s", strerror(errno));
}
