#include "drop_cut.h"

#include <linux/filter.h>
#include <sys/socket.h>

bool drop_cut(int socket, uint32_t bytes)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, bytes, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),          /* dropped */
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), /* whole */
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};

    return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}
