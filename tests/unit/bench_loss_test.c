/* Loss by the receiving socket: a pair of sockets hands every packet over before send returns. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/suite.h"
#include "common/complain.h"
#include "zcrp-bench/loss.h"
#include "zcrp-bench/loss_seeded.h"

enum { PACKETS = 1000, HALF = LOSS_WHOLE / 2 };

/* Which of as many packets arrive, and how many. */
struct outcome {
    bool has_come[PACKETS];
    int count;
};

static void send_all(struct outcome *outcome, int from, int to)
{
    char byte = 0;

    for (int i = 0; i < PACKETS; i++) {
        ck_assert_int_eq(send(from, &byte, 1, 0), 1);
        outcome->has_come[i] = recv(to, &byte, 1, MSG_DONTWAIT) == 1;
        outcome->count += outcome->has_come[i];
    }
}

static struct outcome lose(uint64_t parts, uint64_t seed)
{
    struct outcome outcome = {.count = 0};
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(loss_begin(ends[1], parts, seed), 0);
    send_all(&outcome, ends[0], ends[1]);
    close(ends[0]);
    close(ends[1]);
    return outcome;
}

/* Packets whose fate is the same, `by` later in b. */
static int alike(const struct outcome *a, const struct outcome *b, int by)
{
    int count = 0;

    for (int i = 0; i + by < PACKETS; i++)
        count += a->has_come[i] == b->has_come[i + by];
    return count;
}

/* A seed takes a right. */
static bool may_use_seeds(void)
{
    int program = loss_seeded_open(0, 1);

    if (program < 0)
        return errno != EPERM;
    close(program);
    return true;
}

TEST(loss_begin__by_chance)
{
    struct outcome none = lose(0, 0);
    struct outcome half = lose(HALF, 0);

    ck_assert_int_eq(none.count, PACKETS);
    ck_assert_int_gt(half.count, PACKETS / 4);
    ck_assert_int_lt(half.count, PACKETS * 3 / 4);
}

TEST(loss_begin__a_seed_repeats_itself, .needs = may_use_seeds)
{
    struct outcome first = lose(HALF, 7);
    struct outcome second = lose(HALF, 7);

    ck_assert_int_eq(alike(&first, &second, 0), PACKETS);
}

TEST(loss_begin__seeds_differ, .needs = may_use_seeds)
{
    struct outcome own = lose(HALF, 7);

    for (uint64_t seed = 8; seed < 12; seed++) {
        struct outcome other = lose(HALF, seed);

        for (int by = 0; by < 4; by++)
            ck_assert_int_lt(alike(&own, &other, by), PACKETS * 6 / 10);
    }
}

TEST(loss_begin__as_many_as_are_asked_for, .needs = may_use_seeds)
{
    static const struct {
        uint64_t parts;
        int least, most;
    } rows[] = {
        {0, PACKETS, PACKETS},
        {LOSS_WHOLE / 100, PACKETS - 20, PACKETS - 3},
        {HALF, PACKETS * 45 / 100, PACKETS * 55 / 100},
        {LOSS_WHOLE * 9 / 10, PACKETS * 7 / 100, PACKETS * 13 / 100},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outcome outcome = lose(rows[i].parts, 1998);

        ck_assert_int_ge(outcome.count, rows[i].least);
        ck_assert_int_le(outcome.count, rows[i].most);
    }
}

TEST(loss_begin__what_is_no_socket)
{
    complain_silently();
    ck_assert_int_eq(loss_begin(-1, HALF, 0), -1);
    ck_assert_int_eq(loss_begin(-1, HALF, 7), -1);
}
