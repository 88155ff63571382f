/* On its own: the kernel's header knows more of TCP than the C library's, and both do not mix. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "look.h"

struct look look_at_tcp(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 ||
        size < offsetof(struct tcp_info, tcpi_bytes_received))
        return (struct look){.is_known = false};
    return (struct look){
        .is_known = true,
        .bytes = info.tcpi_bytes_acked,
        .repeated = info.tcpi_total_retrans,
        .window_bytes = (uint64_t)info.tcpi_snd_cwnd * info.tcpi_snd_mss,
        .rtt_ns = (uint64_t)info.tcpi_rtt * 1000,
    };
}
