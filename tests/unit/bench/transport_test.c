/* Loss by the receiving socket: a pair of sockets hands every packet over before send returns. */
#include <sys/socket.h>
#include <unistd.h>

#include "../../support/suite.h"
#include "common/complain.h"
#include "zcrp-bench/transports/transport.h"

enum { PACKETS = 1000, HALF = LOSS_WHOLE / 2 };

/* How many of as many packets arrive. */
static int arrive(uint64_t parts)
{
    char byte = 0;
    int count = 0;
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(transport_lose(ends[1], parts), 0);
    for (int i = 0; i < PACKETS; i++) {
        ck_assert_int_eq(send(ends[0], &byte, 1, 0), 1);
        count += recv(ends[1], &byte, 1, MSG_DONTWAIT) == 1;
    }
    close(ends[0]);
    close(ends[1]);
    return count;
}

TEST(loss_begin__by_chance)
{
    int half = arrive(HALF);

    ck_assert_int_eq(arrive(0), PACKETS);
    ck_assert_int_gt(half, PACKETS / 4);
    ck_assert_int_lt(half, PACKETS * 3 / 4);
    ck_assert_int_lt(arrive(LOSS_WHOLE * 9 / 10), PACKETS / 4);
}

TEST(loss_begin__what_is_no_socket)
{
    complain_silently();
    ck_assert_int_eq(transport_lose(-1, HALF), -1);
}
