/* What all programs of attacks share: the victims' names, the figure that each prints, and main. */
#ifndef ZCRP_TESTS_ATTACK_ATTACK_H
#define ZCRP_TESTS_ATTACK_ATTACK_H

#include "../support/suite.h"
#include "common/clock.h"
#include "hostile.h"
#include "victim.h"
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Prints one line: what the attack of that row of README.md came to. */
#define attack_figure(row, ...)                                                                    \
    do {                                                                                           \
        printf("row %2d: ", row);                                                                  \
        printf(__VA_ARGS__);                                                                       \
        putchar('\n');                                                                             \
        fflush(stdout);                                                                            \
    } while (0)

/* Is all to be tried that takes longer than a few seconds? `make attack-all` wants it. */
static inline bool attack_is_exhaustive(void)
{
    const char *wanted = getenv("ZCRP_ATTACK");
    return wanted && wanted[0] == 'a';
}

static inline double attack_seconds(void)
{
    return (double)clock_now_ns() / 1e9;
}

/* The sender is on the left side, the receiver on the right. */
static inline struct raw_end attack_sender(void)
{
    return (struct raw_end){stage_address(STAGE_LEFT), VICTIM_SENDER_PORT};
}

static inline struct raw_end attack_receiver(void)
{
    return (struct raw_end){stage_address(STAGE_RIGHT), VICTIM_RECEIVER_PORT};
}

/* A sender and a receiver at their places, connected to each other. `options` NULL: none. */
static inline void attack_open_pair(const struct stage *stage, struct victim *sender,
                                    struct victim *receiver, const struct zcrp_options *options)
{
    victim_start(sender, stage, STAGE_LEFT);
    victim_start(receiver, stage, STAGE_RIGHT);
    ck_assert_int_eq(victim_open(receiver, false, attack_receiver(), attack_sender(), options), 0);
    ck_assert_int_eq(victim_open(sender, true, attack_sender(), attack_receiver(), options), 0);
}

/* The stage of row `is_ipv6` of a test that has two: false where this kernel has no IPv6. */
static inline bool attack_open_stage(struct stage *stage, bool is_ipv6)
{
    if (is_ipv6 && access("/proc/net/if_inet6", F_OK) != 0) {
        puts("not tried: this kernel has no IPv6");
        return false;
    }
    if (is_ipv6)
        stage_open_ipv6(stage, 1500);
    else
        stage_open(stage, 1500);
    return true;
}

static inline const char *attack_family(void)
{
    return place_is_ipv6() ? "IPv6" : "IPv4";
}

/* One of 2^16 addresses that nobody has, and a port. */
static inline struct raw_end attack_stranger(uint32_t number)
{
    return (struct raw_end){STAGE_STRANGERS + (number & 0xFFFF), (uint16_t)(1024 + number % 50000)};
}

NEEDS(stage_is_permitted)

#endif
